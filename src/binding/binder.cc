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

// Only the creation and deletion of nodes matter here. Cost: O(requests) for each.
void keys_of_node(const View& view, const Delta& delta, Keys& keys) {
  if (delta.before && delta.after) return;
  for (const auto& [name, request] : view.bind_requests.all())
    if (request->node == delta.key.name && !has_ended(*request)) keys.push_back(key_of(*request));
}

// Requests that bind the volume, and those whose claim names it.
void keys_of_volume(const View& view, const Delta& delta, Keys& keys) {
  add_pending(view.bind_requests_of_volume(delta.key.name), keys);
  for (const api::PersistentVolumeClaim* claim : view.claims_of_volume(delta.key.name))
    add_pending(view.bind_requests_of_volume_claim(claim->meta.ns, claim->meta.name), keys);
}

client::EventNote scheduled_event(const View& view, const api::BindRequest& request) {
  return event_of_pod(
      view, request, "Scheduled", "Binding",
      "Successfully assigned " + request.meta.ns + "/" + request.pod_name + " to " + request.node);
}

// Null unless the run read a Lease; such a run does nothing else.
const client::ChainOutcome* lease_read(const client::Outcome& outcome) {
  const bool read = outcome.chains.size() == 1 && outcome.chains.front().key.kind == api::Kind::Lease;
  return read ? &outcome.chains.front() : nullptr;
}

bool adds_consumer(const Effects& effects) {
  return std::any_of(effects.chains.begin(), effects.chains.end(), [](const client::Chain& chain) {
    return chain.key.kind == api::Kind::ResourceClaim && !chain.writes.empty() &&
           chain.writes.front().request.verb == client::Verb::JsonPatch;
  });
}

}  // namespace

void TermDoubts::add(const api::BindRequest& request, TermDoubt doubt) {
  const auto index = static_cast<std::size_t>(doubt);
  ++counts[index];
  latest[index] = request.meta.ns + "/" + request.meta.name + " of epoch " + std::to_string(request.epoch) +
                  " of Lease " + request.lease.ns + "/" + request.lease.name;
}

Result<std::unique_ptr<Binder>> Binder::make(BinderOptions options) {
  Plugins plugins = TRY(options.registry.make(options.plugins));
  return std::unique_ptr<Binder>(new Binder(std::move(options), std::move(plugins)));
}

std::vector<client::Interest> Binder::interests() const {
  std::vector<client::Interest> interests = own_interests();
  if (options_.composite_groups)
    interests.push_back(
        {api::Kind::CompositePodGroup, {}, [](const View& view, const Delta& delta, Keys& keys) {
           add_pending(view.bind_requests_of_root(delta.key.ns, delta.key.name), keys);
         }});
  for (const auto& plugin : plugins_)
    for (client::Interest& more : plugin->interests()) interests.push_back(std::move(more));
  return interests;
}

std::vector<client::Interest> Binder::own_interests() const {
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
             const auto requests = view.bind_requests_of_pod(delta.key.ns, delta.key.name);
             if (delta.after) return add_pending(requests, keys);
             for (const api::BindRequest* request : requests) keys.push_back(key_of(*request));
           }},
          {api::Kind::PodGroup,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             add_pending(view.bind_requests_of_group(delta.key.ns, delta.key.name), keys);
           }},
          {api::Kind::PersistentVolumeClaim,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             add_pending(view.bind_requests_of_volume_claim(delta.key.ns, delta.key.name), keys);
           }},
          {api::Kind::PersistentVolume, {}, keys_of_volume},
          {api::Kind::Node, {}, keys_of_node}};
}

Binder::RequestRecord& Binder::remember(const api::BindRequest& request, Time now) {
  const auto [at, is_new] = records_.try_emplace(key_of(request));
  RequestRecord& record = at->second;
  if (is_new || record.uid != request.meta.uid || record.decision != request.decision_id) {
    ++open_[request.decision_id];
    if (!is_new) close_one(record.decision);
    record = {request.meta.uid, request.decision_id, now};
    record.lease_reads = fence_->reads_begun(request);
  }
  return record;
}

