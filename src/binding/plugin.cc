#include "binding/plugin.h"

#include <algorithm>
#include <array>

#include "binding/dynamic_resources.h"
#include "binding/volume_binding.h"

namespace berth::binding {
namespace {

struct Registered {
  std::string_view name;
  std::unique_ptr<const Plugin> (*make)();
};

constexpr std::array<Registered, 2> kRegistry = {{
    {kVolumeBindingName, make_volume_binding},
    {kDynamicResourcesName, make_dynamic_resources},
}};

}  // namespace

Result<Plugins> make_plugins(std::span<const std::string> names) {
  Plugins plugins;
  for (const std::string& name : names) {
    const auto* row = std::find_if(kRegistry.begin(), kRegistry.end(),
                                   [&name](const Registered& known) { return known.name == name; });
    if (row == kRegistry.end())
      return Error(ErrorCode::Invalid, "plugins", "no binder plugin is named \"" + name + "\"");
    for (const auto& plugin : plugins)
      if (plugin->name() == name)
        return Error(ErrorCode::Invalid, "plugins", "the binder plugin \"" + name + "\" stands twice");
    plugins.push_back(row->make());
  }
  return plugins;
}

PreBindStep pre_bind(const Plugins& plugins, const BindContext& context) {
  for (const auto& plugin : plugins) {
    PreBindStep step = plugin->pre_bind(context);
    if (!step.chains.empty() || !std::holds_alternative<Ready>(step.verdict)) return step;
  }
  return {{}, Ready{}};
}

bool is_prepared(const Plugins& plugins, const BindContext& context) {
  const PreBindStep step = pre_bind(plugins, context);
  return step.chains.empty() && std::holds_alternative<Ready>(step.verdict);
}

Status validate(const Plugins& plugins, const api::Pod& pod) {
  for (const auto& plugin : plugins) TRY(plugin->validate(pod));
  return {};
}

}  // namespace berth::binding
