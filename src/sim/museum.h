// The catalogue of the museum (base/known_defects.h), and storms with one of its defects switched on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {
enum class KnownDefect : std::uint8_t;
}

namespace berth::sim {

struct KnownDefectRow {
  KnownDefect defect;
  std::string_view name;        // of its plan, and on the command line
  std::string_view wrong;       // one sentence
  std::string_view invariants;  // that detect it, separated by spaces
  std::string_view source;
};

std::span<const KnownDefectRow> known_defects();
// Null for an unknown name.
const KnownDefectRow* known_defect(std::string_view name);

// Prefixes of sentences that do not count as detection: those of other invariants, because any change alters
// the course of some storm.
std::vector<std::string> not_finding(const KnownDefectRow& row);

}  // namespace berth::sim
