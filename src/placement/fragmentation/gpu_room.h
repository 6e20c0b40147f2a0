// What one node has left for pods with GPUs, and how much of that a workload cannot use.
//
// Integers only, so that the numbers are equal on every machine. Pure; no allocation. Source: the measure of
// FGD ("Beware of Fragmentation", USENIX ATC 2023), with GPUs as docs/gpu-sharing.md counts them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "dra/device_units.h"

namespace berth::placement {

// Larger requests and offers count as this: all sums fit.
inline constexpr std::int64_t kCpuMost = 1'000'000'000;  // millicores
inline constexpr std::int64_t kGpusMost = 10'000;

// What a pod asks for. Of GPUs it has either whole ones or a share of each.
struct GpuDemand {
  std::int64_t cpu = 0;         // millicores
  std::int64_t devices = 0;     // 0: it needs no GPU
  std::int32_t hundredths = 0;  // of each device; 100: whole ones
  std::uint32_t kind = 0;       // of devices that drivers divide: 1 + its place in the measure; else 0

  std::int64_t gpus() const { return devices * hundredths; }  // in hundredths
  friend auto operator<=>(const GpuDemand&, const GpuDemand&) = default;
};

// Shared GPUs of one node that are counted; further ones count as full.
inline constexpr std::size_t kSharedGpusMax = 32;

class GpuRoom {
 public:
  GpuRoom() = default;
  GpuRoom(std::int64_t cpu, std::int64_t whole) : cpu_(cpu), whole_(whole) {}

  void add_shared(std::int32_t free_hundredths);
  std::int64_t cpu() const { return cpu_; }
  std::int64_t hundredths() const;  // free, of all GPUs
  // GPUs that have this much free, and the sum of what is free of the others.
  struct Fit {
    std::int64_t devices = 0, too_small = 0;
  };
  Fit fit(std::int32_t hundredths) const;
  // Charges the demand as GpuSharing places it: shares on the fullest GPUs first, then on free ones. False,
  // and the room is unspecified, if it does not fit.
  bool take(const GpuDemand& demand);

 private:
  std::int64_t cpu_ = 0;    // millicores; may be negative
  std::int64_t whole_ = 0;  // GPUs without any share
  std::array<std::int32_t, kSharedGpusMax> shared_{};
  std::size_t shared_count_ = 0;
};

// The distinct demands of a workload that one measure counts. The most frequent ones are kept.
inline constexpr std::size_t kMixDemandsMax = 128;
// Of the pods of a workload, how many the kept demands have to cover.
inline constexpr std::int64_t kMixCoveredPercent = 95;

// Shares of a mix, and what it cannot use, are counted in these.
inline constexpr std::int64_t kMixParts = 1'000'000;

// A demand and the nodes that it accepts: 0 for all, else 1 + the index of an affinity.
struct WorkloadDemand {
  GpuDemand demand;
  std::uint32_t affinity = 0;
  friend auto operator<=>(const WorkloadDemand&, const WorkloadDemand&) = default;
};

// What the pods of a workload ask for, by frequency.
class DemandMix {
 public:
  DemandMix() = default;
  // One entry for each pod; the order has no effect.
  explicit DemandMix(std::vector<WorkloadDemand> pods);

  bool empty() const { return demands_.empty(); }
  // The GPUs of the room that a pod of the workload cannot use, in the mean over its pods: in millionths of a
  // hundredth of a GPU. Bit i of `affinities`: the node matches affinity i. A pod that needs no GPU uses
  // none. Cost: O(demands + sizes x shared GPUs).
  std::int64_t unusable(const GpuRoom& room, std::uint64_t affinities) const;
  // The same of units, by the kinds of the demands: in millionths of a millionth of a device. `cpu`: free,
  // millicores. Cost: O(demands + kinds x units).
  std::int64_t unusable(const dra::DeviceUnits& units, std::int64_t cpu, std::uint64_t affinities) const;
  std::uint64_t digest() const;

 private:
  struct Weighted {
    WorkloadDemand of;
    std::int64_t millionths = 0;
    std::uint32_t size = 0;  // in sizes_
  };
  std::vector<Weighted> demands_;
  std::vector<std::int32_t> sizes_;  // hundredths, ascending
};

}  // namespace berth::placement
