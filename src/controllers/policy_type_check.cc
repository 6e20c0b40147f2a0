// Says in the status of ValidatingAdmissionPolicies what their expressions get wrong. Source:
// pkg/controller/validatingadmissionpolicystatus of Kubernetes 1.37.
#include "admission/type_check.h"
#include "api/type_table.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "crd/resource_schema.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

const api::ResourceRef& validating_policies() {
  static const api::ResourceRef kRef{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"};
  return kRef;
}
const api::ResourceRef& definitions() {
  static const api::ResourceRef kRef{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
  return kRef;
}

// The schema of a served version of a definition.
std::optional<admission::KindSchema> schema_in(const Parsed& definition, std::string_view version) {
  const Json& spec = definition.spec();
  for (const Json& served : spec.items_at("versions"))
    if (served.string_at("name") == version && served.bool_at("served"))
      return admission::KindSchema{std::string(spec.part("names").string_at("kind")),
                                   crd::schema_of_custom(served.part("schema").part("openAPIV3Schema"))};
  return std::nullopt;
}

std::optional<admission::KindSchema> schema_of_resource(const View& view,
                                                        const admission::GroupVersionResource& resource) {
  if (const api::ResourceInfo* row = api::find_resource(resource.group, resource.version, resource.resource))
    return admission::KindSchema{std::string(row->kind), crd::schema_of_type(row->type())};
  const std::string name = std::string(resource.resource) + "." + std::string(resource.group);
  const auto definition = workloads::find_parsed(view, workloads::key_in(definitions(), "", name));
  return definition ? schema_in(*definition, resource.version) : std::nullopt;
}

std::optional<crd::Schema> schema_of_kind(const View& view, std::string_view api_version,
                                          std::string_view kind) {
  if (const api::TypeInfo* type = api::find_kind(api_version, kind)) return crd::schema_of_type(*type);
  const api::GroupVersion named = api::group_version_of(api_version);
  for (const api::ObjectKey& key : view.keys_in(Kind::Other, "", definitions())) {
    // "things.example.com": no plural has a dot.
    if (std::string_view(key.name).substr(key.name.find('.') + 1) != named.group) continue;
    const auto definition = workloads::find_parsed(view, key);
    if (!definition || definition->spec().part("names").string_at("kind") != kind) continue;
    if (auto found = schema_in(*definition, named.version)) return std::move(found->schema);
  }
  return std::nullopt;
}

class PolicyTypeCheck final : public client::Reconciler {
 public:
  std::string_view name() const override { return "validatingadmissionpolicy-status-controller"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Other, validating_policies(),
             [](const View&, const Delta& delta, Keys& keys) { keys.push_back(delta.key); }},
            {Kind::Other, definitions(), [](const View&, const Delta&, Keys&) {}}};
  }

  // Once for each generation: what a definition says later is not looked at again.
  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const auto policy = workloads::find_parsed(view, key);
    if (!policy || policy->meta.deleting()) return Effects::nothing();
    const std::int64_t generation = policy->meta.generation;
    if (policy->status().int_at("observedGeneration") >= generation) return Effects::nothing();
    JsonArray warnings = admission::expression_warnings(
        policy->document,
        {[&](const admission::GroupVersionResource& resource) { return schema_of_resource(view, resource); },
         [&](std::string_view version, std::string_view kind) {
           return schema_of_kind(view, version, kind);
         }});
    Json checked = Json::object({{"expressionWarnings", Json()}});
    if (!warnings.empty()) checked["expressionWarnings"] = std::move(warnings);
    Json status = Json::object({{"observedGeneration", generation}, {"typeChecking", std::move(checked)}});
    return Effects::write(
        key, client::merge_patch(key, Json::object({{"status", std::move(status)}}), policy->meta.uid,
                                 policy->meta.resource_version, "status"));
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_policy_type_check() {
  return std::make_unique<PolicyTypeCheck>();
}

}  // namespace berth::controllers
