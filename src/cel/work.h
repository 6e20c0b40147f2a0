// Steps of an evaluation that CEL's cost does not count as Kubernetes defines it: pairs of a deep comparison,
// items that are copied, bytes that are decoded or searched.
//
// One step is about 50 ns or less. An evaluation beyond its steps ends as one beyond its cost. Owner: the
// innermost WorkScope of the thread.
#pragma once

#include <cstdint>

namespace berth::cel {

// Of one evaluation, and of all rules of one object together.
inline constexpr std::uint64_t kWorkMax = 4'000'000;
// Texts take a step for as many bytes; a pattern takes one for as many products of bytes and instructions.
inline constexpr std::uint64_t kBytesPerStep = 64, kPatternBytesPerStep = 32;
// Compiling a pattern: steps before its instructions.
inline constexpr std::uint64_t kPatternSteps = 100, kStepsPerInstruction = 4;

class WorkScope {
 public:
  // `left` outlives it.
  explicit WorkScope(std::uint64_t& left);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  std::uint64_t* outer_;
};

// False, now and from then on, when the scope has fewer steps left. Without a scope nothing is counted.
bool spend_work(std::uint64_t steps);
bool is_work_spent();

}  // namespace berth::cel
