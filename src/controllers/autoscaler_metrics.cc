#include "controllers/autoscaler_metrics.h"

#include <algorithm>
#include <map>

#include "client/view.h"

namespace berth::controllers {
namespace {

constexpr std::int64_t kPercentOfAll = 100;

// One metric of type Resource or ContainerResource.
struct ResourceMetric {
  std::string resource;
  std::string container;  // empty: of all together
  bool by_utilization = true;
  std::int64_t target = 0;  // a percentage of requests, or thousandths
};

struct Measured {
  std::int64_t replicas = 0;
  std::int64_t average_millis = 0;
  std::int64_t utilization = 0;
};

// A value and what it should be: compared without division.
struct UsageRatio {
  __int128 value = 0, target = 1;
  bool above() const { return value > target; }
  bool below() const { return value < target; }
  bool is_within(const Tolerances& tolerances) const {
    constexpr __int128 kNanos = 1'000'000'000;
    return value * kNanos <= target * (kNanos + tolerances.up.nanos()) &&
           value * kNanos >= target * (kNanos - tolerances.down.nanos());
  }
  std::int64_t ceil_of(std::size_t count) const {
    return static_cast<std::int64_t>((value * static_cast<__int128>(count) + target - 1) / target);
  }
};

// Thousandths by name of the pod.
using Millis = std::map<std::string, std::int64_t, std::less<>>;

std::int64_t sum_of(const Millis& values) {
  std::int64_t sum = 0;
  for (const auto& [name, millis] : values) sum += millis;
  return sum;
}

// Whether the cpu of a pod does not count yet. Only a pod with metrics is asked about.
bool is_initializing(const ScaledPod& scaled, Time now) {
  const api::Pod& pod = *scaled.pod;
  const api::Condition* ready = api::find_condition(pod.conditions, "Ready");
  if (!ready || !pod.started.is_set()) return true;
  const bool is_unready = ready->status == "False";
  if (now < pod.started + kCpuInitializationPeriod) {
    const api::MeasuredTime& time = scaled.usage->time;
    return is_unready || time.timestamp < ready->last_transition + time.window;
  }
  return is_unready && ready->last_transition < pod.started + kInitialReadinessDelay;
}

class ResourceRun {
 public:
  ResourceRun(const ResourceMetric& metric, const MetricQuestion& question)
      : metric_(metric), question_(question) {}

  // Refuses with the text that follows "failed to get cpu utilization: ".
  Result<Measured> go() {
    if (question_.pods.empty())
      return refused("no pods returned by selector while calculating replica count");
    TRY(read_usages());
    if (usages_.empty())
      return refused("unable to get metrics for resource " + metric_.resource +
                     ": no metrics returned from resource metrics API");
    sort_pods();
    if (metric_.by_utilization) TRY(read_requests());
    if (usages_.empty()) return refused("did not receive metrics for targeted pods (pods might be unready)");
    const UsageRatio ratio = TRY(ratio_now());
    Measured measured;
    measured.average_millis = sum_of(usages_) / static_cast<std::int64_t>(usages_.size());
    measured.utilization = metric_.by_utilization ? static_cast<std::int64_t>(ratio.value) : 0;
    measured.replicas = TRY(replicas_for(ratio));
    return measured;
  }

 private:
  static Error refused(std::string why) { return Error(ErrorCode::Unavailable, std::move(why)); }

  Status read_usages() {
    for (const ScaledPod& scaled : question_.pods) {
      if (!scaled.usage) continue;
      const std::string& name = scaled.pod->meta.name;
      if (metric_.container.empty()) {
        usages_[name] = scaled.usage->total(metric_.resource).ceil_millis();
        continue;
      }
      const auto& containers = scaled.usage->containers;
      const auto found = std::ranges::find(containers, metric_.container, &api::UsageEntry::container);
      if (found == containers.end())
        return refused("container " + metric_.container + " not present in metrics for pod " +
                       scaled.pod->meta.ns + "/" + name);
      usages_[name] = found->amounts.at(metric_.resource).ceil_millis();
    }
    return {};
  }

  // Leaves usages of the pods that count, and notes who is missing.
  void sort_pods() {
    for (const ScaledPod& scaled : question_.pods) {
      const api::Pod& pod = *scaled.pod;
      const std::string& name = pod.meta.name;
      if (pod.meta.deleting() || pod.phase == "Failed") {
        usages_.erase(name);
      } else if (pod.phase == "Pending") {
        unready_.push_back(&scaled);
        usages_.erase(name);
      } else if (!scaled.usage) {
        missing_.push_back(&scaled);
      } else if (metric_.resource == "cpu" && is_initializing(scaled, question_.now)) {
        unready_.push_back(&scaled);
        usages_.erase(name);
      } else {
        ++ready_count_;
      }
    }
  }

