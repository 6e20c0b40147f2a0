// Whole text files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

// NotFound when the file does not exist, TooLarge beyond `bytes_max`, Unavailable with the operating system's
// message when it cannot be read. The error's path is the file's.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);
// The same from an open descriptor to its end; `name` is the error's path. The descriptor stays open.
Result<std::string> read_text(int descriptor, const std::string& name, std::size_t bytes_max);

// Replaces the whole file durably, or leaves it as it was: writes and syncs "<path>.new", renames it, syncs
// the folder. A file that has the text already is not written. The file is readable by its owner alone.
// Unavailable with the operating system's message.
Status replace_text_file(const std::string& path, std::string_view text);

}  // namespace berth
