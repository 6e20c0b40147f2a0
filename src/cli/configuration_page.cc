#include "cli/configuration_page.h"

namespace berth::cli {

std::optional<std::string> configuration_page(std::string_view path, Component component,
                                              const Configuration& configuration) {
  if (path != kConfigurationPage) return std::nullopt;
  return to_string(
      Json::object({{"part", name_of(component)}, {"text", configuration_text(component, configuration)}}));
}

Result<DecidingConfiguration> read_configuration_page(const Json& page, const placement::MakePlugins& make) {
  const Component component =
      page.string_at("part") == name_of(Component::Up) ? Component::Up : Component::Scheduler;
  DecidingConfiguration read{component, default_configuration(component)};
  TRY(apply_configuration(component, page.string_at("text"), std::string(kConfigurationPage),
                          read.configuration, make));
  return read;
}

Result<Configuration> offline_configuration(const OfflineFlags& flags, const placement::MakePlugins& make) {
  const std::pair<std::string_view, const std::string&> texts[] = {
      {"--feature-gates", flags.feature_gates}, {"--device-scoring", flags.device_scoring}};
  GivenFlags given;
  for (const ConfigurationField& field : configuration_fields())
    for (const auto& [flag, text] : texts)
      if (field.flag == flag && !text.empty()) given[&field] = {text};
  return effective_configuration(Component::Up, flags.config, given, make);
}

planning::PlanOptions plan_options(const Configuration& configuration, const api::Gates& gates,
                                   const placement::MakePlugins& make) {
  planning::PlanOptions options;
  options.gates = &gates;
  options.device_gates = dra::gates_of(gates);
  options.device_scoring =
      dra::device_scoring_of(configuration.device_scoring).value_or(options.device_scoring);
  options.victim_scoring =
      placement::victim_scoring_of(configuration.victim_scoring).value_or(options.victim_scoring);
  options.plugins = make;
  options.profiles = configuration.kube_scheduler.profiles;
  return options;
}

}  // namespace berth::cli
