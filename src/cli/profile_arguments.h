// pluginConfig of a profile: the arguments of its plugins, read and checked as kube-scheduler does.
//
// Pure. Source: kube-scheduler/config/v1 types_pluginargs.go; validation_pluginargs.go of 1.37.0.
#pragma once

#include <string>
#include <vector>

#include "cli/scheduler_plugins.h"

namespace berth::cli {

// Arguments that the binder takes: one value for all profiles.
struct BinderArguments {
  Duration volume_timeout = Duration::seconds(600);   // VolumeBinding's bindTimeoutSeconds
  Duration binding_timeout = Duration::seconds(600);  // DynamicResources' bindingTimeout
  bool volume_timeout_given = false, binding_timeout_given = false;
};

struct ProfileArguments {
  placement::PluginArguments plugins = {};
  BinderArguments binder = {};
};

// Reads the list `entries`. Adds a note for each argument without effect. Refuses unknown plugins and fields,
// repeated entries, and arguments of plugins that have none.
Result<ProfileArguments> read_arguments(const YamlPlace& entries, const std::vector<SchedulerPlugin>& known,
                                        const placement::EnabledPlugins& enabled,
                                        std::vector<std::string>& notes);

}  // namespace berth::cli
