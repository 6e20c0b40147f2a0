#include "server/object_target.h"

#include "admission/configuration_rules.h"
#include "admission/policy_rules.h"
#include "api/decode.h"
#include "crd/definition_rules.h"
#include "crd/object_rules.h"
#include "server/usage_metrics.h"

namespace berth::server {

ApiResult<Json> canonical(const ObjectTarget& target, Json object, const Json& before) {
  if (target.resource->custom) return object;
  Result<api::Decoded> decoded = api::decode_document(target.resource->type(), std::move(object), before);
  if (!decoded) return internal_error(decoded.error().text());
  return std::move(decoded->document);
}

std::string stored_resource(const api::ResourceInfo& resource) {
  return is_measured_usage(resource) ? std::string(resource.plural) : storage_resource(resource);
}

store::Key key_of(const ObjectTarget& target) {
  return {stored_resource(*target.resource), target.ns, target.name};
}

bool is_core(const ObjectTarget& target, std::string_view plural) {
  return target.resource->group.empty() && target.resource->plural == plural;
}

const api::KindRules& rules_of(const api::ResourceInfo& resource) {
  if (resource.custom) return crd::object_rules();
  if (crd::is_definition(resource)) return crd::definition_rules();
  if (const auto phase = admission::phase_of(resource)) return admission::configuration_rules(*phase);
  if (const auto kind = admission::policy_kind_of(resource)) return admission::policy_rules(*kind);
  const api::ResourceInfo& stored = storage_of(resource);
  return api::rules_of(stored.group, stored.plural);
}

}  // namespace berth::server
