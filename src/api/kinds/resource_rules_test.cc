// Cases without a recording: odd documents, fields of gates that were off, order of members.
#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/kinds/network_address.h"
#include "api/test_cel.h"

namespace berth::api {
namespace {

class Rules : public testing::Test {
 protected:
  Json decoded(std::string_view api_version, std::string_view kind, std::string_view text) {
    return decode_json(*find_kind(api_version, kind), text).value().document;
  }
  // "path: body" lines.
  static std::string text_of(const FieldErrors& errors) {
    std::string text;
    for (const FieldError& error : errors) text += error.path + ": " + error.body + "\n";
    return text;
  }

  Gates gates{GateDefaults::Up};
  RuleContext ctx{gates,
                  accept_any_cel,
                  parse_time("2026-11-21T00:00:00Z").value(),
                  "someone",
                  [](auto, auto, auto) { return std::optional<Json>(); },
                  [](auto, auto) { return std::vector<Json>(); }};
};

std::string slice_with(const std::string& device, const std::string& more = "") {
  return R"({"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},)"
         R"("nodeName":"n",)" +
         more + R"("devices":[)" + device + "]}}";
}

TEST_F(Rules, NullsInListsAndMapsAreSurvived) {
  const KindRules& slices = rules_of("resource.k8s.io", "resourceslices");
  for (const std::string device :
       {R"({"name":"d","attributes":{"a":null},"capacity":{"c":null},"taints":[null],)"
        R"("consumesCounters":[null]})",
        R"({"name":"d","bindingConditions":[null],"bindingFailureConditions":[null]})",
        R"({"name":"d","attributes":{"a":{"strings":[null],"versions":[null]}}})",
        R"({"name":"d","allowMultipleAllocations":true,"capacity":{"c":)"
        R"({"requestPolicy":{"validValues":[null],)"
        R"("default":"1"}}}})"}) {
    Json slice = decoded("resource.k8s.io/v1", "ResourceSlice", slice_with(device));
    slices.prepare_create(slice, ctx);
    EXPECT_FALSE(slices.validate_create(slice, ctx).empty()) << device;
  }
  const KindRules& claims = rules_of("resource.k8s.io", "resourceclaims");
  Json claim =
      decoded("resource.k8s.io/v1", "ResourceClaim",
              R"({"spec":{"devices":{"requests":[null,{"name":"r","exactly":{"tolerations":[null],)"
              R"("selectors":[null],"derivedAttributes":[null]}}],"constraints":[null,{"requests":[null]}],)"
              R"("config":[null,{"requests":[null],"opaque":{"parameters":null}}]}}})");
  claims.set_defaults(claim);
  claims.prepare_create(claim, ctx);
  EXPECT_FALSE(claims.validate_create(claim, ctx).empty());
}

TEST_F(Rules, SlicesKeepWhatAnEarlierReleaseStored) {
  const KindRules& rules = rules_of("resource.k8s.io", "resourceslices");
  const auto validated = [&](const std::string& next, const std::string& old) {
    return text_of(rules.validate_update(decoded("resource.k8s.io/v1", "ResourceSlice", slice_with(next)),
                                         decoded("resource.k8s.io/v1", "ResourceSlice", slice_with(old)),
                                         ctx));
  };
  const std::string odd = R"({"name":"d","taints":[{"key":"k","effect":"Later","value":"v"}]})";
  const std::string changed = R"({"name":"d","taints":[{"key":"k","effect":"Later","value":"w"}]})";
  const std::string fresh = R"({"name":"d"})";
  EXPECT_EQ(validated(odd, odd), "");
  EXPECT_EQ(validated(changed, odd), "");
  EXPECT_EQ(
      validated(odd, fresh),
      "spec.devices[0].taints[0].effect: Unsupported value: \"Later\": supported values: \"NoExecute\", "
      "\"NoSchedule\", \"None\"\n");
  const std::string above = R"({"name":"d","allowMultipleAllocations":true,"capacity":{"c":{"value":"1",)"
                            R"("requestPolicy":{"default":"2","validValues":["2"]}}}})";
  EXPECT_EQ(validated(above, above), "");
  EXPECT_NE(validated(above, fresh), "");
}

