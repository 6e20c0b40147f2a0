// What pods and nodes use of cpu and memory, of simulated nodes: a pod runs nothing there, so its annotation
// says it, or else its requests do.
//
// Pure, any thread. The same objects at the same time give the same amounts. Cost: linear in the pod's
// containers. docs/workloads.md#usage is the page for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/cluster.h"
#include "api/types/pod.h"

namespace berth::api {

// Of a pod: "cpu=250m,memory=64Mi" is the use of the pod as a whole, "web: cpu=250m; log: cpu=5m" of its
// containers. Of a node: what it uses without its pods.
inline constexpr std::string_view kUsageAnnotation = "berth.dev/usage";
// Without the annotation a container uses this part of its request, and nothing without a request.
inline constexpr int kUsedPercentOfRequest = 50;
// A longer annotation is refused.
inline constexpr std::size_t kUsageBytesMax = 16 << 10;
// Amounts are means over the time before, of at most this length.
inline constexpr Duration kUsageWindowMax = Duration::seconds(15);

// The amounts of one container; of the pod as a whole where `container` is empty.
struct UsageEntry {
  std::string container;
  ResourceMap amounts;  // of cpu and memory
};
// Refuses more than kUsageBytesMax, what is neither cpu nor memory, negative amounts, and a name or resource
// that comes twice. Cost: O(n log n) in the text.
Result<std::vector<UsageEntry>> parse_usage(std::string_view text);

struct MeasuredTime {
  Time timestamp;   // whole seconds: the end of the window
  Duration window;  // whole seconds
};

struct PodUsage {
  MeasuredTime time;
  std::vector<UsageEntry> containers;  // of each running one, sidecars too, in the order of the spec

  // Of all containers.
  Quantity total(std::string_view resource) const;
};

// Since when all containers of a pod are ready; unset when they are not.
Time containers_ready_since(const Pod& pod);
// Nothing of a pod whose containers have not been ready for a second. An annotation that is malformed counts
// as absent; a container that it does not name uses a part of its request.
std::optional<PodUsage> usage_of(const Pod& pod, Time now);

// Whether somebody measures on the node: Berth plays its kubelet, and this is not silent.
bool is_measured(const Node& node);
// What the node itself uses, without its pods.
ResourceMap own_usage(const Node& node);
// Nothing for a node that is younger than a second.
std::optional<MeasuredTime> measured_time(Time since, Time now);

}  // namespace berth::api
