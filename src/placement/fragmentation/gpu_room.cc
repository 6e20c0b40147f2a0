#include "placement/fragmentation/gpu_room.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "api/types/gpu_share.h"
#include "base/fnv.h"
#include "base/key_bytes.h"

namespace berth::placement {

void GpuRoom::add_shared(std::int32_t free_hundredths) {
  if (free_hundredths > 0 && shared_count_ < kSharedGpusMax) shared_[shared_count_++] = free_hundredths;
}

std::int64_t GpuRoom::hundredths() const {
  return std::accumulate(shared_.begin(), shared_.begin() + shared_count_, whole_ * api::kWholeGpu);
}

GpuRoom::Fit GpuRoom::fit(std::int32_t hundredths) const {
  Fit fit{whole_, 0};
  for (std::size_t i = 0; i < shared_count_; ++i) {
    const bool fits = shared_[i] >= hundredths;
    fit.devices += fits;
    fit.too_small += fits ? 0 : shared_[i];
  }
  return fit;
}

bool GpuRoom::take(const GpuDemand& demand) {
  cpu_ -= demand.cpu;
  if (cpu_ < 0) return false;
  if (demand.hundredths == api::kWholeGpu) {
    whole_ -= demand.devices;
    return whole_ >= 0;
  }
  const std::size_t before = shared_count_;
  std::uint64_t taken = 0;  // bit by shared GPU: one pod has at most one share of it
  for (std::int64_t n = 0; n < demand.devices; ++n) {
    std::size_t fullest = kSharedGpusMax;
    for (std::size_t i = 0; i < before; ++i)
      if ((taken >> i & 1) == 0 && shared_[i] >= demand.hundredths &&
          (fullest == kSharedGpusMax || shared_[i] < shared_[fullest]))
        fullest = i;
    if (fullest < kSharedGpusMax) {
      shared_[fullest] -= demand.hundredths;
      taken |= std::uint64_t{1} << fullest;
    } else if (--whole_ >= 0) {
      add_shared(api::kWholeGpu - demand.hundredths);
    } else {
      return false;
    }
  }
  return true;
}

DemandMix::DemandMix(std::vector<WorkloadDemand> pods) {
  std::map<WorkloadDemand, std::int64_t> counts;
  for (const WorkloadDemand& pod : pods) ++counts[pod];
  std::vector<std::pair<std::int64_t, WorkloadDemand>> by_count;
  for (const auto& [demand, count] : counts) by_count.emplace_back(-count, demand);
  std::ranges::sort(by_count);
  const auto wanted = static_cast<std::int64_t>(pods.size()) * kMixCoveredPercent;
  std::int64_t covered = 0;
  for (const auto& [negative, demand] : by_count) {
    if (covered * 100 >= wanted || demands_.size() == kMixDemandsMax) break;
    covered -= negative;
    demands_.push_back({demand, -negative});
    if (demand.demand.devices > 0) sizes_.push_back(demand.demand.hundredths);
  }
  std::ranges::sort(sizes_);
  sizes_.erase(std::ranges::unique(sizes_).begin(), sizes_.end());
  for (Weighted& one : demands_) {
    one.millionths = one.millionths * kMixParts / covered;
    one.size = static_cast<std::uint32_t>(std::ranges::lower_bound(sizes_, one.of.demand.hundredths) -
                                          sizes_.begin());
  }
}

std::int64_t DemandMix::unusable(const GpuRoom& room, std::uint64_t affinities) const {
  const std::int64_t all = room.hundredths();
  if (all == 0) return 0;
  std::array<GpuRoom::Fit, api::kWholeGpu> fits;
  for (std::size_t i = 0; i < sizes_.size(); ++i) fits[i] = room.fit(sizes_[i]);
  std::int64_t sum = 0;
  for (const Weighted& one : demands_) {
    const GpuDemand& demand = one.of.demand;
    const bool accepted = one.of.affinity == 0 || (affinities >> (one.of.affinity - 1) & 1) != 0;
    const bool fits_here = demand.devices > 0 && accepted && demand.cpu <= room.cpu() &&
                           demand.devices <= fits[one.size].devices;
    sum += one.millionths * (fits_here ? fits[one.size].too_small : all);
  }
  return sum;
}

std::int64_t DemandMix::unusable(const dra::DeviceUnits& units, std::int64_t cpu,
                                 std::uint64_t affinities) const {
  const std::int64_t all = units.free();
  std::array<std::int64_t, dra::kUnitKindsMax> too_small{};
  for (const dra::DeviceUnit& unit : units.units)
    for (std::size_t kind = 0; kind < too_small.size(); ++kind)
      too_small[kind] += (unit.serves >> kind & 1) != 0 ? 0 : unit.free;
  std::int64_t sum = 0;
  for (const Weighted& one : demands_) {
    const GpuDemand& demand = one.of.demand;
    const bool accepted = one.of.affinity == 0 || (affinities >> (one.of.affinity - 1) & 1) != 0;
    const bool fits_here = demand.devices > 0 && demand.kind > 0 && accepted && demand.cpu <= cpu &&
                           demand.devices <= units.fitting[demand.kind - 1];
    sum += one.millionths * (fits_here ? too_small[demand.kind - 1] : all);
  }
  return sum;
}

std::uint64_t DemandMix::digest() const {
  std::string bytes;
  for (const Weighted& one : demands_) {
    const GpuDemand& demand = one.of.demand;
    for (const std::int64_t number :
         {demand.cpu, demand.devices, std::int64_t{demand.hundredths}, std::int64_t{demand.kind},
          std::int64_t{one.of.affinity}, one.millionths})
      append_key(bytes, static_cast<std::uint64_t>(number));
  }
  return fnv1a(bytes);
}

}  // namespace berth::placement