TEST_F(Rules, PartitionTypeNamesAStringOfEveryPartition) {
  const KindRules& rules = rules_of("resource.k8s.io", "resourceslices");
  const auto validated = [&](const std::string& attributes) {
    const std::string device =
        R"({"name":"d","consumesCounters":[{"counterSet":"s","counters":{"c":{"value":"1"}}}],)"
        R"("attributes":{)" +
        attributes + "}}";
    const Json slice = decoded("resource.k8s.io/v1", "ResourceSlice",
                               slice_with(device, R"("partitionTypeAttribute":"d.io/type",)"));
    return text_of(rules.validate_create(slice, ctx));
  };
  EXPECT_EQ(validated(R"("type":{"string":"mig"})"), "");
  EXPECT_EQ(validated(R"("d.io/type":{"string":"mig"})"), "");
  EXPECT_NE(validated(R"("type":{"int":1})"), "");
  EXPECT_NE(validated(""), "");
}

TEST_F(Rules, PreparingIsSkippedOnlyWithUnpreparing) {
  const KindRules& rules = rules_of("resource.k8s.io", "resourceslices");
  const auto validated = [&](const std::string& operations) {
    const Json slice =
        decoded("resource.k8s.io/v1", "ResourceSlice",
                slice_with(R"({"name":"d"})", R"("skipNodeOperations":[)" + operations + "],"));
    return rules.validate_create(slice, ctx).size();
  };
  EXPECT_EQ(validated(R"("*")"), 0u);
  EXPECT_EQ(validated(R"("NodeUnprepareResources")"), 0u);
  EXPECT_EQ(validated(R"("NodePrepareResources","NodeUnprepareResources")"), 0u);
  EXPECT_EQ(validated(R"("NodePrepareResources")"), 1u);
  EXPECT_EQ(validated(R"("Other")"), 1u);
  EXPECT_EQ(validated(R"("*","*")"), 1u);
}

TEST_F(Rules, StatesOfDevicesGoWithTheirAllocation) {
  const KindRules& rules = rules_of("resource.k8s.io", "resourceclaims");
  const std::string allocation =
      R"("allocation":{"devices":{"results":[{"request":"r","driver":"d.io","pool":"p",)"
      R"("device":"a"}]}})";
  const std::string states = R"("devices":[{"driver":"d.io","pool":"p","device":"a"}])";
  const auto claim = [&](const std::string& status, const char* label) {
    return decoded("resource.k8s.io/v1", "ResourceClaim",
                   R"({"metadata":{"labels":{"l":")" + std::string(label) +
                       R"("}},"spec":{"devices":{"requests":[{"name":"r"}]}},"status":{)" + status + "}}");
  };
  const Json old = claim(allocation + "," + states, "old");
  Json next = claim(states, "new");
  rules.prepare_status_update(next, old, ctx);
  EXPECT_EQ(to_string(*next.find("status")), "{}");
  EXPECT_EQ(next.find_path({"metadata", "labels", "l"})->as_string(), "old");
  Json kept = claim(allocation + "," + states, "new");
  rules.prepare_status_update(kept, old, ctx);
  EXPECT_EQ(*kept.find("status"), *old.find("status"));
}

