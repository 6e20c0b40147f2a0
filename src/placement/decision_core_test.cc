#include "placement/decision_core.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"
#include "placement/refusal/berth_words.h"

namespace berth::placement {
namespace {

// A group of one pod.
struct LoneGroup {
  explicit LoneGroup(const api::Pod& pod) {
    input.group = &group;
    input.waiting = {&pod};
  }
  api::PodGroup group;
  GroupInput input;
};

TEST(LikenessOfGroups, OneWithAKeptRoomIsLikeNoOther) {
  PluginBench bench;
  bench.put_node("n", R"("rack":"r")");
  DecisionCore core(bench.cluster, bench.selectors, DecisionOptions{});
  SchedulingContext context{bench.view, bench.cluster, core.allocator()};
  const LoneGroup a(bench.put_pod("a")), b(bench.put_pod("b"));
  const std::string likeness = core.likeness_of(context, a.input);
  EXPECT_NE(likeness, "");
  EXPECT_EQ(core.likeness_of(context, b.input), likeness);
  const FirstNodes rooms{{"a", bench.cluster.find_node("n")}};
  context.first_nodes = &rooms;
  EXPECT_EQ(core.likeness_of(context, a.input), "");
}

// The refusal names the search that ended early, and proves nothing.
TEST(DevicesOfAPod, ASearchThatEndsAtItsBudgetIsUnknown) {
  PluginBench bench;
  bench.put_node("n", R"("rack":"r")");
  bench.put(api::Kind::DeviceClass, R"({"metadata":{"name":"gpu"},"spec":{}})");
  std::string devices;
  for (int i = 0; i < 16; ++i)
    devices += (i == 0 ? "" : ",") + std::string(R"({"name":"d)") + std::to_string(i) + "\"}";
  bench.put(
      api::Kind::ResourceSlice,
      R"({"metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","nodeName":"n","pool":{"name":"n",)"
      R"("generation":1,"resourceSliceCount":1},"devices":[)" +
          devices + "]}}");
  bench.put(
      api::Kind::ResourceClaim,
      R"({"metadata":{"name":"c","namespace":"ns","uid":"c"},"spec":{"devices":{"requests":[{"name":"r",)"
      R"("exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":8}}]}}})");
  const api::Pod& pod = bench.put_pod("p", "", R"(,"resourceClaims":[{"name":"d","resourceClaimName":"c"}])");
  const auto decided = [&](std::size_t steps) {
    DecisionCore core(bench.cluster, bench.selectors, DecisionOptions{});
    core.allocator().set_steps_max(steps);
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    return core.decide_pod({bench.view, bench.cluster, core.allocator()}, pod, {}, transaction);
  };
  const PodDecision refused = decided(5);
  ASSERT_NE(refused.refusal, nullptr);
  EXPECT_EQ(refused.refusal->result, DecisionResult::Unschedulable);
  EXPECT_EQ(refused.refusal->unproved(), kSearchBudgetEnded);
  const std::string words = message_of(*refused.refusal);
  EXPECT_TRUE(words.starts_with("0/1 nodes are available: 1 timed out trying to allocate devices.")) << words;
  EXPECT_NE(words.find(" was not searched to the end for devices"), std::string::npos) << words;
  EXPECT_TRUE(decided(dra::kSearchStepsMax).node.valid());
}

}  // namespace
}  // namespace berth::placement
