#include "server/field_ownership.h"

#include <algorithm>
#include <map>

#include "api/conversions.h"
#include "api/decode.h"
#include "crd/served_version.h"
#include "server/metadata.h"
#include "server/object_versions.h"

namespace berth::server {
namespace {

using apply::FieldPath;
using apply::PathElement;

constexpr std::string_view kBerth = "berth";  // writes of this process' own loops

FieldPath path_of(std::initializer_list<std::string_view> names) {
  FieldPath path;
  for (std::string_view name : names) path.push_back(PathElement::field(name));
  return path;
}

// A write of the object leaves its status alone; a write of the status leaves alone what the kind's rules
// take from the stored object.
apply::FieldSet fields_never_stored(const ObjectTarget& target) {
  apply::FieldSet fields;
  if (target.subresource.empty() && target.resource->has_subresource("status"))
    fields.insert(path_of({"status"}));
  if (target.subresource != "status") return fields;
  fields.insert(path_of({"spec"}));
  switch (api::status_metadata(target.resource->group, target.resource->plural)) {
    case api::StatusMetadata::None:
      fields.insert(path_of({"metadata"}));
      break;
    case api::StatusMetadata::AllButLabels:
      fields.insert(path_of({"metadata", "labels"}));
      break;
    case api::StatusMetadata::AllButOwners:
      fields.insert(path_of({"metadata", "deletionTimestamp"}));
      fields.insert(path_of({"metadata", "ownerReferences"}));
      break;
    case api::StatusMetadata::All:
      break;
  }
  return fields;
}

std::optional<Json> in_version(const ObjectTarget& target, const Json& document,
                               std::string_view api_version) {
  const api::ResourceInfo& resource = *target.resource;
  if (resource.custom) {
    const auto& versions = crd::served_version(resource)->definition->versions;
    const bool served = std::any_of(versions.begin(), versions.end(), [&](const auto& version) {
      return api_version_of(version->row) == api_version;
    });
    if (!served) return std::nullopt;
    if (has_webhook(target)) return in_other_version(target, document, api_version);
    Json converted = document;
    converted["apiVersion"] = api_version;
    return converted;
  }
  const auto resource_of = [&](std::string_view version) {
    const api::GroupVersion named = api::group_version_of(version);
    return api::find_resource(named.group, named.version, resource.plural);
  };
  const api::ResourceInfo* from = resource_of(document.string_at("apiVersion"));
  const api::ResourceInfo* to = resource_of(api_version);
  if (!from || !to || &storage_of(*from) != &storage_of(*to)) return std::nullopt;
  return to_served_shape(*to, to_stored_shape(*from, document));
}

// How a version of a custom resource is owned. A version that is not served is owned like the stored one.
apply::Schema custom_schema(const crd::Definition& definition, std::string_view api_version) {
  for (const auto& version : definition.versions)
    if (api_version_of(version->row) == api_version) return apply::Schema::of(version->schema);
  return apply::Schema::of(definition.storage->schema);
}

Json without_times(const Json& list) {
  if (!list.is_array()) return list;
  JsonArray entries = list.as_array();
  for (Json& entry : entries)
    if (entry.is_object()) entry.as_object().erase("time");
  return entries;
}

// The reference gives the owners of a custom object's scale no time.
void drop_scale_times(Json& list) {
  if (!list.is_array()) return;
  for (Json& entry : list.as_array())
    if (entry.string_at("subresource") == "scale") entry.as_object().erase("time");
}

bool has_managed_fields(const Json& object) {
  return metadata_of(object).find("managedFields") != nullptr;
}

void set_managed_fields(Json& object, Json list) {
  if (list.is_null())
    metadata_of(object).as_object().erase("managedFields");
  else
    metadata_of(object)["managedFields"] = std::move(list);
}

}  // namespace

apply::FieldManager field_manager_of(const ObjectTarget& target, const WriteOptions& options, Time now) {
  apply::FieldWrite write;
  write.manager = options.in_process ? kBerth : std::string_view(options.manager);
  write.subresource = target.subresource;
  write.api_version = api_version_of(*target.resource);
  write.kind = target.resource->kind;
  write.now = format_time(now);
  write.empty = empty_object_of(*target.resource);
  write.ignored = fields_never_stored(target);
  write.converted = [target](const Json& document, std::string_view version) {
    return in_version(target, document, version);
  };
  if (target.resource->custom)
    write.schema_of = [custom = crd::served_version(*target.resource)](std::string_view api_version) {
      return custom_schema(*custom->definition, api_version);
    };
  return apply::FieldManager(std::move(write));
}

Json empty_object_of(const api::ResourceInfo& resource) {
  if (resource.custom)
    return Json::object({{"apiVersion", api_version_of(resource)}, {"kind", resource.kind}});
  static const std::map<const api::ResourceInfo*, Json> kObjects = [] {
    std::map<const api::ResourceInfo*, Json> objects;
    for (const api::ResourceInfo& row : api::resources()) {
      Json named = Json::object({{"kind", row.kind}, {"apiVersion", api_version_of(row)}});
      Result<api::Decoded> decoded = api::decode_document(row.type(), std::move(named));
      BERTH_ASSERT(decoded.ok(), "an object without fields is one of every kind");
      objects.emplace(&row, std::move(decoded->document));
    }
    return objects;
  }();
  return kObjects.at(&resource);
}

void track_fields(const ObjectTarget& target, const WriteOptions& options, Time now, const Json& before,
                  Json& next) {
  if (options.is_apply || target.subresource == "binding") return;
  const bool is_create = before.is_null();
  if (is_create && options.in_process) return set_managed_fields(next, {});
  // Nobody is tracked, and nobody asks for it: as most writes of this process' own loops are.
  if (!is_create && !has_managed_fields(before) && !has_managed_fields(next)) return;
  const api::ResourceInfo& resource = *target.resource;
  const Json live = is_create ? empty_object_of(resource) : to_served_shape(resource, before);
  const apply::FieldManager manager = field_manager_of(target, options, now);
  Json list = is_in_served_shape(resource, next)
                  ? manager.after_update(live, next)
                  : manager.after_update(live, to_served_shape(resource, next));
  if (resource.custom && target.subresource == "scale") drop_scale_times(list);
  set_managed_fields(next, std::move(list));
}

bool differ_only_in_managed_times(const Json& a, const Json& b) {
  const Json* left = metadata_of(a).find("managedFields");
  const Json* right = metadata_of(b).find("managedFields");
  if (!left || !right || !(without_times(*left) == without_times(*right))) return false;
  Json replaced = a;
  metadata_of(replaced)["managedFields"] = *right;
  return replaced == b;
}

}  // namespace berth::server