TEST_F(Rules, ABoundPodIsNotNominated) {
  const KindRules& rules = rules_of("", "pods");
  const auto pod = [&](const std::string& node, const std::string& nominated) {
    return decoded("v1", "Pod",
                   R"({"metadata":{"name":"p","namespace":"n"},"spec":{)" + node +
                       R"("containers":[{"name":"c","image":"i"}]},"status":{)" + nominated + "}}");
  };
  const std::string bound = R"("nodeName":"a",)", named = R"("nominatedNodeName":"b")";
  const auto update = [&](const Json& next, const Json& old) {
    return text_of(rules.validate_status_update(next, old, ctx));
  };
  EXPECT_EQ(update(pod("", named), pod("", "")), "");
  EXPECT_EQ(update(pod(bound, named), pod(bound, "")),
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node\n");
  EXPECT_EQ(update(pod(bound, named), pod(bound, named)), "") << "what an earlier release stored";
  EXPECT_EQ(update(pod(bound, ""), pod(bound, named)), "");
}

TEST_F(Rules, TheDefaultPriorityClassIsWrittenDown) {
  ctx.list = [](auto, auto) {
    return std::vector<Json>{
        *parse_json(R"({"metadata":{"name":"plain"},"value":1})"),
        *parse_json(R"({"metadata":{"name":"high"},"value":9,"globalDefault":true})"),
        *parse_json(
            R"({"metadata":{"name":"low"},"value":7,"globalDefault":true,"preemptionPolicy":"Never"})")};
  };
  const KindRules& rules = rules_of("scheduling.k8s.io", "podgroups");
  Json group = decoded("scheduling.k8s.io/v1beta1", "PodGroup",
                       R"({"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"basic":{}}}})");
  EXPECT_FALSE(rules.admit_create(group, ctx).has_value());
  EXPECT_EQ(to_string(*group.find("spec")),
            R"({"schedulingPolicy":{"basic":{}},"priorityClassName":"low","priority":7,)"
            R"("preemptionPolicy":"Never"})");
  // A second call changes nothing: the finalizer exists once.
  const Json before = group;
  ctx.read = [](auto, auto, auto) -> std::optional<Json> {
    return *parse_json(R"({"metadata":{"name":"low"},"value":7,"preemptionPolicy":"Never"})");
  };
  EXPECT_FALSE(rules.admit_create(group, ctx).has_value());
  EXPECT_EQ(group, before);
}

TEST_F(Rules, TheFirstFormOfATopologyConstraintIsValidatedAndStoredInTheShippedFormToo) {
  const KindRules& rules = rules_of("scheduling.k8s.io", "podgroups");
  const auto group = [&](const std::string& constraints) {
    Json made = decoded("scheduling.k8s.io/v1beta1", "PodGroup",
                        R"({"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"basic":{}},)"
                        R"("schedulingConstraints":)" +
                            constraints + "}}");
    rules.prepare_create(made, ctx);
    return made;
  };
  const auto errors = [&](const std::string& constraints) {
    return text_of(rules.validate_create(group(constraints), ctx));
  };
  const Json made = group(R"({"topologyConstraints":[{"level":"example.com/rack"}]})");
  EXPECT_EQ(
      to_string(*made.find_path({"spec", "schedulingConstraints"})),
      R"({"topology":[{"key":"example.com/rack"}],"topologyConstraints":[{"level":"example.com/rack"}]})");
  EXPECT_EQ(text_of(rules.validate_create(made, ctx)), "");
  Json again = made;
  rules.prepare_update(again, made, ctx);
  EXPECT_EQ(again, made);
  const std::string at = "spec.schedulingConstraints.topologyConstraints";
  EXPECT_EQ(errors(R"({"topologyConstraints":[{}]})"), at + "[0].level: Required value\n");
  EXPECT_TRUE(errors(R"({"topologyConstraints":[{"level":"not a key"}]})")
                  .starts_with(at + "[0].level: Invalid value: \"not a key\": name part must consist of"));
  EXPECT_EQ(errors(R"({"topologyConstraints":[{"level":"a"},{"level":"b"}]})"),
            at + ": Too many: 2: must have at most 1 item\n");
  EXPECT_EQ(errors(R"({"topology":[{"key":"a"}],"topologyConstraints":[{"level":"b"}]})"),
            at + "[0].level: Invalid value: \"b\": must be topology[0].key, or leave one of them out: a "
                 "group has one "
                 "topology constraint\n");
  gates = Gates::parse(GateDefaults::Up, "BerthTopologyConstraintLevel=false").value();
  EXPECT_EQ(
      to_string(
          *group(R"({"topologyConstraints":[{"level":"a"}]})").find_path({"spec", "schedulingConstraints"})),
      "{}");
}

