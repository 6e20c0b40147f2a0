// A dump in, moves and what they buy out: levels, what waits, words and JSON.
#include "planning/defragmentation.h"

#include <gtest/gtest.h>

#include "dra/cel_selectors.h"
#include "planning/test_documents.h"

namespace berth::planning {
namespace {

const api::Gates kMovingGates(api::GateDefaults::Up);

Result<PlannedDefragmentation> moves_of(const std::string& input, DefragmentationOptions asked = {}) {
  PlanOptions options;
  options.gates = &kMovingGates;
  options.device_gates = dra::gates_of(kMovingGates);
  options.workloads = true;
  dra::CelSelectors selectors;
  return plan_defragmentation(documents_of(input), options, asked, selectors);
}

std::string gpu_node(const std::string& name, const std::string& rack) {
  return "---\n{apiVersion: v1, kind: Node, metadata: {name: " + name +
         ", labels: {example.com/rack: " + rack +
         ", example.com/block: b1}}, status: {allocatable: {cpu: \"64\", memory: 64Gi, pods: \"99\", "
         "nvidia.com/gpu: \"2\"}}}\n";
}

std::string gpu_pod(const std::string& name, const std::string& spec, const std::string& owner = "web") {
  return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: ns" +
         (owner.empty() ? ""
                        : ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: " + owner +
                              ", uid: u, controller: true}]") +
         "}, spec: {" + spec +
         ", containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: \"1\"}, "
         "limits: {nvidia.com/gpu: \"1\"}}}]}}\n";
}

std::string gang_of(int members) {
  std::string text =
      "---\n{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: g, namespace: ns}, "
      "spec: {schedulingPolicy: {gang: {minCount: " +
      std::to_string(members) + "}}, schedulingConstraints: {topology: [{key: example.com/rack}]}}}\n";
  for (int i = 0; i < members; ++i)
    text += gpu_pod("g" + std::to_string(i), "schedulingGroup: {podGroupName: g}", "");
  return text;
}

// r1 has n1 and n2 with one pod, r2 n3 and n4 with two.
std::string two_racks() {
  return gpu_node("n1", "r1") + gpu_node("n2", "r1") + gpu_node("n3", "r2") + gpu_node("n4", "r2") +
         gpu_pod("a", "nodeName: n1") + gpu_pod("b", "nodeName: n3") + gpu_pod("c", "nodeName: n4");
}

constexpr const char* kTwoLevels =
    "---\n{apiVersion: scheduling.berth.dev/v1alpha1, kind: Topology, metadata: {name: default}, "
    "spec: {levels: [{name: block, nodeLabel: example.com/block}, {name: rack, nodeLabel: example.com/rack}, "
    "{name: host, nodeLabel: kubernetes.io/hostname}]}}\n";

TEST(PlannedDefragmentation, SaysWhatTheMovesBuy) {
  const auto plan = moves_of(two_racks() + gang_of(4), {"example.com/rack", {}});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(to_table(*plan),
            "1 move makes r1 whole: gang ns/g of 4 fits\n"
            "NAMESPACE   POD   FROM   TO   DEVICES\n"
            "ns          a     n1     n3   1\n"
            "\n"
            "UNCHANGED   WHY\n"
            "r2          pod ns/a came to its node by an earlier move\n"
            "\n"
            "1 move: 1 whole domain of example.com/rack instead of 0; of 1 that waits, 1 fits then\n");
  const Json json = to_json(*plan);
  EXPECT_EQ(
      to_string(json.part("domains")),
      R"([{"domain":"r1","whole":true,"moves":1,"devices":4,"devicesMoved":1,"fits":[{"kind":"PodGroup",)"
      R"("namespace":"ns","name":"g","pods":4}],"buys":"1 move makes r1 whole: gang ns/g of 4 fits"}])");
  EXPECT_EQ(to_string(json.part("moves")),
            R"([{"namespace":"ns","name":"a","from":"n1","to":"n3","devices":1,"domain":"r1"}])");
}

TEST(PlannedDefragmentation, PlacesFirstWhatFitsAnyway) {
  // The pod that waits takes its place first, and does not move.
  const auto plan = moves_of(two_racks() + gpu_pod("w", "priority: 1"), {"example.com/rack", {}});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->waiting, 0U);
  for (const PlannedDomain& domain : plan->domains)
    for (const PlannedMove& move : domain.moves) EXPECT_NE(move.name, "w");
}

TEST(PlannedDefragmentation, FindsTheLevel) {
  const auto narrowest = moves_of(kTwoLevels + two_racks());
  ASSERT_TRUE(narrowest) << narrowest.error().text();
  EXPECT_EQ(narrowest->level, "rack") << "the narrowest above hosts";
  ASSERT_EQ(narrowest->domains.size(), 1U);
  EXPECT_EQ(narrowest->domains.front().path, "b1/r1");
  EXPECT_EQ(moves_of(kTwoLevels + two_racks(), {"block", {}})->keys,
            std::vector<std::string>{"example.com/block"});

  const auto none = moves_of(two_racks());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().path(), "--level");
  EXPECT_NE(none.error().text().find("no Topology named default"), std::string::npos) << none.error().text();
  const auto unknown = moves_of(kTwoLevels + two_racks(), {"rak", {}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().path(), "--level");
  EXPECT_NE(unknown.error().text().find("which has block, rack, host"), std::string::npos)
      << unknown.error().text();
}

TEST(PlannedDefragmentation, SaysWhyNothingMoves) {
  const auto plan =
      moves_of(gpu_node("n1", "r1") + gpu_pod("a", "nodeName: n1", ""), {"example.com/rack", {}});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(to_table(*plan),
            "UNCHANGED   WHY\n"
            "r1          pod ns/a has no controller that would make it again\n"
            "\n"
            "0 moves: 0 whole domains of example.com/rack instead of 0\n");
}

}  // namespace
}  // namespace berth::planning
