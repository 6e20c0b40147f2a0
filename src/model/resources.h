// Node resources as dense numbers: cpu in millicores, everything else in whole units, both rounded up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "api/types/pod.h"
#include "model/ids.h"

namespace berth::model {

inline constexpr ResourceId kCpu{0};  // millicores
inline constexpr ResourceId kMemory{1};
inline constexpr ResourceId kEphemeralStorage{2};
inline constexpr ResourceId kPodSlots{3};  // "pods"
// What kube-scheduler's scores count for containers without requests: kCpuFloor and kMemoryFloor each. No
// node offers it and no filter reads it.
inline constexpr ResourceId kCpuUnasked{4};
inline constexpr ResourceId kMemoryUnasked{5};
inline constexpr ResourceId kGpu{6};                             // nvidia.com/gpu: whole ones, and GPU groups
inline constexpr std::int64_t kCpuFloor = 100;                   // millicores
inline constexpr std::int64_t kMemoryFloor = 200 * 1024 * 1024;  // bytes
inline bool is_asked(ResourceId resource) {
  return resource != kCpuUnasked && resource != kMemoryUnasked;
}

// The most that a node offers of one resource; a larger offer counts as this. A request is exact up to it; a
// larger one is kBeyondOffers, which no node has.
inline constexpr std::int64_t kOfferMax = INT64_MAX - 1;
inline constexpr std::int64_t kBeyondOffers = INT64_MAX;

struct ResourceAmount {
  ResourceId resource;
  std::int64_t amount = 0;
  friend bool operator==(const ResourceAmount&, const ResourceAmount&) = default;
};

// Sorted by resource; without zeros.
using ResourceAmounts = std::vector<ResourceAmount>;

// The same, in place where they are few: a pass over many charges reads no memory elsewhere.
class ChargedAmounts {
 public:
  ChargedAmounts() = default;
  ChargedAmounts(const ResourceAmounts& all) {
    if (all.size() > kInPlace)
      many_ = all;
    else
      count_ = static_cast<std::size_t>(std::copy(all.begin(), all.end(), few_.begin()) - few_.begin());
  }
  const ResourceAmount* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  const ResourceAmount* end() const { return begin() + (many_.empty() ? count_ : many_.size()); }
  friend bool operator==(const ChargedAmounts& a, const ChargedAmounts& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr std::size_t kInPlace = 4;  // cpu, memory, the pod's slot and one more
  std::array<ResourceAmount, kInPlace> few_{};
  std::size_t count_ = 0;  // in `few_`
  ResourceAmounts many_;   // all of them; empty: they are in `few_`
};

// Amounts by resource; one that was never set is 0. Those up to kGpu are in place: a pass over all nodes
// reads no other memory.
template <class Amount>
class AmountTable {
 public:
  Amount operator[](ResourceId resource) const {
    const std::size_t at = resource.index();
    if (at < kInPlace) return common_[at];
    return at - kInPlace < others_.size() ? others_[at - kInPlace] : Amount{};
  }
  Amount& at(ResourceId resource) {
    const std::size_t at = resource.index();
    if (at < kInPlace) return common_[at];
    if (others_.size() <= at - kInPlace) others_.resize(at - kInPlace + 1);
    return others_[at - kInPlace];
  }
  // One above the highest id that may have an amount.
  std::uint32_t size() const { return static_cast<std::uint32_t>(kInPlace + others_.size()); }

 private:
  static constexpr std::size_t kInPlace = kGpu.index() + 1;
  std::array<Amount, kInPlace> common_{};
  std::vector<Amount> others_;
};

using ResourceRow = AmountTable<std::int64_t>;
// Sums of requests, exact whatever pods ask for.
using ResourceSums = AmountTable<__int128>;

inline std::int64_t amount_in(const ResourceRow& row, ResourceId resource) {
  return row[resource];
}
// A sum beyond kBeyondOffers reads as that: more than any node has.
inline std::int64_t amount_in(const ResourceSums& sums, ResourceId resource) {
  return static_cast<std::int64_t>(std::min<__int128>(sums[resource], kBeyondOffers));
}

class ResourceNames {
 public:
  ResourceNames();
  ResourceId intern(std::string_view name) { return names_.intern(name); }
  ResourceId find(std::string_view name) const { return names_.find(name); }
  const std::string& text(ResourceId id) const { return names_.text(id); }
  std::size_t size() const { return names_.size(); }

  ResourceAmounts amounts(const api::ResourceMap& map);
  // The charges of a pod: its effective requests, its pod slot, the floors for containers without requests,
  // and what its devices consume of the node.
  ResourceAmounts charges(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices = {});
  // The same of resources that all have ids.
  ResourceAmounts known_charges(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices) const;
  ResourceRow row(const api::ResourceMap& map);

 private:
  Names<ResourceId> names_;
};

// The parts of kCpuUnasked and kMemoryUnasked that count in scores while a pod waits. They are those of its
// charges, except with pod-level requests: their containers have floors only while the pod waits. Source:
// kube-scheduler's calculatePodResourceRequest and getNonMissingContainerRequests.
ResourceAmounts waiting_floors(const api::Pod& pod);

}  // namespace berth::model