TEST_F(Rules, ARecordOfAGangHasMembersAndNoPodOfItsOwn) {
  const KindRules& rules = rules_of("scheduling.berth.dev", "bindrequests");
  const auto errors = [&](const std::string& spec) {
    return text_of(rules.validate_create(
        decoded("scheduling.berth.dev/v1alpha1", "BindRequest", ("{\"spec\":{" + spec + "}}").c_str()), ctx));
  };
  const std::string member = R"({"podName":"p","podUID":"u","selectedNode":"n"})";
  EXPECT_EQ(errors(R"("members":[)" + member + "]"), "");
  EXPECT_EQ(errors(R"("podName":"p","members":[)" + member + "]"),
            "spec.podName: Forbidden: may not be set together with members\n");
  EXPECT_EQ(errors(R"("members":[{"podName":"p","podUID":"u"}])"),
            "spec.members[0].selectedNode: Required value\n");
  EXPECT_EQ(
      errors(R"("members":[{"podName":"p","podUID":"u","selectedNode":"n","members":[)" + member + "]}]"),
      "spec.members[0].members: Forbidden: may not be nested\n");
}

TEST_F(Rules, TextsOfABindRequestsGroupAreBounded) {
  const KindRules& rules = rules_of("scheduling.berth.dev", "bindrequests");
  struct Row {
    const char* path;
    const char* before;
    const char* after;
    std::size_t most;
  };
  const Row rows[] = {{"spec.group.uid", R"("uid":")", R"(")", 128},
                      {"spec.group.domain", R"("domain":")", R"(")", 2048},
                      {"spec.group.root.uid", R"("root":{"name":"r","uid":")", R"("})", 128}};
  for (const Row& row : rows)
    for (const std::size_t size : {row.most, row.most + 1}) {
      const std::string text =
          R"({"spec":{"podName":"p","podUID":"u","selectedNode":"n","group":{"name":"g",)" +
          std::string(row.before) + std::string(size, 'x') + row.after + "}}}";
      EXPECT_EQ(text_of(rules.validate_create(
                    decoded("scheduling.berth.dev/v1alpha1", "BindRequest", text.c_str()), ctx)),
                size == row.most ? ""
                                 : std::string(row.path) + ": Too long: may not be more than " +
                                       std::to_string(row.most) + " bytes\n");
    }
}

TEST_F(Rules, HealthPoliciesNameTheFieldThatIsWrong) {
  const KindRules& rules = rules_of("scheduling.berth.dev", "devicehealthpolicies");
  const std::string good = R"("driver":"gpu.example.com","effect":"NoSchedule")";
  const std::string evicts = R"("driver":"gpu.example.com","effect":"NoExecute")";
  const std::pair<std::string, std::string> cases[] = {
      {good, ""},
      {evicts + R"(,"budgets":{"cluster":2,"node":1,"rack":1,"rackLabel":"example.com/rack"})", ""},
      {evicts + R"(,"health":"Unknown","evictUnknown":true,"budgets":{"cluster":0})", ""},
      {"", "spec.driver: Required value\nspec.effect: Required value\n"},
      {R"("driver":"a b","effect":"Kill")",
       "spec.driver: Invalid value: \"a b\": a lowercase RFC 1123 subdomain must consist of lower case "
       "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
       "'example.com', regex used for validation is "
       "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n"
       "spec.effect: Unsupported value: \"Kill\": supported values: \"NoExecute\", \"NoSchedule\", "
       "\"None\"\n"},
      {good + R"(,"health":"Healthy")",
       "spec.health: Unsupported value: \"Healthy\": supported values: \"Unhealthy\", \"Unknown\"\n"},
      {good + R"(,"holdFor":"soon","recoverAfter":"-1s")",
       "spec.holdFor: Invalid value: \"soon\": must be a duration from 0s to 24h, like 30s\n"
       "spec.recoverAfter: Invalid value: \"-1s\": must be a duration from 0s to 24h, like 30s\n"},
      {evicts, "spec.budgets.cluster: Required value: effect NoExecute needs a bound\n"},
      {evicts + R"(,"health":"Unknown","budgets":{"cluster":2})",
       "spec.effect: Forbidden: a device of which nobody knows evicts pods only with `evictUnknown: true`\n"},
      {good + R"(,"budgets":{"node":-1})",
       "spec.budgets.node: Invalid value: -1: must be greater than or equal to 0\n"},
      {good + R"(,"budgets":{"rack":1})",
       "spec.budgets.rackLabel: Required value: names the label of nodes whose value is the rack\n"},
      {good + R"(,"messagePattern":")" + std::string(257, 'x') + "\"",
       "spec.messagePattern: Too long: may not be more than 256 bytes\n"},
  };
  for (const auto& [spec, errors] : cases)
    EXPECT_EQ(text_of(rules.validate_create(decoded("scheduling.berth.dev/v1alpha1", "DeviceHealthPolicy",
                                                    ("{\"spec\":{" + spec + "}}").c_str()),
                                            ctx)),
              errors)
        << spec;
}

