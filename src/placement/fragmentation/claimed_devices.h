// Whole devices of one device class, as pods ask for them by claims.
//
// A request is plain if it is for an exact number, without selectors of its own, alternatives or constraints.
// A pod with another request is not learned from, and not scored.
// Nodes whose devices of the class can be shared, draw on counters or have binding conditions have no room
// that a number could say. Owner: one decision, one thread. Cost: the pod's claims; of a node that of
// Allocator::count_whole().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dra/allocator.h"
#include "placement/fragmentation/learned_workload.h"

namespace berth::placement {

// In larger clusters no node is asked for its devices before it is chosen.
inline constexpr std::size_t kCountedNodesMax = 16'384;

// Of the pod's claims without an allocation: the class of which it asks for most devices, then the first by
// name; empty: none.
std::string unallocated_class_of(const client::View& view, const api::Pod& pod);

class ClaimedDevices final : public WorkloadDevices {
 public:
  // Null: the allocator does not know the class.
  static std::shared_ptr<const ClaimedDevices> of(const SchedulingContext& context,
                                                  const std::string& device_class);

  bool may_ask(const model::PodRow& row) const override { return !row.live->claims.empty(); }
  GpuDemand demand_of(const SchedulingContext& context, const model::PodRow& row) const override;
  std::int64_t offered(const SchedulingContext& context, model::NodeId node) const override;
  // What is free; none: a number does not say it.
  std::optional<GpuRoom> room_of(const SchedulingContext& context, model::NodeId node) const;
  // Of the class, as long as it does not change.
  std::uint64_t signature() const { return one_->signature(); }

 private:
  ClaimedDevices(std::string device_class, std::shared_ptr<const dra::AllocationRequest> one)
      : device_class_(std::move(device_class)), one_(std::move(one)) {}

  const std::string device_class_;
  const std::shared_ptr<const dra::AllocationRequest> one_;  // for one device
};

}  // namespace berth::placement
