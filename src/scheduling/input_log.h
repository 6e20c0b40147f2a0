// Everything that enters the scheduler, in order: replaying it gives the same decisions, byte for byte.
//
// Owner: whoever injects the sink. The scheduler hands over each input before it acts on it.
#pragma once

#include <vector>

#include "base/time.h"
#include "client/decider.h"

namespace berth::scheduling {

enum class InputKind : std::uint8_t { Apply, Decide, Settle };

struct Input {
  InputKind kind = InputKind::Decide;
  Time now;
  client::Delta delta;      // of Apply
  client::Outcome outcome;  // of Settle
};

class InputLog {
 public:
  virtual ~InputLog() = default;
  virtual void record(const Input& input) = 0;
};

// Carries out recorded inputs on a fresh decider and a fresh view, and returns what each Decide answered, as
// text.
std::vector<std::string> replay(const std::vector<Input>& inputs, client::StatefulDecider& decider);

}  // namespace berth::scheduling