TEST_F(Rules, TopologiesAndPlacementPoliciesNameTheFieldThatIsWrong) {
  const std::string level = R"({"name":"rack","nodeLabel":"example.com/rack"})";
  const std::string target = R"("targetRef":{"group":"batch","kind":"Job","name":"train"})";
  const std::tuple<const char*, const char*, std::string, std::string> cases[] = {
      {"topologies", "Topology", R"("levels":[)" + level + "]", ""},
      {"topologies", "Topology", "",
       "spec.levels: Required value: a topology has 1 to 8 levels, the broadest first\n"},
      {"topologies", "Topology", R"("levels":[)" + level + "," + level + "]",
       "spec.levels[1].name: Duplicate value: \"rack\"\n"
       "spec.levels[1].nodeLabel: Duplicate value: \"example.com/rack\"\n"},
      {"topologies", "Topology", R"("levels":[{"name":"rack"}])",
       "spec.levels[0].nodeLabel: Required value\n"},
      {"placementpolicies", "PlacementPolicy", target, ""},
      {"placementpolicies", "PlacementPolicy",
       target + R"(,"required":"example.com/block","preferred":["rack","block"],"distribution":"Balanced",)"
                R"("segments":{"level":"rack","size":{"min":4,"max":4}},"ranks":"Contiguous",)"
                R"("sameDevices":{"claim":"gpu","attribute":"example.com/rail"},)"
                R"("replaceFailedNodes":"WithinDomain","whenNoSpare":"Widen","topology":"default")",
       ""},
      {"placementpolicies", "PlacementPolicy",
       target + R"(,"replaceFailedNodes":"Always","whenNoSpare":"Kill")",
       "spec.replaceFailedNodes: Unsupported value: \"Always\": supported values: \"Never\", "
       "\"WithinDomain\"\n"
       "spec.whenNoSpare: Unsupported value: \"Kill\": supported values: \"ReplaceGroup\", \"Wait\", "
       "\"Widen\"\n"},
      {"placementpolicies", "PlacementPolicy", R"("targetRef":{})",
       "spec.targetRef.kind: Required value\nspec.targetRef.name: Required value\n"},
      {"placementpolicies", "PlacementPolicy", target + R"(,"preferred":["rack","rack"])",
       "spec.preferred[1]: Duplicate value: \"rack\"\n"},
      {"placementpolicies", "PlacementPolicy", target + R"(,"segments":{"level":"rack","size":{}})",
       "spec.segments.size: Required value: min, max or both: how many pods a domain gets\n"},
      {"placementpolicies", "PlacementPolicy",
       target + R"(,"segments":{"level":"rack","size":{"min":0,"max":4}})",
       "spec.segments.size.min: Invalid value: 0: must be greater than or equal to 1\n"},
      {"placementpolicies", "PlacementPolicy",
       target + R"(,"segments":{"level":"rack","size":{"min":5,"max":4}})",
       "spec.segments.size.min: Invalid value: 5: must not be greater than max\n"},
      {"placementpolicies", "PlacementPolicy", target + R"(,"distribution":"Even","ranks":"Random")",
       "spec.distribution: Unsupported value: \"Even\": supported values: \"Balanced\", \"Packed\"\n"
       "spec.ranks: Unsupported value: \"Random\": supported values: \"Contiguous\"\n"},
      {"placementpolicies", "PlacementPolicy",
       target + R"(,"sameDevices":{"claim":"gpu","attribute":"rail"})",
       "spec.sameDevices.attribute: Invalid value: \"rail\": a fully qualified name must be a domain and a "
       "name separated by a slash\n"},
  };
  for (const auto& [plural, kind, spec, errors] : cases)
    EXPECT_EQ(text_of(rules_of("scheduling.berth.dev", plural)
                          .validate_create(decoded("scheduling.berth.dev/v1alpha1", kind,
                                                   ("{\"spec\":{" + spec + "}}").c_str()),
                                           ctx)),
              errors)
        << spec;
}

