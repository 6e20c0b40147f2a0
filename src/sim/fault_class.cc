#include "sim/fault_class.h"

namespace berth::sim {
namespace {

constexpr std::array<std::string_view, kFaultClassCount> kNames = {"request-lost",   "request-late",
                                                                   "answer-lost",    "answer-late",
                                                                   "not-sent",       "reset",
                                                                   "forbidden",      "not-found",
                                                                   "conflict",       "throttled",
                                                                   "invalid",        "server-error",
                                                                   "error-after",    "unavailable",
                                                                   "read-failed",    "writes-slow",
                                                                   "watch-lag",      "watch-batch",
                                                                   "watch-broken",   "watch-gone",
                                                                   "list-old",       "event-repeated",
                                                                   "killed",         "killed-at-write",
                                                                   "stopped",        "paused",
                                                                   "clock-jump",     "lease-lost",
                                                                   "lease-deleted",  "outage",
                                                                   "pod-deleted",    "pod-force-deleted",
                                                                   "pod-recreated",  "pod-resized",
                                                                   "node-lost",      "node-changed",
                                                                   "group-edited",   "slice-republished",
                                                                   "device-lost",    "device-tainted",
                                                                   "claim-rivalled", "device-ill"};

}  // namespace

std::string_view name_of(FaultClass fault) {
  return kNames[static_cast<std::size_t>(fault)];
}

std::optional<FaultClass> fault_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<FaultClass>(i);
  return std::nullopt;
}

}  // namespace berth::sim
