#include "cli/complain.h"

#include <cstdio>

#include "base/printable.h"

namespace berth::cli {

int complain(const Error& error) {
  std::fprintf(stderr, "berth: %s\n", printable(error.text()).c_str());
  return error.code() == ErrorCode::Invalid && error.path().starts_with("--") ? 2 : 1;
}

void tell(const std::string& text) {
  std::fprintf(stderr, "berth: %s\n", printable_line(text).c_str());
}

}  // namespace berth::cli
