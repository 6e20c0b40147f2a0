#include "binding/plugin.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "binding/dynamic_resources.h"
#include "binding/gpu_requests.h"
#include "binding/gpu_sharing.h"
#include "binding/volume_binding.h"

namespace berth::binding {
namespace {

struct InTree {
  std::string_view name;
  std::unique_ptr<const Plugin> (*make)();
};

constexpr std::array<InTree, 4> kInTree = {{
    {kVolumeBindingName, make_volume_binding},
    {kDynamicResourcesName, make_dynamic_resources},
    {kGpuRequestsName, make_gpu_requests},
    {kGpuSharingName, make_gpu_sharing},
}};

}  // namespace

PluginRegistry PluginRegistry::in_tree() {
  PluginRegistry registry;
  for (const InTree& row : kInTree) {
    const Status added = registry.add(std::string(row.name), row.make);
    BERTH_ASSERT(added.ok(), "the names of the table differ");
  }
  return registry;
}

const PluginRegistry::Row* PluginRegistry::find(std::string_view name) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [name](const Row& r) { return r.name == name; });
  return row == rows_.end() ? nullptr : &*row;
}

Status PluginRegistry::add(std::string name, Make make) {
  if (name.empty()) return Error(ErrorCode::Invalid, "plugins", "a binder plugin needs a name");
  if (find(name))
    return Error(ErrorCode::Invalid, "plugins", "the binder plugin \"" + name + "\" is registered already");
  if (rows_.size() == kPluginsMax)
    return Error(ErrorCode::Invalid, "plugins",
                 "more than " + std::to_string(kPluginsMax) + " binder plugins");
  rows_.push_back({std::move(name), std::move(make)});
  return {};
}

Result<Plugins> PluginRegistry::make(std::span<const std::string> names) const {
  Plugins plugins;
  if (names.empty())
    for (const Row& row : rows_) plugins.push_back(row.make());
  for (const std::string& name : names) {
    const Row* row = find(name);
    if (!row) return Error(ErrorCode::Invalid, "plugins", "no binder plugin is named \"" + name + "\"");
    for (const auto& plugin : plugins)
      if (plugin->name() == name)
        return Error(ErrorCode::Invalid, "plugins", "the binder plugin \"" + name + "\" is named twice");
    plugins.push_back(row->make());
  }
  return plugins;
}

namespace {

using WritesOf = std::vector<client::Write> (Plugin::*)(const BindContext&) const;

std::vector<client::Write> writes_of(const Plugins& plugins, WritesOf step, const BindContext& context) {
  std::vector<client::Write> writes;
  for (const auto& plugin : plugins)
    for (client::Write& write : (plugin.get()->*step)(context)) writes.push_back(std::move(write));
  return writes;
}

}  // namespace

std::vector<client::Write> before_binding(const Plugins& plugins, const BindContext& context) {
  return writes_of(plugins, &Plugin::before_binding, context);
}

std::vector<client::Write> post_bind(const Plugins& plugins, const BindContext& context) {
  return writes_of(plugins, &Plugin::post_bind, context);
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

api::FieldErrors validate(const Plugins& plugins, const api::Pod& pod, const BinderOptions& options) {
  api::FieldErrors errors;
  for (const auto& plugin : plugins) api::append(errors, plugin->validate(pod, options));
  return errors;
}

}  // namespace berth::binding