TEST_F(Rules, NamesOfCsiDriversAreBounded) {
  const auto said = [&](const char* group, const char* version, const char* kind, const char* plural,
                        const std::string& text) {
    const KindRules& rules = rules_of(group, plural);
    Json object = decoded(version, kind, text);
    if (rules.set_defaults) rules.set_defaults(object);
    return text_of(rules.validate_create(object, ctx));
  };
  const auto volume = [&](const std::string& driver) {
    return said("", "v1", "PersistentVolume", "persistentvolumes",
                R"({"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},)"
                R"("volumeMode":"Filesystem","persistentVolumeReclaimPolicy":"Retain",)"
                R"("csi":{"volumeHandle":"h","driver":")" +
                    driver + R"("}}})");
  };
  const auto driver = [&](const std::string& name) {
    return said("storage.k8s.io", "storage.k8s.io/v1", "CSIDriver", "csidrivers",
                R"({"metadata":{"name":")" + name + R"("},"spec":{}})");
  };
  const auto node = [&](const std::string& drivers) {
    return said("storage.k8s.io", "storage.k8s.io/v1", "CSINode", "csinodes",
                R"({"spec":{"drivers":[)" + drivers + "]}}");
  };
  const std::string longest(63, 'a'), longer(64, 'a');
  const std::string too_long = ": Too long: may not be more than 63 bytes\n";
  EXPECT_EQ(volume(longest), "");
  EXPECT_EQ(volume("CSI.example.com"), "");
  EXPECT_EQ(volume(longer), "spec.csi.driver" + too_long);
  EXPECT_EQ(volume("A_b").find(R"(spec.csi.driver: Invalid value: "A_b": )"), 0u) << volume("A_b");
  EXPECT_EQ(driver(longest), "");
  EXPECT_EQ(driver(longer), "name" + too_long);
  EXPECT_EQ(node(R"({"name":"d.io","nodeID":"n"})"), "");
  EXPECT_EQ(node(R"({"name":")" + longer + R"(","nodeID":"n"},{"nodeID":"n"},{"name":"d","nodeID":"n"},)" +
                 R"({"name":"d","nodeID":"n"})"),
            "spec.drivers[0].name" + too_long +
                "spec.drivers[1].name: Required value\n"
                "spec.drivers[3].name: Duplicate value: \"d\"\n");
  const std::string pod =
      said("", "v1", "Pod", "pods",
           R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[)"
           R"({"name":"a","csi":{"driver":")" +
               longer + R"("}},{"name":"b","csi":{}}]}})");
  EXPECT_NE(pod.find("spec.volumes[0].csi.driver" + too_long), std::string::npos) << pod;
  EXPECT_NE(pod.find("spec.volumes[1].csi.driver: Required value"), std::string::npos) << pod;
}

