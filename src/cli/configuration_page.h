// The page on which a scheduler says how it decides: its configuration, as --print-config prints it.
//
// `berth explain` reads it, so that what it tries is decided by the same gates, profiles and arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/configuration.h"
#include "planning/plan.h"

namespace berth::cli {

inline constexpr std::string_view kConfigurationPage = "/berth/v1alpha1/configuration";

// {"part":"scheduler","text":"apiVersion: …"}; none: another path.
std::optional<std::string> configuration_page(std::string_view path, Component component,
                                              const Configuration& configuration);
struct DecidingConfiguration {
  Component component = Component::Scheduler;
  Configuration configuration;
};
// Refuses a page of a program with other plugins than `make`.
Result<DecidingConfiguration> read_configuration_page(const Json& page, const placement::MakePlugins& make);

// Flags of commands that decide about files.
struct OfflineFlags {
  std::string config;          // file; empty: the defaults of `up`
  std::string feature_gates;   // after the file's
  std::string device_scoring;  // empty: the file's
};
// As `berth up` would decide with this file and these flags.
Result<Configuration> offline_configuration(const OfflineFlags& flags, const placement::MakePlugins& make);
// What a plan decides with. `gates` outlives the options.
planning::PlanOptions plan_options(const Configuration& configuration, const api::Gates& gates,
                                   const placement::MakePlugins& make);

}  // namespace berth::cli
