// The floor and the queue at one instant, from the lines of a segment (recorder.h).
//
// Pure. Cost: O(bytes of the lines until the instant + devices).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dashboard/floor.h"

namespace berth::dashboard {

inline constexpr std::size_t kDecisionsOfAMomentMax = 200;
inline constexpr std::size_t kCellsOfAMomentMax = 4u << 20;

struct CellChange {
  CellId cell = 0;
  Cell before, after;
  Owner owner_before, owner_after;  // of nobody without a name
};

struct HistoryState {
  std::int64_t ms = 0;  // of the latest line
  Json layout;          // FloorLayout::to_json
  std::vector<Cell> cells;
  std::map<OwnerId, Owner> owners;
  std::map<Owner, Json> queue;
  std::int64_t waiting = 0;
  Json sums;
  std::deque<Json> decisions;  // the latest first
  // The cells that the latest change of the floor changed; none since a keyframe.
  std::int64_t step_ms = 0;
  std::vector<CellChange> step;
  // The change before the latest one, and the first after the instant; 0: this segment has none.
  std::int64_t previous_ms = 0, next_ms = 0;
};

// Of nobody without a name where the state has none of this number.
Owner owner_in(const HistoryState& state, OwnerId id);

// Refuses lines that are no history, or of which none is as early as the instant.
Result<HistoryState> replay(std::string_view lines, std::int64_t until_ms);

// Names of the cells of a layout in JSON. Cost: O(nodes) to make.
class LayoutNames {
 public:
  explicit LayoutNames(const Json& layout);
  std::uint32_t cell_count() const { return cell_count_; }
  struct Name {
    std::string_view node, driver, device;
  };
  // Valid as long as the layout; empty names for a cell that the layout lacks.
  Name of(CellId cell) const;

 private:
  const Json layout_;
  std::vector<CellId> first_;  // by node
  std::uint32_t cell_count_ = 0;
};

}  // namespace berth::dashboard
