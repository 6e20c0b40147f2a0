#include <array>
#include <utility>

#include "api/kind_rules.h"
#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"

namespace berth::api {
namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

void put_name_label(Json& object) {
  Json& metadata = object["metadata"];
  put_default(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "labels", Json::object());
  metadata["labels"][kNameLabel] = metadata.string_at("name");
}

// A generated name is not known yet.
void set_namespace_defaults(Json& object) {
  const Json* metadata = present(std::as_const(object), "metadata");
  if (metadata && !metadata->string_at("name").empty()) put_name_label(object);
}

void prepare_namespace(Json& object, const RuleContext&) {
  static const TypeInfo& type = core_type("Namespace");
  put(object, type, "spec", Json::object({{"finalizers", Json::array({"kubernetes"})}}));
  put(object, type, "status", Json::object({{"phase", "Active"}}));
  put_name_label(object);
}

// The subresource "finalize" is the only way to remove the finalizers.
void prepare_namespace_update(Json& next, const Json& old, const RuleContext& ctx) {
  put_name_label(next);
  if (ctx.subresource == "finalize") return;
  put(next, core_type("Namespace"), "spec", value_or_null(present(old, "spec")));
}

std::optional<Rejection> admit_namespace_delete(const Json& object, const RuleContext&) {
  const std::string_view name = object.find("metadata")->string_at("name");
  for (std::string_view kept : {"default", "kube-system", "kube-public"})
    if (name == kept) return Rejection{403, "Forbidden", "this namespace may not be deleted"};
  return std::nullopt;
}

KindRules namespace_rules() {
  KindRules rules;
  rules.resource = "namespaces";
  rules.name_rule = NameRule::Label;
  rules.set_defaults = set_namespace_defaults;
  rules.prepare_create = prepare_namespace;
  rules.prepare_update = prepare_namespace_update;
  rules.admit_delete = admit_namespace_delete;
  return rules;
}

}  // namespace

std::span<const KindRules> core_rules() {
  static const std::array kRules = {pod_rules(),
                                    node_rules(),
                                    namespace_rules(),
                                    config_map_rules(),
                                    secret_rules(),
                                    service_rules(),
                                    event_rules(),
                                    persistent_volume_rules(),
                                    persistent_volume_claim_rules(),
                                    storage_class_rules()};
  return kRules;
}

}  // namespace berth::api
