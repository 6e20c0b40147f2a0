#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace berth::base {

void assertion_failed(const char* condition, const char* reason, const char* file, int line) {
  std::fprintf(stderr, "berth: broken invariant: %s (%s) at %s:%d\n", reason, condition, file, line);
  std::abort();
}

}  // namespace berth::base
