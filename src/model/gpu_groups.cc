#include "model/gpu_groups.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::model {
namespace {

GpuGroups::iterator place_of_group(GpuGroups& groups, const std::string& name) {
  return std::lower_bound(groups.begin(), groups.end(), name,
                          [](const GpuGroupUse& group, const std::string& at) { return group.name < at; });
}

// The first free number is used again, so that a node has few names and decisions repeat.
std::string unused_name(const GpuGroups& groups, std::size_t& next) {
  for (;; ++next) {
    std::string name = "gpu-" + std::to_string(next);
    const auto has_name = [&name](const GpuGroupUse& group) { return group.name == name; };
    if (std::none_of(groups.begin(), groups.end(), has_name)) return ++next, name;
  }
}

}  // namespace

bool same_share(const api::GpuSharePtr& a, const api::GpuSharePtr& b) {
  return a == b || (a && b && *a == *b);
}

void add_share(GpuGroups& groups, const api::GpuShare& share, ShareHolder holder) {
  for (const std::string& name : share.groups) {
    auto at = place_of_group(groups, name);
    if (at == groups.end() || at->name != name) at = groups.insert(at, {name});
    at->hundredths += share.hundredths;
    ++at->members;
    at->holds += holder == ShareHolder::Hold;
  }
}

void remove_share(GpuGroups& groups, const api::GpuShare& share, ShareHolder holder) {
  for (const std::string& name : share.groups) {
    const auto at = place_of_group(groups, name);
    BERTH_ASSERT(at != groups.end() && at->name == name, "what is removed was added");
    at->hundredths -= share.hundredths;
    at->holds -= holder == ShareHolder::Hold;
    if (--at->members == 0) groups.erase(at);
  }
}

std::optional<GpuGroupChoice> choose_gpu_groups(const GpuGroups& groups, std::int64_t free_gpus,
                                                std::int32_t hundredths, std::uint32_t devices) {
  std::vector<const GpuGroupUse*> fitting;
  for (const GpuGroupUse& group : groups)
    if (group.hundredths + hundredths <= api::kWholeGpu && (free_gpus >= 0 || !group.only_held()))
      fitting.push_back(&group);
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const GpuGroupUse* a, const GpuGroupUse* b) { return a->hundredths > b->hundredths; });
  if (fitting.size() > devices) fitting.resize(devices);
  const auto missing = static_cast<std::int64_t>(devices - fitting.size());
  if (missing > std::max<std::int64_t>(free_gpus, 0)) return std::nullopt;
  GpuGroupChoice choice;
  choice.opened = static_cast<std::int32_t>(missing);
  for (const GpuGroupUse* group : fitting) {
    choice.groups.push_back(group->name);
    choice.hundredths_used += group->hundredths;
  }
  std::size_t next = 0;
  while (choice.groups.size() < devices) choice.groups.push_back(unused_name(groups, next));
  return choice;
}

}  // namespace berth::model
