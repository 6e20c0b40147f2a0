// What a group does when its members' own order fails: the search of all choices, or a proof.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "placement/refusal/berth_words.h"
#include "placement/search/tree_search.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr const char* kProvesNothing = "so this proves nothing";

std::string places_of(const TestBench& bench, const std::vector<std::string>& pods) {
  std::string text;
  for (const std::string& pod : pods) text += (text.empty() ? "" : " ") + pod + ":" + bench.node_of(pod);
  return text;
}

std::string claimed(const std::string& claim) {
  return R"(,"resourceClaims":[{"name":"dev","resourceClaimName":")" + claim + "\"}]";
}

std::string latest_explanation(const TestBench& bench) {
  return placement::explanation_of(*bench.decisions.records().back().refusal);
}

TEST(GroupSearch, ALargeMemberTakesTheLargeNodeThoughASmallOneComesFirst) {
  TestBench bench;
  bench.put_node({"n1", "8"});
  bench.put_node({"n2", "7"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "2", "g"});
  bench.put_pod({"b", "8", "g"});
  bench.run();
  EXPECT_EQ(places_of(bench, {"a", "b"}), "a:n2 b:n1");
}

TEST(GroupSearch, AMemberLeavesTheOnlyDeviceThatAnotherCanUse) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_class("any", "true");
  bench.put_class("big", "device.driver == 'a.big'");
  bench.put_slice("s1", "n1", 1, "a.big");
  bench.put_slice("s2", "n1", 1, "b.small");
  bench.put_claim("ca", "any");
  bench.put_claim("cb", "big");
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g", claimed("ca")});
  bench.put_pod({"b", "1", "g", claimed("cb")});
  bench.run();
  EXPECT_EQ(places_of(bench, {"a", "b"}), "a:n1 b:n1");
}

// Each may take two devices or one; the first takes both where it can.
TEST(GroupSearch, EqualMembersShareWhatOneCouldTakeAlone) {
  TestBench bench;
  bench.put_class("gpu", "true");
  bench.put_node({"n1"});
  bench.put_slice("s", "n1", 2);
  bench.put_group("g", 2);
  for (const char* pod : {"a", "b"}) {
    bench.put(api::Kind::ResourceClaim,
              R"({"metadata":{"name":"c)" + std::string(pod) + R"(","namespace":"default","uid":"uc)" + pod +
                  R"("},"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[)"
                  R"({"name":"two","deviceClassName":"gpu","allocationMode":"ExactCount","count":2},)"
                  R"({"name":"one","deviceClassName":"gpu","allocationMode":"ExactCount","count":1}]}]}}})");
    bench.put_pod({pod, "1", "g", claimed(std::string("c") + pod)});
  }
  bench.run();
  EXPECT_EQ(places_of(bench, {"a", "b"}), "a:n1 b:n1");
}

