// Storms with a defect of the museum (base/known_defects.h) switched on.
#pragma once

#include <string>
#include <vector>

namespace berth {
struct KnownDefectRow;
}

namespace berth::sim {

// Beginnings of sentences that do not count as having found it: those of other invariants, for any change
// makes some storm come out otherwise.
std::vector<std::string> not_finding(const KnownDefectRow& row);

}  // namespace berth::sim
