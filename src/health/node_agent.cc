#include "health/node_agent.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/log.h"

namespace berth::health {

NodeAgent::NodeAgent(std::string node, const std::string& folder, PluginClient& client, HealthFeed& feed,
                     Post post, Save save, HealthTiming timing, NodeRole role)
    : node_(std::move(node)),
      client_(client),
      feed_(feed),
      post_(std::move(post)),
      save_(std::move(save)),
      drivers_(
          node_, client,
          [post = post_](std::function<void(NodePlugins&, Time)> work) {
            post([work = std::move(work)](NodeAgent& self, Time now) { work(self.drivers_, now); });
          },
          {[this](Time now) {
             const bool added = saved_devices_ != drivers_.cache().devices_added();
             changed(added ? Durable::First : Durable::Soon, now);
           },
           [this](Time now) { heard(now); },
           [this](Time now) {
             changed(Durable::First, now);
             claims_.retry_now();
             call_drivers(now);
           },
           [this](bool introducing) { feed_.put_introducing(node_, introducing); }},
          timing, role),
      plugins_(
          node_, folder + "/device-plugins", client,
          [post = post_](std::function<void(DevicePlugins&, Time)> work) {
            post([work = std::move(work)](NodeAgent& self, Time now) { work(self.plugins_, now); });
          },
          [this](Time now) {
            changed(Durable::Soon, now);
            for (auto& [uid, refusal] : refusals_) refusal.retry_at = now;
            allocate(now);
          },
          timing) {}

NodeAgent::~NodeAgent() = default;

void NodeAgent::restore(Kept kept, std::optional<Duration> passed, Time now) {
  drivers_.restore(kept.drivers, passed, now);
  plugins_.restore(kept.resources, passed, now);
  allocations_.restore(std::move(kept.held));
  claims_.restore(std::move(kept.claims),
                  passed ? ClaimInfoCache::Boot::Same : ClaimInfoCache::Boot::Another);
  drivers_.restore_claim_drivers(kept.claim_drivers);
  changed(Durable::Soon, now);
}

void NodeAgent::pods_changed(Time now) {
  pods_ = feed_.pods(node_);
  if (!pods_) return;
  const bool released = allocations_.retain(*pods_);
  std::set<std::string_view> uids;
  for (const NodePod& pod : *pods_) uids.insert(pod.uid);
  const auto gone = std::erase_if(refusals_, [&](const auto& entry) { return !uids.contains(entry.first); });
  claims_.retain(*pods_);
  if (released || gone > 0 || claims_.version() != claims_shown_version_) changed(Durable::Soon, now);
  if (released)
    for (auto& [uid, refusal] : refusals_) refusal.retry_at = now;
  allocate(now);
  call_drivers(now);
}

void NodeAgent::allocate(Time now) {
  if (!pods_) return;
  for (const NodePod& pod : *pods_) {
    if (allocating_) return;
    const auto refusal = refusals_.find(pod.uid);
    if (refusal != refusals_.end() && now < refusal->second.retry_at) continue;
    if (const auto missing = allocations_.missing(pod, plugins_.resources()))
      begin(*missing, now);
    else if (refusal != refusals_.end())
      refusals_.erase(refusal);
  }
}

void NodeAgent::begin(const MissingDevices& missing, Time now) {
  const PluginRegistration* plugin = plugins_.plugin_of(missing.resource);
  if (!plugin)
    return refuse(missing.pod->uid, "no device plugin of " + missing.resource + " is registered", now);
  auto choice = allocations_.candidates(missing, plugins_.resources().find(missing.resource)->second);
  if (!choice) return refuse(missing.pod->uid, choice.error().message(), now);
  AllocateCall call;
  call.amount = missing.amount;
  call.chosen = DeviceAllocations::chosen(*choice, missing.amount);
  call.must_include = std::move(choice->taken_over);
  call.available = std::move(choice->available);
  call.ask_preference = plugin->preferences;
  call.pre_start = plugin->pre_start;
  allocating_ = true;
  const ContainerId container{missing.pod->uid, missing.container->name};
  const bool reusable = missing.container->runs == ContainerNeeds::Runs::First;
  client_.allocate(
      plugins_.socket_of(*plugin), std::move(call),
      [post = post_, container, resource = missing.resource, reusable](Result<AllocateAnswer> answer) {
        post(
            [=](NodeAgent& self, Time then) { self.on_answer(container, resource, reusable, answer, then); });
      });
}

void NodeAgent::on_answer(const ContainerId& container, const std::string& resource, bool reusable,
                          const Result<AllocateAnswer>& answer, Time now) {
  allocating_ = false;
  const auto& pods = *pods_;
  const bool there =
      std::any_of(pods.begin(), pods.end(), [&](const NodePod& pod) { return pod.uid == container.pod_uid; });
  if (there && answer) {
    allocations_.hold(container, resource, {answer->ids, reusable, answer->response});
    refusals_.erase(container.pod_uid);
    changed(Durable::First, now);
  } else if (there) {
    refuse(container.pod_uid, answer.error().message(), now);
  }
  allocate(now);
}

void NodeAgent::refuse(const std::string& pod_uid, const std::string& text, Time now) {
  Refusal& refusal = refusals_[pod_uid];
  refusal.retry_at = now + backoff(kAllocateBackoffBase, kAllocateBackoffMax, ++refusal.failures);
  if (refusal.text == text) return;
  refusal.text = bounded_message(text);
  changed(Durable::Soon, now);
}

// What a driver is asked, and for which pods, is in the checkpoint first; without it nothing is asked.
void NodeAgent::call_drivers(Time now) {
  if (!pods_) return;
  const std::uint64_t version = claims_.version();
  const std::vector<DriverCall> calls = claims_.due(*pods_, drivers_.claim_drivers(), now);
  if (claims_.version() != version || (!calls.empty() && version != claims_saved_version_)) save(now);
  const bool is_saved = claims_.version() == claims_saved_version_;
  for (const DriverCall& call : calls) {
    if (is_saved)
      send(call);
    else
      claims_.answered(call, Error(ErrorCode::Unavailable, "the checkpoint cannot be written"), now);
  }
  if (claims_.version() != claims_shown_version_) changed(Durable::Soon, now);
}

void NodeAgent::send(const DriverCall& call) {
  const NodePlugins::ClaimEndpoint endpoint = drivers_.claim_endpoint(call.driver);
  client_.call(endpoint.socket, {endpoint.service, call.operation, call.claims},
               [post = post_, call](Result<ClaimResults> results) {
                 post([=](NodeAgent& self, Time now) { self.on_results(call, results, now); });
               });
}

void NodeAgent::on_results(const DriverCall& call, const Result<ClaimResults>& results, Time now) {
  const std::string problem = claims_.answered(call, results, now);
  if (!problem.empty())
    log(LogLevel::Warning, "a driver's call for claims failed",
        {{"node", node_}, {"driver", call.driver}, {"cause", problem}});
  call_drivers(now);
}

void NodeAgent::step(Time now) {
  drivers_.step(now);
  plugins_.step(now);
  allocate(now);
  if (const auto due = claims_.next_wake(); due && *due <= now) call_drivers(now);
  if (save_due_ && *save_due_ <= now) save(now);
}

std::optional<Time> NodeAgent::next_wake() const {
  std::optional<Time> next = save_due_;
  const auto earlier = [&next](const std::optional<Time>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  earlier(drivers_.next_wake());
  earlier(plugins_.next_wake());
  if (pods_) earlier(claims_.next_wake());
  if (!allocating_)
    for (const auto& [uid, refusal] : refusals_) earlier(refusal.retry_at);
  return next;
}

// After a crash the restarted agent knows every device that a status shows, so its last health does not stay
// there for ever.
void NodeAgent::changed(Durable durable, Time now) {
  if (durable == Durable::First)
    save(now);
  else if (const Time due = saved_at_.is_set() ? saved_at_ + kCheckpointPeriod : now;
           !save_due_ || due < *save_due_)
    save_due_ = due;
  publish();
}

void NodeAgent::publish() {
  if (claims_.version() != claims_shown_version_) {
    claims_shown_ = std::make_shared<const ClaimInfos>(claims_.infos());
    claims_shown_version_ = claims_.version();
  }
  auto snapshot = std::make_shared<HealthSnapshot>(*drivers_.cache().snapshot());
  snapshot->resources = plugins_.resources();
  snapshot->held = allocations_.held();
  for (const auto& [uid, refusal] : refusals_) snapshot->refused.emplace(uid, refusal.text);
  snapshot->claim_drivers = drivers_.claim_drivers();
  snapshot->claims = claims_shown_;
  for (const auto& [uid, text] : claims_.failures()) snapshot->unprepared.emplace(uid, bounded_message(text));
  feed_.publish(node_, std::move(snapshot));
}

void NodeAgent::heard(Time now) {
  if (save_due_ || saved_at_ == now) return;
  save_due_ = saved_at_.is_set() ? saved_at_ + kHeartbeatCheckpointPeriod : now;
}

void NodeAgent::save(Time now) {
  std::set<std::string> claim_drivers;
  for (const auto& [name, registered] : drivers_.claim_drivers()) claim_drivers.insert(name);
  const Status saved = save_({drivers_.cache().kept(now), plugins_.kept(now), allocations_.held(),
                              claims_.infos(), std::move(claim_drivers)});
  saved_at_ = now;
  saved_devices_ = drivers_.cache().devices_added();
  if (saved.ok()) claims_saved_version_ = claims_.version();
  save_due_.reset();
}

void NodeAgent::flush(Time now) {
  if (save_due_) save(now);
}

}  // namespace berth::health
