#include "sim/museum.h"

#include "base/known_defects.h"

namespace berth::sim {

constexpr int kInvariants = 17;

std::vector<std::string> not_finding(const KnownDefectRow& row) {
  std::vector<std::string> others;
  for (int i = 1; i <= kInvariants; ++i) {
    const std::string name = "I" + std::to_string(i);
    if ((" " + std::string(row.invariants) + " ").find(" " + name + " ") == std::string::npos)
      others.push_back(name + ":");
  }
  return others;
}

}  // namespace berth::sim
