// Node resources as dense numbers: cpu in millicores, everything else in whole units, both rounded up.
#pragma once

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
// What kube-scheduler's scores count for containers that name no request: kCpuFloor and kMemoryFloor each. No
// node offers it, no filter asks for it.
inline constexpr ResourceId kCpuUnasked{4};
inline constexpr ResourceId kMemoryUnasked{5};
inline constexpr std::int64_t kCpuFloor = 100;                   // millicores
inline constexpr std::int64_t kMemoryFloor = 200 * 1024 * 1024;  // bytes
inline bool is_asked(ResourceId resource) {
  return resource != kCpuUnasked && resource != kMemoryUnasked;
}

// What one pod is charged of a resource at most, and a node offers at most: more than any machine has, so
// that many of them add up, and a hundred times one is a number.
inline constexpr std::int64_t kAmountMax = std::int64_t{1} << 56;

struct ResourceAmount {
  ResourceId resource;
  std::int64_t amount = 0;
  friend bool operator==(const ResourceAmount&, const ResourceAmount&) = default;
};

// Sorted by resource; without zeros.
using ResourceAmounts = std::vector<ResourceAmount>;

// Indexed by ResourceId; a resource beyond the end is 0.
using ResourceRow = std::vector<std::int64_t>;

inline std::int64_t amount_in(const ResourceRow& row, ResourceId resource) {
  return resource.index() < row.size() ? row[resource.index()] : 0;
}

class ResourceNames {
 public:
  ResourceNames();
  ResourceId intern(std::string_view name) { return names_.intern(name); }
  ResourceId find(std::string_view name) const { return names_.find(name); }
  const std::string& text(ResourceId id) const { return names_.text(id); }
  std::size_t size() const { return names_.size(); }

  ResourceAmounts amounts(const api::ResourceMap& map);
  // What a pod is charged: its effective requests, its slot, what it did not ask for, and what its devices
  // take of the node.
  ResourceAmounts charges(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices = {});
  ResourceRow row(const api::ResourceMap& map);

 private:
  Names<ResourceId> names_;
};

}  // namespace berth::model
