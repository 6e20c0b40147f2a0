#include "binding/testing/fake_cluster.h"

#include <algorithm>

#include "api/patch.h"

namespace berth::binding::testing {
namespace {

using client::ApiReply;
using client::ApiRequest;
using client::Delivery;
using client::Verb;

ApiReply refused(int code, std::string reason, std::string message = "refused by the test") {
  ApiReply reply;
  reply.code = code;
  reply.reason = std::move(reason);
  reply.message = std::move(message);
  return reply;
}

std::string_view meta_at(const Json& object, std::string_view field) {
  const Json* meta = object.find("metadata");
  return meta ? meta->string_at(field) : std::string_view();
}

api::ObjectKey key_of_request(const ApiRequest& request) {
  return {
      api::kind_of_resource(request.resource.group, request.resource.resource), request.ns, request.name, {}};
}

std::string log_line(const ApiRequest& request) {
  std::string line = request.verb == Verb::Create ? "create " : "patch ";
  line += request.resource.resource + " " + request.name;
  if (!request.subresource.empty()) line += "/" + request.subresource;
  return line;
}

}  // namespace

struct FakeCluster::ChainRun {
  client::Chain chain;
  std::size_t next = 0;
  std::string version;
  client::ChainOutcome outcome;
};

struct FakeCluster::Flight {
  api::ObjectKey key;
  std::vector<ChainRun> open;
  client::Outcome outcome;
  std::optional<Time> wake_at;
  bool again = false;
};

FakeCluster::FakeCluster(BinderOptions options) : options_(options) {
  crash();
}

void FakeCluster::put(api::Kind kind, std::string_view text) {
  Json object = *parse_json(text);
  Json& meta = object["metadata"];
  if (meta.string_at("uid").empty()) meta["uid"] = "u" + std::to_string(++uids_);
  const api::ObjectKey key{
      kind, std::string(meta.string_at("namespace")), std::string(meta.string_at("name")), {}};
  static_cast<void>(store(key, std::move(object)));
  unseen_.push_back(key);
}

void FakeCluster::change(const api::ObjectKey& key, std::string_view merge_patch) {
  Json next = objects_.at(key);
  next = api::merge_patched(std::move(next), *parse_json(merge_patch));
  static_cast<void>(store(key, std::move(next)));
  unseen_.push_back(key);
}

void FakeCluster::remove(const api::ObjectKey& key) {
  ++version_;
  objects_.erase(key);
  unseen_.push_back(key);
}

const Json* FakeCluster::find(const api::ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

void FakeCluster::deliver() {
  for (const api::ObjectKey& key : std::exchange(unseen_, {})) learn(key);
}

void FakeCluster::learn(const api::ObjectKey& key) {
  const Json* object = find(key);
  if (!object) return publish(view_.erase(key, version_));
  const auto raw = std::make_shared<const std::string>(to_string(*object));
  publish(view_.put(key, *api::decode_typed(key.kind, raw)));
}

void FakeCluster::publish(const std::optional<client::Delta>& delta) {
  if (!delta) return;
  std::vector<api::ObjectKey> keys;
  for (client::Reconciler* reconciler : {static_cast<client::Reconciler*>(binder_.get()), barrier_.get()})
    for (const client::Interest& interest : reconciler->interests())
      if (interest.kind == delta->key.kind) interest.keys(view_, *delta, keys);
  for (const api::ObjectKey& key : keys) {
    const auto flight =
        std::find_if(flights_.begin(), flights_.end(), [&](const auto& f) { return f->key == key; });
    if (flight != flights_.end())
      (*flight)->again = true;
    else if (std::find(queue_.begin(), queue_.end(), key) == queue_.end())
      queue_.push_back(key);
  }
}

ApiReply FakeCluster::store(const api::ObjectKey& key, Json next) {
  next["metadata"]["resourceVersion"] = std::to_string(++version_);
  ApiReply reply;
  reply.code = 200;
  reply.object = std::make_shared<const std::string>(to_string(next));
  objects_[key] = std::move(next);
  return reply;
}

ApiReply FakeCluster::carry_out(const ApiRequest& request) {
  const api::ObjectKey key = key_of_request(request);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return refused(404, "NotFound");
  if (request.verb == Verb::Get) {
    ApiReply reply;
    reply.code = 200;
    reply.object = std::make_shared<const std::string>(to_string(found->second));
    return reply;
  }
  Json next = found->second;
  if (request.verb == Verb::JsonPatch) {
    Result<Json> patched = api::apply_json_patch(std::move(next), request.body);
    if (!patched) return refused(422, "Invalid", patched.error().message());
    if (on_write) on_write(request);
    log.push_back(log_line(request));
    return store(key, *std::move(patched));
  }
  Json body = *parse_json(request.body);
  const std::string_view uid = meta_at(body, "uid"), version = meta_at(body, "resourceVersion");
  if (!uid.empty() && uid != meta_at(next, "uid")) return refused(409, "Conflict", "UID differs");
  if (!version.empty() && version != meta_at(next, "resourceVersion"))
    return refused(409, "Conflict", "modified");
  if (request.subresource == "binding") {
    if (!meta_at(next, "deletionTimestamp").empty() || next.find_path({"spec", "nodeName"}))
      return refused(409, "Conflict", "already assigned or being deleted");
    next["spec"]["nodeName"] = body.find_path({"target", "name"})->as_string();
  } else if (request.subresource == "status") {
    next["status"] = api::merge_patched(std::move(next["status"]), *body.find("status"));
  } else {
    body.as_object().erase("status");
    next = api::merge_patched(std::move(next), body);
  }
  if (on_write) on_write(request);
  log.push_back(log_line(request));
  return store(key, std::move(next));
}

std::size_t FakeCluster::runnable() const {
  return queue_.size();
}

void FakeCluster::run(std::size_t nth) {
  const auto at = queue_.begin() + static_cast<std::ptrdiff_t>(nth % queue_.size());
  const api::ObjectKey key = std::move(*at);
  queue_.erase(at);
  parked_.erase(key);
  client::Effects effects = decide(key);
  for (client::EventNote& event : effects.events) events.push_back(std::move(event));
  if (effects.chains.empty()) {
    if (effects.wake_at) parked_[key] = *effects.wake_at;
    return;
  }
  auto flight = std::make_shared<Flight>();
  flight->key = key;
  flight->wake_at = effects.wake_at;
  for (client::Chain& chain : effects.chains) {
    client::ChainOutcome outcome;
    outcome.key = chain.key;
    flight->open.push_back({std::move(chain), 0, "", outcome});
  }
  flights_.push_back(std::move(flight));
}

std::size_t FakeCluster::in_flight() const {
  std::size_t chains = 0;
  for (const auto& flight : flights_) chains += flight->open.size();
  return chains;
}

void FakeCluster::step(std::size_t nth, InjectedFault fault) {
  nth %= in_flight();
  std::size_t at = 0;
  while (nth >= flights_[at]->open.size()) nth -= flights_[at++]->open.size();
  const std::shared_ptr<Flight> flight = flights_[at];
  ChainRun& run = flight->open[nth];
  ApiRequest request = run.chain.writes[run.next].request;
  if (run.chain.writes[run.next].on_previous_version) {
    Json body = *parse_json(request.body);
    body["metadata"]["resourceVersion"] = run.version;
    request.body = to_string(body);
  }
  ApiReply reply;
  if (fault == InjectedFault::ServerError) {
    reply = refused(500, "InternalError");
  } else if (fault == InjectedFault::Refused) {
    reply = refused(422, "Invalid");
  } else {
    if (fault != InjectedFault::LostNotDone) reply = carry_out(request);
    if (fault != InjectedFault::None) {
      reply = {};
      reply.delivery = Delivery::Lost;
    }
  }
  const api::ObjectKey key = key_of_request(request);
  run.outcome.last = reply;
  const client::Write& write = run.chain.writes[run.next];
  const bool fine = std::find(write.fine_reasons.begin(), write.fine_reasons.end(), reply.reason) !=
                    write.fine_reasons.end();
  const bool stopped =
      reply.ok() && !write.stop_if_uid.empty() && write.stop_if_uid == meta_at(objects_.at(key), "uid");
  if (reply.delivery == Delivery::Answered && fine) {
    run.outcome.ok = ++run.next == run.chain.writes.size();
    if (!run.outcome.ok) return;
  } else if (reply.ok() && !stopped) {
    ++run.outcome.writes_accepted;
    run.version = std::string(meta_at(objects_.at(key), "resourceVersion"));
    run.outcome.ok = ++run.next == run.chain.writes.size();
  }
  if (fault != InjectedFault::ServerError && fault != InjectedFault::Refused) learn(key);
  if (reply.ok() && !stopped && !run.outcome.ok) return;
  flight->outcome.chains.push_back(std::move(run.outcome));
  flight->open.erase(flight->open.begin() + static_cast<std::ptrdiff_t>(nth));
  if (flight->open.empty()) finish(at);
}

void FakeCluster::finish(std::size_t at) {
  const std::shared_ptr<Flight> flight = flights_[at];
  flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(at));
  const auto& chains = flight->outcome.chains;
  const bool fine = std::all_of(chains.begin(), chains.end(), [](const auto& chain) { return chain.ok; });
  if (!fine) reconciler_of(flight->key).on_outcome(view_, flight->key, flight->outcome, now);
  if (flight->again || !fine) queue_.push_back(flight->key);
  if (flight->wake_at) parked_[flight->key] = *flight->wake_at;
}

void FakeCluster::crash() {
  barrier_.reset();
  binder_ = *Binder::make(options_);
  barrier_ = make_gang_barrier(options_, *binder_);
  view_ = client::View();
  flights_.clear();
  queue_.clear();
  parked_.clear();
  unseen_.clear();
  for (const auto& [key, object] : objects_) {
    const auto raw = std::make_shared<const std::string>(to_string(object));
    static_cast<void>(view_.put(key, *api::decode_typed(key.kind, raw)));
  }
  queue_ = {};
  for (const api::Kind kind : {api::Kind::BindRequest, api::Kind::PodGroup})
    for (const api::ObjectKey& key : view_.keys(kind)) queue_.push_back(key);
}

void FakeCluster::run_until_idle(Time until) {
  constexpr int kStepsMax = 100'000;
  for (int steps = 0; steps < kStepsMax; ++steps) {
    deliver();
    if (!queue_.empty()) {
      run(0);
    } else if (in_flight() > 0) {
      step(0, InjectedFault::None);
    } else {
      const auto next = std::min_element(parked_.begin(), parked_.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (next == parked_.end() || next->second > until) return;
      now = std::max(now, next->second);
      queue_.push_back(next->first);
      parked_.erase(next);
    }
  }
  BERTH_ASSERT(false, "the binder never comes to rest");
}

}  // namespace berth::binding::testing
