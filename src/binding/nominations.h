// status.nominatedNodeName of pods whose binding waits: devices that are not attached yet, a gang barrier
// that is not reached, the time before another attempt. It tells an autoscaler which node is expected
// (KEP-5278).
//
// What is missing follows from the request's status, which says that it waits, and from the pod. The write is
// a hint, so its failure says nothing about the binding; it stands on the pod's version, and belongs to the
// run of the request, so that it never meets a binding under way. The API server clears the field with the
// binding, and a rollback before the request is Failed.
// Owner: the binder, one thread. Memory: a few words in each request's record.
#pragma once

#include "client/decider.h"

namespace berth::binding {

// A pod that is bound within this time after its wait was written down costs no write.
inline constexpr Duration kQuietNomination = Duration::seconds(1);
// In all, so that thousands of members that wait do not stand in the way of bindings.
inline constexpr std::int64_t kNominationsPerSecondMax = 100;
// When the view does not show what was written.
inline constexpr Duration kNominationRetryFirst = Duration::seconds(1);
inline constexpr Duration kNominationRetryMax = Duration::seconds(60);

// Of one request's decision.
struct NominationRecord {
  Time due;  // not set: the request was not seen waiting
  std::uint32_t attempts = 0;
  bool under_way = false;  // the latest run wrote nothing else
};

class Nominations {
 public:
  // Completes a run in which the request only waits: with the write when it is due, else with its time.
  void add(const api::Pod& pod, const std::string& node, NominationRecord& record, Time now,
           client::Effects& effects);

 private:
  Time next_;  // for another pod
};

}  // namespace berth::binding
