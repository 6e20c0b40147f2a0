#include "cli/scheduler_plugins.h"

#include <algorithm>
#include <optional>
#include <set>

namespace berth::cli {
namespace {

using placement::EnabledPlugin;
using placement::EnabledPlugins;
using placement::ExtensionPoint;
using placement::PluginSet;
using enum placement::ExtensionPoint;

constexpr std::uint16_t bit(ExtensionPoint point) {
  return static_cast<std::uint16_t>(1u << static_cast<unsigned>(point));
}
template <class... Points>
constexpr std::uint16_t at(Points... points) {
  return static_cast<std::uint16_t>((bit(points) | ...));
}

constexpr std::string_view kClaims = "Berth allocates the devices of every claim";
constexpr std::string_view kGroups = "pods of a PodGroup are always decided together";

struct KubePlugin {
  std::string_view name;
  std::uint16_t points;
  std::int64_t weight = 1;
  std::string_view always = {};
};
// Source: getDefaultPlugins and applyFeatureGates, with the interfaces that each plugin implements.
constexpr KubePlugin kKubePlugins[] = {
    {"SchedulingGates", at(PreEnqueue)},
    {"PrioritySort", at(QueueSort), 1, "no other plugin orders the queue"},
    {"NodeName", at(PreFilter, Filter)},
    {"NodeUnschedulable", at(PreFilter, Filter)},
    {"TaintToleration", at(PreFilter, Filter, PreScore, Score), 3},
    {"NodeAffinity", at(PreFilter, Filter, PreScore, Score), 2},
    {"NodePorts", at(PreFilter, Filter)},
    {"DeferredPodScheduling", at(PreFilter, Filter, Permit)},
    {"NodeResourcesFit", at(PreFilter, Filter, PreScore, Score, PlacementScore)},
    {"VolumeRestrictions", at(PreFilter, Filter)},
    {"NodeVolumeLimits", at(PreFilter, Filter)},
    {"VolumeBinding", at(PreFilter, Filter, Reserve, PreBind, PreScore, Score)},
    {"VolumeZone", at(PreFilter, Filter)},
    {"PodTopologySpread", at(PreFilter, Filter, PreScore, Score), 2},
    {"InterPodAffinity", at(PreFilter, Filter, PreScore, Score), 2},
    {"DynamicResources",
     at(PreEnqueue, PreFilter, Filter, PostFilter, PodGroupPostFilter, Score, Reserve, PreBind), 2, kClaims},
    {"DefaultPreemption", at(PreEnqueue, PostFilter, PodGroupPostFilter)},
    {"NodeResourcesBalancedAllocation", at(PreScore, Score)},
    {"ImageLocality", at(Score)},
    {"DefaultBinder", at(Bind), 1, "no other plugin binds pods"},
    {"NodeDeclaredFeatures", at(PreFilter, Filter)},
    {"GangScheduling", at(PreEnqueue, Permit), 1, kGroups},
    {"TopologyPlacementGenerator", at(PlacementGenerate), 1, kGroups},
    {"PodGroupPodsCount", at(PlacementScore)},
};
// Plugins with a reason in `always` can still be disabled here.
constexpr std::uint16_t kOptionalPoints = at(PostFilter, PodGroupPostFilter, Score);

// A plugin with both points has them both or neither; `forward`: the first one alone is harmless.
struct Pair {
  ExtensionPoint first, second;
  bool forward;
};
constexpr Pair kPairs[] = {
    {PreFilter, Filter, true}, {PreScore, Score, true}, {Filter, Reserve, false}, {Reserve, PreBind, false}};

bool has(const SchedulerPlugin& plugin, ExtensionPoint point) {
  return (plugin.points & bit(point)) != 0;
}

void add(std::vector<SchedulerPlugin>& all, std::string_view name, ExtensionPoint point,
         std::optional<std::int64_t> weight = {}) {
  const auto is_kube = [&](const KubePlugin& one) { return one.name == name; };
  if (std::ranges::any_of(kKubePlugins, is_kube)) return;
  auto row = std::ranges::find(all, name, &SchedulerPlugin::name);
  if (row == all.end()) row = all.insert(all.end(), SchedulerPlugin{std::string(name)});
  row->points |= bit(point);
  if (weight) row->weight = *weight;
}

// What a set of one point, or of multiPoint, says.
struct Rules {
  std::vector<EnabledPlugin> enabled;
  std::vector<std::string> enabled_paths;
  std::set<std::string, std::less<>> disabled;

  bool disables(std::string_view name) const { return disabled.contains("*") || disabled.contains(name); }
};

class PluginsReader {
 public:
  PluginsReader(const YamlPlace& plugins, const std::vector<SchedulerPlugin>& known)
      : plugins_(plugins), known_(known) {}