// A whole card or a half of it: the whole one draws what both halves need.
TEST(GroupSearch, EqualMembersShareAPartitionedDevice) {
  TestBench bench;
  bench.put_node({"n1"});
  const auto device = [](const std::string& name, const std::string& units) {
    return R"({"name":")" + name +
           R"(","consumesCounters":[{"counterSet":"card","counters":{"units":{"value":")" + units + "\"}}}]}";
  };
  const std::string pool = R"("nodeName":"n1","driver":"gpu.example.com","pool":{"name":"n1","generation":1,)"
                           R"("resourceSliceCount":2},)";
  bench.put(api::Kind::ResourceSlice,
            R"({"metadata":{"name":"counters"},"spec":{)" + pool +
                R"("sharedCounters":[{"name":"card","counters":{"units":{"value":"2"}}}]}})");
  bench.put(api::Kind::ResourceSlice, R"({"metadata":{"name":"devices"},"spec":{)" + pool + R"("devices":[)" +
                                          device("whole", "2") + "," + device("half-a", "1") + "," +
                                          device("half-b", "1") + "]}}");
  bench.put_class("any", "true");
  bench.put_group("g", 2);
  for (const char* pod : {"a", "b"}) {
    bench.put_claim(std::string("c") + pod, "any");
    bench.put_pod({pod, "1", "g", claimed(std::string("c") + pod)});
  }
  bench.run();
  EXPECT_EQ(places_of(bench, {"a", "b"}), "a:n1 b:n1");
}

TEST(GroupSearch, ARefusalThatIsProvedDoesNotDoubtItself) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_class("gpu", "true");
  bench.put_slice("s", "n1", 2);
  bench.put_group("g", 3);
  for (const char* pod : {"a", "b", "c"}) {
    bench.put_claim(std::string("c") + pod, "gpu");
    bench.put_pod({pod, "1", "g", claimed(std::string("c") + pod)});
  }
  bench.run();
  EXPECT_EQ(places_of(bench, {"a", "b", "c"}), "a: b: c:");
  EXPECT_EQ(latest_explanation(bench),
            "pod group default/g waits: the cluster does not take the 3 more pods it needs. The cluster is 1 "
            "device short.");
}

TEST(GroupSearch, EqualMembersWithAHostPortAreCountedOneANode) {
  TestBench bench;
  for (const char* name : {"n1", "n2"}) bench.put_node({name});
  bench.put_group("g", 3);
  for (const char* pod : {"a", "b", "c"})
    bench.put_pod({pod, "1", "g",
                   R"(,"initContainers":[{"name":"i","restartPolicy":"Always",)"
                   R"("ports":[{"hostPort":80}]}])"});
  bench.run();
  EXPECT_EQ(places_of(bench, {"a", "b", "c"}), "a: b: c:");
  EXPECT_EQ(latest_explanation(bench).find(kProvesNothing), std::string::npos) << latest_explanation(bench);
}

// One node takes one of them, and no two of them are alike.
TEST(GroupSearch, ThirteenUnequalMembersAreProvedNotToFitOnTwelveNodes) {
  TestBench bench;
  for (int i = 0; i < 12; ++i) bench.put_node({"n" + std::to_string(i), "10"});
  bench.put_group("g", 13);
  for (int i = 0; i < 13; ++i) bench.put_pod({"p" + std::to_string(i), std::to_string(5100 + i) + "m", "g"});
  bench.run();
  EXPECT_EQ(bench.node_of("p0"), "");
  EXPECT_EQ(latest_explanation(bench),
            "pod group default/g waits: the cluster does not take the 13 more pods it needs.");
}

// Even requests never fill two nodes with an odd amount each, although the sums are equal.
TEST(GroupSearch, ASearchThatEndsEarlyProvesNothing) {
  TestBench bench;
  constexpr int kMembers = 30;
  int sum = 0;
  bench.put_group("g", kMembers);
  for (int i = 0; i < kMembers; ++i) {
    const int rest = 2 * 150'001 - sum;
    const int asked = i + 1 < kMembers ? 2 * (3000 + i * i * 7 % 4001) : rest;
    ASSERT_GT(asked, 0);
    sum += asked;
    bench.put_pod({"p" + std::to_string(i), std::to_string(asked) + "m", "g"});
  }
  for (const char* name : {"n1", "n2"}) bench.put_node({name, "150001m", "64Gi"});
  bench.run();
  EXPECT_EQ(bench.node_of("p0"), "");
  EXPECT_EQ(
      latest_explanation(bench),
      "pod group default/g waits: no place was found for the 30 more pods it needs. Other orders of its "
      "members and other choices of devices were not all tried, so this proves nothing.");
}

// The search goes as deep as the group has members. Again the nodes' odd amounts are never filled.
TEST(GroupSearch, AGroupTooLargeToBeSearchedIsNotProvedToFitNowhere) {
  TestBench bench;
  constexpr int kMembers = placement::kTreeMembersMax + 1;
  bench.put_group("g", kMembers);
  for (int i = 0; i < kMembers; ++i) bench.put_pod({"p" + std::to_string(i), i % 2 == 0 ? "4m" : "2m", "g"});
  bench.put_node({"n1", "1537m", "64Gi", "2000"});
  bench.put_node({"n2", "1539m", "64Gi", "2000"});
  bench.run();
  EXPECT_EQ(bench.node_of("p0"), "");
  EXPECT_EQ(
      latest_explanation(bench),
      "pod group default/g waits: no place was found for the 1025 more pods it needs. Other orders of its "
      "members and other choices of devices were not all tried, so this proves nothing.");
}

// On more nodes than are judged for a proof, sums that are kept prove the refusal, and follow the nodes.
TEST(GroupSearch, ARefusalOnManyNodesIsProvedBySums) {
  for (const bool unequal : {false, true}) {
    TestBench bench;
    for (std::size_t i = 0; i <= placement::kGroupProofNodesMax; ++i)
      bench.put_node({"n" + std::to_string(i), i == 7 ? "9" : "3"});
    bench.put_group("g", 3);
    for (int i = 0; i < 3; ++i)
      bench.put_pod({"p" + std::to_string(i), std::to_string(4000 + (unequal ? i : 0)) + "m", "g"});
    bench.run();
    EXPECT_EQ(places_of(bench, {"p0", "p1", "p2"}), "p0: p1: p2:");
    EXPECT_EQ(latest_explanation(bench),
              "pod group default/g waits: the cluster does not take the 3 more pods it needs.");
    bench.put_node({"n3", "5"});
    bench.now = bench.now + Duration::seconds(60);
    bench.run();
    // NodeResourcesFit gives n7 53 and n3 58 for the second one, NodeResourcesBalancedAllocation 64 and 55.
    EXPECT_EQ(places_of(bench, {"p0", "p1", "p2"}), "p0:n7 p1:n7 p2:n3");
  }
}

// Tries every assignment.
bool fits_somehow(std::vector<int> room, const std::vector<int>& asked, std::size_t next = 0) {
  if (next == asked.size()) return true;
  for (int& one : room) {
    if (one < asked[next]) continue;
    one -= asked[next];
    if (fits_somehow(room, asked, next + 1)) return true;
    one += asked[next];
  }
  return false;
}

// Small gangs: placed exactly when they fit, and refused with a proof exactly when they do not.
TEST(GroupSearchJudge, ASmallGangIsPlacedExactlyWhenItFits) {
  EXPECT_TRUE(rc::check("as the judge says", [] {
    TestBench bench;
    const auto room = *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(*rc::gen::inRange(1, 4)),
                                                            rc::gen::inRange(1, 9));
    const auto asked = *rc::gen::container<std::vector<int>>(
        static_cast<std::size_t>(*rc::gen::inRange(1, 5)), rc::gen::inRange(1, 7));
    for (std::size_t i = 0; i < room.size(); ++i)
      bench.put_node({"n" + std::to_string(i), std::to_string(room[i])});
    bench.put_group("g", static_cast<int>(asked.size()));
    for (std::size_t i = 0; i < asked.size(); ++i)
      bench.put_pod({"p" + std::to_string(i), std::to_string(asked[i]), "g"});
    bench.run();
    const bool fits = fits_somehow(room, asked);
    std::vector<int> left = room;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::string node = bench.node_of("p" + std::to_string(i));
      RC_ASSERT(node.empty() == !fits);
      if (fits) left[static_cast<std::size_t>(node.back() - '0')] -= asked[i];
    }
    RC_ASSERT(std::all_of(left.begin(), left.end(), [](int one) { return one >= 0; }));
    if (!fits) RC_ASSERT(latest_explanation(bench).find(kProvesNothing) == std::string::npos);
  }));
}

