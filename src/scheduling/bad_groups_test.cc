// Groups that no user means: a condition with a reason to act on, and a place for all others.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::Kind;

class BadGroups : public testing::Test {
 protected:
  BadGroups() {
    for (const char* node : {"n1", "n2"}) bench_.put_node({node, "8", "64Gi", "110", {{"rack", "r1"}}});
  }
  void put_good() {
    bench_.put_group("good", 2, "rack");
    for (const char* pod : {"good-0", "good-1"}) bench_.put_pod({pod, "1", "good"});
  }
  void expect_good_is_placed() {
    for (const char* pod : {"good-0", "good-1"}) EXPECT_NE(bench_.node_of(pod), "") << pod;
  }
  std::string told(const std::string& group) const {
    const api::PodGroup* found = bench_.view.pod_groups.find("default", group);
    const api::Condition* condition =
        found ? api::find_condition(found->conditions, api::kGroupScheduled) : nullptr;
    return condition ? condition->reason + ": " + condition->message : "";
  }

  TestBench bench_;
};

TEST_F(BadGroups, MembersOfAnotherPriorityAreNamed) {
  bench_.put_group("bad", 2);
  bench_.put_pod({"bad-0", "1", "bad"});
  bench_.put_pod({"bad-1", "1", "bad", R"(,"priority":7)"});
  put_good();
  bench_.run();
  EXPECT_NE(
      told("bad").find("all pods in a single pod group should have the same priority as the pod group's "
                       "priority, got 7 and 0"),
      std::string::npos)
      << told("bad");
  expect_good_is_placed();
}

TEST_F(BadGroups, AMemberOfAnotherSchedulerIsNamed) {
  bench_.put_group("bad", 2);
  bench_.put_pod({"bad-0", "1", "bad"});
  bench_.put(Kind::Pod, R"({"metadata":{"name":"bad-1","namespace":"default","uid":"uid-bad-1"},"spec":)"
                        R"({"schedulerName":"another","schedulingGroup":{"podGroupName":"bad"},)"
                        R"("containers":[{"name":"c"}]},"status":{"phase":"Pending"}})");
  put_good();
  bench_.run();
  EXPECT_NE(told("bad").find("all pods in a single pod group should have the same scheduler name, got "
                             "another and "),
            std::string::npos)
      << told("bad");
  expect_good_is_placed();
  // Enough members are ours.
  bench_.put_pod({"bad-2", "1", "bad"});
  bench_.run();
  for (const char* pod : {"bad-0", "bad-2"}) EXPECT_NE(bench_.node_of(pod), "") << pod;
}

TEST_F(BadGroups, ALevelThatNoNodeHasIsNamed) {
  bench_.put_group("bad", 2, "row");
  for (const char* pod : {"bad-0", "bad-1"}) bench_.put_pod({pod, "1", "bad"});
  put_good();
  bench_.run();
  EXPECT_NE(bench_.event_of("bad-0").find("no node has the label row"), std::string::npos)
      << bench_.event_of("bad-0");
  EXPECT_NE(told("bad"), "");
  expect_good_is_placed();
}

TEST_F(BadGroups, OneThatIsLargerThanTheClusterIsProvedNotToFit) {
  bench_.put_group("bad", 17);
  for (int i = 0; i < 17; ++i) bench_.put_pod({"bad-" + std::to_string(i), "1", "bad"});
  put_good();
  bench_.run();
  EXPECT_NE(told("bad"), "");
  EXPECT_EQ(bench_.event_of("bad-0").find("proves nothing"), std::string::npos) << bench_.event_of("bad-0");
  expect_good_is_placed();
}

// More than the search of all choices takes.
TEST_F(BadGroups, OneOf5000MembersIsRefusedByCounts) {
  constexpr int kMembers = 5'000;
  bench_.put_group("bad", kMembers);
  for (int i = 0; i < kMembers; ++i) bench_.put_pod({"bad-" + std::to_string(i), "1", "bad"});
  put_good();
  bench_.run();
  EXPECT_NE(told("bad"), "");
  expect_good_is_placed();
  EXPECT_EQ(bench_.node_of("bad-0"), "");
}

}  // namespace
}  // namespace berth::scheduling
