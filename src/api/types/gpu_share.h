// Shares of GPUs: what a pod asks for by annotations, and which groups it got.
//
// A GPU group is one GPU of one node that pods share; its name is unique on that node. Sizes are in
// hundredths of a GPU. Source: KAI Scheduler for the annotations that pods ask with; docs/gpu-sharing.md.
#pragma once

#include <memory>
#include <optional>

#include "api/types/pod.h"

namespace berth::api {

inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kGpuFraction = "gpu-fraction";  // share of each device, 0.01 to 0.99
inline constexpr std::string_view kGpuMemory = "gpu-memory";      // MiB of each device
inline constexpr std::string_view kGpuFractionDevices = "gpu-fraction-num-devices";
inline constexpr std::string_view kGpuFractionContainer = "gpu-fraction-container-name";
inline constexpr std::string_view kGpuMps = "mps";

// Of a node: the memory of each of its GPUs in MiB, as GPU feature discovery writes it.
inline constexpr std::string_view kGpuMemoryLabel = "nvidia.com/gpu.memory";

// Of a pod, written by the binder before the binding: names of groups with commas between them, and the
// size of the share in each.
inline constexpr std::string_view kGpuGroupsAnnotation = "scheduling.berth.dev/gpu-groups";
inline constexpr std::string_view kGpuPortionAnnotation = "scheduling.berth.dev/gpu-portion";

// A reservation pod holds the GPU of one group on a cluster: in this namespace, with these annotations, under
// the name gpu_reservation_name(). It asks the node for one whole GPU once it is bound there.
inline constexpr std::string_view kGpuReservationNamespace = "kube-system";
inline constexpr std::string_view kGpuGroupAnnotation = "scheduling.berth.dev/gpu-group";
inline constexpr std::string_view kGpuNodeAnnotation = "scheduling.berth.dev/gpu-node";

// BindRequest.spec.receivedResourceType of a share.
inline constexpr std::string_view kFractionReceived = "Fraction";

// Devices that one pod may share: as many as one claim can allocate.
inline constexpr std::uint32_t kGpuFractionDevicesMax = 32;
// The memory of one GPU in MiB: a larger one is not read, so that a hundred times the amount fits.
inline constexpr std::uint64_t kGpuMemoryMax = std::uint64_t{1} << 40;
inline constexpr std::int32_t kWholeGpu = 100;  // hundredths

// Either `hundredths` or `memory_mib` is set.
struct GpuShareRequest {
  std::int32_t hundredths = 0;   // of each device
  std::uint64_t memory_mib = 0;  // of each device
  std::uint32_t devices = 1;
};

struct GpuShare {
  std::vector<std::string> groups;  // each once, in the order of the pod's devices
  std::int32_t hundredths = 0;      // of each
  bool empty() const { return groups.empty(); }
  friend bool operator==(const GpuShare&, const GpuShare&) = default;
};
using GpuSharePtr = std::shared_ptr<const GpuShare>;  // null: none

// gpu-fraction: a decimal number between 0 and 1, both excluded, rounded to hundredths: 0 to 100.
std::optional<std::int32_t> parse_gpu_fraction(std::string_view text);
// A number of decimal digits alone.
std::optional<std::uint64_t> parse_whole_number(std::string_view text);

bool asks_for_gpu_share(const ObjectMeta& pod);
// None for a pod that asks for no share, or whose annotations break the rules (docs/binder.md#gpu-requests).
std::optional<GpuShareRequest> gpu_share_request(const ObjectMeta& pod);
// The request as hundredths of a GPU of this node, memory rounded up. None if the node does not name the
// memory of its GPUs, or one has less.
std::optional<std::int32_t> gpu_hundredths(const GpuShareRequest& request, const StringMap& node_labels);

// Two decimals: "0.50".
std::string gpu_portion(std::int32_t hundredths);
// 1 to 100; none for any other text.
std::optional<std::int32_t> parse_gpu_portion(std::string_view text);

// Whether a group may have this name: a DNS label.
bool is_gpu_group_name(std::string_view name);
std::string gpu_reservation_name(std::string_view node, std::string_view group);
bool is_gpu_reservation(const Pod& pod);
// The node to which a reservation pod is bound, or is to be bound.
std::string_view gpu_reservation_node(const Pod& reservation);
// What the annotations of a bound pod say; null if it asked for none, or if they cannot be read. Of a
// reservation pod its group, with 0 hundredths.
GpuSharePtr gpu_share_of(const Pod& pod);
// The annotations of a pod that has the share.
StringMap gpu_share_annotations(const GpuShare& share);

}  // namespace berth::api