  Status read_requests() {
    for (const ScaledPod& scaled : question_.pods) {
      const api::Pod& pod = *scaled.pod;
      if (pod.meta.deleting() || pod.phase == "Failed") continue;
      requests_[pod.meta.name] = TRY(request_of(pod));
    }
    return {};
  }

  Result<std::int64_t> request_of(const api::Pod& pod) const {
    if (metric_.container.empty() && pod.pod_level_requests)
      if (const auto whole = pod.pod_level_requests->find(metric_.resource);
          whole != pod.pod_level_requests->end())
        return whole->second.ceil_millis();
    std::int64_t sum = 0;
    const auto add = [&](const api::Container& container) -> Status {
      if (!metric_.container.empty() && container.name != metric_.container) return {};
      const auto request = container.requests.find(metric_.resource);
      if (request == container.requests.end())
        return refused("missing request for " + metric_.resource + " in container " + container.name +
                       " of Pod " + pod.meta.name);
      sum += request->second.ceil_millis();
      return {};
    };
    for (const api::Container& container : pod.containers) TRY(add(container));
    for (const api::Container& container : pod.init_containers)
      if (container.restartable_init) TRY(add(container));
    return sum;
  }

  // Of the pods that have a usage.
  Result<UsageRatio> ratio_now() const {
    const __int128 used = sum_of(usages_);
    if (!metric_.by_utilization)
      return UsageRatio{used / static_cast<__int128>(usages_.size()), metric_.target};
    __int128 requested = 0;
    for (const auto& [name, usage] : usages_) requested += requests_.at(name);
    if (requested == 0) return refused("no metrics returned matched known pods");
    return UsageRatio{used * kPercentOfAll / requested, metric_.target};
  }

  // Missing pods use what changes least: all of the target before replicas go, nothing before some come. Pods
  // that are not ready yet use nothing before some come.
  Result<std::int64_t> replicas_for(const UsageRatio& ratio) {
    const bool counts_unready = ratio.above() && !unready_.empty();
    if (!counts_unready && missing_.empty()) {
      if (ratio.is_within(question_.tolerances)) return question_.replicas;
      return ratio.ceil_of(ready_count_);
    }
    if (ratio.below())
      for (const ScaledPod* scaled : missing_) usages_[scaled->pod->meta.name] = assumed_usage(*scaled);
    if (ratio.above())
      for (const ScaledPod* scaled : missing_) usages_[scaled->pod->meta.name] = 0;
    if (counts_unready)
      for (const ScaledPod* scaled : unready_) usages_[scaled->pod->meta.name] = 0;
    const UsageRatio next = TRY(ratio_now());
    const bool turns = (ratio.below() && next.above()) || (ratio.above() && next.below());
    if (turns || next.is_within(question_.tolerances)) return question_.replicas;
    const std::int64_t replicas = next.ceil_of(usages_.size());
    const bool against = next.below() ? replicas > question_.replicas : replicas < question_.replicas;
    return against ? question_.replicas : replicas;
  }

  std::int64_t assumed_usage(const ScaledPod& scaled) const {
    if (!metric_.by_utilization) return metric_.target;
    return requests_.at(scaled.pod->meta.name) * std::max(kPercentOfAll, metric_.target) / kPercentOfAll;
  }