void Binder::forget(const api::ObjectKey& key) {
  const auto found = records_.find(key);
  if (found == records_.end()) return;
  close_one(found->second.decision);
  records_.erase(found);
}

// What is known of a decision is forgotten with its last record.
void Binder::close_one(const std::string& decision) {
  const auto found = open_.find(decision);
  if (--found->second > 0) return;
  commits_.erase(decision);
  open_.erase(found);
}

Effects Binder::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
  pending_.answered(view, key);
  if (!request || has_ended(*request)) return after_end(view, key, request, now);
  const bool stands_for_a_pod = !request->pod_name.empty();  // the record of a gang does not
  if (request->meta.deleting() || !stands_for_a_pod) return Effects::nothing();
  if (deciding_.contains(request->decision_id) && !is_failing(*request) && Gang(view, *request).undecided()) {
    Effects effects;  // the change of the group wakes it too
    effects.wake_at = now + kDecidingPause;
    return effects;
  }
  RequestRecord& record = remember(*request, now);
  if (std::optional<Effects> reads = learn_term(*request, record, now)) return *std::move(reads);
  if (awaits_view(view, *request, record, now)) {
    Effects effects;
    effects.wake_at = record.bound_at + kBoundViewWait;
    return effects;
  }
  const std::optional<WriteFailure> write_failure = std::exchange(record.write_failure, std::nullopt);
  const RequestHistory known{record.first_seen,
                             write_failure ? &*write_failure : nullptr,
                             record.term && record.term->kind == TermVerdict::Kind::Late,
                             commits_.contains(request->decision_id),
                             &pending_,
                             record.post_bind_failures,
                             record.post_bind_failure};
  BindCycle cycle(view, *request, now, known, options_, plugins_);
  Effects effects = cycle.step();
  if (cycle.sees_commit()) commits_.insert(request->decision_id);
  if (now < request->deadline)
    effects.wake_at = std::min(effects.wake_at.value_or(request->deadline), request->deadline);
  pending_.sent(view, *request, effects);
  if (!request->claims.empty()) measure(*request, record, cycle, view, now);
  if (cycle.binds()) record.announce = true;
  if (cycle.ends_in_memory()) {
    if (!std::exchange(record.announced, true)) effects.events.push_back(scheduled_event(view, *request));
  } else if (cycle.binds() && request->in_memory) {
    record.bound_at = now;
    effects.wake_at = now + kBoundViewWait;
  }
  record.bind_writes = cycle.bind_writes();
  record.adds = adds_consumer(effects);
  record.failing = cycle.fails();
  record.nomination.under_way = false;
  if (cycle.waits() && options_.nominations)
    nominations_.add(*observe_pod(view, *request).pod, request->node, record.nomination, now, effects);
  return effects;
}

Effects Binder::after_end(const View& view, const api::ObjectKey& key, const api::BindRequest* request,
                          Time now) {
  Effects effects = request ? announce(view, key, *request) : Effects::nothing();
  for (client::Chain& chain : pending_.to_seal(view, key)) effects.chains.push_back(std::move(chain));
  forget(key);
  const std::optional<Time> expiry = request ? expiry_of(view, *request) : std::nullopt;
  if (expiry && now < *expiry) effects.wake_at = expiry;
  if (expiry && now >= *expiry)
    effects.chains.push_back({key, {client::delete_object(key, request->meta.uid)}});
  return effects;
}

void Binder::measure(const api::BindRequest& request, RequestRecord& record, const BindCycle& cycle,
                     const View& view, Time now) {
  if (record.measured) return;
  if (cycle.waits_for_conditions() && !record.waiting_since.is_set()) record.waiting_since = now;
  if (!cycle.pre_bind_end()) return;
  record.measured = true;
  const Time since = record.waiting_since.is_set() ? record.waiting_since : now;
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  metrics_.count(request, *cycle.pre_bind_end(), now - record.first_seen, now - since,
                 pod ? pod->scheduler_name : "");
}

TermVerdict Binder::term_of(const api::BindRequest& request, Time now) const {
  const auto found = records_.find(key_of(request));
  const bool known = found != records_.end() && found->second.uid == request.meta.uid &&
                     found->second.decision == request.decision_id;
  if (known && found->second.term) return *found->second.term;
  return fence_->judge(request, known ? found->second.lease_reads : fence_->reads_begun(request), now);
}

