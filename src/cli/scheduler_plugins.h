// The plugins that a KubeSchedulerConfiguration may name, and which of them a profile enables.
//
// Pure. Source: kube-scheduler 1.37: its default set, mergePlugins, and the expansion of multiPoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/yaml_place.h"
#include "placement/profiles.h"

namespace berth::cli {

// A row of the table: kube-scheduler's plugins, then Berth's own, then those that a program adds.
struct SchedulerPlugin {
  std::string name;
  std::uint16_t points = 0;      // one bit each, by ExtensionPoint
  std::int64_t weight = 1;       // unless a profile sets another
  std::string_view always = {};  // why it cannot be disabled; empty: it can
};

// In the order of kube-scheduler's defaults. `set`: all plugins of the program.
std::vector<SchedulerPlugin> scheduler_plugins(const placement::PluginSet& set);

// Reads `plugins` of a profile. Adds a note for each plugin that stays enabled although '*' disables it.
// Refuses unknown plugins, plugins at points that they do not have, and repeated ones. Refuses sets that
// Berth cannot run: a filter without its preFilter, a score without its preScore, half of a binding.
Result<placement::EnabledPlugins> read_plugins(const YamlPlace& plugins,
                                               const std::vector<SchedulerPlugin>& known,
                                               std::vector<std::string>& notes);
// Without a profile's `plugins`.
placement::EnabledPlugins default_enabled(const std::vector<SchedulerPlugin>& known);

}  // namespace berth::cli
