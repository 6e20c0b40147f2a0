// What the control plane may not do although no device or pod comes to harm by it: write conditions for
// numbers, repeat without counting, say what is not yet true.
//
// Judges by what is stored, like SafetyChecker, which owns it and adds the time. Each call answers with a
// sentence, or with nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/stored_state.h"

namespace berth::sim {

// Of one condition in a minute of virtual time, where only numbers change. The product's own limit is two;
// each restart tells everything anew.
inline constexpr std::size_t kRewordingsAMinuteMax = 12;

class ConductChecker {
 public:
  struct Told {
    std::string status, reason, message;
  };
  // `object` says this by now, as it did before or not.
  std::string told(const std::string& object, const Told& now_told, Time now);
  // A further attempt is counted.
  static std::string attempted(const StoredRequest& before, const StoredRequest& after);
  // `there` members of `min` are bound, or are excused.
  static std::string group_told(const StoredGroup* before, const StoredGroup& after, std::int64_t there,
                                std::int64_t min);

 private:
  struct Words {
    Told told;
    std::vector<Time> reworded;
  };
  std::map<std::string, Words> words_;  // by object
};

}  // namespace berth::sim
