// The API server's rules for one kind: defaults, clearing, validation, admission.
//
// One row per resource, in kinds/*.cc; a resource without a row gets the generic rules (kDefaultRules). Rules
// get canonical documents of the storage version. Pure functions: RuleContext has all other inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cel_check.h"
#include "api/field_error.h"
#include "base/json.h"
#include "base/time.h"

namespace berth::api {

class Gates;          // gates.h
struct ResourceInfo;  // type_table.h

// A refusal that is no field error: admission ("Forbidden", 403) or a state that does not permit the request.
struct Rejection {
  int code = 403;
  std::string reason = "Forbidden";
  std::string message;
};

// Whether a new pod gets its service account and the volume with the account's token. Source: the admission
// plugin ServiceAccount of Kubernetes 1.37.
enum class PodAccounts {
  AsGiven,   // no: nobody makes accounts
  Assumed,   // an account that is absent counts as one without settings
  Required,  // only `default` does, which a controller makes soon after its namespace; for others 403
};

// What Services have of ranges that they share, stored ones and those whose write is under way. The Service
// with `except_uid` does not count.
class ServiceAllocations {
 public:
  virtual ~ServiceAllocations() = default;
  virtual bool has_address(std::string_view address, std::string_view except_uid) const = 0;
  virtual bool has_node_port(std::int64_t port, std::string_view except_uid) const = 0;
};

struct RuleContext {
  const Gates& gates;
  CelCheck check_cel;  // never null
  Time now;
  std::string user;
  // Reads another stored object ("priorityclasses.scheduling.k8s.io", "", "high"); null when absent.
  std::function<std::optional<Json>(std::string_view resource, std::string_view ns, std::string_view name)>
      read;
  // Lists stored objects of a resource in all namespaces whose JSON contains `text`, as to_string() writes
  // it; for rules about siblings. Only those are parsed.
  std::function<std::vector<Json>(std::string_view resource, std::string_view text)> list;
  // The subresource of the request: "resize", or empty; and the group in its path, "events.k8s.io" where core
  // stores the object.
  std::string_view subresource = {};
  std::string_view request_group = {};
  // The groups of `user`.
  std::span<const std::string> user_groups = {};
  // Its UID, and its extras; null: it has none.
  std::string_view user_uid = {};
  const std::map<std::string, std::vector<std::string>>* user_extra = nullptr;
  // Lists that the body has without items (Decoded::empty_lists); known for POST and PUT only.
  std::span<const std::string> empty_lists = {};
  // The resource of the request, in its version; null where the rules are asked without one.
  const ResourceInfo* resource = nullptr;
  PodAccounts pod_accounts = PodAccounts::AsGiven;
  // For rules of Services; null: there are no others.
  const ServiceAllocations* services = nullptr;
};

// How metadata.name is checked.
enum class NameRule { Subdomain, Label, PathSegment };

// When metadata.generation begins and rises, of kinds that have it.
enum class GenerationRule {
  Content,                // 1; with every change beside metadata and status
  ContentOrLabels,        // also with a change of labels
  BeginsWithFirstChange,  // unset until the content changes
  Constant,               // 1
};

struct KindRules {
  std::string_view group;
  std::string_view resource;
  NameRule name_rule = NameRule::Subdomain;
  // In place of `name_rule`, where the name follows from the object.
  std::vector<std::string> (*name_problems)(const Json& object, std::string_view name) = nullptr;
  bool has_generation = false;
  GenerationRule generation_rule = GenerationRule::Content;
  bool needs_version_on_update = false;                    // PUT without a resourceVersion is refused
  std::vector<std::string_view> unversioned_updates = {};  // versions whose PUT may lack it all the same
  bool create_on_update = false;                           // PUT of an absent object creates it
  bool plain_finalizers = false;                           // a finalizer may have no domain
  bool answers_deleted_object = false;                     // DELETE returns the object instead of a Status
  // Deleting without a propagationPolicy orphans dependents (Job).
  bool orphans_by_default = false;
  bool draws_name = false;  // without a name it gets a UUID
  // A further subresource whose writes are those of the status ("approval"); RuleContext names it.
  std::string_view status_writer = {};

  void (*set_defaults)(Json& object) = nullptr;
  // Clears fields that a client may not set (status) and drops fields of gates that are off.
  void (*prepare_create)(Json& object, const RuleContext&) = nullptr;
  void (*prepare_update)(Json& next, const Json& old, const RuleContext&) = nullptr;
  // Null: everything but status is taken from `old`, metadata as status_metadata() says.
  void (*prepare_status_update)(Json& next, const Json& old, const RuleContext&) = nullptr;
  FieldErrors (*validate_create)(const Json& object, const RuleContext&) = nullptr;
  // Null: a changed object is judged as a new one.
  FieldErrors (*validate_update)(const Json& next, const Json& old, const RuleContext&) = nullptr;
  std::vector<std::string_view> immutable = {};  // members that stay: "spec.controller"
  FieldErrors (*validate_status_update)(const Json& next, const Json& old, const RuleContext&) = nullptr;
  // Runs before validation; may fill in fields (priority of a pod).
  std::optional<Rejection> (*admit_create)(Json& object, const RuleContext&) = nullptr;
  std::optional<Rejection> (*admit_update)(Json& next, const Json& old, const RuleContext&) = nullptr;
  std::optional<Rejection> (*admit_delete)(const Json& old, const RuleContext&) = nullptr;
  // Returned as Warning headers of a successful write.
  std::vector<std::string> (*warnings)(const Json& object, const Json* old, const RuleContext&) = nullptr;
};

// The rules of a resource; the generic ones without a row.
const KindRules& rules_of(std::string_view group, std::string_view resource);

// What a write of the status takes from the request's metadata.
enum class StatusMetadata { None, All, AllButLabels, AllButOwners };
StatusMetadata status_metadata(std::string_view group, std::string_view resource);

// Validates metadata of every kind: name, generateName, namespace, labels, annotations, ownerReferences,
// finalizers.
FieldErrors validate_meta(const Json& object, bool namespaced, const KindRules& rules);
FieldErrors validate_meta_update(const Json& next, const Json& old, const KindRules& rules);
// Of any write but one of the status: validate_meta_update(), the kind's rules, what is immutable.
FieldErrors validate_change(const Json& next, const Json& old, const KindRules& rules,
                            const RuleContext& ctx);

// Zone and region of a node, which the API server writes on the pods that it gets: a map, or null for none.
// Source: the admission plugin PodTopologyLabels.
inline constexpr std::string_view kTopologyLabelPrefix = "topology.kubernetes.io/";
Json topology_labels_of(const Json& node);

// Rows of the families, gathered by rules_of. Each lives in the .cc file of its family.
std::span<const KindRules>
core_rules();  // kinds/core*.cc: pods, nodes, namespaces, configmaps, secrets, services…
std::span<const KindRules> resource_rules();    // kinds/resource*.cc: resource.k8s.io
std::span<const KindRules> scheduling_rules();  // kinds/scheduling*.cc: scheduling.k8s.io, BindRequest
std::span<const KindRules>
workload_rules();                           // kinds/workload*.cc: apps, batch, policy, coordination, events…
std::span<const KindRules> stored_rules();  // kinds/stored_kinds.cc: kinds that are only stored

}  // namespace berth::api
