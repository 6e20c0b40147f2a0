// Every field that a gate of device allocation controls, with the gate on and off, on create and on update.
#include <gtest/gtest.h>

#include <set>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

struct Row {
  const char* gate;
  const char* api_version;
  const char* kind;
  const char* field;  // path of the gated member
  std::string object;
  // The field error when the member is dropped from a new object; empty: it is valid without.
  const char* refused_without = "";
};

constexpr const char* kResource = "resource.k8s.io/v1";
constexpr const char* kGroups = "scheduling.k8s.io/v1beta1";

Row device(const char* gate, const std::string& path, const std::string& members,
           const std::string& slice = "", const char* refused_without = "") {
  static std::set<std::string> paths;
  const std::string& kept = *paths.insert("spec.devices.0." + path).first;
  return {gate,
          kResource,
          "ResourceSlice",
          kept.c_str(),
          R"({"metadata":{"name":"s"},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,)"
          R"("resourceSliceCount":1},)" +
              (slice.empty() ? R"("nodeName":"n",)" : slice) + R"("devices":[{"name":"a",)" + members +
              "}]}}",
          refused_without};
}

Row slice(const char* gate, const char* field, const std::string& members, const char* refused_without = "") {
  return {gate,
          kResource,
          "ResourceSlice",
          field,
          R"({"metadata":{"name":"s"},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,)"
          R"("resourceSliceCount":1},)" +
              members + "}}",
          refused_without};
}

Row request(const char* gate, const char* field, const std::string& request, const std::string& devices = "",
            const char* refused_without = "") {
  return {gate,
          kResource,
          "ResourceClaim",
          field,
          R"({"metadata":{"name":"c","namespace":"n"},"spec":{"devices":{"requests":[{"name":"r",)" +
              request + "}]" + devices + "}}}",
          refused_without};
}

Row result(const char* gate, const char* field, const std::string& result, const std::string& status = "",
           const std::string& allocation = "") {
  return {gate, kResource, "ResourceClaim", field,
          R"({"metadata":{"name":"c","namespace":"n"},"spec":{"devices":{"requests":[{"name":"r",)"
          R"("exactly":{"deviceClassName":"x","allocationMode":"ExactCount","count":1}}]}},)"
          R"("status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.io","pool":"p",)"
          R"("device":"a")" +
              result + "}]}" + allocation + "}" + status + "}}"};
}

std::vector<Row> slice_rows() {
  constexpr const char* kPartitions = "DRAPartitionableDevices=false";
  constexpr const char* kConditions = "DRADeviceBindingConditions=false";
  constexpr const char* kLists = "DRAListTypeAttributes=false";
  constexpr const char* kEmpty = "spec.devices[0].attributes[l]";
  const std::string each = R"("perDeviceNodeSelection":true,)";
  const std::string consumes = R"("consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"1"}})";
  const std::string conditions = R"("bindingConditions":["d.io/up"],"bindingFailureConditions":["d.io/no"])";
  return {
      slice(kPartitions, "spec.sharedCounters",
            R"("nodeName":"n","sharedCounters":[{"name":"s","counters":{"m":{"value":"1"}}}])"),
      slice(kPartitions, "spec.perDeviceNodeSelection", R"("perDeviceNodeSelection":true)", "spec"),
      device(kPartitions, "consumesCounters", consumes + "}]"),
      device(kPartitions, "nodeName", R"("nodeName":"n")", each, "spec"),
      device(kPartitions, "allNodes", R"("allNodes":true)", each, "spec"),
      device(
          kPartitions, "nodeSelector",
          R"("nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]})",
          each, "spec"),
      device("DRADeviceCompatibilityGroups=false", "consumesCounters.0.compatibilityGroups",
             consumes + R"(,"compatibilityGroups":["mig"]}])"),
      device("DRADeviceTaints=false", "taints", R"("taints":[{"key":"k","effect":"NoSchedule"}])"),
      device(kConditions, "bindsToNode", R"("bindsToNode":true)"),
      device(kConditions, "bindingConditions", conditions),
      device(kConditions, "bindingFailureConditions", conditions),
      device("DRAConsumableCapacity=false", "allowMultipleAllocations", R"("allowMultipleAllocations":true)"),
      device("DRAConsumableCapacity=false", "capacity.m.requestPolicy",
             R"("allowMultipleAllocations":true,"capacity":{"m":{"value":"4","requestPolicy":)"
             R"({"default":"1","validValues":["1"]}}})"),
      device("DRANodeAllocatableResources=false", "nodeAllocatableResources",
             R"("nodeAllocatableResources":{"cpu":{"mapping":{"deviceMultiplier":"1"}}})"),
      device(kLists, "attributes.l.ints", R"("attributes":{"l":{"ints":[1]}})", "", kEmpty),
      device(kLists, "attributes.l.bools", R"("attributes":{"l":{"bools":[true]}})", "", kEmpty),
      device(kLists, "attributes.l.strings", R"("attributes":{"l":{"strings":["x"]}})", "", kEmpty),
      device(kLists, "attributes.l.versions", R"("attributes":{"l":{"versions":["1.0.0"]}})", "", kEmpty),
      slice("DRAPartitionableDevicesType=false", "spec.partitionTypeAttribute",
            R"("nodeName":"n","partitionTypeAttribute":"d.io/type","devices":[{"name":"a","attributes":)"
            R"({"type":{"string":"mig"}},)" +
                consumes + "}]}]"),
      slice("DRAOptionalNodeOperations=false", "spec.skipNodeOperations",
            R"("nodeName":"n","skipNodeOperations":["*"])"),
  };
}

