// Checks of the program's own invariants. Bad input and failing surroundings are an Error (result.h).
#pragma once

namespace berth::base {

[[noreturn]] void assertion_failed(const char* condition, const char* reason, const char* file, int line);

}  // namespace berth::base

// Ends the process with `reason` when `condition` is false, in release builds too. Keep the condition cheap.
#define BERTH_ASSERT(condition, reason)                                        \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::berth::base::assertion_failed(#condition, reason, __FILE__, __LINE__); \
  } while (false)
