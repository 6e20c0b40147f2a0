#include "placement/decision_core.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"

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

}  // namespace
}  // namespace berth::placement