  Result<EnabledPlugins> read(std::vector<std::string>& notes) {
    if (Status fields = check_points(); !fields) return fields.error();
    const Rules multi = TRY(rules_of(plugins_.at("multiPoint"), std::nullopt));
    const std::vector<EnabledPlugin> everywhere = merged(multi);
    EnabledPlugins all;
    for (std::size_t i = 0; i < placement::kExtensionPointCount; ++i) {
      const auto point = static_cast<ExtensionPoint>(i);
      const YamlPlace place = plugins_.at(name_of(point));
      const Rules rules = TRY(rules_of(place, point));
      all.at(point) = expanded(rules, everywhere, point);
      TRY(keep_always(place, rules, multi, point, all, notes));
    }
    for (const Pair& pair : kPairs) TRY(check_pair(pair, all));
    return all;
  }

 private:
  const SchedulerPlugin* find(std::string_view name) const {
    const auto row = std::ranges::find(known_, name, &SchedulerPlugin::name);
    return row == known_.end() ? nullptr : &*row;
  }

  Status check_points() const {
    if (!plugins_.json().is_object()) return plugins_.has_only({}, "a profile's plugins");
    for (const JsonMember& member : plugins_.json().as_object()) {
      bool is_point = member.key == "multiPoint";
      std::string points = "multiPoint";
      for (std::size_t i = 0; i < placement::kExtensionPointCount; ++i) {
        const std::string_view point = name_of(static_cast<ExtensionPoint>(i));
        is_point |= member.key == point;
        points.append(", ").append(point);
      }
      if (!is_point) return plugins_.at(member.key).refused("is no extension point: these are " + points);
    }
    return {};
  }

  Error unknown(const YamlPlace& name, const std::string& text) const {
    std::string names;
    for (const SchedulerPlugin& one : known_) names.append(names.empty() ? "" : ", ").append(one.name);
    return name.refused("\"" + text + "\" is no plugin of Berth: remove the entry. Its plugins are " + names);
  }

  // `point`: none for multiPoint.
  Result<Rules> rules_of(const YamlPlace& place, std::optional<ExtensionPoint> point) const {
    Rules rules;
    TRY(place.has_only({"enabled", "disabled"}, "a plugin set"));
    for (const YamlPlace& entry : TRY(place.at("enabled").items())) {
      TRY(entry.has_only({"name", "weight"}, "a plugin"));
      const std::string name = TRY(entry.at("name").text(""));
      const SchedulerPlugin* plugin = find(name);
      if (!plugin) return unknown(entry.at("name"), name);
      if (point && !has(*plugin, *point))
        return entry.at("name").refused("plugin \"" + name + "\" does not extend " +
                                        std::string(name_of(*point)) + ": enable it at multiPoint");
      if (std::ranges::find(rules.enabled, name, &EnabledPlugin::name) != rules.enabled.end())
        return entry.at("name").refused("plugin \"" + name + "\" is already enabled here: keep one entry");
      const std::int64_t weight = TRY(entry.at("weight").whole(0));
      if (weight < 0 || weight > INT32_MAX)
        return entry.at("weight").refused(std::to_string(weight) +
                                          " is out of bounds: 0 to 2147483647, and 0 means 1");
      rules.enabled.push_back({name, weight == 0 ? 1 : weight});
    }
    for (const YamlPlace& entry : TRY(place.at("disabled").items())) {
      TRY(entry.has_only({"name", "weight"}, "a plugin"));
      const std::string name = TRY(entry.at("name").text(""));
      if (name != "*" && !find(name)) return unknown(entry.at("name"), name);
      rules.disabled.insert(name);
    }
    return rules;
  }

  // The defaults with what multiPoint says. Source: mergePluginSet.
  std::vector<EnabledPlugin> merged(const Rules& multi) const {
    std::vector<EnabledPlugin> all;
    const auto own = [&](const std::string& name) {
      return std::ranges::find(multi.enabled, name, &EnabledPlugin::name);
    };
    for (const SchedulerPlugin& plugin : known_) {
      if (multi.disables(plugin.name)) continue;
      const auto replaced = own(plugin.name);
      all.push_back(replaced == multi.enabled.end() ? EnabledPlugin{plugin.name, plugin.weight} : *replaced);
    }
    for (const EnabledPlugin& one : multi.enabled)
      if (std::ranges::find(all, one.name, &EnabledPlugin::name) == all.end()) all.push_back(one);
    return all;
  }

