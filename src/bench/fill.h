// Pods that fill a cluster, from create to bound: alone with one claim from a template each (dra-fill), or in
// gangs (gang-fill).
//
// Shape of dra-fill: scheduler_perf's "claim template, fill to 100 %" (500 nodes × 10 devices). The load
// generator runs in the measured process.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "client/api_client.h"

namespace berth::bench {

struct FillShape {
  std::size_t nodes = 0;
  std::size_t devices_per_node = 0;  // 0: pods have no claims
  std::size_t racks = 0;             // 0: nodes have none; else each gang has all its pods in one rack
  std::size_t gang_size = 0;         // 0: pods without groups; pods are a multiple of it
  std::size_t pods_before = 0;
  std::size_t pods_measured = 0;
  std::size_t offered_per_s = 0;  // 0: as fast as the server accepts them
};
inline constexpr FillShape kDraFill{
    .nodes = 500, .devices_per_node = 10, .pods_before = 2'500, .pods_measured = 2'500};
inline constexpr FillShape kGangFill{
    .nodes = 5'000, .racks = 50, .gang_size = 3, .pods_before = 900, .pods_measured = 9'000};

struct FillResult {
  double pods_per_s = 0;  // from the first create to the last binding
  double p50_ms = 0;      // create sent to binding seen
  double p99_ms = 0;
  double writes_per_pod = 0;  // accepted by the store, events included
  double cpu_us_per_pod = 0;  // of the whole process, from the first create on
  std::int64_t resident_kb = 0;
};

// A running control plane without objects.
struct MeasuredPlane {
  client::ApiClient& user;  // a user's client, none of a component
  const Clock& clock;
  std::function<std::uint64_t()> writes_accepted;  // so far
};

// Blocks. Fails when a create is refused or a pod is not bound within two minutes.
Result<FillResult> measure_fill(const FillShape& shape, const MeasuredPlane& plane);

}  // namespace berth::bench
