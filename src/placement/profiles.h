// Profiles: which plugins decide about the pods of a schedulerName, their weights and arguments.
//
// Owner: one DecisionCore. Const once the first pod is decided. Source: KubeSchedulerConfiguration,
// kube-scheduler's profiles.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/framework.h"

namespace berth::placement {

// Of kube-scheduler, with its names: "preFilter".
enum class ExtensionPoint : std::uint8_t {
  PreEnqueue,
  QueueSort,
  PreFilter,
  Filter,
  PostFilter,
  PreScore,
  Score,
  Reserve,
  Permit,
  PreBind,
  Bind,
  PostBind,
  PlacementGenerate,
  PlacementScore,
  PodGroupPostFilter,
};
inline constexpr std::size_t kExtensionPointCount = 15;
std::string_view name_of(ExtensionPoint point);

struct EnabledPlugin {
  std::string name;
  std::int64_t weight = 1;  // read at Score and PlacementScore
  friend bool operator==(const EnabledPlugin&, const EnabledPlugin&) = default;
};

// By extension point, in call order.
struct EnabledPlugins {
  std::array<std::vector<EnabledPlugin>, kExtensionPointCount> points;

  std::vector<EnabledPlugin>& at(ExtensionPoint point) { return points[static_cast<std::size_t>(point)]; }
  const std::vector<EnabledPlugin>& at(ExtensionPoint point) const {
    return points[static_cast<std::size_t>(point)];
  }
  // Null: not enabled there.
  const EnabledPlugin* find(ExtensionPoint point, std::string_view name) const;
};

struct Profile {
  std::string scheduler_name;
  std::optional<EnabledPlugins> enabled = {};  // none: all plugins, with their own weights
  PluginArguments arguments = {};
};

// Removes the plugins that are not enabled, sets weights, and orders filters. Plugins that count or propose
// placements of groups stay.
void select(PluginSet& set, const EnabledPlugins& enabled);

class Profiles {
 public:
  // One profile for every schedulerName.
  explicit Profiles(PluginSet plugins);
  // The same with the default arguments if `profiles` is empty.
  Profiles(std::span<const Profile> profiles, const MakePlugins& make);

  // The plugins for the pod; those of the first profile if none has its schedulerName.
  const PluginSet& of(const api::Pod& pod) const;
  const PluginSet& first() const { return rows_.front().plugins; }
  PluginSet& first() { return rows_.front().plugins; }
  // Of the plugins of all profiles.
  ChangeFacts facts_of(const ClusterChange& change) const;

 private:
  struct Row {
    std::string scheduler_name;
    PluginSet plugins;
  };
  void find_fact_makers();

  std::vector<Row> rows_;  // at least one
  // Of the other profiles, those of which no earlier profile has one of the same type and name.
  std::vector<const Plugin*> more_fact_makers_;
};

}  // namespace berth::placement
