// A file that only grows, line by line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::cli {

// Thread-safe. Lines are written as they come; a full disk is logged once and stops nobody.
class LineFile {
 public:
  // With `bytes_max` the file is renamed to "<file>.1" once it has grown so far, over an older one of that
  // name; 0: it grows for ever. `what` names it in errors and logs.
  static Result<std::unique_ptr<LineFile>> open(std::string file, std::string what,
                                                std::size_t bytes_max = 0);
  virtual ~LineFile() = default;
  // `lines` end with a newline each.
  virtual void append(std::string_view lines) = 0;
};

}  // namespace berth::cli
