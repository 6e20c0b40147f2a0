// No wake-up of a group is lost, with members that ask for devices and volumes.
#include <gtest/gtest.h>

#include "api/types/gang_decision.h"
#include "scheduling/test_wakes.h"

namespace berth::scheduling {
namespace {

class GroupWorld final : public WakeWorld {
 public:
  explicit GroupWorld(std::uint64_t seed) : WakeWorld(seed) {}

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

class NoGroupIsMissed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NoGroupIsMissed, WhateverChanges) {
  expect_no_wake_up_lost<GroupWorld>(GetParam(), 150, 60);
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
