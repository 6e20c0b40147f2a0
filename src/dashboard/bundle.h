// The page itself: the files of web/dist, which are part of the program.
#pragma once

#include <optional>
#include <string_view>

namespace berth::dashboard {

struct BundleFile {
  std::string_view media_type;
  std::string_view bytes;  // of static lifetime
};

// By the path below /ui/; "" is index.html. None: no such file.
std::optional<BundleFile> bundle_file(std::string_view path);

}  // namespace berth::dashboard
