// Every row of api/placement_fields.h moves a pod.
#include "api/placement_fields.h"

#include <gtest/gtest.h>

#include <map>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::PlacementField;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

// Members of a pod's spec or status, of the node n1, or of the status of n2, that set the field.
struct Sample {
  std::string pod_spec = {}, pod_status = {}, node_spec = {}, node_status = {}, second_status = {};
};

std::string in_affinity(const std::string& kind, const std::string& member, const std::string& value) {
  return R"("affinity":{")" + kind + R"(":{")" + member + "\":" + value + "}}";
}

const std::map<std::string, Sample>& samples() {
  static const std::string cpu = R"("resources":{"requests":{"cpu":"100"}})";
  static const std::string term = R"([{"labelSelector":{},"topologyKey":"host"}])";
  static const std::string nobody = R"([{"labelSelector":{"matchLabels":{"a":"b"}},"topologyKey":"host"}])";
  static const auto weighed = [](const std::string& app) {
    return R"([{"weight":1,"podAffinityTerm":{"labelSelector":{"matchLabels":{"app":")" + app +
           R"("}},"topologyKey":"host"}}])";
  };
  static const std::string preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  static const std::string images = R"("images":[{"names":["i:1"],"sizeBytes":3000000000}])";
  static const auto spread = [](const std::string& key, const std::string& when) {
    return Sample{R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":")" + key +
                  R"(","whenUnsatisfiable":")" + when +
                  R"(","labelSelector":{"matchLabels":{"app":"other"}}}])"};
  };
  static const auto taint = [](const std::string& effect) {
    return Sample{"", "", R"("taints":[{"key":"k","effect":")" + effect + "\"}]"};
  };
  static const std::map<std::string, Sample> all = {
      {"spec.nodeSelector", {R"("nodeSelector":{"no":"where"})"}},
      {std::string("spec.affinity.nodeAffinity.") + kRequired,
       {in_affinity("nodeAffinity", kRequired,
                    R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"no","operator":"Exists"}]}]})")}},
      {"spec.tolerations",
       {R"("tolerations":[{"operator":"Exists"}])", "", R"("taints":[{"key":"k","effect":"NoSchedule"}])"}},
      {"spec.containers[].resources.requests", {R"("containers":[{"name":"c",)" + cpu + "}]"}},
      {"spec.initContainers[].resources.requests", {R"("initContainers":[{"name":"i",)" + cpu + "}]"}},
      {"spec.resources.requests", {cpu}},
      {"spec.overhead", {R"("overhead":{"cpu":"100"})"}},
      {"spec.containers[].ports[].hostPort", {R"("containers":[{"name":"c","ports":[{"hostPort":80}]}])"}},
      {"spec.resourceClaims", {R"("resourceClaims":[{"name":"r","resourceClaimName":"none"}])"}},
      {"spec.volumes[].persistentVolumeClaim",
       {R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"none"}}])"}},
      {"spec.volumes[].ephemeral", {R"("volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{}}}])"}},
      {"spec.schedulingGates", {R"("schedulingGates":[{"name":"x"}])"}},
      {"spec.schedulingGroup", {R"("schedulingGroup":{"podGroupName":"none"})"}},
      {"status.nominatedNodeName", {"", R"("nominatedNodeName":"n2")"}},
      {"spec.unschedulable", {"", "", R"("unschedulable":true)"}},
      {"spec.taints with effect: NoSchedule", taint("NoSchedule")},
      {"spec.taints with effect: NoExecute", taint("NoExecute")},
      {"status.allocatable", {"", "", "", R"("allocatable":{"cpu":"8","memory":"8Gi","pods":"0"})"}},
      {"status.declaredFeatures",
       {R"("hostNetwork":true,"hostUsers":false)", "", "",
        R"("declaredFeatures":["UserNamespacesHostNetworkSupport"])"}},
      {std::string("spec.affinity.podAffinity.") + kRequired,
       {in_affinity("podAffinity", kRequired, nobody)}},
      {std::string("spec.affinity.podAntiAffinity.") + kRequired,
       {in_affinity("podAntiAffinity", kRequired, term)}},
      {"spec.topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule",
       spread("rack", "DoNotSchedule")},
      {"spec.affinity.nodeAffinity." + preferred,
       {in_affinity("nodeAffinity", preferred,
                    R"([{"weight":1,"preference":{"matchExpressions":[)"
                    R"({"key":"host","operator":"In","values":["n2"]}]}}])")}},
      {"spec.affinity.podAffinity." + preferred, {in_affinity("podAffinity", preferred, weighed("large"))}},
      {"spec.affinity.podAntiAffinity." + preferred,
       {in_affinity("podAntiAffinity", preferred, weighed("other"))}},
      {"spec.topologySpreadConstraints with whenUnsatisfiable: ScheduleAnyway",
       spread("host", "ScheduleAnyway")},
      {"spec.taints with effect: PreferNoSchedule", taint("PreferNoSchedule")},
      {"spec.containers[].image", {R"("containers":[{"name":"c","image":"i:1"}])", "", "", "", images}},
      {"spec.volumes[].image",
       {R"("volumes":[{"name":"v","image":{"reference":"i:1"}}])", "", "", "", images}},
      {"status.images", {R"("containers":[{"name":"c","image":"i:1"}])", "", "", "", images}},
  };
  return all;
}

Json members(const std::string& text) {
  return *parse_json("{" + text + "}");
}

