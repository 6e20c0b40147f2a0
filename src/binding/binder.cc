#include "binding/binder.h"

#include <algorithm>

#include "binding/bind_cycle.h"

namespace berth::binding {
namespace {

using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

constexpr Duration kDecidingPause = Duration::seconds(1);

api::ObjectKey key_of(const api::BindRequest& request) {
  return client::key_of(api::Kind::BindRequest, request.meta);
}

void add_pending(const std::vector<const api::BindRequest*>& requests, Keys& keys) {
  for (const api::BindRequest* request : requests)
    if (!has_ended(*request)) keys.push_back(key_of(*request));
}

// Nodes change all the time; only that one comes or goes matters here. Cost then: every request.
void keys_of_node(const View& view, const Delta& delta, Keys& keys) {
  if (delta.before && delta.after) return;
  for (const auto& [name, request] : view.bind_requests.all())
    if (request->node == delta.key.name && !has_ended(*request)) keys.push_back(key_of(*request));
}

bool adds_consumer(const Effects& effects) {
  return std::any_of(effects.chains.begin(), effects.chains.end(), [](const client::Chain& chain) {
    return chain.key.kind == api::Kind::ResourceClaim && !chain.writes.empty() &&
           chain.writes.front().request.verb == client::Verb::JsonPatch;
  });
}

}  // namespace

Result<std::unique_ptr<Binder>> Binder::make(BinderOptions options) {
  Plugins plugins = TRY(make_plugins(options.plugins));
  return std::unique_ptr<Binder>(new Binder(std::move(options), std::move(plugins)));
}

std::vector<client::Interest> Binder::interests() const {
  return {{api::Kind::BindRequest,
           {},
           [fence = fence_.get()](const View&, const Delta& delta, Keys& keys) {
             if (const auto* request = client::object_of<api::BindRequest>(delta.after))
               fence->note(*request);
             keys.push_back(delta.key);
           }},
          {api::Kind::ResourceClaim,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             add_pending(view.bind_requests_of_claim(delta.key.ns, delta.key.name), keys);
           }},
          {api::Kind::Pod,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             add_pending(view.bind_requests_of_pod(delta.key.ns, delta.key.name), keys);
           }},
          {api::Kind::PodGroup,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             add_pending(view.bind_requests_of_group(delta.key.ns, delta.key.name), keys);
           }},
          {api::Kind::Node, {}, keys_of_node}};
}

Binder::Memory& Binder::remember(const api::BindRequest& request, Time now) {
  Memory& memory = memory_[key_of(request)];
  if (memory.uid != request.meta.uid || memory.decision != request.decision_id)
    memory = {request.meta.uid, request.decision_id, now};
  return memory;
}

Effects Binder::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
  pending_.answered(view, key);
  if (!request || has_ended(*request)) {
    Effects effects = request ? announce(view, key, *request, now) : Effects::nothing();
    for (client::Chain& chain : pending_.to_seal(view, key)) effects.chains.push_back(std::move(chain));
    memory_.erase(key);
    return effects;
  }
  if (request->meta.deleting()) return Effects::nothing();
  if (deciding_.contains(request->decision_id) && !is_failing(*request) && Gang(view, *request).undecided()) {
    Effects effects;  // the change of the group wakes it, too
    effects.wake_at = now + kDecidingPause;
    return effects;
  }
  Memory& memory = remember(*request, now);
  const std::optional<Refusal> refusal = std::exchange(memory.refusal, std::nullopt);
  const Recollection known{memory.first_seen, refusal ? &*refusal : nullptr, fence_->is_late(*request),
                           &pending_};
  Ladder ladder(view, *request, now, known, options_, plugins_);
  Effects effects = ladder.climb();
  pending_.sent(view, *request, effects);
  if (!request->claims.empty()) measure(*request, memory, ladder, view, now);
  if (ladder.binds()) {
    memory.announce = true;
    memory.writes_before_binding = ladder.writes_before_binding();
  }
  memory.adds = adds_consumer(effects);
  memory.failing = ladder.fails();
  return effects;
}

void Binder::measure(const api::BindRequest& request, Memory& memory, const Ladder& ladder, const View& view,
                     Time now) {
  if (memory.measured) return;
  if (ladder.waits_for_conditions() && !memory.waiting_since.is_set()) memory.waiting_since = now;
  if (!ladder.pre_bind_end()) return;
  memory.measured = true;
  const Time since = memory.waiting_since.is_set() ? memory.waiting_since : now;
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  figures_.count(request, *ladder.pre_bind_end(), now - memory.first_seen, now - since,
                 pod ? pod->scheduler_name : "");
}

bool Binder::gives_up(const api::BindRequest& request) const {
  if (fence_->is_late(request)) return true;
  const auto found = memory_.find(key_of(request));
  if (found == memory_.end() || found->second.decision != request.decision_id) return false;
  return found->second.failing || found->second.refusal.has_value();
}

void Binder::settle(const View& view, const api::ObjectKey& key, const client::Outcome& outcome, Time now) {
  const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
  pending_.failed(view, key, outcome);
  if (!request || has_ended(*request)) return;
  Memory& memory = remember(*request, now);
  std::optional<Refusal> refusal = refusal_of(outcome, memory.writes_before_binding);
  if (!refusal) return;
  refusal->of_addition = memory.adds && refusal->failure == api::FailureClass::Permanent;
  memory.refusal = std::move(refusal);
}

// Only after the fact: an event that says "assigned" is never early.
Effects Binder::announce(const View& view, const api::ObjectKey& key, const api::BindRequest& request,
                         Time now) {
  const auto found = memory_.find(key);
  const bool news = found != memory_.end() && found->second.uid == request.meta.uid &&
                    found->second.decision == request.decision_id && found->second.announce;
  if (!news || request.phase != api::BindPhase::Succeeded) return Effects::nothing();
  Effects effects;
  effects.events.push_back(event_of_pod(
      view, request, "Scheduled", "Binding",
      "Successfully assigned " + request.meta.ns + "/" + request.pod_name + " to " + request.node));
  const BindContext context{view, request, look_for_pod(view, request).pod, now, now, options_, false};
  for (const auto& plugin : plugins_)
    for (client::Chain& chain : plugin->post_bind(context)) effects.chains.push_back(std::move(chain));
  return effects;
}

}  // namespace berth::binding
