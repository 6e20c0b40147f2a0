// Devices of one driver that several claims may divide: partitions that draw on shared counters, and shares.
//
// A kind is what one request asks for: class, selectors, amounts of capacity, tolerations. The mix of a
// driver counts the most frequent kinds of the newest pods, since all of them may draw on the same counters.
// A request counts if it is for an exact number, without alternatives, constraints, admin access or derived
// attributes. A pod with another one is not learned from, and not scored. A pod counts by the kind of which
// it asks for most devices. Owner: one decision, one thread. Cost: of() O(pods), and O(devices x kinds) of
// kSizedNodesMax nodes; demand_of() O(requests of the pod). Source: KEP-4815, KEP-5075; FGD for the measure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dra/allocator.h"
#include "placement/fragmentation/learned_workload.h"

namespace berth::placement {

// Nodes whose devices say how large the kinds are, the first by name that have some.
inline constexpr std::size_t kSizedNodesMax = 64;

// Of the pod's claims without an allocation: the driver with such devices of which it asks for most, then the
// first by name; empty: none.
std::string divided_driver_of(const SchedulingContext& context, const api::Pod& pod);

class DriverDevices final : public WorkloadDevices {
 public:
  // With the kinds of the pods that exist.
  static std::shared_ptr<const DriverDevices> of(const SchedulingContext& context, const std::string& driver);

  bool may_ask(const model::PodRow& row) const override { return !row.live->claims.empty(); }
  // Without devices if its kind is not one of these. At most kGpusMost.
  GpuDemand demand_of(const SchedulingContext& context, const model::PodRow& row) const override;
  std::int64_t offered(const SchedulingContext& context, model::NodeId node) const override;
  // A claim for each kind, under the current classes; null: a class is gone.
  std::shared_ptr<const dra::AllocationRequest> kinds(const SchedulingContext& context) const;
  // Equal for equal kinds of equal sizes.
  std::uint64_t digest() const { return digest_; }

 private:
  struct Kind {
    std::string key;
    dra::ClaimPtr claim;
    std::int32_t hundredths = 0;  // of a device
  };
  explicit DriverDevices(std::string driver) : driver_(std::move(driver)) {}
  void read_sizes(const SchedulingContext& context);

  const std::string driver_;
  std::vector<Kind> kinds_;  // by key; at most dra::kUnitKindsMax
  std::shared_ptr<const dra::AllocationRequest> first_kinds_;
  std::uint64_t digest_ = 0;
};

// What is learned of one driver.
struct DriverWorkload {
  LearnedWorkload learned;
  std::shared_ptr<const DriverDevices> devices;  // with the kinds of the mix; null: none yet
  void pod_arrives(const SchedulingContext& context, model::PodId pod, const std::string& driver);
};

}  // namespace berth::placement
