#include <array>

#include "api/kind_rules.h"
#include "api/kinds/pod.h"

namespace berth::api {
namespace {

void prepare_namespace(Json& object, const RuleContext&) {
  object["status"] = Json::object({{"phase", "Active"}});
  object["spec"]["finalizers"] = Json::array({"kubernetes"});
  object["metadata"]["labels"]["kubernetes.io/metadata.name"] = object["metadata"].string_at("name");
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
  rules.prepare_create = prepare_namespace;
  rules.admit_delete = admit_namespace_delete;
  return rules;
}

}  // namespace

std::span<const KindRules> core_rules() {
  static const std::array<KindRules, 2> kRules = {pod_rules(), namespace_rules()};
  return kRules;
}

}  // namespace berth::api
