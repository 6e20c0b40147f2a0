// What the page asks of the history: an instant, and the difference of two.
//
// Any thread. Cost: one segment is unpacked and replayed for an instant, two for a difference. Times are
// milliseconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "dashboard/history.h"

namespace berth::dashboard {

inline constexpr std::size_t kRowsOfADifferenceMax = 200;
inline constexpr std::size_t kNodesOfAStepMax = 3;

struct OverviewQuestion {};
struct MomentQuestion {
  std::int64_t at_ms = 0;
  std::string layout;  // the "layoutId" that the asker has
};
struct DifferenceQuestion {
  std::int64_t from_ms = 0, to_ms = 0;
};
using HistoryQuestion = std::variant<OverviewQuestion, MomentQuestion, DifferenceQuestion>;

// History::overview(), or one of
//
//     {"at","time","layoutId","layout","runs","owners","queue":{"total","entries"},"sums",
//      "decisions":[the latest first],"step":{"time","changes":[{"before","after","count","nodes"}],
//      "decisions"},"previous","next"}
//     {"from","to","before":sums,"after":sums,
//      "devices":{"total","rows":[{"node","driver","device","before","after"}]},
//      "owners":{"total","rows":[{"kind","namespace","name","before","after"}]},
//      "queue":{"came","left"}}
//
// An instant's "layout" is absent where the asker has it. "step" is the latest change of the floor, with the
// decisions about its owners. "previous" and "next" are the times of the changes before and after it, 0:
// never. A state is {"use","condition","owner"}, null for a device that was not there. Refuses what
// History::at and replay refuse.
Result<Json> answer(const History& history, const HistoryQuestion& question);

}  // namespace berth::dashboard
