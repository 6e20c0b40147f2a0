// What an earlier process may still have on its way, made impossible before a new term decides about devices.
//
// Where records of bindings are in the memory of one process (binding/memory_requests.h) its successor does
// not know which claims it was about to allocate, nor which pods it was about to bind. Each of these objects
// gets another version: a claim without an allocation that bears the finalizer, which goes before every
// allocation, and a pod without a node and without a BindRequest that a claim is reserved for. From then on a
// late allocation and a late binding meet Conflict, and what the view shows is all there is.
//
// Owner: the scheduler, one thread. Cost: O(claims) once a term, O(log n) a call after it. Memory:
// proportional to the writes that are left. Source: docs/reliability.md, "Records in memory".
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"
#include "scheduling/retried_writes.h"

namespace berth::scheduling {

inline constexpr std::size_t kSealsPerWriteMax = 64;  // chains of one Effects

class TermSeals {
 public:
  // `term` stands in the seals; never the same for two processes.
  void begin(const client::View& view, std::string term, Time now);
  // While it is, nothing is decided about devices.
  bool pending() const { return !writes_.empty(); }

  // Writes that are due, at most kSealsPerWriteMax; forgets what needs none any more.
  client::Effects due(const client::View& view, Time now);
  // What came of the write to this object; false when none is under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const { return writes_.next_time(); }

 private:
  std::string term_;
  RetriedWrites writes_;
};

}  // namespace berth::scheduling
