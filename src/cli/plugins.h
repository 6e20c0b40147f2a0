// The plugins that a program runs: Berth's own, or with others added by a program of somebody else.
#pragma once

#include "binding/plugin.h"
#include "placement/framework.h"

namespace berth::cli {

struct Plugins {
  // For `up`, `binder` and `scheduler --with-binder`.
  binding::PluginRegistry binder = binding::PluginRegistry::in_tree();
  // For `up`, `scheduler` and `plan`.
  placement::MakePlugins scheduler = placement::default_plugins;
};

}  // namespace berth::cli