std::vector<Row> claim_rows() {
  constexpr const char* kExact = "spec.devices.requests.0.exactly.";
  constexpr const char* kFirst = "spec.devices.requests.0.firstAvailable.0.";
  static std::set<std::string> paths;
  const auto at = [&](const char* base, const char* member) {
    return paths.insert(std::string(base) + member).first->c_str();
  };
  const std::string tolerations = R"("tolerations":[{"key":"k","operator":"Exists"}])";
  const std::string capacity = R"("capacity":{"requests":{"m":"1"}})";
  const std::string derived = R"("derivedAttributes":[{"name":"d.io/n","expression":"1"}])";
  const std::string used = R"(,"constraints":[{"matchAttribute":"d.io/n"}])";
  std::vector<Row> rows = {
      request("DRAAdminAccess=false", at(kExact, "adminAccess"),
              R"("exactly":{"deviceClassName":"x","adminAccess":true})"),
      request("DRAPrioritizedList=false", "spec.devices.requests.0.firstAvailable",
              R"("firstAvailable":[{"name":"s","deviceClassName":"x"}])", "", "spec.devices.requests[0]"),
      request("DRAConsumableCapacity=false", "spec.devices.constraints.0.distinctAttribute",
              R"("exactly":{"deviceClassName":"x"})", R"(,"constraints":[{"distinctAttribute":"d.io/n"}])",
              "spec.devices.constraints[0].matchAttribute"),
  };
  for (const auto& [gate, name, members] : {std::tuple{"DRADeviceTaints=false", "tolerations", tolerations},
                                            {"DRAConsumableCapacity=false", "capacity", capacity},
                                            {"DRADerivedAttributes=false", "derivedAttributes", derived}}) {
    const std::string more = members == derived ? used : "";
    rows.push_back(
        request(gate, at(kExact, name), R"("exactly":{"deviceClassName":"x",)" + members + "}", more));
    rows.push_back(request(gate, at(kFirst, name),
                           R"("firstAvailable":[{"name":"s","deviceClassName":"x",)" + members + "}]", more));
  }
  return rows;
}

std::vector<Row> status_rows() {
  constexpr const char* kConditions = "DRADeviceBindingConditions=false";
  constexpr const char* kShares = "DRAConsumableCapacity=false";
  constexpr const char* kFirst = "status.allocation.devices.results.0.";
  static std::set<std::string> paths;
  const auto at = [&](const char* member) {
    return paths.insert(std::string(kFirst) + member).first->c_str();
  };
  const std::string conditions = R"(,"bindingConditions":["d.io/up"],"bindingFailureConditions":["d.io/no"])";
  const std::string share = R"(,"shareID":"94d7b8d5-0b9b-4a3e-8f7f-0a8e0a2ff2c1")";
  return {
      result("DRAAdminAccess=false", at("adminAccess"), R"(,"adminAccess":true)"),
      result("DRADeviceTaints=false", at("tolerations"),
             R"(,"tolerations":[{"key":"k","operator":"Exists"}])"),
      result(kConditions, at("bindingConditions"), conditions),
      result(kConditions, at("bindingFailureConditions"), conditions),
      result(kConditions, "status.allocation.allocationTimestamp", "", "",
             R"(,"allocationTimestamp":"2026-11-21T00:00:00Z")"),
      result(kShares, at("shareID"), share),
      result(kShares, at("consumedCapacity"), share + R"(,"consumedCapacity":{"m":"1"})"),
      result(kShares, "status.devices.0.shareID", share,
             R"(,"devices":[{"driver":"d.io","pool":"p","device":"a")" + share + "}]"),
      result("DRAOptionalNodeOperations=false", at("skipNodeOperations"), R"(,"skipNodeOperations":["*"])"),
      result("BerthCompatibilityGroupSnapshot=false", at("compatibilityGroups"),
             R"(,"compatibilityGroups":{"set":["mig"]})"),
      result("DRADeviceCompatibilityGroups=false", at("compatibilityGroups"),
             R"(,"compatibilityGroups":{"set":["mig"]})"),
      result("DRAResourceClaimDeviceStatus=false", "status.devices", "",
             R"(,"devices":[{"driver":"d.io","pool":"p","device":"a"}])"),
  };
}

