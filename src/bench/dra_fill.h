// The dra-fill measurement: pods with one claim from a template each, from create to bound.
//
// Shape: scheduler_perf's "claim template, fill to 100 %" (500 nodes × 10 devices). The load generator runs
// in the measured process.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "client/api_client.h"

namespace berth::bench {

struct DraFillShape {
  std::size_t nodes = 500;
  std::size_t devices_per_node = 10;
  std::size_t pods_before = 2500;
  std::size_t pods_measured = 2500;
  std::size_t offered_per_s = 0;  // 0: as fast as the server accepts them
};

struct DraFillResult {
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
Result<DraFillResult> measure_dra_fill(const DraFillShape& shape, const MeasuredPlane& plane);

}  // namespace berth::bench
