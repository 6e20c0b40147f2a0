// Rows worked out by hand: which pods move, where to, what that buys, and why others stay.
#include "placement/defragmentation/defragmentation.h"

#include <gtest/gtest.h>

#include "placement/defragmentation/device_counts.h"
#include "placement/defragmentation/test_fleet.h"

namespace berth::placement {
namespace {

struct FleetRow {
  std::string name;
  Fleet fleet;
  std::string wanted;
};

DefragmentationLimits any_ratio() {
  DefragmentationLimits limits;
  limits.ratio_min = 0;
  return limits;
}

// n0 and n1 are in r0, n2 and n3 in r1, with two devices each.
std::vector<FleetRow> rows_of_moves() {
  return {
      {"one move makes a rack whole",
       {.pods = {{.node = 0}, {.node = 2}, {.node = 2}, {.node = 3}}},
       "r0 whole: p0 n0>n3; r1: MovedBefore p0"},
      {"the same with devices of claims",
       {.claims = true, .pods = {{.node = 0}, {.node = 2}, {.node = 2}, {.node = 3}}},
       "r0 whole: p0 n0>n3; r1: MovedBefore p0"},
      {"the same on nodes whose taint all pods tolerate",
       {.dedicated = true, .pods = {{.node = 0}, {.node = 2}, {.node = 2}, {.node = 3}}},
       "r0 whole: p0 n0>n3; r1: MovedBefore p0"},
      {"an empty node with a taint that evicts all takes no pod",
       {.dedicated = true, .broken = {3}, .pods = {{.node = 0}, {.node = 2}}},
       "r0 whole: p0 n0>n2; r1: MovedBefore p0"},
      {"nor is one with such a pod emptied, or filled",
       {.dedicated = true, .broken = {2, 3}, .pods = {{.node = 0}, {.node = 2}}},
       "r0: NoRoom"},
      {"what waits gets the rack",
       {.waiting = 4, .pods = {{.node = 0}, {.node = 2}, {.node = 3}}},
       "r0 whole, g fits: p0 n0>n2; r1: MovedBefore p0"},
      {"as few pods move as what waits needs",
       {.waiting = 3, .pods = {{.node = 0}, {.node = 1}, {.node = 2}, {.node = 2}}},
       "r0, g fits: p0 n0>n3; r1: MovedBefore p0"},
      {"no move is worth less than the ratio",
       {.pods = {{.node = 0}, {.node = 0}, {.node = 1}, {.node = 2}},
        .limits = {.ratio_min = 5 * kRatioUnit}},
       "r0: BelowRatio; r1: BelowRatio"},
  };
}

std::vector<FleetRow> rows_of_staying_pods() {
  const std::string stays = "cluster-autoscaler.kubernetes.io/safe-to-evict";
  return {
      {"nobody makes the pod again",
       {.pods = {{.node = 0, .owner = ""}, {.node = 2, .owner = ""}, {.node = 3}}},
       "r0: NoController p0; r1: NoController p1"},
      {"of a DaemonSet", {.racks = 1, .pods = {{.node = 0, .owner = "DaemonSet"}}}, "r0: TiedToNode p0"},
      {"critical, and asked to stay",
       {.pods = {{.node = 0, .priority = 2'000'000'000},
                 {.node = 2, .annotation = "\"" + stays + R"(":"false")"}}},
       "r0: SystemCritical p0; r1: AskedToStay p1"},
      {"the budget permits one eviction",
       {.racks = 3,
        .permitted = 1,
        .pods = {{.node = 0, .guarded = true}, {.node = 2, .guarded = true}, {.node = 4}, {.node = 5}},
        .limits = any_ratio()},
       "r0 whole: p0 n0>n4; r1: DisruptionBudget p1; r2: MovedBefore p0"},
      {"members beyond the minimum move, others do not",
       {.racks = 3,
        .minimum = 2,
        .pods = {{.node = 0, .in_group = true},
                 {.node = 2, .in_group = true},
                 {.node = 4, .in_group = true},
                 {.node = 5}},
        .limits = any_ratio()},
       "r0 whole: p0 n0>n4; r1: GangMinimum p1; r2: MovedBefore p0"},
      {"a group that is disrupted as one moves at once",
       {.racks = 2,
        .nodes = 3,
        .minimum = 2,
        .as_one = true,
        .pods = {{.node = 0, .in_group = true},
                 {.node = 1, .in_group = true},
                 {.node = 3},
                 {.node = 4},
                 {.node = 5}},
        .limits = any_ratio()},
       "r0 whole: p0 n0>n3* p1 n1>n4*; r1: MovedBefore p0"},
      {"pods that share a claim stay",
       {.racks = 1, .claims = true, .pods = {{.node = 0, .claim = "both"}, {.node = 0, .claim = "both"}}},
       "r0: SharesClaim p0"},
  };
}

std::vector<FleetRow> rows_of_limits() {
  return {
      {"more moves than are left",
       {.pods = {{.node = 0}, {.node = 1}, {.node = 2}, {.node = 3}},
        .limits = {.moves_max = 1, .ratio_min = 0}},
       "r0: TooManyMoves; r1: TooManyMoves"},
      {"one domain and no more",
       {.racks = 3,
        .pods = {{.node = 0}, {.node = 2}, {.node = 4}, {.node = 5}},
        .limits = {.domains_max = 1, .ratio_min = 0}},
       "r0 whole: p0 n0>n4; r1: NotTried; r2: MovedBefore p0"},
      {"a cordoned node is no place to go, and does not count",
       {.cordoned = {3}, .pods = {{.node = 0}, {.node = 2}}},
       "r0 whole: p0 n0>n2; r1: MovedBefore p0"},
      {"a whole rack is not broken for another one", {.pods = {{.node = 0}}}, "r0: NoRoom"},
  };
}

TEST(Defragmentation, MovesWhatTheRowsSay) {
  std::vector<FleetRow> rows = rows_of_moves();
  for (const auto& more : {rows_of_staying_pods(), rows_of_limits()})
    rows.insert(rows.end(), more.begin(), more.end());
  for (const FleetRow& row : rows) {
    FleetBench bench(row.fleet);
    EXPECT_FALSE(row.fleet.waiting > 0 && bench.gang_fits()) << row.name;
    const std::string before = bench.bench.cluster.to_text();
    EXPECT_EQ(bench.text(bench.find()), row.wanted) << row.name;
    EXPECT_EQ(bench.bench.cluster.to_text(), before) << row.name << ": a search changes nothing";
  }
}

TEST(Defragmentation, CountsDevicesOnce) {
  FleetBench bench({.racks = 1, .nodes = 1, .devices = 0, .claims = true});
  bench.bench.put(
      api::Kind::ResourceSlice,
      R"({"metadata":{"name":"parts"},"spec":{"driver":"d","pool":{"name":"n0","generation":1,)"
      R"("resourceSliceCount":1},"nodeName":"n0","sharedCounters":[{"name":"gpu0","counters":)"
      R"({"m":{"value":"2"}}}],"devices":[{"name":"left","consumesCounters":[{"counterSet":"gpu0",)"
      R"("counters":{"m":{"value":"1"}}}]},{"name":"right","consumesCounters":[{"counterSet":)"
      R"("gpu0","counters":{"m":{"value":"1"}}}]},{"name":"other"}]}})");
  const DeviceCounts counts(bench.bench.cluster);
  const NodeId node = bench.bench.cluster.find_node("n0");
  EXPECT_EQ(counts.offered(node), 2) << "partitions of one counter set are one device";
  EXPECT_EQ(counts.used(node), 0);
}

}  // namespace
}  // namespace berth::placement
