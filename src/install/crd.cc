#include "install/crd.h"

#include <vector>

#include "api/types/bind_request.h"
#include "api/types/group_domain.h"
#include "install/crd_parts.h"
#include "install/crd_schema.h"

namespace berth::install {
namespace {

constexpr PrinterColumn kBindRequestColumns[] = {
    {"Pod", "string", ".spec.podName"},
    {"Node", "string", ".spec.selectedNode"},
    {"Phase", "string", ".status.phase"},
    {"Step", "string", ".status.step"},
    {"Group", "string", ".spec.group.name"},
    {"Age", "date", ".metadata.creationTimestamp"},
    {"Decision", "string", ".spec.decisionID", 1},
    {"Reason", "string", ".status.reason", 1},
    {"Attempts", "integer", ".status.failedAttempts", 1},
};

constexpr Bound kBindRequestBounds[] = {
    {"spec.podName", Limit::Subdomain},
    {"spec.podUID", Limit::Text, 128},
    {"spec.selectedNode", Limit::Subdomain},
    {"spec.group.name", Limit::Subdomain},
    {"spec.group.uid", Limit::LengthMax, 128},
    {"spec.group.size", Limit::NotNegative},
    {"spec.group.root.name", Limit::Subdomain},
    {"spec.group.root.uid", Limit::LengthMax, 128},
    {"spec.group.domain", Limit::LengthMax, api::kGroupDomainBytesMax},
    {"spec.decisionID", Limit::LengthMax, 128},
    {"spec.epoch", Limit::NotNegative},
    {"spec.lease.namespace", Limit::Label},
    {"spec.lease.name", Limit::Subdomain},
    {"spec.lease.uid", Limit::Text, 128},
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
    {"status.reason", Limit::LengthMax, 128},
    {"status.message", Limit::LengthMax, 4096},
    {"status.failedAttempts", Limit::NotNegative},
    {"status.observedGeneration", Limit::NotNegative},
    {"status.claims", Limit::ItemsMax, 64},
    {"status.claims.[].name", Limit::Label},
    {"status.conditions", Limit::ItemsMax, 8},
};

std::string same_member(std::string_view name) {
  const std::string is = "self.spec." + std::string(name), was = "oldSelf.spec." + std::string(name);
  return "has(" + is + ") == has(" + was + ") && (!has(" + is + ") || " + is + " == " + was + ")";
}

// True where every member of the decision is unchanged, apart from those that may change by themselves.
// Members of a gang's record are not compared: their schema is open, and nothing changes them.
std::string same_decision(const api::TypeInfo& spec) {
  std::string rule;
  for (const api::FieldInfo& field : spec.fields()) {
    if (field.json == "withdrawn" || field.json == "epoch" || field.json == "lease" ||
        field.json == "members")
      continue;
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
      // Another Lease counts its terms from 1 again.
      cel_rule(differs + " || !(" + same_member("lease") + ") || " + member_or("self.spec", "epoch", "0") +
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

Json names_list(std::span<const std::string_view> names, Json list) {
  for (const std::string_view name : names) list.as_array().emplace_back(name);
  return list;
}

Json request_schema() {
  Json schema = structural_schema(own_type("BindRequest"));
  narrow(schema, kBindRequestBounds);
  schema_of_path(schema, "status.phase")["enum"] = names_list(api::phase_names(), Json::array({""}));
  schema_of_path(schema, "status.step")["enum"] = names_list(api::step_names(), Json::array({}));
  schema["properties"]["spec"].as_object().erase("required");  // a CEL rule requires it: records have members
  schema["x-kubernetes-validations"] = cel_rules(own_type("BindRequestSpec"));
  return schema;
}

}  // namespace

std::span<const PrinterColumn> bind_request_columns() {
  return kBindRequestColumns;
}

Json bind_request_crd() {
  return definition_object({"bindrequests", kBindRequestColumns, request_schema(),
                            Json::array({Json::object({{"jsonPath", ".spec.selectedNode"}}),
                                         Json::object({{"jsonPath", ".status.phase"}})})});
}

std::vector<Json> own_crds() {
  std::vector<Json> crds;
  crds.push_back(bind_request_crd());
  crds.push_back(health_policy_crd());
  crds.push_back(node_health_crd());
  crds.push_back(topology_crd());
  crds.push_back(placement_policy_crd());
  return crds;
}

}  // namespace berth::install
