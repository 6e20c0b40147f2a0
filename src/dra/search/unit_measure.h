// Measures the units of one node (device_units.h), also with devices taken that the ledger does not have.
//
// Owner: one call of the Allocator, on one thread; changes neither ledger nor cluster. Cost of units():
// O(devices x kinds) tests of one device, fewer where a unit serves a kind early; of take() O(counters).
// Source: the rules of one device are those of Eligibility and DeviceTrial.
#pragma once

#include <vector>

#include "dra/device_units.h"
#include "dra/pools/capacity.h"
#include "dra/pools/eligibility.h"
#include "dra/pools/pool_sizes.h"
#include "dra/search/counter_ledger.h"

namespace berth::dra {

class UnitMeasure {
 public:
  // All outlive it; `devices` are the node's and do not change. At most kUnitKindsMax kinds count.
  UnitMeasure(const EligibilityCheck& check, NodeDevices& devices, const CompiledAllocationRequest& kinds);

  // False: numbers do not say what fits. A device has binding conditions, or is of a pool that several nodes
  // reach; a draw is negative; or there are too many units.
  bool applies() const { return applies_; }
  // Checks nothing. `consumed`: of a share.
  void take(DeviceRef place, const CapacityMap& consumed);
  DeviceUnits units();
  UnitSizes sizes();

 private:
  struct Kind {
    const CompiledSubRequest* sub;
    std::vector<Mask> matches;  // by run: devices that the node may use
  };
  struct Taken {
    DeviceRef place;
    CapacityMap consumed;
  };

  bool reads_plainly(std::uint32_t device_run) const;
  bool is_taken(DeviceRef place) const;
  bool carries_share(DeviceRef place) const;
  bool fits(const CompiledSubRequest& sub, DeviceRef place) const;
  bool fits_capacity(const CompiledSubRequest& sub, DeviceRef place) const;
  Quantity left_of(DeviceRef place, const std::string& capacity, Quantity whole) const;
  Millionths free_of_device(DeviceRef place) const;
  Millionths free_of_set(std::uint32_t pool, std::uint32_t set) const;
  Millionths size_of(DeviceRef place) const;
  std::int64_t count_fitting(const Kind& kind);
  // Calls `visit(place, bits of the kinds that it matches)`.
  template <class Visit>
  void visit_devices(const Visit& visit) const;

  const EligibilityCheck& check_;
  NodeDevices& devices_;
  std::vector<Kind> kinds_;
  std::vector<Mask> matches_;  // by run: of any kind
  CounterLedger counters_;
  std::vector<Taken> taken_;
  bool applies_ = true;
};

}  // namespace berth::dra
