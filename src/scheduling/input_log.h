// All inputs of the scheduler, in order: a replay gives the same decisions, byte for byte.
//
// Owner: the one who injects the sink. The scheduler records each input before it acts on it.
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

// Replays recorded inputs on a new decider and a new view. Returns the effects of each Decide as text.
std::vector<std::string> replay(const std::vector<Input>& inputs, client::StatefulDecider& decider);

}  // namespace berth::scheduling
