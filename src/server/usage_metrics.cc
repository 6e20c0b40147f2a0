#include "server/usage_metrics.h"

#include <optional>

#include "server/metadata.h"
#include "server/status.h"

namespace berth::server {
namespace {

constexpr std::string_view kMetricsGroup = "metrics.k8s.io";
constexpr std::string_view kMeasuredPods = "pods", kMeasuredNodes = "nodes";
// Stored pods that may run contain it.
constexpr std::string_view kRunningPhase = "\"phase\":\"Running\"";

Json usage_json(const api::ResourceMap& amounts) {
  Json usage = Json::object();
  for (const auto& [resource, amount] : amounts) usage[resource] = amount.text();
  return usage;
}

// The members of metrics up to the amounts; metrics are created when they are made.
Json metrics_json(std::string_view kind, const api::ObjectMeta& of, const api::MeasuredTime& time) {
  Json metadata = Json::object({{"name", of.name}});
  if (!of.ns.empty()) metadata["namespace"] = of.ns;
  const std::string timestamp = format_time(time.timestamp);
  metadata["creationTimestamp"] = timestamp;
  for (const auto& [key, value] : of.labels) metadata["labels"][key] = value;
  return Json::object({{"kind", kind},
                       {"apiVersion", std::string(kMetricsGroup) + "/v1beta1"},
                       {"metadata", std::move(metadata)},
                       {"timestamp", timestamp},
                       {"window", std::to_string(time.window.whole_seconds()) + "s"}});
}

// At the place of the object that it is about.
store::ObjectPtr metrics_object(const store::Object& about, const Json& metrics) {
  return std::make_shared<const store::Object>(
      store::Object{about.key, about.uid, about.created, about.revision, to_string(metrics)});
}

void add_usage(api::ResourceMap& sum, const api::PodUsage& usage) {
  for (const api::UsageEntry& container : usage.containers)
    for (const auto& [resource, amount] : container.amounts) sum[resource] += amount;
}

}  // namespace

bool is_measured_usage(const api::ResourceInfo& resource) {
  return resource.group == kMetricsGroup && !resource.custom;
}

// The metrics of one request: all of one time.
class UsageMetrics::Sample {
 public:
  Sample(const UsageMetrics& metrics, Time now) : metrics_(metrics), now_(now) {}

  store::ObjectPtr of_pod(const store::Object& object) {
    if (object.bytes.find(kRunningPhase) == std::string::npos) return nullptr;
    const Result<Json> document = metrics_.registry_.document_of(object);
    if (!document) return nullptr;
    const api::Pod pod = api::decode_pod(*document, nullptr);
    if (!is_measured_node(pod.node_name)) return nullptr;
    const std::optional<api::PodUsage> usage = api::usage_of(pod, now_);
    if (!usage) return nullptr;
    Json made = metrics_json("PodMetrics", pod.meta, usage->time);
    JsonArray containers;
    for (const api::UsageEntry& container : usage->containers)
      containers.push_back(
          Json::object({{"name", container.container}, {"usage", usage_json(container.amounts)}}));
    made["containers"] = std::move(containers);
    return metrics_object(object, made);
  }

  store::ObjectPtr of_node(const store::Object& object) {
    const Result<Json> document = metrics_.registry_.document_of(object);
    if (!document) return nullptr;
    const api::Node node = api::decode_node(*document, nullptr);
    if (!api::is_measured(node)) return nullptr;
    const std::optional<api::MeasuredTime> time = api::measured_time(node.meta.created, now_);
    if (!time) return nullptr;
    if (!sums_) sums_ = metrics_.sums();
    api::ResourceMap used = api::own_usage(node);
    if (const auto pods = sums_->by_node.find(node.meta.name); pods != sums_->by_node.end())
      for (const auto& [resource, amount] : pods->second) used[resource] += amount;
    Json made = metrics_json("NodeMetrics", node.meta, *time);
    made["usage"] = usage_json(used);
    return metrics_object(object, made);
  }

 private:
  bool is_measured_node(const std::string& name) {
    const auto [known, is_new] = measured_nodes_.try_emplace(name, false);
    if (!is_new) return known->second;
    const store::ObjectPtr node = metrics_.registry_.store().get({std::string(kMeasuredNodes), "", name});
    const Result<Json> document = node ? metrics_.registry_.document_of(*node) : Json();
    known->second = node && document && api::is_measured(api::decode_node(*document, nullptr));
    return known->second;
  }

  const UsageMetrics& metrics_;
  const Time now_;
  std::map<std::string, bool> measured_nodes_;
  std::shared_ptr<const NodeSums> sums_;
};

ObjectMaker UsageMetrics::maker(const api::ResourceInfo& resource) const {
  const auto sample = std::make_shared<Sample>(*this, registry_.dependencies().clock.now());
  const bool of_pods = resource.plural == kMeasuredPods;
  return [sample, of_pods](const store::ObjectPtr& object) {
    return of_pods ? sample->of_pod(*object) : sample->of_node(*object);
  };
}

ApiResult<Answer> UsageMetrics::get(const ObjectTarget& target) const {
  const store::ObjectPtr about = registry_.store().get(key_of(target));
  if (about)
    if (store::ObjectPtr made = maker(*target.resource)(about)) return Answer{.object = std::move(made)};
  // As metrics-server names them.
  const bool of_pods = target.resource->plural == kMeasuredPods;
  return not_found({kMetricsGroup, of_pods ? "podmetrics" : "nodemetrics"},
                   of_pods ? target.ns + "/" + target.name : target.name);
}

std::shared_ptr<const UsageMetrics::NodeSums> UsageMetrics::sums_within(Duration age) const {
  const Time now = registry_.dependencies().clock.monotonic();
  const std::lock_guard lock(mutex_);
  return sums_ && now - sums_->at < age ? sums_ : nullptr;
}

std::shared_ptr<const UsageMetrics::NodeSums> UsageMetrics::sums() const {
  if (auto known = sums_within(kNodeSumsAge)) return known;
  std::unique_lock summing(summing_, std::try_to_lock);
  if (!summing.owns_lock()) {
    if (auto known = sums_within(kNodeSumsAgeMax)) return known;
    summing.lock();
  }
  // Another thread may have summed since.
  if (auto known = sums_within(kNodeSumsAge)) return known;
  auto made = sum();
  const std::lock_guard lock(mutex_);
  sums_ = std::move(made);
  return sums_;
}

std::shared_ptr<const UsageMetrics::NodeSums> UsageMetrics::sum() const {
  auto sums = std::make_shared<NodeSums>();
  sums->at = registry_.dependencies().clock.monotonic();
  const Time now = registry_.dependencies().clock.now();
  for (const store::ObjectPtr& object : registry_.stored_with(kMeasuredPods, kRunningPhase)) {
    const Result<Json> document = registry_.document_of(*object);
    if (!document) continue;
    const api::Pod pod = api::decode_pod(*document, nullptr);
    if (const auto usage = api::usage_of(pod, now)) add_usage(sums->by_node[pod.node_name], *usage);
  }
  return sums;
}

}  // namespace berth::server