  const ResourceMetric& metric_;
  const MetricQuestion& question_;
  Millis usages_, requests_;
  std::size_t ready_count_ = 0;
  std::vector<const ScaledPod*> unready_, missing_;
};

// One metric's answer: a number of replicas, or why there is none.
struct MetricAnswer {
  std::optional<std::int64_t> replicas;
  std::string name;
  Json current;
  MetricFailure failure;
};

MetricAnswer resource_answer(const Json& source, bool of_container, const MetricQuestion& question) {
  const Json& target = source.part("target");
  ResourceMetric metric;
  metric.resource = source.string_at("name");
  if (of_container) metric.container = source.string_at("container");
  metric.by_utilization = !target.find("averageValue");
  const auto average = parse_quantity(target.string_at("averageValue"));
  metric.target = metric.by_utilization ? target.int_at("averageUtilization")
                  : average             ? average->ceil_millis()
                                        : 0;

  const std::string word = of_container ? " container resource" : " resource";
  MetricAnswer answer;
  answer.name =
      metric.resource + word + (metric.by_utilization ? " utilization (percentage of request)" : "");
  const Result<Measured> measured =
      metric.target > 0 ? ResourceRun(metric, question).go()
                        : Result<Measured>(Error(ErrorCode::Invalid, "the target is not positive"));
  if (!measured) {
    answer.failure.reason = of_container ? "FailedGetContainerResourceMetric" : "FailedGetResourceMetric";
    answer.failure.message = "failed to get " + metric.resource +
                             (metric.by_utilization ? " utilization: " : " usage: ") +
                             measured.error().message();
    answer.failure.of_metric =
        "failed to get " + metric.resource + word + " metric value: " + answer.failure.message;
    return answer;
  }
  answer.replicas = measured->replicas;
  Json current = Json::object();
  if (metric.by_utilization) current["averageUtilization"] = measured->utilization;
  current["averageValue"] = Quantity::millis(measured->average_millis).text();
  Json shown = Json::object({{"name", metric.resource}});
  if (of_container) shown["container"] = metric.container;
  shown["current"] = std::move(current);
  answer.current = Json::object({{"type", of_container ? "ContainerResource" : "Resource"}});
  answer.current[of_container ? "containerResource" : "resource"] = std::move(shown);
  return answer;
}

// Of a metric that only an adapter knows, which no API server here has.
MetricAnswer unserved_answer(std::string_view type, const Json& metric, const MetricQuestion& question) {
  const std::string name(metric.part("metric").string_at("name"));
  MetricAnswer answer;
  answer.failure.reason = "FailedGet" + std::string(type) + "Metric";
  if (type == "External")
    answer.failure.message = "unable to get external metric " + std::string(question.ns) + "/" + name +
                             ": unable to fetch metrics from external metrics API: no external metrics API "
                             "(external.metrics.k8s.io) registered";
  else
    answer.failure.message = "unable to get metric " + name +
                             ": unable to fetch metrics from custom metrics API: no custom metrics API "
                             "(custom.metrics.k8s.io) registered";
  std::string word(type);
  word.front() = static_cast<char>(word.front() - 'A' + 'a');
  answer.failure.of_metric = "failed to get " + word + " metric value: " + answer.failure.message;
  return answer;
}

MetricAnswer answer_of(const Json& metric, const MetricQuestion& question) {
  const std::string_view type = metric.string_at("type");
  if (type == "Resource") return resource_answer(metric.part("resource"), false, question);
  if (type == "ContainerResource") return resource_answer(metric.part("containerResource"), true, question);
  if (type == "Pods") return unserved_answer(type, metric.part("pods"), question);
  if (type == "Object") return unserved_answer(type, metric.part("object"), question);
  if (type == "External") return unserved_answer(type, metric.part("external"), question);
  MetricAnswer answer;
  answer.failure.reason = "InvalidMetricSourceType";
  answer.failure.message = "unknown metric source type " + to_string(Json(type));
  answer.failure.of_metric = answer.failure.message;
  return answer;
}

}  // namespace

std::vector<ScaledPod> scaled_pods(const View& view, const std::string& ns,
                                   const api::LabelSelector& selector, Time now) {
  std::vector<ScaledPod> found;
  const auto& pods = view.pods.all();
  for (auto at = pods.lower_bound({ns, ""}); at != pods.end() && at->first.ns == ns; ++at) {
    if (!selector.matches(at->second->meta.labels)) continue;
    const api::Node* node = view.nodes.find("", at->second->node_name);
    ScaledPod scaled{at->second, std::nullopt};
    if (node && api::is_measured(*node)) scaled.usage = api::usage_of(*scaled.pod, now);
    found.push_back(std::move(scaled));
  }
  return found;
}

std::string MetricsProposal::error() const {
  return "invalid metrics (" + std::to_string(failures.size()) + " invalid out of " +
         std::to_string(metric_count) + "), first error is: " + failures.front().of_metric;
}

MetricsProposal proposal_of(const JsonArray& metrics, const MetricQuestion& question) {
  MetricsProposal proposal;
  proposal.metric_count = metrics.size();
  for (const Json& metric : metrics) {
    MetricAnswer answer = answer_of(metric, question);
    if (!answer.replicas) {
      proposal.failures.push_back(std::move(answer.failure));
      proposal.current.push_back(Json::object({{"type", ""}}));
      continue;
    }
    proposal.current.push_back(std::move(answer.current));
    if (proposal.replicas && *proposal.replicas >= *answer.replicas) continue;
    proposal.replicas = answer.replicas;
    proposal.metric = std::move(answer.name);
  }
  // With a metric less, fewer replicas would be a guess.
  if (!proposal.failures.empty() && proposal.replicas && *proposal.replicas < question.replicas)
    proposal.replicas.reset();
  return proposal;
}

}  // namespace berth::controllers
