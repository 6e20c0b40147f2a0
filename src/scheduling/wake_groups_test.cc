// No wake-up of a group is lost, with members that ask for devices and volumes, and with policies that
// change.
#include <gtest/gtest.h>

#include "api/types/gang_decision.h"
#include "scheduling/test_wakes.h"

namespace berth::scheduling {
namespace {

class GroupWorld : public WakeWorld {
 public:
  explicit GroupWorld(std::uint64_t seed, const SchedulerOptions& options = {}) : WakeWorld(seed, options) {}

  void step() override {
    switch (below(12)) {
      case 0:
        return put_group();
      case 1:
        return erase(api::Kind::PodGroup, pick("g", 3));
      case 2:
      case 3:
      case 4:
        return put_pod();
      case 5:
        return end_pod();
      default:
        return WakeWorld::step();
    }
  }

 protected:
  std::string asks(const std::string& pod) override {
    return WakeWorld::asks(pod) +
           (sometimes(4) ? "" : R"(,"schedulingGroup":{"podGroupName":")" + pick("g", 3) + "\"}");
  }
  void bound(const api::Pod& pod, const api::BindRequest& request) override {
    WakeWorld::bound(pod, request);
    const api::PodGroup* group = bench.view.pod_groups.find("default", pod.group);
    if (group && group->minimum() > 1) bench.commit_gang(pod.group, pod.meta.name);
  }

 private:
  void put_group() {
    const std::string name = pick("g", 3);
    const int minimum = static_cast<int>(below(4));
    const bool zoned = sometimes(3);
    note("group " + name + " " + std::to_string(minimum) + (zoned ? " in a zone" : ""));
    if (!bench.view.pod_groups.find("default", name)) bench.put_group(name, minimum, zoned ? "zone" : "");
  }
};

// Their levels come true, or hold the group: the Topology is gone, or lacks them.
class WorldOfPolicies : public GroupWorld {
 public:
  explicit WorldOfPolicies(std::uint64_t seed, const SchedulerOptions& options = {})
      : GroupWorld(seed, options) {}

  void step() override {
    switch (below(8)) {
      case 0:
        return put_policy();
      case 1:
        return erase(api::Kind::PlacementPolicy, pick("w", 2));
      case 2:
        return put_topology();
      case 3:
        return sometimes(2) ? erase(api::Kind::Topology, "default", "") : put_topology();
      default:
        return GroupWorld::step();
    }
  }

 protected:
  std::string named(const std::string& kind, const std::string& name) {
    return R"("kind":")" + kind + R"(","name":")" + name + "\"";
  }
  virtual std::string target() { return named("PodGroup", pick("g", 3)); }

 private:
  void put_policy() {
    static const char* const wishes[] = {R"("required":"zone")", R"("preferred":["zone"])",
                                         R"("required":"zone","distribution":"Balanced")",
                                         R"("segments":{"level":"zone","size":{"max":1}})"};
    put(api::Kind::PlacementPolicy, R"({"metadata":{"namespace":"default","name":")" + pick("w", 2) +
                                        R"(","generation":)" + next() +
                                        R"(},"spec":{"targetRef":{"group":"scheduling.k8s.io",)" + target() +
                                        "}," + wishes[below(4)] + "}}");
  }
  void put_topology() {
    const std::string level = sometimes(4) ? "row" : "zone", label = sometimes(3) ? "disk" : "zone";
    put(api::Kind::Topology, R"({"metadata":{"name":"default","generation":)" + next() +
                                 R"(},"spec":{"levels":[{"name":")" + level + R"(","nodeLabel":")" + label +
                                 "\"}]}}");
  }
  std::string next() { return std::to_string(++generation_); }

  int generation_ = 0;
};

// Groups of groups come and go: up to three levels, with constraints and policies of their own.
class WorldOfTrees final : public WorldOfPolicies {
 public:
  explicit WorldOfTrees(std::uint64_t seed) : WorldOfPolicies(seed, {.composite_groups = true}) {}

  void step() override {
    switch (below(8)) {
      case 0:
        return put_composite();
      case 1:
        return put_child();
      case 2:
        return sometimes(2) ? erase(api::Kind::CompositePodGroup, pick("c", 3)) : put_composite();
      default:
        return WorldOfPolicies::step();
    }
  }

 protected:
  std::string target() override {
    return sometimes(3) ? WorldOfPolicies::target() : named("CompositePodGroup", pick("c", 3));
  }

 private:
  // Parents have higher numbers, but now and then one is its own.
  void put_composite() {
    const std::uint64_t number = below(3);
    const std::string name = "c" + std::to_string(number);
    if (bench.view.composite_groups.find("default", name)) return;
    put_tree_object(api::Kind::CompositePodGroup, name, "minGroupCount",
                    sometimes(3) ? "" : "c" + std::to_string(number + (sometimes(12) ? 0 : 1)));
  }
  void put_child() {
    const std::string name = pick("g", 3);
    if (!bench.view.pod_groups.find("default", name))
      put_tree_object(api::Kind::PodGroup, name, "minCount", pick("c", 3));
  }
  void put_tree_object(api::Kind kind, const std::string& name, const std::string& field,
                       const std::string& parent) {
    const std::string minimum = std::to_string(1 + below(2));
    put(kind, R"({"metadata":{"namespace":"default","name":")" + name +
                  R"("},"spec":{"priority":0,"schedulingPolicy":)" +
                  (sometimes(4) ? R"({"basic":{}})" : R"({"gang":{")" + field + "\":" + minimum + "}}") +
                  (parent.empty() ? "" : R"(,"parentCompositePodGroupName":")" + parent + "\"") +
                  (sometimes(3) ? R"(,"schedulingConstraints":{"topology":[{"key":"zone"}]})" : "") + "}}");
  }
};

class NoGroupIsMissed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NoGroupIsMissed, WhateverChanges) {
  expect_no_wake_up_lost<GroupWorld>(GetParam(), 150, 60);
}

TEST_P(NoGroupIsMissed, WhateverItsPolicies) {
  expect_no_wake_up_lost<WorldOfPolicies>(GetParam(), 100, 60);
}

TEST_P(NoGroupIsMissed, WhateverItsTree) {
  expect_no_wake_up_lost<WorldOfTrees>(GetParam(), 100, 60);
}

TEST(EqualGroups, OneThatIsRefusedAnswersForTheOthers) {
  TestBench bench;
  for (const std::string group : {"a", "b", "c", "d"}) {
    bench.put_group(group, 2, "", 0, group[0]);
    for (const char* pod : {"-0", "-1"}) bench.put_pod({group + pod, "4", group});
  }
  bench.put_node({"n1", "2"});
  bench.run();
  const std::size_t refused = bench.decisions.records().size();
  EXPECT_EQ(refused, 4u);
  bench.now = bench.now + Duration::seconds(30);
  bench.put_node({"n2", "8"});
  bench.run();
  // The first is placed, the second is refused, and the others wait with it.
  EXPECT_EQ(bench.decisions.records().size(), refused + 2);
  EXPECT_EQ(bench.node_of("a-0"), "n2");
  bench.now = bench.now + Duration::seconds(30);
  for (const char* node : {"n3", "n4", "n5"}) bench.put_node({node, "8"});
  bench.run();
  for (const char* pod : {"b-1", "c-0", "d-1"}) EXPECT_NE(bench.node_of(pod), "") << pod;
}

INSTANTIATE_TEST_SUITE_P(Shards, NoGroupIsMissed, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace berth::scheduling
