#include "controllers/controllers.h"

#include "api/type_table.h"

namespace berth::controllers {
namespace {

constexpr ControllerRow kRows[] = {
#define CONTROLLER(group, name, full_name, alias) {ControllerGroup::group, full_name, alias, make_##name},
#include "controllers/controllers.def"
#undef CONTROLLER
};

}  // namespace

std::span<const ControllerRow> controller_rows() {
  return kRows;
}

std::vector<ServedResource> watched_resources() {
  std::vector<ServedResource> served;
  for (const api::ResourceInfo& resource : api::resources()) {
    const bool watchable = resource.verbs.find("watch") != std::string_view::npos;
    bool known = false;
    for (const ServedResource& other : served)
      known |= other.resource.group == resource.group && other.resource.resource == resource.plural;
    // Events are served in two API groups.
    if (!watchable || known || resource.group == "events.k8s.io") continue;
    served.push_back(
        {{std::string(resource.group), std::string(resource.version), std::string(resource.plural)},
         std::string(resource.kind),
         resource.namespaced});
  }
  return served;
}

std::unique_ptr<client::Reconciler> make_garbage_collector() {
  return make_garbage_collector(watched_resources());
}

std::unique_ptr<client::Reconciler> make_namespace_finalizer() {
  return make_namespace_finalizer(watched_resources());
}

}  // namespace berth::controllers
