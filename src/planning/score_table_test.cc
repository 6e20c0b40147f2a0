#include "planning/score_table.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "dra/cel_selectors.h"
#include "planning/comparison.h"
#include "planning/test_documents.h"

namespace berth::planning {
namespace {

std::string scored_node(const std::string& name, int cpu, int gib, const std::string& spec = "") {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name +
         ", labels: {kubernetes.io/hostname: " + name + "}}, spec: {" + spec +
         "}, status: {allocatable: {cpu: \"" + std::to_string(cpu) + "\", memory: " + std::to_string(gib) +
         "Gi, pods: \"9\"}}}\n---\n";
}
std::string scored_pod(const std::string& name, const std::string& cpu, const std::string& spec) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default}, spec: {" + spec +
         ", containers: [{name: c, image: i, resources: {requests: {cpu: \"" + cpu +
         "\", memory: 1Gi}}}]}}\n---\n";
}

class Scores : public testing::Test {
 protected:
  Scores() {
    options_.gates = &gates_;
    options_.device_gates = dra::gates_of(gates_);
  }
  std::optional<ScoreTable> table(const std::string& input) {
    const std::string whole = input.substr(0, input.size() - 5);
    const auto offline = OfflineCluster::make(documents_of(whole), options_).value();
    OfflineCore core(*offline, options_, selectors_);
    return score_placed_pod(*offline, core, {"default", "x"});
  }
  std::string node_of_plan(const std::string& input) {
    const std::string whole = input.substr(0, input.size() - 5);
    const Plan plan = make_plan(documents_of(whole), options_, selectors_).value();
    return plan.decisions.front().pods.front().node;
  }

  const api::Gates gates_{api::GateDefaults::Up};
  PlanOptions options_;
  dra::CelSelectors selectors_;
};

// x takes 2 of 4 cpu and 1 of 4 GiB: on n1 the rest is 50 % and 75 %, on n2, where a takes half, 0 % and 50
// %.
TEST_F(Scores, AreThoseWithoutThePod) {
  const std::string input = scored_node("n1", 4, 4) + scored_node("n2", 4, 4) +
                            scored_pod("a", "2", "nodeName: n2") + scored_pod("x", "2", "nodeName: n1");
  const std::optional<ScoreTable> found = table(input);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, "n1");
  EXPECT_EQ(found->runner_up, "n2");
  EXPECT_EQ(found->candidates, 2u);
  std::int64_t total = 0, other = 0;
  bool seen = false;
  for (const ScoreRow& row : found->rows) {
    total += row.weight * row.score;
    other += row.weight * row.runner_up;
    if (row.plugin != "NodeResourcesFit") continue;
    seen = true;
    EXPECT_EQ(row.score, 62);
    EXPECT_EQ(row.runner_up, 25);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(found->total, total);
  EXPECT_EQ(found->runner_up_total, other);
  EXPECT_GT(total, other);
}

TEST_F(Scores, NoOtherNodeTakesIt) {
  const auto found =
      table(scored_node("n1", 4, 4) + scored_node("n2", 1, 4) + scored_pod("x", "2", "nodeName: n1"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runner_up, "");
  EXPECT_EQ(found->candidates, 1u);
  EXPECT_FALSE(found->rows.empty());
}

TEST_F(Scores, ANodeThatWasCordonedLaterSaysSo) {
  const auto found = table(scored_node("n1", 4, 4, "unschedulable: true") + scored_node("n2", 4, 4) +
                           scored_pod("x", "2", "nodeName: n1"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->refused, "node(s) were unschedulable");
  EXPECT_TRUE(found->rows.empty());
}

TEST_F(Scores, APodThatWaitsHasNone) {
  EXPECT_FALSE(table(scored_node("n1", 4, 4) + scored_pod("x", "2", "priority: 0")));
}

// The judge: the plan's decision. Where a pod is that the plan placed, no other node has a higher total.
TEST_F(Scores, TheHighestTotalIsTheDecision) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SeededRandom random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<int>(random.next() % n); };
    std::string world;
    for (int n = 0; n < 5; ++n)
      world += scored_node("n" + std::to_string(n), 4 + below(8), 4 + below(8),
                           below(3) == 0 ? "taints: [{key: t, effect: PreferNoSchedule}]" : "");
    for (int p = 0; p < 6; ++p)
      world += scored_pod("p" + std::to_string(p), std::to_string(1 + below(2)),
                          "nodeName: n" + std::to_string(below(5)));
    const std::string asks = std::to_string(1 + below(3));
    const std::string chosen = node_of_plan(world + scored_pod("x", asks, "priority: 0"));
    if (chosen.empty()) continue;
    const auto found = table(world + scored_pod("x", asks, "nodeName: " + chosen));
    ASSERT_TRUE(found) << seed;
    EXPECT_EQ(found->refused, "") << seed;
    if (!found->runner_up.empty()) {
      EXPECT_GE(found->total, found->runner_up_total) << seed;
    }
  }
}

// a is on the empty n2. b shares n1 with the large c, and n3 is empty. d is on a cordoned node.
TEST_F(Scores, PlacementsAreComparedOneByOne) {
  std::string input = scored_node("n1", 8, 8) + scored_node("n2", 8, 8) + scored_node("n3", 8, 8) +
                      scored_node("n4", 8, 8, "unschedulable: true") + scored_pod("a", "1", "nodeName: n2") +
                      scored_pod("b", "1", "nodeName: n1") + scored_pod("c", "6", "nodeName: n1") +
                      scored_pod("d", "1", "nodeName: n4") + scored_pod("w", "1", "priority: 0");
  input.resize(input.size() - 5);
  const auto pods = compare_placements(documents_of(input), options_, selectors_);
  ASSERT_TRUE(pods.ok());
  std::vector<std::string> lines;
  for (const ComparedPod& pod : *pods)
    lines.push_back(pod.name + " " + std::string(name_of(pod.agreement)) + " " + pod.better + pod.why);
  EXPECT_EQ(lines, (std::vector<std::string>{"a agree ", "b better n3", "c better n3",
                                             "d refused node(s) were unschedulable"}));
  const std::string table = to_table(*pods);
  EXPECT_TRUE(
      table.ends_with("4 pods: 1 agree, 2 better, 1 refused\n"
                      "  1 refused: node(s) were unschedulable\n"))
      << table;
  EXPECT_EQ(to_json(*pods).part("counts").int_at("better"), 2);
}

}  // namespace
}  // namespace berth::planning