std::string pod_with(const std::string& status) {
  return R"({"metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}]},)"
         R"("status":{)" +
         status + "}}";
}

std::vector<Row> other_rows() {
  constexpr const char* kShared = "DRAWorkloadResourceClaims=false";
  const std::string claims = R"("resourceClaims":[{"name":"c","resourceClaimName":"x"}])";
  return {
      {"DRAExtendedResource=false", kResource, "DeviceClass", "spec.extendedResourceName",
       R"({"metadata":{"name":"c"},"spec":{"extendedResourceName":"d.io/gpu"}})"},
      {"DRAPartitionableDevicesType=false", "resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest",
       "spec.defaultPartitionTypeAttribute",
       R"({"metadata":{"name":"r"},"spec":{"driver":"d.io","defaultPartitionTypeAttribute":"d.io/type"}})"},
      {kShared, kGroups, "PodGroup", "spec.resourceClaims",
       R"({"metadata":{"name":"g","namespace":"n"},"spec":{"schedulingPolicy":{"basic":{}},)" + claims +
           "}}"},
      {kShared, kGroups, "PodGroup", "status.resourceClaimStatuses",
       R"({"metadata":{"name":"g","namespace":"n"},"spec":{"schedulingPolicy":{"basic":{}}},)"
       R"("status":{"resourceClaimStatuses":[{"name":"c","resourceClaimName":"y"}]}})"},
      {kShared, kGroups, "Workload", "spec.podGroupTemplates.0.resourceClaims",
       R"({"metadata":{"name":"w","namespace":"n"},"spec":{"podGroupTemplates":[{"name":"t",)"
       R"("schedulingPolicy":{"basic":{}},)" +
           claims + "}]}}"},
      {"DRAExtendedResource=false", "v1", "Pod", "status.extendedResourceClaimStatus",
       pod_with(R"("extendedResourceClaimStatus":{"resourceClaimName":"x","requestMappings":)"
                R"([{"containerName":"c","resourceName":"d.io/gpu","requestName":"r"}]})")},
      {"DRANodeAllocatableResources=false", "v1", "Pod", "status.nodeAllocatableResourceClaimStatuses",
       pod_with(R"("nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"x"}])")},
      {"ResourceHealthStatus=false", "v1", "Pod", "status.containerStatuses.0.allocatedResourcesStatus",
       pod_with(R"("containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,"restartCount":0,)"
                R"("allocatedResourcesStatus":[{"name":"claim:x"}]}])")},
  };
}

