// Writes status.nominatedNodeName of pods whose binding waits: for devices, for the gang barrier, for the
// next attempt. It shows an autoscaler the expected node (KEP-5278).
//
// Whether to write follows from the request's status, which says that it waits, and from the pod. The write
// is a hint, so its failure does not count against the binding. It names the pod's version and is part of
// the request's run, so it never races with the binding. The API server clears the field at the binding; a
// rollback clears it before the request is Failed. Owner: the binder, one thread. Memory: one
// NominationRecord a request.
#pragma once

#include "client/decider.h"

namespace berth::binding {

// A pod that is bound within this time after its wait was recorded costs no write.
inline constexpr Duration kQuietNomination = Duration::seconds(1);
// Of all pods together, so that thousands of waiting members do not delay bindings.
inline constexpr std::int64_t kNominationsPerSecondMax = 100;
// Backoff while the view does not show the nomination.
inline constexpr Duration kNominationRetryFirst = Duration::seconds(1);
inline constexpr Duration kNominationRetryMax = Duration::seconds(60);

// State of one request's decision.
struct NominationRecord {
  Time due;  // not set: the request has not waited yet
  std::uint32_t attempts = 0;
  bool under_way = false;  // the latest run wrote only the nomination
};

class Nominations {
 public:
  // For a run in which the request only waits: adds the write if it is due, otherwise the time when it is.
  void add(const api::Pod& pod, const std::string& node, NominationRecord& record, Time now,
           client::Effects& effects);

 private:
  Time next_;  // earliest time for another pod
};

}  // namespace berth::binding
