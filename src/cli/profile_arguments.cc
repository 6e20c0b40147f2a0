#include "cli/profile_arguments.h"

#include <algorithm>
#include <set>

#include "api/decode.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/document.h"
#include "api/types/pod.h"
#include "cli/kube_scheduler_configuration.h"

namespace berth::cli {
namespace {

using api::FieldErrors;
using placement::UtilizationPoint;
using placement::WeightedResource;

constexpr std::int64_t kScoreMax = 10;  // of a shape's point
constexpr std::int64_t kPercentMax = 100;
constexpr Duration kTimeoutMin = Duration::seconds(1);
constexpr Duration kTimeoutMax = Duration::minutes(24 * 60);

struct Notes {
  std::vector<std::string>& all;
  // `place` has no effect.
  void add(const YamlPlace& place, std::string_view why) const {
    if (place.present()) all.push_back(place.path() + " has no effect: " + std::string(why));
  }
};

std::string range_text(std::int64_t low, std::int64_t high) {
  return "not in valid range [" + std::to_string(low) + ", " + std::to_string(high) + "]";
}

Result<std::int64_t> whole_in(const YamlPlace& place, std::int64_t otherwise, std::int64_t low,
                              std::int64_t high) {
  const std::int64_t number = TRY(place.whole(otherwise));
  if (number < low || number > high)
    TRY(place.accept({api::invalid(place.path(), number, range_text(low, high))}));
  return number;
}

// `value` as a canonical document of a type of core/v1; unknown fields are refused.
Result<Json> core_document(const YamlPlace& place, std::string_view type, Json value) {
  auto decoded = api::decode_document(api::table_type("", "v1", type), std::move(value));
  if (!decoded) return place.refused(decoded.error().message());
  if (!decoded->strict_errors.empty()) return place.refused(api::strict_error_text(decoded->strict_errors));
  return std::move(decoded->document);
}

// ---- one reader for each plugin ----

Status read_node_affinity(const YamlPlace& args, ProfileArguments& to, const Notes&) {
  TRY(args.has_only({"apiVersion", "kind", "addedAffinity"}, "NodeAffinityArgs"));
  const YamlPlace added = args.at("addedAffinity");
  if (!added.present()) return {};
  const Json affinity = TRY(core_document(added, "Affinity", Json::object({{"nodeAffinity", added.json()}})));
  FieldErrors errors = api::check_affinity(api::FieldPath("/"), affinity);
  for (api::FieldError& error : errors) {
    constexpr std::string_view kRoot = "/.nodeAffinity";
    error.path = added.path() + error.path.substr(std::min(kRoot.size(), error.path.size()));
  }
  TRY(added.accept(errors));
  api::Pod pod = api::decode_pod(Json::object({{"spec", Json::object({{"affinity", affinity}})}}), {});
  to.plugins.node_affinity = {std::move(pod.required_node_affinity), std::move(pod.preferred_nodes)};
  return {};
}

Result<std::vector<UtilizationPoint>> read_shape(const YamlPlace& shape) {
  std::vector<UtilizationPoint> points;
  for (const YamlPlace& item : TRY(shape.items())) {
    TRY(item.has_only({"utilization", "score"}, "a point"));
    const YamlPlace utilization = item.at("utilization");
    UtilizationPoint point;
    point.utilization = TRY(whole_in(utilization, 0, 0, kPercentMax));
    point.score = TRY(whole_in(item.at("score"), 0, 0, kScoreMax));
    if (!points.empty() && points.back().utilization >= point.utilization)
      TRY(utilization.accept({api::invalid(utilization.path(), point.utilization,
                                           "values must be sorted in increasing order")}));
    points.push_back(point);
  }
  return points;
}

Result<std::vector<WeightedResource>> read_resources(const YamlPlace& resources, std::int64_t weight_max) {
  std::vector<WeightedResource> all;
  for (const YamlPlace& item : TRY(resources.items())) {
    TRY(item.has_only({"name", "weight"}, "a resource"));
    WeightedResource one;
    one.name = TRY(item.at("name").text(""));
    if (one.name.empty()) TRY(item.accept({api::required(item.at("name").path())}));
    if (std::ranges::find(all, one.name, &WeightedResource::name) != all.end())
      TRY(item.accept({api::duplicate(item.at("name").path(), one.name)}));
    const YamlPlace weight = item.at("weight");
    one.weight = TRY(weight.whole(1));
    if (one.weight == 0) one.weight = 1;
    if (one.weight < 1 || one.weight > weight_max)
      TRY(weight.accept({api::invalid(
          weight.path(), one.weight,
          weight_max == 1 ? std::string("must be 1")
                          : "resource weight of " + one.name + " not in valid range (0, 100]")}));
    all.push_back(std::move(one));
  }
  if (all.size() > placement::kScoredResourcesMax)
    return resources.refused("has " + std::to_string(all.size()) + " resources: Berth scores by at most " +
                             std::to_string(placement::kScoredResourcesMax));
  if (all.empty()) all = {{"cpu"}, {"memory"}};
  return all;
}

Status read_strategy(const YamlPlace& strategy, placement::ResourcesFitArguments& to) {
  using enum placement::FitStrategy;
  constexpr std::pair<std::string_view, placement::FitStrategy> kStrategies[] = {
      {"LeastAllocated", LeastAllocated},
      {"MostAllocated", MostAllocated},
      {"RequestedToCapacityRatio", RequestedToCapacityRatio}};
  if (!strategy.present()) return {};
  TRY(strategy.has_only({"type", "resources", "requestedToCapacityRatio"}, "a scoringStrategy"));
  const std::string type = TRY(strategy.at("type").text(""));
  const auto row =
      std::ranges::find(kStrategies, std::string_view(type), [](auto& one) { return one.first; });
  if (row == std::end(kStrategies))
    return strategy.accept({api::not_supported(
        strategy.at("type").path(), type, {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"})});
  to.strategy = row->second;
  to.resources = TRY(read_resources(strategy.at("resources"), kPercentMax));
  const YamlPlace ratio = strategy.at("requestedToCapacityRatio");
  if (to.strategy != RequestedToCapacityRatio) {
    if (!ratio.present()) return {};
    return ratio.accept(
        {api::forbidden(ratio.path(), "must be nil when type is not RequestedToCapacityRatio")});
  }
  if (!ratio.present())
    return strategy.accept(
        {api::required(ratio.path(), "must be specified when type is RequestedToCapacityRatio")});
  TRY(ratio.has_only({"shape"}, "requestedToCapacityRatio"));
  to.shape = TRY(read_shape(ratio.at("shape")));
  if (!to.shape.empty()) return {};
  return ratio.accept({api::required(ratio.at("shape").path(), "at least one point must be specified")});
}

Status read_resources_fit(const YamlPlace& args, ProfileArguments& to, const Notes&) {
  TRY(args.has_only({"apiVersion", "kind", "ignoredResources", "ignoredResourceGroups", "scoringStrategy"},
                    "NodeResourcesFitArgs"));
  placement::ResourcesFitArguments& fit = to.plugins.resources_fit;
  for (const std::string_view list : {"ignoredResources", "ignoredResourceGroups"})
    for (const YamlPlace& item : TRY(args.at(list).items())) {
      const std::string name = TRY(item.text(""));
      const bool group = list == "ignoredResourceGroups";
      if (group && name.find('/') != std::string::npos)
        TRY(item.accept({api::invalid(item.path(), name, "resource group name can't contain '/'")}));
      for (const std::string& problem : api::qualified_name_problems(name))
        TRY(item.accept({api::invalid(item.path(), name, problem)}));
      (group ? fit.ignored_groups : fit.ignored_resources).push_back(name);
    }
  return read_strategy(args.at("scoringStrategy"), fit);
}

Status read_balanced(const YamlPlace& args, ProfileArguments& to, const Notes&) {
  TRY(args.has_only({"apiVersion", "kind", "resources"}, "NodeResourcesBalancedAllocationArgs"));
  to.plugins.balanced_allocation.resources = TRY(read_resources(args.at("resources"), 1));
  return {};
}

Status read_topology_spread(const YamlPlace& args, ProfileArguments& to, const Notes&) {
  TRY(args.has_only({"apiVersion", "kind", "defaultConstraints", "defaultingType"}, "PodTopologySpreadArgs"));
  const YamlPlace type = args.at("defaultingType"), list = args.at("defaultConstraints");
  const std::string defaulting = TRY(type.text("System"));
  if (defaulting != "System" && defaulting != "List")
    return type.accept({api::not_supported(type.path(), defaulting, {"System", "List"})});
  JsonArray constraints;
  for (const YamlPlace& item : TRY(list.items())) {
    constraints.push_back(TRY(core_document(item, "TopologySpreadConstraint", item.json())));
    for (const std::string_view field : {"labelSelector", "matchLabelKeys"})
      if (item.at(field).present())
        TRY(item.accept({api::forbidden(item.at(field).path(),
                                        "constraint must not define a selector, as they "
                                        "deduced for each pod")}));
  }
  if (defaulting == "System" && !constraints.empty())
    return list.accept({api::invalid(type.path(), defaulting, "when .defaultConstraints are not empty")});
  TRY(list.accept(api::check_spread(api::FieldPath(list.path()), constraints)));
  api::Pod pod = api::decode_pod(
      Json::object({{"spec", Json::object({{"topologySpreadConstraints", Json(std::move(constraints))}})}}),
      {});
  to.plugins.topology_spread = {defaulting == "System", std::move(pod.required_spread),
                                std::move(pod.preferred_spread)};
  return {};
}

Status read_inter_pod_affinity(const YamlPlace& args, ProfileArguments& to, const Notes&) {
  TRY(args.has_only({"apiVersion", "kind", "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"},
                    "InterPodAffinityArgs"));
  to.plugins.inter_pod_affinity = {TRY(whole_in(args.at("hardPodAffinityWeight"), 1, 0, kPercentMax)),
                                   TRY(args.at("ignorePreferredTermsOfExistingPods").flag(false))};
  return {};
}

Status read_volume_binding(const YamlPlace& args, ProfileArguments& to, const Notes&) {
  TRY(args.has_only({"apiVersion", "kind", "bindTimeoutSeconds", "shape"}, "VolumeBindingArgs"));
  const YamlPlace timeout = args.at("bindTimeoutSeconds");
  const std::int64_t seconds = TRY(timeout.whole(to.binder.volume_timeout.millis() / 1000));
  if (seconds < 0)
    TRY(timeout.accept({api::invalid(timeout.path(), seconds,
                                     "invalid BindTimeoutSeconds, should not be a negative value")}));
  if (seconds < 1 || seconds > kTimeoutMax.millis() / 1000)
    return timeout.refused(std::to_string(seconds) +
                           " is out of bounds: Berth's binder waits 1 to 86400 seconds");
  to.binder.volume_timeout = Duration::seconds(seconds);
  to.binder.volume_timeout_given = timeout.present();
  if (std::vector<UtilizationPoint> shape = TRY(read_shape(args.at("shape"))); !shape.empty())
    to.plugins.volume_binding.shape = std::move(shape);
  return {};
}

Status read_dynamic_resources(const YamlPlace& args, ProfileArguments& to, const Notes& notes) {
  TRY(args.has_only({"apiVersion", "kind", "filterTimeout", "bindingTimeout"}, "DynamicResourcesArgs"));
  const YamlPlace filter = args.at("filterTimeout"), binding = args.at("bindingTimeout");
  if (TRY(filter.duration(Duration())) < Duration())
    TRY(filter.accept({api::invalid(filter.path(), filter.json(), "must be zero or positive")}));
  notes.add(filter, "Berth bounds the search on a node by its steps, not by time");
  to.binder.binding_timeout = TRY(binding.duration(to.binder.binding_timeout));
  to.binder.binding_timeout_given = binding.present();
  if (to.binder.binding_timeout < kTimeoutMin)
    TRY(binding.accept({api::invalid(binding.path(), binding.json(), "must be at least 1 second")}));
  if (to.binder.binding_timeout > kTimeoutMax)
    return binding.refused(to_string(binding.json()) + " is out of bounds: Berth's binder waits 1s to 24h");
  return {};
}

Status read_default_preemption(const YamlPlace& args, ProfileArguments&, const Notes& notes) {
  TRY(args.has_only({"apiVersion", "kind", "minCandidateNodesPercentage", "minCandidateNodesAbsolute"},
                    "DefaultPreemptionArgs"));
  const YamlPlace percentage = args.at("minCandidateNodesPercentage"),
                  absolute = args.at("minCandidateNodesAbsolute");
  const std::int64_t share = TRY(whole_in(percentage, 10, 0, kPercentMax));
  const std::int64_t count = TRY(absolute.whole(100));
  if (count < 0) TRY(absolute.accept({api::invalid(absolute.path(), count, "not in valid range [0, inf)")}));
  if (share == 0 && count == 0)
    TRY(percentage.accept({api::invalid(percentage.path(), share,
                                        "cannot be zero at the same time as minCandidateNodesAbsolute")}));
  for (const YamlPlace* one : {&percentage, &absolute})
    notes.add(*one, "Berth considers every node that victims may help on");
  return {};
}

struct ArgumentsReader {
  std::string_view plugin;
  Status (*read)(const YamlPlace& args, ProfileArguments& to, const Notes& notes);
};
constexpr ArgumentsReader kReaders[] = {
    {"DefaultPreemption", read_default_preemption},     {"DynamicResources", read_dynamic_resources},
    {"InterPodAffinity", read_inter_pod_affinity},      {"NodeAffinity", read_node_affinity},
    {"NodeResourcesBalancedAllocation", read_balanced}, {"NodeResourcesFit", read_resources_fit},
    {"PodTopologySpread", read_topology_spread},        {"VolumeBinding", read_volume_binding},
};

Status check_head(const YamlPlace& args, const std::string& plugin) {
  if (!args.json().is_object()) return args.has_only({}, plugin + "Args");
  const std::string kind = TRY(args.at("kind").text(plugin + "Args"));
  if (kind != plugin + "Args")
    return args.at("kind").refused("args for plugin " + plugin + " were not of type " + plugin + "Args." +
                                   "kubescheduler.config.k8s.io, got " + kind);
  const std::string version = TRY(args.at("apiVersion").text(kKubeSchedulerVersion));
  if (version != kKubeSchedulerVersion)
    return args.at("apiVersion")
        .refused("is \"" + version + "\": write " + std::string(kKubeSchedulerVersion));
  return {};
}

bool is_enabled(const placement::EnabledPlugins& enabled, std::string_view plugin) {
  return std::ranges::any_of(enabled.points, [&](const std::vector<placement::EnabledPlugin>& point) {
    return std::ranges::find(point, plugin, &placement::EnabledPlugin::name) != point.end();
  });
}

}  // namespace

Result<ProfileArguments> read_arguments(const YamlPlace& entries, const std::vector<SchedulerPlugin>& known,
                                        const placement::EnabledPlugins& enabled,
                                        std::vector<std::string>& notes) {
  ProfileArguments arguments;
  std::set<std::string> seen;
  for (const YamlPlace& entry : TRY(entries.items())) {
    TRY(entry.has_only({"name", "args"}, "a pluginConfig"));
    const std::string name = TRY(entry.at("name").text(""));
    if (std::ranges::find(known, name, &SchedulerPlugin::name) == known.end())
      return entry.at("name").refused("\"" + name + "\" is no plugin of Berth: remove the entry");
    if (!seen.insert(name).second) TRY(entry.accept({api::duplicate(entry.path(), name)}));
    const YamlPlace args = entry.at("args");
    if (!args.present()) continue;
    TRY(check_head(args, name));
    const auto reader = std::ranges::find(kReaders, std::string_view(name), &ArgumentsReader::plugin);
    if (reader == std::end(kReaders))
      return args.refused("plugin " + name + " takes no arguments: remove them");
    TRY(reader->read(args, arguments, Notes{notes}));
    if (!is_enabled(enabled, name)) Notes{notes}.add(args, "the profile does not enable " + name);
  }
  return arguments;
}

}  // namespace berth::cli