std::vector<Row> every_row() {
  std::vector<Row> rows = slice_rows();
  for (std::vector<Row> more : {claim_rows(), status_rows(), other_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// The steps of "spec.devices.0.name".
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    steps.emplace_back(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return steps;
}

Json* at_path(Json& object, const std::vector<std::string>& steps, std::size_t count) {
  Json* at = &object;
  for (std::size_t i = 0; at && i < count; ++i) {
    if (at->is_array())
      at = at->as_array().empty() ? nullptr : &at->as_array()[0];
    else
      at = at->is_object() ? at->find(steps[i]) : nullptr;
  }
  return at && !at->is_null() ? at : nullptr;
}

bool has(Json object, const char* path) {
  const std::vector<std::string> steps = steps_of(path);
  return at_path(object, steps, steps.size()) != nullptr;
}

class GateRows : public testing::Test {
 protected:
  static Json decoded(const Row& row) {
    const Result<Decoded> decoded = decode_json(*find_kind(row.api_version, row.kind), row.object);
    EXPECT_TRUE(decoded.ok()) << row.object << ": " << decoded.error().text();
    return decoded.ok() ? decoded->document : Json::object();
  }
  // The stored object while the gate is off.
  static Json without_field(const Row& row) {
    Json object = decoded(row);
    const Gates off = Gates::parse(GateDefaults::Up, row.gate, GateLocks::Ignored).value();
    rules(row).prepare_create(object, context(off));
    return object;
  }
  static Json strip_status(Json object) {
    object["status"] = Json::object();
    return object;
  }
  static bool in_status(const Row& row) { return std::string_view(row.field).starts_with("status"); }
  static const KindRules& rules(const Row& row) {
    const std::string_view version = row.api_version;
    const std::size_t slash = version.find('/');
    const std::string_view group =
        slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
    const ResourceInfo* resource = find_resource_of_kind(
        group, slash == std::string_view::npos ? version : version.substr(slash + 1), row.kind);
    return rules_of(group, resource->plural);
  }
  static RuleContext context(const Gates& gates) {
    return {gates,
            accept_any_cel,
            parse_time("2026-11-21T00:00:00Z").value(),
            "someone",
            [](auto, auto, auto) {
              return std::optional<Json>(
                  *parse_json(R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})"));
            },
            [](auto, auto) { return std::vector<Json>(); }};
  }
  // The stored form of `next`.
  static Json updated(const Row& row, Json next, const Json& old, const Gates& gates) {
    const RuleContext ctx = context(gates);
    if (in_status(row))
      rules(row).prepare_status_update(next, old, ctx);
    else
      rules(row).prepare_update(next, old, ctx);
    return next;
  }
};

TEST_F(GateRows, OnCreateAMemberIsKeptWithItsGateAndDroppedWithout) {
  const Gates on(GateDefaults::Up);
  for (const Row& row : every_row()) {
    if (in_status(row)) continue;
    SCOPED_TRACE(std::string(row.gate) + " " + row.kind + " " + row.field);
    const Gates off = Gates::parse(GateDefaults::Up, row.gate, GateLocks::Ignored).value();
    Json kept = decoded(row);
    if (rules(row).set_defaults) rules(row).set_defaults(kept);
    Json dropped = kept;
    rules(row).prepare_create(kept, context(on));
    EXPECT_TRUE(has(kept, row.field));
    EXPECT_TRUE(rules(row).validate_create(kept, context(on)).empty())
        << rules(row).validate_create(kept, context(on))[0].body;
    rules(row).prepare_create(dropped, context(off));
    EXPECT_FALSE(has(dropped, row.field));
    const FieldErrors errors = rules(row).validate_create(dropped, context(off));
    EXPECT_EQ(errors.empty() ? "" : errors[0].path, row.refused_without);
  }
}

TEST_F(GateRows, OnUpdateAMemberOfAGateThatIsOffStaysOnlyWhereTheStoredObjectUsesTheFeature) {
  const Gates on(GateDefaults::Up);
  for (const Row& row : every_row()) {
    SCOPED_TRACE(std::string(row.gate) + " " + row.kind + " " + row.field);
    const Gates off = Gates::parse(GateDefaults::Up, row.gate, GateLocks::Ignored).value();
    const Json with = decoded(row);
    const Json without = in_status(row) ? strip_status(with) : without_field(row);
    EXPECT_TRUE(has(updated(row, with, without, on), row.field));
    EXPECT_FALSE(has(updated(row, with, without, off), row.field));
    EXPECT_TRUE(has(updated(row, with, with, off), row.field));
  }
}

TEST_F(GateRows, TemplatesAreTreatedAsTheirClaims) {
  for (const Row& claim : claim_rows()) {
    SCOPED_TRACE(std::string(claim.gate) + " " + claim.field);
    const Json spec = *decoded(claim).find("spec");
    const std::string field = "spec." + std::string(claim.field);
    const Row row = {claim.gate, kResource, "ResourceClaimTemplate", field.c_str(),
                     R"({"metadata":{"name":"t","namespace":"n"},"spec":{"spec":)" + to_string(spec) + "}}"};
    const Gates off = Gates::parse(GateDefaults::Up, row.gate, GateLocks::Ignored).value();
    Json dropped = decoded(row);
    rules(row).prepare_create(dropped, context(off));
    EXPECT_FALSE(has(dropped, row.field));
    EXPECT_TRUE(has(updated(row, decoded(row), decoded(row), off), row.field));
    EXPECT_FALSE(has(updated(row, decoded(row), dropped, off), row.field));
    EXPECT_TRUE(has(updated(row, decoded(row), dropped, Gates(GateDefaults::Up)), row.field));
  }
}

// A single use anywhere in the stored object keeps the whole new value.
TEST_F(GateRows, OneUseKeepsEveryMemberOfTheFeature) {
  const auto slice_of = [](const std::string& devices) {
    return decode_json(*find_kind(kResource, "ResourceSlice"),
                       R"({"spec":{"driver":"d.io","devices":[)" + devices + "]}}")
        .value()
        .document;
  };
  const Gates off = Gates::parse(GateDefaults::Up, "DRAPartitionableDevices=false").value();
  const KindRules& slices = rules_of("resource.k8s.io", "resourceslices");
  const Json old = slice_of(R"({"name":"a","allNodes":true})");
  Json next = slice_of(R"({"name":"b","consumesCounters":[{"counterSet":"s","counters":{}}]})");
  slices.prepare_update(next, old, context(off));
  EXPECT_TRUE(has(next, "spec.devices.0.consumesCounters"));
  // The groups are a feature of their own: their gate went off with the gate that they need.
  next = slice_of(R"({"name":"b","consumesCounters":[{"counterSet":"s","compatibilityGroups":["x"]}]})");
  slices.prepare_update(next, old, context(off));
  EXPECT_TRUE(has(next, "spec.devices.0.consumesCounters"));
  EXPECT_FALSE(has(next, "spec.devices.0.consumesCounters.0.compatibilityGroups"));
}

void collect_gated(const TypeInfo& type, std::set<const TypeInfo*>& seen, std::set<std::string>& found) {
  if (!seen.insert(&type).second) return;
  for (const FieldInfo& field : type.fields()) {
    const bool ours = field.gate.starts_with("DRA") || field.gate.starts_with("BerthCompat");
    if (ours) found.insert(std::string(type.name) + "." + std::string(field.json));
    if (field.kind == ValueKind::Message) collect_gated(field.type(), seen, found);
  }
}

TEST_F(GateRows, EveryGatedFieldHasARow) {
  std::set<std::string> gated;
  std::set<const TypeInfo*> seen;
  for (const auto& [version, kind] : {std::pair{kResource, "ResourceSlice"},
                                      {kResource, "ResourceClaim"},
                                      {kResource, "DeviceClass"},
                                      {kResource, "ResourceClaimTemplate"},
                                      {kResource, "DeviceTaintRule"},
                                      {"resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest"},
                                      {"v1", "Pod"},
                                      {kGroups, "PodGroup"},
                                      {kGroups, "Workload"}})
    collect_gated(*find_kind(version, kind), seen, gated);
  ASSERT_GT(gated.size(), 40u);
  for (const Row& row : every_row()) {
    const TypeInfo* type = find_kind(row.api_version, row.kind);
    const FieldInfo* field = nullptr;
    for (const std::string& step : steps_of(row.field)) {
      const FieldInfo* next = type->field_by_json(step);
      if (!next) continue;  // an index or a key of a map
      field = next;
      gated.erase(std::string(type->name) + "." + step);
      if (field->kind == ValueKind::Message) type = &field->type();
    }
    ASSERT_NE(field, nullptr) << row.field;
  }
  for (const std::string& left : gated) ADD_FAILURE() << left << " has no row";
}

TEST(FractionalCapacityRange, DecidesWhetherStepsAreCountedInThousandths) {
  const auto errors = [](const char* gate, const char* range, const char* value) {
    const Gates gates = Gates::parse(GateDefaults::Up, gate).value();
    const RuleContext ctx = context_of_empty_cluster(gates);
    const Json slice =
        decode_json(*find_kind(kResource, "ResourceSlice"),
                    R"({"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},)"
                    R"("nodeName":"n","devices":[{"name":"a","allowMultipleAllocations":true,"capacity":)"
                    R"({"m":{"value":"4","requestPolicy":{"default":")" +
                        std::string(value) + R"(","validRange":)" + range + "}}}}]}}")
            .value()
            .document;
    return rules_of("resource.k8s.io", "resourceslices").validate_create(slice, ctx).size();
  };
  constexpr const char* kOff = "DRAFractionalCapacityRange=false";
  constexpr const char* kOn = "DRAFractionalCapacityRange=true";
  EXPECT_EQ(errors(kOff, R"({"min":"0","step":"1"})", "1500m"), 0u);
  EXPECT_EQ(errors(kOn, R"({"min":"0","step":"1"})", "1500m"), 1u);
  EXPECT_EQ(errors(kOn, R"({"min":"0","step":"500m"})", "1500m"), 0u);
  EXPECT_EQ(errors(kOn, R"({"min":"0","step":"500m","max":"2250m"})", "1500m"), 1u);
  EXPECT_EQ(errors(kOff, R"({"min":"0","step":"2","max":"3"})", "2"), 1u);
}

}  // namespace
}  // namespace berth::api
