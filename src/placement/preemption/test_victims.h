// What the worlds of the tests of victims have in common.
#pragma once

#include <string>

#include "placement/plugin_bench.h"

namespace berth::placement {

// Times in seconds after the start of the first pod; decisions are made at kVictimsNow.
inline constexpr int kVictimsNow = 1000;
inline Time victims_time(int seconds) {
  return Time::from_seconds(1'800'000'000 + seconds);
}
// metadata with the checkpoint, after another field; empty for a negative time.
inline std::string checkpoint_json(int saved) {
  if (saved < 0) return "";
  return R"(,"annotations":{"scheduling.berth.dev/last-checkpoint":")" + format_time(victims_time(saved)) +
         "\"}";
}

// Of victims that come back: the evictions that the budget refuses, of those that they cause. And the victims
// that do not come back, or that have no place then.
struct Returned {
  int refused = 0, without_room = 0;
};

// The class "gpu" of every device, and a budget for pods with the label guarded=yes, of which it permits as
// many disruptions.
inline void put_class_and_budget(PluginBench& bench, int permitted) {
  bench.put(api::Kind::DeviceClass,
            R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}})");
  bench.put(api::Kind::PodDisruptionBudget,
            R"({"metadata":{"name":"b","namespace":"ns","generation":1},"spec":{"selector":{"matchLabels":)"
            R"({"guarded":"yes"}}},"status":{"observedGeneration":1,"disruptionsAllowed":)" +
                std::to_string(permitted) + "}}");
}

}  // namespace berth::placement
