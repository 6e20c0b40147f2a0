#include "install/crd.h"

#include <vector>

#include "api/type_table.h"
#include "api/types/bind_request.h"
#include "base/assert.h"
#include "install/crd_schema.h"

namespace berth::install {
namespace {

constexpr std::string_view kVersionName = "v1alpha1";
constexpr std::string_view kPlural = "bindrequests";

constexpr PrinterColumn kColumns[] = {
    {"Pod", "string", ".spec.podName"},
    {"Node", "string", ".spec.selectedNode"},
    {"Phase", "string", ".status.phase"},
    {"Step", "string", ".status.step"},
    {"Group", "string", ".spec.group.name"},
    {"Age", "date", ".metadata.creationTimestamp"},
    {"Decision", "string", ".spec.decisionID", 1},
    {"Reason", "string", ".status.reason", 1},
};

enum class Limit : std::uint8_t {
  Subdomain,    // of DNS
  Label,        // of DNS
  Text,         // 1 to `most` characters
  LengthMax,    // `most` characters
  ItemsMax,     // `most` items
  NotNegative,  // 0 or more
  Phase,
  Step,
};

// Where the schema is restricted. A path names members; `[]` steps into the items of a list.
struct Bound {
  std::string_view path;
  Limit limit;
  std::int64_t most = 0;
};
constexpr Bound kBounds[] = {
    {"spec.podName", Limit::Subdomain},
    {"spec.podUID", Limit::Text, 128},
    {"spec.selectedNode", Limit::Subdomain},
    {"spec.group.name", Limit::Subdomain},
    {"spec.group.size", Limit::NotNegative},
    {"spec.decisionID", Limit::LengthMax, 128},
    {"spec.epoch", Limit::NotNegative},
    {"spec.receivedGPU.count", Limit::NotNegative},
    {"spec.receivedGPU.portion", Limit::LengthMax, 4},
    {"spec.selectedGPUGroups", Limit::ItemsMax, 32},
    {"spec.selectedGPUGroups.[]", Limit::Label},
    {"spec.resourceClaimAllocations", Limit::ItemsMax, 64},
    {"spec.resourceClaimAllocations.[].name", Limit::Label},
    {"spec.volumeBindings", Limit::ItemsMax, 256},
    {"spec.volumeBindings.[].claimName", Limit::Subdomain},
    {"spec.extendedResourceClaim.claimName", Limit::Subdomain},
    {"spec.nodeAllocatableResourceClaimStatuses", Limit::ItemsMax, 64},
    {"spec.backoffLimit", Limit::NotNegative},
    {"spec.members", Limit::ItemsMax, 16384},
    {"status.decisionID", Limit::LengthMax, 128},
    {"status.phase", Limit::Phase},
    {"status.step", Limit::Step},
    {"status.reason", Limit::LengthMax, 128},
    {"status.message", Limit::LengthMax, 4096},
    {"status.failedAttempts", Limit::NotNegative},
    {"status.observedGeneration", Limit::NotNegative},
    {"status.claims", Limit::ItemsMax, 64},
    {"status.claims.[].name", Limit::Label},
    {"status.conditions", Limit::ItemsMax, 8},
};

constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::int64_t kLabelLengthMax = 63;
constexpr std::int64_t kSubdomainLengthMax = 253;

Json& schema_of_path(Json& root, std::string_view path) {
  Json* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    at = step == "[]" ? at->find("items") : (*at)["properties"].find(step);
    BERTH_ASSERT(at, "a bound names a member of the type");
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *at;
}

void narrow(Json& schema, const Bound& bound) {
  switch (bound.limit) {
    case Limit::Subdomain:
      schema["minLength"] = 1;
      schema["maxLength"] = kSubdomainLengthMax;
      schema["pattern"] = "^" + std::string(kLabelPattern) + "(\\." + std::string(kLabelPattern) + ")*$";
      return;
    case Limit::Label:
      schema["minLength"] = 1;
      schema["maxLength"] = kLabelLengthMax;
      schema["pattern"] = "^" + std::string(kLabelPattern) + "$";
      return;
    case Limit::Text:
      schema["minLength"] = 1;
      schema["maxLength"] = bound.most;
      return;
    case Limit::LengthMax:
      schema["maxLength"] = bound.most;
      return;
    case Limit::ItemsMax:
      schema["maxItems"] = bound.most;
      return;
    case Limit::NotNegative:
      schema["minimum"] = 0;
      return;
    case Limit::Phase:
      schema["enum"] = Json::array({""});
      for (const std::string_view name : api::phase_names()) schema["enum"].as_array().push_back(name);
      return;
    case Limit::Step:
      schema["enum"] = Json::array({});
      for (const std::string_view name : api::step_names()) schema["enum"].as_array().push_back(name);
      return;
  }
}

Json cel_rule(std::string rule, std::string_view message, std::string_view path) {
  return Json::object({{"rule", std::move(rule)}, {"message", message}, {"fieldPath", path}});
}

// The CEL text for an optional member, with a size that the API server can bound: optionals have none.
std::string member_or(std::string_view owner, std::string_view name, std::string_view otherwise) {
  const std::string member = std::string(owner) + "." + std::string(name);
  return "(has(" + member + ") ? " + member + " : " + std::string(otherwise) + ")";
}

std::string same_member(std::string_view name) {
  const std::string is = "self.spec." + std::string(name), was = "oldSelf.spec." + std::string(name);
  return "has(" + is + ") == has(" + was + ") && (!has(" + is + ") || " + is + " == " + was + ")";
}

// True where every member of the decision is unchanged, apart from those that may change by themselves.
// Members of a gang's record are not compared: their schema is open, and nothing changes them.
std::string same_decision(const api::TypeInfo& spec) {
  std::string rule;
  for (const api::FieldInfo& field : spec.fields()) {
    if (field.json == "withdrawn" || field.json == "epoch" || field.json == "members") continue;
    rule += (rule.empty() ? "" : " && ") + same_member(field.json);
  }
  return rule;
}

Json cel_rules(const api::TypeInfo& spec) {
  const std::string was = member_or("oldSelf.spec", "decisionID", "''");
  const std::string differs = member_or("self.spec", "decisionID", "''") + " != " + was;
  const std::string failed =
      "has(oldSelf.status) && has(oldSelf.status.phase) && "
      "oldSelf.status.phase == 'Failed' && "
      "(!has(oldSelf.status.decisionID) || oldSelf.status.decisionID == " +
      was + ")";
  return Json::array({
      cel_rule("has(self.spec.podName) != has(self.spec.members) && "
               "has(self.spec.podName) == has(self.spec.podUID) && "
               "has(self.spec.podName) == has(self.spec.selectedNode)",
               "podName, podUID and selectedNode are required, unless there are members", ".spec.podName"),
      cel_rule("(" + same_member("podName") + ") && (" + same_member("podUID") + ")", "the pod is immutable",
               ".spec.podUID"),
      cel_rule(differs + " || " + member_or("self.spec", "epoch", "0") +
                   " >= " + member_or("oldSelf.spec", "epoch", "0"),
               "must not be decreased", ".spec.epoch"),
      cel_rule(differs + " || " + member_or("self.spec", "withdrawn", "false") + " || !" +
                   member_or("oldSelf.spec", "withdrawn", "false"),
               "a withdrawn decision stays withdrawn", ".spec.withdrawn"),
      cel_rule("(" + differs + " && " + failed + ") || (" + same_decision(spec) + ")",
               "a decision is immutable; another decisionID may replace it once status.phase is Failed",
               ".spec.decisionID"),
  });
}

const api::TypeInfo& own_type(std::string_view name) {
  const api::TypeInfo* type = api::find_type(api::kBerthGroup, kVersionName, name);
  BERTH_ASSERT(type, "the type table has BindRequests");
  return *type;
}

Json request_schema() {
  Json schema = structural_schema(own_type("BindRequest"));
  for (const Bound& bound : kBounds) narrow(schema_of_path(schema, bound.path), bound);
  schema["properties"]["spec"].as_object().erase("required");  // a CEL rule requires it: records have members
  schema["x-kubernetes-validations"] = cel_rules(own_type("BindRequestSpec"));
  return schema;
}

Json columns_json() {
  Json columns = Json::array();
  for (const PrinterColumn& column : kColumns) {
    Json json = Json::object({{"name", column.name}, {"type", column.type}, {"jsonPath", column.path}});
    if (column.priority != 0) json["priority"] = column.priority;
    columns.as_array().push_back(std::move(json));
  }
  return columns;
}

Json names_json(const api::ResourceInfo& resource) {
  Json short_names = Json::array();
  api::for_each_listed(resource.short_names,
                       [&](std::string_view name) { short_names.as_array().emplace_back(name); });
  return Json::object({{"kind", resource.kind},
                       {"listKind", std::string(resource.kind) + "List"},
                       {"plural", resource.plural},
                       {"singular", resource.singular},
                       {"shortNames", std::move(short_names)}});
}

}  // namespace

std::span<const PrinterColumn> bind_request_columns() {
  return kColumns;
}

Json bind_request_crd() {
  const api::ResourceInfo* resource = api::find_resource(api::kBerthGroup, kVersionName, kPlural);
  BERTH_ASSERT(resource, "the type table serves BindRequests");
  const Json version =
      Json::object({{"name", kVersionName},
                    {"served", true},
                    {"storage", true},
                    {"subresources", Json::object({{"status", Json::object()}})},
                    {"additionalPrinterColumns", columns_json()},
                    {"selectableFields", Json::array({Json::object({{"jsonPath", ".spec.selectedNode"}}),
                                                      Json::object({{"jsonPath", ".status.phase"}})})},
                    {"schema", Json::object({{"openAPIV3Schema", request_schema()}})}});
  return Json::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                       {"kind", "CustomResourceDefinition"},
                       {"metadata", Json::object({{"name", kBindRequestCrd}})},
                       {"spec", Json::object({{"group", api::kBerthGroup},
                                              {"scope", resource->namespaced ? "Namespaced" : "Cluster"},
                                              {"names", names_json(*resource)},
                                              {"versions", Json::array({version})}})}});
}

}  // namespace berth::install