TEST_F(Rules, VolumesGetDefaultsAndBeginPending) {
  const auto made = [&](const char* kind, const char* resource, const char* text) {
    const bool storage = std::string_view(kind) == "StorageClass";
    const KindRules& rules = rules_of(storage ? "storage.k8s.io" : "", resource);
    Json object = decoded(storage ? "storage.k8s.io/v1" : "v1", kind, text);
    rules.set_defaults(object);
    if (rules.prepare_create) rules.prepare_create(object, ctx);
    object.as_object().erase("metadata");
    return to_string(object);
  };
  EXPECT_EQ(made("PersistentVolumeClaim", "persistentvolumeclaims",
                 R"({"spec":{"volumeMode":"Block"},"status":{"phase":"Bound"}})"),
            R"({"spec":{"resources":{},"volumeMode":"Block"},"status":{"phase":"Pending"}})");
  EXPECT_EQ(made("PersistentVolume", "persistentvolumes", R"({"spec":{}})"),
            R"({"spec":{"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"},)"
            R"("status":{"phase":"Pending","lastPhaseTransitionTime":"2026-11-21T00:00:00Z"}})");
  EXPECT_EQ(made("StorageClass", "storageclasses", R"({"provisioner":"p"})"),
            R"({"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})");
}

TEST_F(Rules, VolumesAndTheirClassesAreProtectedFromTheirCreation) {
  constexpr const char* kCases[][4] = {
      {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"},
      {"", "v1", "PersistentVolume", "persistentvolumes"},
      {"storage.k8s.io", "storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses"},
  };
  constexpr const char* kFinalizers[] = {"kubernetes.io/pvc-protection", "kubernetes.io/pv-protection",
                                         "kubernetes.io/vac-protection"};
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const auto& [group, version, kind, plural] = kCases[i];
    const Json own(kFinalizers[i]), other("a.io/b");
    for (const JsonArray& given : {JsonArray{}, JsonArray{other}, JsonArray{own, other}}) {
      Json object = decoded(version, kind, R"({"metadata":{"name":"x"}})");
      object["metadata"]["finalizers"] = Json(given);
      EXPECT_FALSE(rules_of(group, plural).admit_create(object, ctx));
      JsonArray expected = given;
      if (given.size() < 2) expected.push_back(own);
      EXPECT_EQ(object.part("metadata").part("finalizers"), Json(expected));
    }
  }
}

