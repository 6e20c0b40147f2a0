#include "binding/binder.h"

#include <algorithm>

#include "binding/ladder.h"

namespace berth::binding {
namespace {

using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

template <class T>
const T* object_of(const std::optional<api::TypedObject>& object) {
  return object ? std::get<std::shared_ptr<const T>>(*object).get() : nullptr;
}

api::ObjectKey key_of(const api::BindRequest& request) {
  return client::key_of(api::Kind::BindRequest, request.meta);
}

// A change that concerns one request concerns the leader of its gang too, which waits for all.
void add_with_leader(const View& view, const api::BindRequest& request, Keys& keys) {
  if (has_ended(request)) return;
  keys.push_back(key_of(request));
  if (request.group.size <= 1) return;
  if (const auto* leader = view.first_bind_request_of_decision(request.decision_id))
    keys.push_back(key_of(*leader));
}

void add_requests_of_pod(const View& view, std::string_view ns, std::string_view pod, Keys& keys) {
  for (const api::BindRequest* request : view.bind_requests_of_pod(ns, pod))
    add_with_leader(view, *request, keys);
}

// A member's change concerns the leader, the leader's change every member.
void keys_of_request(const View& view, const Delta& delta, Keys& keys) {
  keys.push_back(delta.key);
  const auto* request = object_of<api::BindRequest>(delta.after);
  if (!request) request = object_of<api::BindRequest>(delta.before);
  if (!request || request->group.size <= 1) return;
  const auto* leader = view.first_bind_request_of_decision(request->decision_id);
  if (!leader) return;
  if (key_of(*leader) < delta.key) {
    keys.push_back(key_of(*leader));
    return;
  }
  for (const api::BindRequest* member : view.bind_requests_of_decision(request->decision_id))
    if (!has_ended(*member)) keys.push_back(key_of(*member));
}

void keys_of_claim(const View& view, const Delta& delta, Keys& keys) {
  for (const api::BindRequest* request : view.bind_requests_of_claim(delta.key.ns, delta.key.name))
    add_with_leader(view, *request, keys);
}

// Nodes change all the time; only that one comes or goes matters here. Cost then: every request.
void keys_of_node(const View& view, const Delta& delta, Keys& keys) {
  if (delta.before && delta.after) return;
  for (const auto& [name, request] : view.bind_requests.all())
    if (request->node == delta.key.name) add_with_leader(view, *request, keys);
}

bool adds_consumer(const Effects& effects) {
  return std::any_of(effects.chains.begin(), effects.chains.end(), [](const client::Chain& chain) {
    return chain.key.kind == api::Kind::ResourceClaim && !chain.writes.empty() &&
           chain.writes.front().request.verb == client::Verb::JsonPatch;
  });
}

}  // namespace

Duration retry_delay(const BinderOptions& options, std::int32_t failed_attempts) {
  Duration delay = options.retry_base;
  for (std::int32_t i = 0; i < failed_attempts && delay < options.retry_cap; ++i) delay = delay * 2;
  return std::min(delay, options.retry_cap);
}

Result<std::unique_ptr<Binder>> Binder::make(BinderOptions options) {
  Plugins plugins = TRY(make_plugins(options.plugins));
  return std::unique_ptr<Binder>(new Binder(std::move(options), std::move(plugins)));
}

std::vector<client::Interest> Binder::interests() const {
  return {{api::Kind::BindRequest, {}, keys_of_request},
          {api::Kind::ResourceClaim, {}, keys_of_claim},
          {api::Kind::Pod,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             add_requests_of_pod(view, delta.key.ns, delta.key.name, keys);
           }},
          {api::Kind::Node, {}, keys_of_node}};
}

Binder::Memory* Binder::remember(const api::ObjectKey& key, const std::string& uid) {
  const auto found = memory_.find(key);
  if (found == memory_.end() && memory_.size() >= kRememberedMax) return nullptr;
  Memory& memory = memory_[key];
  if (memory.uid != uid) memory = {uid, false, false, std::nullopt};
  return &memory;
}

Effects Binder::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
  if (!request || has_ended(*request)) {
    Effects effects = request ? announce(view, key, *request, now) : Effects::nothing();
    memory_.erase(key);
    return effects;
  }
  if (request->meta.deleting()) return Effects::nothing();
  const auto found = memory_.find(key);
  std::optional<Refusal> refusal;
  if (found != memory_.end() && found->second.uid == request->meta.uid)
    refusal = std::exchange(found->second.refusal, std::nullopt);
  Ladder ladder(view, *request, now, options_, plugins_, refusal ? &*refusal : nullptr);
  Effects effects = ladder.climb();
  if (!request->claims.empty()) measure(key, *request, ladder, view, now);
  if (ladder.binds())
    if (Memory* memory = remember(key, request->meta.uid)) {
      memory->announce = true;
      memory->writes_before_binding = ladder.writes_before_binding();
    }
  const bool adds = adds_consumer(effects);
  if (adds || (found != memory_.end() && found->second.adds))
    if (Memory* memory = remember(key, request->meta.uid)) memory->adds = adds;
  return effects;
}

// A request that is new when it is seen first began now; another one when it was made, which is known to the
// second.
void Binder::measure(const api::ObjectKey& key, const api::BindRequest& request, const Ladder& ladder,
                     const View& view, Time now) {
  Memory* memory = remember(key, request.meta.uid);
  if (!memory || memory->measured) return;
  const Time made = request.meta.created;
  if (!memory->started.is_set())
    memory->started = made.is_set() && now - made >= Duration::seconds(1) ? made : now;
  if (ladder.waits_for_conditions() && !memory->waiting_since.is_set()) memory->waiting_since = now;
  if (!ladder.pre_bind_end()) return;
  memory->measured = true;
  const Time since = memory->waiting_since.is_set() ? memory->waiting_since : now;
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  figures_.count(request, *ladder.pre_bind_end(), now - memory->started, now - since,
                 pod ? pod->scheduler_name : "");
}

void Binder::settle(const View& view, const api::ObjectKey& key, const client::Outcome& outcome, Time) {
  const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
  if (!request || has_ended(*request)) return;
  const auto found = memory_.find(key);
  const std::size_t before = found == memory_.end() ? 0 : found->second.writes_before_binding;
  std::optional<Refusal> refusal = refusal_of(outcome, before);
  if (!refusal) return;
  Memory* memory = remember(key, request->meta.uid);
  if (!memory) return;
  refusal->of_addition = memory->adds && refusal->failure == api::FailureClass::Permanent;
  memory->refusal = std::move(refusal);
}

// Only after the fact: an event that says "assigned" is never early.
Effects Binder::announce(const View& view, const api::ObjectKey& key, const api::BindRequest& request,
                         Time now) {
  const auto found = memory_.find(key);
  const bool news = found != memory_.end() && found->second.uid == request.meta.uid && found->second.announce;
  if (!news || request.phase != api::BindPhase::Succeeded) return Effects::nothing();
  Effects effects;
  effects.events.push_back(event_of_pod(
      view, request, "Scheduled", "Binding",
      "Successfully assigned " + request.meta.ns + "/" + request.pod_name + " to " + request.node));
  const BindContext context{view, request, look_for_pod(view, request).pod, now, options_, false};
  for (const auto& plugin : plugins_)
    for (client::Chain& chain : plugin->post_bind(context)) effects.chains.push_back(std::move(chain));
  return effects;
}

}  // namespace berth::binding
