// SchedulingGates: a pod with spec.schedulingGates is not tried; its condition says so.
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class SchedulingGates final : public PreEnqueue {
 public:
  PreEnqueueResult check(const client::View&, const api::Pod& pod) const override {
    if (pod.scheduling_gates.empty()) return {};
    return {PreEnqueueResult::Kind::Reported, "SchedulingGated",
            "Scheduling is blocked due to non-empty scheduling gates"};
  }
};

}  // namespace

std::unique_ptr<PreEnqueue> scheduling_gates() {
  return std::make_unique<SchedulingGates>();
}

}  // namespace berth::placement::plugins
