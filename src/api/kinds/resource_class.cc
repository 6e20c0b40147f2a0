#include <algorithm>

#include "api/kinds/resource_other.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {
namespace {

constexpr std::size_t kClassConfigMax = 32;

FieldErrors validate(const Json& object, const Json* old, const RuleContext& ctx) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(object, "spec");
  const Json& spec = found ? *found : kNone;
  const Json* old_spec = old ? present(*old, "spec") : nullptr;
  Findings findings;
  check_selectors(path, spec, old_spec, ctx, findings);
  const JsonArray& config = items(&spec, "config");
  const JsonArray& stored = items(old_spec, "config");
  append(findings.declared, check_count(path.child("config"), config.size(), kClassConfigMax));
  for (std::size_t i = 0; i < std::min(config.size(), kClassConfigMax); ++i)
    if (std::find(stored.begin(), stored.end(), config[i]) == stored.end())
      check_opaque(path.child("config").index(i), config[i], findings);
  if (const Json* name = present(spec, "extendedResourceName"); name)
    append(findings.declared,
           check_format(path.child("extendedResourceName"), name->as_string(), extended_resource));
  return std::move(findings).all();
}

}  // namespace

KindRules device_class_rules() {
  KindRules rules;
  rules.group = "resource.k8s.io";
  rules.resource = "deviceclasses";
  rules.has_generation = true;
  rules.answers_deleted_object = true;
  rules.prepare_create = [](Json& object, const RuleContext& ctx) {
    drop_gated_fields(resource_type("DeviceClass"), object, nullptr, ctx.gates);
  };
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(resource_type("DeviceClass"), next, &old, ctx.gates);
  };
  rules.validate_create = [](const Json& object, const RuleContext& ctx) {
    return validate(object, nullptr, ctx);
  };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext& ctx) {
    return validate(next, &old, ctx);
  };
  return rules;
}

}  // namespace berth::api
