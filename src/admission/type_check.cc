#include "admission/type_check.h"

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "admission/policy.h"
#include "crd/cel_types.h"

namespace berth::admission {
namespace {

using KindName = std::tuple<std::string, std::string, std::string>;  // group, version, kind

std::string text_of(const KindName& name) {
  const auto& [group, version, kind] = name;
  return group + "/" + version + ", Kind=" + kind;
}

// The texts of a list, in their order; nothing when one of them has a wildcard.
std::set<std::string_view> plain_texts(const JsonArray& list) {
  std::set<std::string_view> texts;
  for (const Json& item : list) {
    if (!item.is_string() || item.as_string().find('*') != std::string::npos) return {};
    texts.insert(item.as_string());
  }
  return texts;
}

// The resources that the rules name, without subresources; kResourcesTriedMax of them. Each is there once.
std::vector<GroupVersionResource> resources_of(const Json& policy) {
  std::vector<GroupVersionResource> resources;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  std::size_t tried = 0;
  for (const Json& rule : policy.part("spec").part("matchConstraints").items_at("resourceRules")) {
    const std::set<std::string_view> groups = plain_texts(rule.items_at("apiGroups")),
                                     versions = plain_texts(rule.items_at("apiVersions"));
    for (const std::string_view group : groups)
      for (const std::string_view version : versions)
        for (const Json& resource : rule.items_at("resources")) {
          if (tried++ == kResourcesTriedMax) return resources;
          const std::string_view plural = resource.is_string() ? std::string_view(resource.as_string()) : "";
          if (plural.find_first_of("*/") != std::string_view::npos) continue;
          if (seen.emplace(group, version, plural).second) resources.push_back({group, version, plural});
        }
  }
  return resources;
}

// The kinds that the rules name, in order.
std::map<KindName, crd::Schema> kinds_of(const Json& policy, const KindSchemas& schemas) {
  std::map<KindName, crd::Schema> kinds;
  for (const GroupVersionResource& resource : resources_of(policy)) {
    if (kinds.size() == kTypesCheckedMax) break;
    if (std::optional<KindSchema> found = schemas.of_resource(resource))
      kinds.emplace(KindName(resource.group, resource.version, found->kind), std::move(found->schema));
  }
  return kinds;
}

// By the place of an expression: what is wrong with it, a text for each kind.
using Problems = std::map<std::pair<std::size_t, std::string_view>, std::string>;

void check_for(const Json& policy, const KindName& name, const crd::Schema& object, const crd::Schema* params,
               Problems& problems) {
  crd::CelTypes types;
  const auto dyn_unless = [](cel::TypeRef type) {
    return type ? std::move(type) : cel::simple_type(cel::TypeKind::Dyn);
  };
  InputTypes inputs;
  inputs.object = dyn_unless(types.type_of(object, false));
  if (params) inputs.params = dyn_unless(types.type_of(*params, false));
  cel::Environment library = cel::Environment::extending(types.environment());
  declare_request_types(library);
  const PolicyPtr read = read_typed_policy(policy, library, inputs);
  const auto add = [&](std::size_t index, std::string_view member, const Expression& expression) {
    if (expression.problem.empty()) return;
    std::string& text = problems[{index, member}];
    text += (text.empty() ? "" : "\n") + text_of(name) + ": " + expression.problem + "\n";
  };
  for (std::size_t i = 0; i < read->validations.size(); ++i) {
    const Validation& validation = read->validations[i];
    add(i, "expression", validation.expression);
    if (validation.message_expression) add(i, "messageExpression", *validation.message_expression);
  }
}

}  // namespace

JsonArray expression_warnings(const Json& policy, const KindSchemas& schemas) {
  const Json& params_kind = policy.part("spec").part("paramKind");
  std::optional<crd::Schema> params;
  if (params_kind.is_object())
    params = schemas.of_kind(params_kind.string_at("apiVersion"), params_kind.string_at("kind"));
  Problems problems;
  for (const auto& [name, schema] : kinds_of(policy, schemas))
    check_for(policy, name, schema, params ? &*params : nullptr, problems);
  JsonArray warnings;
  for (auto& [place, text] : problems)
    warnings.push_back(Json::object(
        {{"fieldRef", "spec.validations[" + std::to_string(place.first) + "]." + std::string(place.second)},
         {"warning", std::move(text)}}));
  return warnings;
}

}  // namespace berth::admission
