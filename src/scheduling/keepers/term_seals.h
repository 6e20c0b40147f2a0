// Seals objects against late writes of an earlier process, before a new term decides about devices.
//
// If BindRequests are in the memory of a process (binding/memory_requests.h), its successor does not know
// which claims were about to be allocated and which pods were about to be bound. So it gives each of these
// objects a new version. They are the claims without an allocation but with the finalizer, which precedes
// every allocation. They are also the pods without a node and without a BindRequest that a claim is reserved
// for. A late allocation or binding then meets Conflict, and the view shows everything that exists.
//
// Owner: the scheduler, one thread. Cost: O(claims) once a term, then O(log n) a call. Memory: proportional
// to the seals that are left. Source: docs/reliability.md, "Records in memory".
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

inline constexpr std::size_t kSealsPerWriteMax = 64;  // chains of one Effects

class TermSeals {
 public:
  // `term` is part of the seals' text; it must be unique to the process.
  void begin(const client::View& view, std::string term, Time now);
  // While true, nothing is decided about devices.
  bool pending() const { return !writes_.empty(); }

  // Writes that are due, at most kSealsPerWriteMax; forgets objects that need no seal any more.
  client::Effects due(const client::View& view, Time now);
  // The result of the write to this object. False if none was under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const { return writes_.next_time(); }

 private:
  std::string term_;
  RetriedWrites writes_;
};

}  // namespace berth::scheduling
