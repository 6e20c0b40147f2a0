// Storms with a defect of the museum (base/known_defects.h) switched on.
#pragma once

#include <string>
#include <vector>

namespace berth {
struct KnownDefectRow;
}

namespace berth::sim {

// Prefixes of sentences that do not count as detection: those of other invariants, because any change alters
// the course of some storm.
std::vector<std::string> not_finding(const KnownDefectRow& row);

}  // namespace berth::sim
