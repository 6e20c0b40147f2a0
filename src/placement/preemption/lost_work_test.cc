// Which devices and which time count as lost work.
#include "placement/preemption/lost_work.h"

#include <gtest/gtest.h>

#include "placement/preemption/test_victims.h"

namespace berth::placement {
namespace {

struct CheckpointRow {
  const char* name;
  const char *of_pod, *of_group, *of_tree;  // annotations; empty: none
  int seconds;                              // lost, for each device
  bool invalid;
};

std::string with_checkpoint(const std::string& text) {
  return text.empty() ? "" : R"(,"annotations":{"scheduling.berth.dev/last-checkpoint":")" + text + "\"}";
}

// The pod started at 0, with two GPUs of a device plugin; now is 1000.
TEST(LostWork, SinceTheLastCheckpoint) {
  const std::string at[] = {format_time(victims_time(400)), format_time(victims_time(600)),
                            format_time(victims_time(-50)), format_time(victims_time(kVictimsNow + 60)),
                            format_time(victims_time(kVictimsNow + 61))};
  const CheckpointRow rows[] = {
      {"none: since the start", "", "", "", 1000, false},
      {"its own", at[0].c_str(), at[1].c_str(), "", 600, false},
      {"of its group", "", at[1].c_str(), at[0].c_str(), 400, false},
      {"of the tree", "", "", at[0].c_str(), 600, false},
      {"of an earlier run: since the start", at[2].c_str(), "", "", 1000, false},
      {"of a clock that is a little ahead", at[3].c_str(), "", "", 0, false},
      {"later than now", at[4].c_str(), "", "", 1000, true},
      {"no time", "yesterday", at[0].c_str(), "", 1000, true},
      {"a date alone", "2027-01-15", "", "", 1000, true},
  };
  for (const CheckpointRow& row : rows) {
    PluginBench bench;
    bench.context.now = victims_time(kVictimsNow);
    bench.context.victim_scoring = VictimScoring::LeastLostWork;
    bench.put(api::Kind::Node, R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"8","pods":"9",)"
                               R"("nvidia.com/gpu":"4"}}})");
    bench.put(api::Kind::CompositePodGroup, R"({"metadata":{"name":"tree","namespace":"ns","uid":"tree")" +
                                                with_checkpoint(row.of_tree) +
                                                R"(},"spec":{"schedulingPolicy":{"basic":{}}}})");
    bench.put(api::Kind::PodGroup,
              R"({"metadata":{"name":"g","namespace":"ns","uid":"g")" + with_checkpoint(row.of_group) +
                  R"(},"spec":{"parentCompositePodGroupName":"tree","schedulingPolicy":{"basic":{}}}})");
    const auto put_pod = [&](const std::string& status) {
      bench.put(api::Kind::Pod, R"({"metadata":{"name":"p","namespace":"ns","uid":"p")" +
                                    with_checkpoint(row.of_pod) +
                                    R"(},"spec":{"nodeName":"n1","schedulingGroup":{"podGroupName":"g"},)"
                                    R"("containers":[{"name":"c","resources":{"requests":{"cpu":"3",)"
                                    R"("nvidia.com/gpu":"2"}}}]},"status":{)" +
                                    status + "}}");
      return bench.cluster.find_pod("ns", "p");
    };
    const PodId pod = put_pod(R"("startTime":")" + format_time(victims_time(0)) + "\"");
    EXPECT_EQ(held_devices(bench.cluster, pod), 200) << row.name;
    EXPECT_TRUE(lost_work(bench.context, pod) == 200 * row.seconds) << row.name;
    EXPECT_EQ(last_checkpoint(bench.view, *bench.cluster.pod(pod).live, bench.context.now).invalid,
              row.invalid)
        << row.name;
    bench.context.victim_scoring = VictimScoring::Reference;
    EXPECT_TRUE(lost_work(bench.context, pod) == 0) << row.name;
    bench.context.victim_scoring = VictimScoring::LeastLostWork;
    EXPECT_TRUE(lost_work(bench.context, put_pod("")) == 0) << "it has not started";
  }
}

struct HoldingRow {
  const char* name;
  const char* pod;          // parts of metadata and spec, or a claim
  std::int64_t hundredths;  // of devices
};

TEST(LostWork, EveryKindOfDevice) {
  const HoldingRow rows[] = {
      {"none", R"("containers":[{"name":"c","resources":{"requests":{"cpu":"3","hugepages-2Mi":"4Mi"}}}])",
       0},
      {"two devices of a claim",
       R"("resourceClaims":[{"name":"c","resourceClaimName":"two"}],"containers":[{"name":"c"}])", 200},
      {"of a device plugin and of a claim",
       R"("resourceClaims":[{"name":"c","resourceClaimName":"two"}],"containers":[{"name":"c","resources":)"
       R"({"requests":{"rdma/hca":"1"}}}])",
       300},
      {"what the node does not offer",
       R"("containers":[{"name":"c","resources":{"requests":{"a.com/b":"3"}}}])", 0},
  };
  for (const HoldingRow& row : rows) {
    PluginBench bench;
    bench.put(api::Kind::Node, R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"8","pods":"9",)"
                               R"("hugepages-2Mi":"64Mi","rdma/hca":"2"}}})");
    bench.put(api::Kind::ResourceSlice,
              R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"n1","generation":1,)"
              R"("resourceSliceCount":1},"nodeName":"n1","devices":[{"name":"d0"},{"name":"d1"}]}})");
    bench.put(api::Kind::ResourceClaim,
              R"({"metadata":{"name":"two","namespace":"ns","uid":"two"},"spec":{},"status":{"allocation":)"
              R"({"devices":{"results":[{"request":"r","driver":"d","pool":"n1","device":"d0"},)"
              R"({"request":"r","driver":"d","pool":"n1","device":"d1"}]}},)"
              R"("reservedFor":[{"resource":"pods","name":"p","uid":"p"}]}})");
    bench.put(api::Kind::Pod,
              R"({"metadata":{"name":"p","namespace":"ns","uid":"p"},"spec":{"nodeName":"n1",)" +
                  std::string(row.pod) + "}}");
    EXPECT_EQ(held_devices(bench.cluster, bench.cluster.find_pod("ns", "p")), row.hundredths) << row.name;
  }
}

}  // namespace
}  // namespace berth::placement