// One device each, of driver a, of driver b, or of either: the number of members that can be served is known.
TEST(GroupSearchJudge, ARefusalForDevicesIsProvedOnlyWhereItIsRight) {
  EXPECT_TRUE(rc::check("as the judge says", [] {
    TestBench bench;
    bench.put_class("any", "true");
    bench.put_class("a", "device.driver == 'a'");
    bench.put_class("b", "device.driver == 'b'");
    int devices[2] = {0, 0};
    for (int n = 0; n < *rc::gen::inRange(1, 3); ++n) {
      const std::string name = "n" + std::to_string(n);
      bench.put_node({name});
      for (int driver = 0; driver < 2; ++driver) {
        const int count = *rc::gen::inRange(0, 3);
        if (count > 0)
          bench.put_slice(name + "s" + std::to_string(driver), name, count, driver == 0 ? "a" : "b");
        devices[driver] += count;
      }
    }
    int asked[3] = {0, 0, 0};
    const int size = *rc::gen::inRange(1, 5);
    bench.put_group("g", size);
    for (int i = 0; i < size; ++i) {
      const int kind = *rc::gen::inRange(0, 3);
      ++asked[kind];
      const std::string name = "p" + std::to_string(i);
      bench.put_claim("c" + name, kind == 0 ? "a" : kind == 1 ? "b" : "any");
      bench.put_pod({name, "1", "g", claimed("c" + name)});
    }
    bench.run();
    const bool fits = asked[0] <= devices[0] && asked[1] <= devices[1] && size <= devices[0] + devices[1];
    const bool placed = !bench.node_of("p0").empty();
    RC_ASSERT(placed == fits);
    if (placed) return;
    const bool proved = latest_explanation(bench).find(kProvesNothing) == std::string::npos;
    RC_ASSERT(!proved || !fits);
  }));
}

}  // namespace
}  // namespace berth::scheduling