TEST_F(Rules, BindRequestsAreDecisions) {
  const KindRules& rules = rules_of("scheduling.berth.dev", "bindrequests");
  const auto request = [&](const char* text) {
    return decoded("scheduling.berth.dev/v1alpha1", "BindRequest", text);
  };
  constexpr const char* kGood = R"({"spec":{"podName":"p","podUID":"u","selectedNode":"n"}})";
  EXPECT_EQ(text_of(rules.validate_create(request(kGood), ctx)), "");
  EXPECT_EQ(text_of(rules.validate_create(request("{}"), ctx)),
            "spec.podName: Required value\nspec.podUID: Required value\nspec.selectedNode: Required value\n");
  EXPECT_EQ(
      text_of(rules.validate_create(
          request(R"({"spec":{"podName":"p","podUID":"u","selectedNode":"n","backoffLimit":-1}})"), ctx)),
      "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0\n");
  const FieldErrors moved = rules.validate_update(
      request(R"({"spec":{"podName":"p","podUID":"u","selectedNode":"m"}})"), request(kGood), ctx);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].path, "spec");
  EXPECT_TRUE(rules.validate_update(request(kGood), request(kGood), ctx).empty());

  const auto decision = [&](const char* more, const char* status = "{}") {
    return request((std::string(R"({"spec":{"podName":"p","podUID":"u","selectedNode":"n",)") + more +
                    R"(},"status":)" + status + "}")
                       .c_str());
  };
  const auto update = [&](const Json& next, const Json& old) {
    return text_of(rules.validate_update(next, old, ctx));
  };
  const auto binds = [&](const char* volumes) {
    return text_of(
        rules.validate_create(decision((std::string(R"("volumeBindings":)") + volumes).c_str()), ctx));
  };
  EXPECT_EQ(binds(R"([{"claimName":"a"},{"claimName":"b","volumeName":"v"}])"), "");
  EXPECT_EQ(binds(R"([{"volumeName":"v"}])"), "spec.volumeBindings[0].claimName: Required value\n");
  EXPECT_EQ(binds(R"([{"claimName":"a"},{"claimName":"a"}])"),
            "spec.volumeBindings[1].claimName: Duplicate value: \"a\"\n");
  const Json failed = decision(R"("decisionID":"d1")", R"({"phase":"Failed"})");
  EXPECT_EQ(update(decision(R"("decisionID":"d2")"), failed), "");
  EXPECT_NE(update(decision(R"("decisionID":"d2")"), decision(R"("decisionID":"d1")")), "");
  EXPECT_NE(update(decision(R"("decisionID":"d1","backoffLimit":1)"), failed), "");
  const Json later =
      decision(R"("decisionID":"d1","epoch":-1,"lease":{"namespace":"n","name":"N","uid":"u"})");
  const std::string taken_over = update(later, decision(R"("decisionID":"d1","epoch":1)"));
  EXPECT_EQ(taken_over.find("spec.epoch: Invalid value: -1: must be greater than or equal to 0\n"), 0u);
  EXPECT_NE(taken_over.find("\nspec.lease.name: Invalid value: \"N\""), std::string::npos) << taken_over;
  EXPECT_EQ(update(decision(R"("decisionID":"d1","withdrawn":true,"epoch":2)"),
                   decision(R"("decisionID":"d1","epoch":1)")),
            "");
  EXPECT_NE(update(decision(R"("decisionID":"d1")"), decision(R"("decisionID":"d1","withdrawn":true)")), "");
  EXPECT_NE(update(decision(R"("decisionID":"d1")"), decision(R"("decisionID":"d1","epoch":1)")), "");
  Json replaced = decision(R"("decisionID":"d2")", R"({"phase":"Failed"})");
  rules.prepare_update(replaced, failed, ctx);
  EXPECT_EQ(replaced.find("status"), nullptr) << "the status was another decision's";

  const auto status = [&](const char* text) {
    return text_of(rules.validate_status_update(request(text), request(kGood), ctx));
  };
  EXPECT_EQ(status(R"({"status":{"phase":"Pending","step":"WaitingForGang"}})"), "");
  EXPECT_EQ(status(R"({"status":{"phase":"Pending","step":"WaitingForVolumes"}})"), "");
  EXPECT_EQ(status(R"({"status":{"phase":"","step":""}})"), "");
  EXPECT_NE(status(R"({"status":{"phase":"Odd"}})"), "");
  EXPECT_NE(status(R"({"status":{"step":"Odd"}})"), "");
  EXPECT_NE(status(R"({"status":{"failedAttempts":-1}})"), "");

  Json created = request(R"({"spec":{"podName":"p"},"status":{"phase":"Failed"}})");
  rules.prepare_create(created, ctx);
  EXPECT_EQ(created.find("status"), nullptr);
}

TEST(Documents, MembersArePutWhereTheApiWritesThem) {
  const TypeInfo& type = table_type("resource.k8s.io", "v1", "ExactDeviceRequest");
  Json request = *parse_json(R"({"deviceClassName":"c","adminAccess":true})");
  put(request, type, "count", 2);
  put(request, type, "allocationMode", "ExactCount");
  put(request, type, "count", 3);
  EXPECT_EQ(to_string(request),
            R"({"deviceClassName":"c","allocationMode":"ExactCount","count":3,"adminAccess":true})");
}

TEST(Documents, AddressesAreWrittenAsGoWritesThem) {
  EXPECT_EQ(canonical_interface_address("10.0.0.1/24"), "10.0.0.1/24");
  EXPECT_EQ(canonical_interface_address("2001:DB8:0::1/64"), "2001:db8::1/64");
  for (const char* wrong : {"", "10.0.0.1", "10.0.0.1/33", "10.0.0.1/", "10.0.0.01/8", "10.0.0.1/08",
                            "::1/129", "x/8", "10.0.0.1/+8", "10.0.0.1/8 "})
    EXPECT_EQ(canonical_interface_address(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace berth::api
