// The definitions of Topologies and of PlacementPolicies.
#include "api/types/placement_policy.h"
#include "install/crd_parts.h"
#include "install/crd_schema.h"

namespace berth::install {
namespace {

constexpr std::string_view kConditionReason = R"(.status.conditions[?(@.type=="Accepted")].reason)";
constexpr std::string_view kConditionValid = R"(.status.conditions[?(@.type=="Valid")].status)";

constexpr PrinterColumn kTopologyColumns[] = {
    {"Levels", "string", ".status.path"},
    {"Nodes", "integer", ".status.nodes"},
    {"Unlabelled", "integer", ".status.unlabelledNodes"},
    {"Valid", "string", kConditionValid},
    {"Age", "date", ".metadata.creationTimestamp"},
};
constexpr PrinterColumn kWishesColumns[] = {
    {"Target", "string", ".spec.targetRef.name"},   {"Pods", "string", ".status.pods"},
    {"Domain", "string", ".status.domain"},         {"Wish", "string", ".status.wish"},
    {"Reached", "string", ".status.reached"},       {"Status", "string", kConditionReason},
    {"Age", "date", ".metadata.creationTimestamp"}, {"Kind", "string", ".spec.targetRef.kind", 1},
    {"Topology", "string", ".spec.topology", 1},
};

constexpr auto kLevelsMax = static_cast<std::int64_t>(api::kTopologyLevelsMax);
constexpr std::int64_t kSummaryLengthMax = 1024;
constexpr std::int64_t kDomainPathLengthMax = 1024;
constexpr std::int64_t kGroupMessageLengthMax = 1024;
constexpr std::int64_t kAttributeLengthMax = 96;
constexpr std::string_view kAttributePattern =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z_][A-Za-z0-9_]*$";

constexpr Bound kTopologyBounds[] = {
    {"spec.levels", Limit::ItemsMax, kLevelsMax},       {"spec.levels.[].name", Limit::Label},
    {"spec.levels.[].nodeLabel", Limit::QualifiedName}, {"status.path", Limit::LengthMax, kSummaryLengthMax},
    {"status.levels", Limit::ItemsMax, kLevelsMax},     {"status.levels.[].name", Limit::Label},
    {"status.levels.[].domains", Limit::NotNegative},   {"status.nodes", Limit::NotNegative},
    {"status.unlabelledNodes", Limit::NotNegative},     {"status.conditions", Limit::ItemsMax, 8},
};
constexpr Bound kWishesBounds[] = {
    {"spec.targetRef.group", Limit::LengthMax, 253},
    {"spec.targetRef.kind", Limit::Text, 63},
    {"spec.targetRef.name", Limit::Subdomain},
    {"spec.topology", Limit::LengthMax, 253},
    {"spec.required", Limit::QualifiedNameOrNone},
    {"spec.preferred", Limit::ItemsMax, static_cast<std::int64_t>(api::kPreferredLevelsMax)},
    {"spec.preferred.[]", Limit::QualifiedName},
    {"spec.segments.level", Limit::QualifiedName},
    {"spec.segments.size.min", Limit::Positive},
    {"spec.segments.size.max", Limit::Positive},
    {"spec.distribution", Limit::OneOfOrNone, 0, "Balanced,Packed"},
    {"spec.ranks", Limit::OneOfOrNone, 0, "Contiguous"},
    {"spec.sameDevices.claim", Limit::Label},
    {"spec.sameDevices.attribute", Limit::Pattern, kAttributeLengthMax, kAttributePattern},
    {"spec.replaceFailedNodes", Limit::OneOfOrNone, 0, "Never,WithinDomain"},
    {"spec.whenNoSpare", Limit::OneOfOrNone, 0, "ReplaceGroup,Wait,Widen"},
    {"status.wish", Limit::LengthMax, kSummaryLengthMax},
    {"status.reached", Limit::LengthMax, kSummaryLengthMax},
    {"status.pods", Limit::LengthMax, kSummaryLengthMax},
    {"status.domain", Limit::LengthMax, kSummaryLengthMax},
    {"status.groups", Limit::ItemsMax, static_cast<std::int64_t>(api::kPlacedGroupsMax)},
    {"status.groups.[].name", Limit::Subdomain},
    {"status.groups.[].domains", Limit::ItemsMax, static_cast<std::int64_t>(api::kPlacedDomainsMax)},
    {"status.groups.[].domains.[]", Limit::LengthMax, kDomainPathLengthMax},
    {"status.groups.[].pods", Limit::NotNegative},
    {"status.groups.[].placedPods", Limit::NotNegative},
    {"status.groups.[].sameValues", Limit::ItemsMax, static_cast<std::int64_t>(api::kPlacedDomainsMax)},
    {"status.groups.[].message", Limit::LengthMax, kGroupMessageLengthMax},
    {"status.omittedGroups", Limit::NotNegative},
    {"status.conditions", Limit::ItemsMax, 8},
};

// No two items of the list have the same `member`, or the same value without one.
std::string unique_rule(std::string_view list, std::string_view member) {
  const std::string in = "self.spec." + std::string(list);
  const std::string of = member.empty() ? "" : "." + std::string(member);
  return "!has(" + in + ") || " + in + ".all(a, " + in + ".exists_one(b, b" + of + " == a" + of + "))";
}

Json topology_rules_json() {
  return Json::array({
      cel_rule("has(self.spec.levels) && size(self.spec.levels) > 0",
               "a topology has 1 to 8 levels, the broadest first", ".spec.levels"),
      cel_rule(unique_rule("levels", "name"), "two levels have the same name", ".spec.levels"),
      cel_rule(unique_rule("levels", "nodeLabel"), "two levels have the same nodeLabel", ".spec.levels"),
  });
}

Json wishes_rules_json() {
  const std::string size = "self.spec.segments.size";
  const std::string none = "!has(self.spec.segments) || ";
  return Json::array({
      cel_rule(unique_rule("preferred", ""), "a level is preferred twice", ".spec.preferred"),
      cel_rule(none + "has(" + size + ".min) || has(" + size + ".max)",
               "min, max or both: how many pods a domain gets", ".spec.segments.size"),
      cel_rule(
          none + "!has(" + size + ".min) || !has(" + size + ".max) || " + size + ".min <= " + size + ".max",
          "min must not be greater than max", ".spec.segments.size"),
  });
}

}  // namespace

std::span<const PrinterColumn> topology_columns() {
  return kTopologyColumns;
}

std::span<const PrinterColumn> placement_policy_columns() {
  return kWishesColumns;
}

Json topology_crd() {
  Json schema = structural_schema(own_type("Topology"));
  narrow(schema, kTopologyBounds);
  schema["x-kubernetes-validations"] = topology_rules_json();
  return definition_object({"topologies", kTopologyColumns, std::move(schema)});
}

Json placement_policy_crd() {
  Json schema = structural_schema(own_type("PlacementPolicy"));
  narrow(schema, kWishesBounds);
  schema["x-kubernetes-validations"] = wishes_rules_json();
  return definition_object({"placementpolicies", kWishesColumns, std::move(schema)});
}

}  // namespace berth::install
