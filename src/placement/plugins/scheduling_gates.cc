// SchedulingGates: a pod with spec.schedulingGates is not tried; its condition says so.
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class SchedulingGates final : public PreEnqueue {
 public:
  std::string_view name() const override { return "SchedulingGates"; }
  std::optional<PodGate> check(const client::View&, const api::Pod& pod) const override {
    if (pod.scheduling_gates.empty()) return std::nullopt;
    return PodGate{PodGate::Kind::SchedulingGates};
  }
};

}  // namespace

std::unique_ptr<PreEnqueue> scheduling_gates() {
  return std::make_unique<SchedulingGates>();
}

}  // namespace berth::placement::plugins
