// The object of a request, and its place in the store.
//
// Every served version of a kind shares one key space and one stored shape. Pure, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/kind_rules.h"
#include "api/served_kinds.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

class ServedSet;

// An object of a served resource. `subresource`: "", "status", "finalize", …
struct ObjectTarget {
  const api::ResourceInfo* resource = nullptr;
  std::string ns;
  std::string name;
  std::string subresource;
  // Holds the row of a custom resource; null for rows of the type table.
  std::shared_ptr<const ServedSet> served = nullptr;

  ResourceName resource_name() const { return {resource->group, resource->plural}; }
};

// Members of a changed object in the API's order: stored objects are canonical, and later writes share what
// they have in common with `before`.
ApiResult<Json> canonical(const ObjectTarget& target, Json object, const Json& before);
// The name under which the store has the objects of a resource; measured usage is made of the objects that it
// is about (usage_metrics.h).
std::string stored_resource(const api::ResourceInfo& resource);
store::Key key_of(const ObjectTarget& target);
// Whether the resource is the one of this name in the core group.
bool is_core(const ObjectTarget& target, std::string_view plural);
const api::KindRules& rules_of(const api::ResourceInfo& resource);
inline const api::KindRules& rules_of(const ObjectTarget& target) {
  return rules_of(*target.resource);
}

}  // namespace berth::server
