// An append-only file of lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::cli {

// Thread-safe. Lines are written as they come; a full disk is logged once and blocks no caller.
class LineFile {
 public:
  // With `bytes_max` the file is renamed to "<file>.1" once it has reached that size, replacing an older one;
  // 0: no limit. `what` names it in errors and logs.
  static Result<std::unique_ptr<LineFile>> open(std::string file, std::string what,
                                                std::size_t bytes_max = 0);
  virtual ~LineFile() = default;
  // Every line in `lines` ends with a newline.
  virtual void append(std::string_view lines) = 0;
};

}  // namespace berth::cli
