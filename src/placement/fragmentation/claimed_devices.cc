#include "placement/fragmentation/claimed_devices.h"

#include <algorithm>
#include <map>

#include "api/types/gpu_share.h"
#include "placement/free_resources.h"

namespace berth::placement {
namespace {

enum class Counted : std::uint8_t { All, Unallocated };

bool is_plain(const api::ResourceClaim& claim, const api::DeviceRequest& request) {
  if (request.prioritized || request.alternatives.size() != 1 || !claim.constraints.empty()) return false;
  const api::DeviceSubRequest& one = request.alternatives.front();
  return one.mode == api::AllocationMode::ExactCount && !one.admin_access && one.selectors.empty() &&
         one.capacity.empty() && one.derived_attributes.empty();
}

// By class; nothing if a request is not plain.
std::map<std::string_view, std::int64_t> asked_by_class(const client::View& view, const api::Pod& pod,
                                                        Counted counted) {
  std::map<std::string_view, std::int64_t> asked;
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim = view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim || (claim->allocation && counted == Counted::Unallocated)) continue;
    for (const api::DeviceRequest& request : claim->requests) {
      if (!is_plain(*claim, request)) return {};
      const api::DeviceSubRequest& one = request.alternatives.front();
      asked[one.device_class] += std::clamp<std::int64_t>(one.count, 0, kGpusMost);
    }
  }
  return asked;
}

}  // namespace

std::string unallocated_class_of(const client::View& view, const api::Pod& pod) {
  std::string_view most;
  std::int64_t devices = 0;
  const auto asked = asked_by_class(view, pod, Counted::Unallocated);
  for (const auto& [device_class, count] : asked) {
    if (count <= devices) continue;
    most = device_class;
    devices = count;
  }
  return std::string(most);
}

std::shared_ptr<const ClaimedDevices> ClaimedDevices::of(const SchedulingContext& context,
                                                         const std::string& device_class) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->requests.push_back({"devices", false, {{"devices", device_class}}});
  const dra::ClaimPtr one = std::move(claim);
  auto compiled = context.allocator.prepare({&one, 1});
  if (!compiled) return nullptr;
  return std::shared_ptr<const ClaimedDevices>(new ClaimedDevices(device_class, *std::move(compiled)));
}

GpuDemand ClaimedDevices::demand_of(const SchedulingContext& context, const model::PodRow& row) const {
  GpuDemand demand{std::min(asked_of(row.requests, model::kCpu), kCpuMost), 0, api::kWholeGpu};
  if (row.live->claims.empty()) return demand;
  const auto asked = asked_by_class(context.view, *row.live, Counted::All);
  const auto own = asked.find(device_class_);
  if (own != asked.end()) demand.devices = std::min(own->second, kGpusMost);
  return demand;
}

std::int64_t ClaimedDevices::offered(const SchedulingContext& context, model::NodeId node) const {
  const auto count = context.allocator.count_whole(*one_, node);
  return count ? std::min(count->all, kGpusMost) : 0;
}

std::optional<GpuRoom> ClaimedDevices::room_of(const SchedulingContext& context, model::NodeId node) const {
  const auto count = context.allocator.count_whole(*one_, node);
  if (!count) return std::nullopt;
  const std::int64_t cpu =
      free_of(context.cluster.node(node), context.cluster.ledger().node(node), model::kCpu);
  return GpuRoom(std::clamp<std::int64_t>(cpu, 0, kCpuMost), std::min(count->free, kGpusMost));
}

}  // namespace berth::placement