std::optional<Effects> Binder::learn_term(const api::BindRequest& request, RequestRecord& record, Time now) {
  if (record.term) return std::nullopt;
  const TermVerdict verdict = fence_->judge(request, record.lease_reads, now);
  if (verdict.kind != TermVerdict::Kind::Unknown) {
    record.term = verdict;
    if (verdict.doubt) term_doubts_.add(request, *verdict.doubt);
    return std::nullopt;
  }
  Effects effects;
  effects.wake_at = now + kLeaseReadInterval;
  if (std::optional<client::Write> read = fence_->read(request, now)) {
    const client::ApiRequest& about = read->request;
    effects.chains.push_back({{api::Kind::Lease, about.ns, about.name, {}}, {*std::move(read)}});
    effects.wake_at = now;
  }
  return effects;
}

bool Binder::awaits_lease(const api::BindRequest& request, Time now) const {
  return term_of(request, now).kind == TermVerdict::Kind::Unknown;
}

bool Binder::gives_up(const api::BindRequest& request, Time now) const {
  if (term_of(request, now).kind != TermVerdict::Kind::Valid) return true;
  const auto found = records_.find(key_of(request));
  if (found == records_.end() || found->second.decision != request.decision_id) return false;
  return found->second.failing || found->second.write_failure.has_value();
}

void Binder::on_outcome(const View& view, const api::ObjectKey& key, const client::Outcome& outcome,
                        Time now) {
  if (const client::ChainOutcome* read = lease_read(outcome))
    return fence_->read_answered(read->key.name, read->last, now);
  const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
  pending_.failed(view, key, outcome);
  if (!request || has_ended(*request)) return;
  RequestRecord& record = remember(*request, now);
  record.bound_at = {};
  if (record.nomination.under_way) return;
  if (std::optional<std::string> why = post_bind_failure_of(outcome, record.bind_writes)) {
    ++record.post_bind_failures;
    record.post_bind_failure = *std::move(why);
  }
  std::optional<WriteFailure> write_failure = write_failure_of(
      outcome, record.bind_writes, {api::Kind::Pod, request->meta.ns, request->pod_name, {}});
  if (!write_failure) return;
  write_failure->of_addition = record.adds && write_failure->failure == api::FailureClass::Permanent;
  record.write_failure = std::move(write_failure);
}

bool Binder::awaits_view(const View& view, const api::BindRequest& request, const RequestRecord& record,
                         Time now) {
  if (!record.bound_at.is_set() || now >= record.bound_at + kBoundViewWait) return false;
  const PodObservation observation = observe_pod(view, request);
  return observation.pod && !observation.pod->bound();
}

// The end of a request is when its condition Bound became what it is.
std::optional<Time> Binder::expiry_of(const View& view, const api::BindRequest& request) {
  if (!request.meta.owners.empty() || request.meta.deleting()) return std::nullopt;
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  if (pod && pod->meta.uid == request.pod_uid) return std::nullopt;
  const api::Condition* bound = api::find_condition(request.conditions, api::kBound);
  return (bound ? bound->last_transition : request.meta.created) + kOwnerlessRequestTtl;
}

// Reports only a binding that succeeded.
Effects Binder::announce(const View& view, const api::ObjectKey& key, const api::BindRequest& request) {
  const auto found = records_.find(key);
  const bool news = found != records_.end() && found->second.uid == request.meta.uid &&
                    found->second.decision == request.decision_id && found->second.announce;
  if (!news || request.phase != api::BindPhase::Succeeded) return Effects::nothing();
  Effects effects;
  effects.events.push_back(scheduled_event(view, request));
  if (const api::Condition* given_up = api::find_condition(request.conditions, api::kPostBindCompleted)) {
    effects.events.push_back(
        event_of_pod(view, request, "PostBindFailed", "Binding",
                     "writes of binder plugins after the binding were given up: " + given_up->message));
    effects.events.back().warning = true;
  }
  return effects;
}

}  // namespace berth::binding
