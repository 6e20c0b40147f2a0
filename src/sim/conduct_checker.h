// Misconduct of the control plane that harms no device or pod: writing a condition to change a number only,
// repeating without counting, reporting what is not yet true.
//
// Judges the stored state, like SafetyChecker, which owns it and adds the time. Each call returns a sentence,
// or nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/stored_state.h"

namespace berth::sim {

// Writes of one condition in a minute of virtual time that change numbers only. The product's own limit is
// two; each restart reports everything again.
inline constexpr std::size_t kRewordingsAMinuteMax = 12;

class ConductChecker {
 public:
  struct Told {
    std::string status, reason, message;
  };
  // `object` has this condition now, as before or not.
  std::string told(const std::string& object, const Told& now_told, Time now);
  // A further attempt is counted.
  static std::string attempted(const StoredRequest& before, const StoredRequest& after);
  // `there` members of `min` are bound or excused.
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