  // Source: expandMultiPointPlugins: plugins of the point that override multiPoint, the rest of multiPoint,
  // other plugins of the point.
  std::vector<EnabledPlugin> expanded(const Rules& rules, const std::vector<EnabledPlugin>& everywhere,
                                      ExtensionPoint point) const {
    if (rules.disabled.contains("*")) return rules.enabled;
    std::vector<EnabledPlugin> first, middle, last;
    std::set<std::string_view> overridden;
    for (const EnabledPlugin& one : everywhere) {
      if (!has(*find(one.name), point) || rules.disabled.contains(one.name)) continue;
      if (std::ranges::find(rules.enabled, one.name, &EnabledPlugin::name) != rules.enabled.end())
        overridden.insert(one.name);
      else
        middle.push_back(one);
    }
    for (const EnabledPlugin& one : rules.enabled)
      (overridden.contains(one.name) ? first : last).push_back(one);
    first.insert(first.end(), middle.begin(), middle.end());
    first.insert(first.end(), last.begin(), last.end());
    return first;
  }

  Status keep_always(const YamlPlace& place, const Rules& rules, const Rules& multi, ExtensionPoint point,
                     EnabledPlugins& all, std::vector<std::string>& notes) const {
    for (const SchedulerPlugin& plugin : known_) {
      if (plugin.always.empty() || !has(plugin, point) || (bit(point) & kOptionalPoints) != 0) continue;
      if (all.find(point, plugin.name)) continue;
      const std::string why = "\"" + plugin.name + "\" cannot be disabled: " + std::string(plugin.always);
      if (rules.disabled.contains(plugin.name)) return place.at("disabled").refused(why + "; remove it");
      if (multi.disabled.contains(plugin.name))
        return plugins_.at("multiPoint").at("disabled").refused(why + "; remove it");
      if (point == QueueSort || point == Bind)
        return (rules.disabled.contains("*") ? place : plugins_.at("multiPoint"))
            .refused("leaves " + std::string(name_of(point)) + " without a plugin: enable " + plugin.name +
                     ", for " + std::string(plugin.always));
      all.at(point).push_back({plugin.name, plugin.weight});
      notes.push_back(place.path() + ": " + plugin.name + " stays enabled: " + std::string(plugin.always));
    }
    return {};
  }

  // A plugin that has only one step of what Berth does in one.
  Status check_pair(const Pair& pair, const EnabledPlugins& all) const {
    for (const SchedulerPlugin& plugin : known_) {
      if (!has(plugin, pair.first) || !has(plugin, pair.second)) continue;
      const bool first = all.find(pair.first, plugin.name), second = all.find(pair.second, plugin.name);
      if (first == second || (first && pair.forward)) continue;
      const ExtensionPoint missing = first ? pair.second : pair.first,
                           there = first ? pair.first : pair.second;
      return plugins_.at(name_of(missing))
          .refused("disables \"" + plugin.name + "\", which " + std::string(name_of(there)) +
                   " enables: Berth runs both as one step; disable it at both, or at neither");
    }
    return {};
  }

  const YamlPlace& plugins_;
  const std::vector<SchedulerPlugin>& known_;
};

}  // namespace

std::vector<SchedulerPlugin> scheduler_plugins(const PluginSet& set) {
  std::vector<SchedulerPlugin> all;
  for (const KubePlugin& one : kKubePlugins)
    all.push_back({std::string(one.name), one.points, one.weight, one.always});
  for (const auto& one : set.gates) add(all, one->name(), PreEnqueue);
  for (const auto& one : set.prefilters) add(all, one->name(), PreFilter);
  for (const auto& one : set.filters) add(all, one->name(), one->names_nodes() ? PreFilter : Filter);
  for (const auto& one : set.domain_filters) add(all, one->name(), Filter);
  for (const auto& one : set.lazy_filters) add(all, one->name(), Filter);
  for (const auto& one : set.post_filters) add(all, one->name(), PostFilter);
  for (const auto& one : set.scores) add(all, one.score->name(), Score, one.weight);
  for (const auto& one : set.domain_scores) add(all, one.score->name(), Score, one.weight);
  for (const auto& one : set.normalized_scores) add(all, one.score->name(), Score, one.weight);
  for (const auto& one : set.reserves) add(all, one->name(), Reserve);
  for (const auto& one : set.placement_scorers) add(all, one.scorer->name(), PlacementScore, one.weight);
  return all;
}

Result<EnabledPlugins> read_plugins(const YamlPlace& plugins, const std::vector<SchedulerPlugin>& known,
                                    std::vector<std::string>& notes) {
  return PluginsReader(plugins, known).read(notes);
}

EnabledPlugins default_enabled(const std::vector<SchedulerPlugin>& known) {
  EnabledPlugins all;
  for (const SchedulerPlugin& plugin : known)
    for (std::size_t i = 0; i < placement::kExtensionPointCount; ++i)
      if (has(plugin, static_cast<ExtensionPoint>(i))) all.points[i].push_back({plugin.name, plugin.weight});
  return all;
}

}  // namespace berth::cli
