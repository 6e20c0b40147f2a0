// Who waits for victims that end.
#include "placement/preemption/eligibility.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

struct EndingCase {
  const char* name;
  const char* nominated;
  int priority;  // of the pod that ends; the nominated one has 10
  bool deleting;
  const char* reason;  // of its DisruptionTarget
  bool waits;
};

TEST(Eligibility, WaitsForPodsThatWereEvictedForIt) {
  const EndingCase rows[] = {
      {"evicted", "n1", 5, true, "PreemptionByScheduler", true},
      {"the API has written its reason", "n1", 5, true, "EvictionByEvictionAPI", true},
      {"ends for another reason", "n1", 5, true, "DeletionByTaintManager", false},
      {"does not end", "n1", 5, false, "PreemptionByScheduler", false},
      {"is as important", "n1", 10, true, "PreemptionByScheduler", false},
      {"is on another node", "n2", 5, true, "PreemptionByScheduler", false},
      {"nobody is nominated", "", 5, true, "PreemptionByScheduler", false},
  };
  for (const EndingCase& row : rows) {
    PluginBench bench;
    bench.put_node("n1", "");
    bench.put_node("n2", "");
    bench.put(api::Kind::Pod,
              std::string(R"({"metadata":{"name":"low","namespace":"ns","uid":"low")") +
                  (row.deleting ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")" : "") +
                  R"(},"spec":{"nodeName":"n1","priority":)" + std::to_string(row.priority) +
                  R"(},"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":")" +
                  row.reason + R"("}]}})");
    bench.put(api::Kind::Pod,
              R"({"metadata":{"name":"high","namespace":"ns","uid":"high"},"spec":{"priority":10},"status":{)"
              R"("nominatedNodeName":")" +
                  std::string(row.nominated) + R"("}})");
    EXPECT_EQ(has_ending_victims(bench.view, *bench.view.pods.find("ns", "high")), row.waits) << row.name;
  }
}

}  // namespace
}  // namespace berth::placement
