#include "server/default_objects.h"

#include <future>

#include "base/ascii.h"
#include "rbac/bootstrap_roles.h"
#include "rbac/roles.h"
#include "server/bootstrap_flows.h"
#include "server/flow_schemas.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

Json default_namespace(const char* name) {
  return Json::object({{"kind", "Namespace"},
                       {"apiVersion", "v1"},
                       {"metadata", Json::object({{"name", name}})},
                       {"spec", Json::object({{"finalizers", Json::array({"kubernetes"})}})},
                       {"status", Json::object({{"phase", "Active"}})}});
}

// Above the priorities that users may set.
Json system_priority(const char* name, std::int64_t value, const char* description) {
  return Json::object({{"kind", "PriorityClass"},
                       {"apiVersion", "scheduling.k8s.io/v1"},
                       {"metadata", Json::object({{"name", name}})},
                       {"value", value},
                       {"description", description},
                       {"preemptionPolicy", "PreemptLowerPriority"}});
}

// What `write` answers to the callback that it is given.
template <class Write>
ApiResult<Answer> answer_of(Write write) {
  std::promise<ApiResult<Answer>> answered;
  write([&](ApiResult<Answer> answer) { answered.set_value(std::move(answer)); });
  return answered.get_future().get();
}

Error not_made(const ObjectTarget& target, const ApiStatus& why) {
  return Error(ErrorCode::Internal,
               "cannot make " + std::string(target.resource->kind) + " " + target.name + ": " + why.message);
}

Status create(Registry& registry, const ObjectTarget& target, const Json& object) {
  const ApiResult<Answer> made = answer_of(
      [&](Done done) { registry.create({target.resource, target.ns, "", ""}, object, {}, std::move(done)); });
  // It may be there by now.
  if (made || made.error().code == 409) return {};
  return not_made(target, made.error());
}

Status make_default_object(Registry& registry, const api::ResourceInfo& resource, const Json& object) {
  const ObjectTarget target{&resource, "", std::string(metadata_of(object).string_at("name")), ""};
  return registry.store().get(key_of(target)) ? Status() : create(registry, target, object);
}

// An object of a role or a binding: its resource, and where it is.
ObjectTarget bootstrap_target(const Json& object) {
  std::string plural = to_lower(object.string_at("kind")) + "s";
  const Json& metadata = metadata_of(object);
  return {api::find_resource(rbac::kGroup, "v1", plural), std::string(metadata.string_at("namespace")),
          std::string(metadata.string_at("name")), ""};
}

Status make_bootstrap_object(Registry& registry, const Json& wanted) {
  const ObjectTarget target = bootstrap_target(wanted);
  if (!registry.store().get(key_of(target))) return create(registry, target, wanted);
  const auto add_rights = [&](const Json& stored) {
    return canonical(target, rbac::with_bootstrap_rights(stored, wanted), stored);
  };
  const ApiResult<Answer> made =
      answer_of([&](Done done) { registry.modify(target, add_rights, {}, std::move(done)); });
  return made ? Status() : not_made(target, made.error());
}

}  // namespace

Status make_bootstrap_roles(Registry& registry) {
  return registry.store().together([&]() -> Status {
    for (const Json& object : rbac::bootstrap_objects()) TRY(make_bootstrap_object(registry, object));
    return {};
  });
}

Status make_flow_objects(Registry& registry) {
  return registry.store().together([&]() -> Status {
    for (const Json& object : bootstrap_flow_objects()) {
      const std::string plural = to_lower(object.string_at("kind")) + "s";
      TRY(make_default_object(registry, *api::find_resource(kFlowControlGroup, "v1", plural), object));
    }
    return {};
  });
}

Status make_default_objects(Registry& registry) {
  const api::ResourceInfo& namespaces = *api::find_resource("", "v1", "namespaces");
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"})
    TRY(make_default_object(registry, namespaces, default_namespace(name)));
  const api::ResourceInfo& priorities = *api::find_resource("scheduling.k8s.io", "v1", "priorityclasses");
  TRY(make_default_object(
      registry, priorities,
      system_priority("system-node-critical", 2'000'001'000,
                      "Used for system critical pods that must not be moved from their current node.")));
  return make_default_object(
      registry, priorities,
      system_priority("system-cluster-critical", 2'000'000'000,
                      "Used for system critical pods that must run in the cluster, but can be moved to "
                      "another node if necessary."));
}

}  // namespace berth::server