void add_members(Json& object, const std::string& text) {
  const Json more = members(text);
  for (const JsonMember& one : more.as_object()) object[one.key] = one.value;
}

void put_node(TestBench& bench, const std::string& name, const Sample& sample) {
  Json node = members(R"("metadata":{"name":")" + name + R"(","labels":{"host":")" + name +
                      R"("}},"status":{"allocatable":{"cpu":"8","memory":"8Gi","pods":"9"}})");
  node["spec"] = members(sample.node_spec);
  add_members(node["status"], sample.node_status);
  bench.put_json(api::Kind::Node, node);
}

// Where a pod goes on the nodes n1 (of the sample, with a pod on host port 80) and n2 (`second`, fuller).
std::string outcome(TestBench& bench, const Sample& sample, const Sample& second) {
  put_node(bench, "n1", sample);
  put_node(bench, "n2", second);
  bench.put(
      api::Kind::Pod,
      R"({"metadata":{"name":"other","namespace":"default","uid":"o","labels":{"app":"other"}},"spec":{)"
      R"("nodeName":"n1","containers":[{"name":"c","ports":[{"hostPort":80}]}]}})");
  bench.put(
      api::Kind::Pod,
      R"({"metadata":{"name":"large","namespace":"default","uid":"l","labels":{"app":"large"}},"spec":{)"
      R"("nodeName":"n2","containers":[{"name":"c","resources":{"requests":{)"
      R"("cpu":"2"}}}]}})");
  Json pod =
      members(R"("metadata":{"name":"p","namespace":"default","uid":"u"},"status":{"phase":"Pending"})");
  pod["spec"] = members(R"("schedulerName":"berth","containers":[{"name":"c"}])");
  add_members(pod["spec"], sample.pod_spec);
  add_members(pod["status"], sample.pod_status);
  bench.put_json(api::Kind::Pod, pod);
  bench.run();
  return bench.node_of("p");
}

TEST(PlacementFields, EveryRowDoesWhatItSays) {
  EXPECT_EQ(samples().size(), api::kPlacementFields.size());
  for (const PlacementField& row : api::kPlacementFields) {
    SCOPED_TRACE(row.text());
    const auto found = samples().find(row.text());
    ASSERT_NE(found, samples().end()) << "a row needs a sample";
    const Sample& sample = found->second;
    // The same without the field; what makes it matter stays.
    const Sample without = row.kind == "Pod"
                               ? Sample{"", "", sample.node_spec, sample.node_status, sample.second_status}
                               : Sample{sample.pod_spec, sample.pod_status};
    const auto second_of = [&](const Sample& one) {
      return row.path == "spec.tolerations" ? one : Sample{"", "", "", one.second_status};
    };
    TestBench with_it, without_it;
    const std::string now = outcome(with_it, sample, second_of(sample));
    const std::string before = outcome(without_it, without, second_of(without));
    EXPECT_NE(now, before);
    EXPECT_EQ(with_it.message_of("p").find("Berth does not honour"), std::string::npos);
  }
}

constexpr const char* kAntiAffinity =
    R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
    R"({"labelSelector":{"matchLabels":{"app":"web"}},"topologyKey":"rack"}]}})";

// A pod on n1 of the rack r1 that wants no pod with app=web in its rack.
void put_repelling(TestBench& bench) {
  for (const char* name : {"n1", "n2"}) bench.put_node({name, "4", "8Gi", "110", {{"rack", "r1"}}});
  bench.put_node({"n3", "2", "8Gi", "110", {{"rack", "r2"}}});
  bench.put(api::Kind::Pod, R"({"metadata":{"name":"first","namespace":"default","uid":"f"},"spec":{)"
                            R"("nodeName":"n1","containers":[{"name":"c"}])" +
                                std::string(kAntiAffinity) + "}}");
}

void put_web(TestBench& bench, const std::string& name, const std::string& ns, const std::string& app) {
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":")" + ns + R"(","uid":"u-)" +
                                name + R"(","labels":{"app":")" + app +
                                R"("}},"spec":{"schedulerName":"berth","containers":[{"name":"c"}]}})");
}

TEST(PlacementFields, RequiredAntiAffinityOfAPlacedPodKeepsOthersAway) {
  TestBench bench;
  put_repelling(bench);
  put_web(bench, "meant", "default", "web");
  put_web(bench, "other", "default", "db");
  put_web(bench, "elsewhere", "team", "web");
  bench.run();
  EXPECT_EQ(bench.node_of("meant"), "n3");
  EXPECT_EQ(bench.node_of("other"), "n2");
  EXPECT_EQ(bench.node_of("elsewhere", "team"), "n1");
}

TEST(PlacementFields, ARefusalByAntiAffinityIsAsKubernetesSaysAndEndsWithThePod) {
  TestBench bench;
  put_repelling(bench);
  bench.erase(api::Kind::Node, "n3", "");
  put_web(bench, "meant", "default", "web");
  bench.run();
  EXPECT_EQ(
      bench.message_of("meant"),
      "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules. preemption: "
      "0/2 nodes are available: 2 No preemption victims found for incoming pod.");
  bench.erase(api::Kind::Pod, "first");
  bench.now = bench.now + Duration::seconds(11);
  bench.run();
  EXPECT_NE(bench.node_of("meant"), "");
}

}  // namespace
}  // namespace berth::scheduling
