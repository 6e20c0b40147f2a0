// Whole files of text that a person or another program wrote.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace berth {

// NotFound when there is no such file, TooLarge beyond `bytes_max`, Unavailable with the machine's words when
// it cannot be read. The path of the error is the file's.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

}  // namespace berth
