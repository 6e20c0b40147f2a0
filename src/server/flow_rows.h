// What the metrics of priority and fairness say of each priority level and FlowSchema.
//
// Owner: FlowControl, under its lock. Rows stay where they are and are never removed: counters only grow, and
// requests that are under way hold their row. Cost: of() O(log rows); copy() O(rows).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace berth::server {

inline constexpr std::size_t kFlowRowsMax = 4096;  // later ones are counted together, under empty names

struct FlowCounts {
  std::uint64_t dispatched = 0, queue_full = 0, no_seat = 0, timed_out = 0, cancelled = 0;
  std::uint64_t waiting = 0, executing = 0;
};

class FlowRows {
 public:
  using Name = std::pair<std::string, std::string>;  // of the level and of the schema

  FlowCounts& of(const Name& name) {
    if (const auto found = rows_.find(name); found != rows_.end()) return found->second;
    return rows_[rows_.size() + 1 < kFlowRowsMax ? name : Name()];
  }
  std::vector<std::pair<Name, FlowCounts>> copy() const { return {rows_.begin(), rows_.end()}; }

 private:
  std::map<Name, FlowCounts> rows_;
};

}  // namespace berth::server
