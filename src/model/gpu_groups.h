// The GPU groups of one node: the GPUs that pods share, and how much of each is taken.
//
// Pure functions of their arguments. Cost: O(groups of the node); charging one share O(groups) each of its
// groups. A group exists while a pod has a share of it, a reservation pod holds its GPU, or a hold keeps it.
// docs/gpu-sharing.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/types/gpu_share.h"

namespace berth::model {

// Equal shares, or none twice.
bool same_share(const api::GpuSharePtr& a, const api::GpuSharePtr& b);

// Who has a share: a pod, or a hold for one that waits.
enum class ShareHolder : std::uint8_t { Pod, Hold };

struct GpuGroupUse {
  std::string name;
  std::int32_t hundredths = 0;  // the sum over all shares; more than kWholeGpu only by other clients' writes
  std::int32_t members = 0;     // pods with a share of it, its reservation pod, and holds
  std::int32_t holds = 0;       // of the members
  bool only_held() const { return members == holds; }
  friend bool operator==(const GpuGroupUse&, const GpuGroupUse&) = default;
};
using GpuGroups = std::vector<GpuGroupUse>;  // by name

// Adds one pod's share to its groups; makes those that do not exist.
void add_share(GpuGroups& groups, const api::GpuShare& share, ShareHolder holder = ShareHolder::Pod);
// Undoes an add_share() of an equal share. A group without members ends.
void remove_share(GpuGroups& groups, const api::GpuShare& share, ShareHolder holder = ShareHolder::Pod);

struct GpuGroupChoice {
  std::vector<std::string> groups;   // as many as devices were asked for
  std::int32_t opened = 0;           // of them groups that do not exist yet
  std::int32_t hundredths_used = 0;  // the sum of what is taken of the others
};

// The groups for `devices` shares of this size, one GPU each. Existing groups in which it fits come first:
// the fullest, then by name. Then come new groups on `free_gpus`. None if there are too few. A negative
// `free_gpus` means that a hold waits for GPUs in use: a group that only it has is no GPU yet.
std::optional<GpuGroupChoice> choose_gpu_groups(const GpuGroups& groups, std::int64_t free_gpus,
                                                std::int32_t hundredths, std::uint32_t devices);

}  // namespace berth::model
