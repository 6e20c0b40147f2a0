#include "server/object_target.h"

#include <map>
#include <vector>

#include "api/decode.h"
#include "api/kinds.h"
#include "base/assert.h"
#include "crd/definition_rules.h"
#include "crd/object_rules.h"

namespace berth::server {
namespace {

// For each row of the table the row of its stored version: the first of its group and plural.
std::vector<const api::ResourceInfo*> storage_rows() {
  const std::span<const api::ResourceInfo> rows = api::resources();
  std::map<std::pair<std::string_view, std::string_view>, const api::ResourceInfo*> first;
  for (const api::ResourceInfo& row : rows) first.try_emplace({row.group, row.plural}, &row);
  std::vector<const api::ResourceInfo*> stored;
  for (const api::ResourceInfo& row : rows) {
    const std::string_view group = row.group == "events.k8s.io" ? std::string_view() : row.group;
    stored.push_back(first.at({group, row.plural}));
  }
  return stored;
}

}  // namespace

const api::ResourceInfo& storage_of(const api::ResourceInfo& resource) {
  if (resource.custom) return resource.custom->definition->storage->row;
  static const std::vector<const api::ResourceInfo*> kStored = storage_rows();
  const std::ptrdiff_t row = &resource - api::resources().data();
  BERTH_ASSERT(row >= 0 && static_cast<std::size_t>(row) < kStored.size(), "resources are rows of the table");
  return *kStored[static_cast<std::size_t>(row)];
}

std::string storage_resource(const api::ResourceInfo& resource) {
  const api::ResourceInfo& stored = storage_of(resource);
  return qualified({stored.group, stored.plural});
}

std::string api_version_of(const api::ResourceInfo& resource) {
  return api::ResourceRef{std::string(resource.group), std::string(resource.version), ""}.api_version();
}

ApiResult<Json> canonical(const ObjectTarget& target, Json object, const Json& before) {
  if (target.resource->custom) return object;
  Result<api::Decoded> decoded = api::decode_document(target.resource->type(), std::move(object), before);
  if (!decoded) return internal_error(decoded.error().text());
  return std::move(decoded->document);
}

store::Key key_of(const ObjectTarget& target) {
  return {storage_resource(*target.resource), target.ns, target.name};
}

const api::KindRules& rules_of(const api::ResourceInfo& resource) {
  if (resource.custom) return crd::object_rules();
  if (crd::is_definition(resource)) return crd::definition_rules();
  const api::ResourceInfo& stored = storage_of(resource);
  return api::rules_of(stored.group, stored.plural);
}

}  // namespace berth::server
