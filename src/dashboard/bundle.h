// The page itself: the files of web/dist, which are part of the program.
#pragma once

#include <string_view>

#include "dashboard/gzip.h"

namespace berth::dashboard {

struct BundleFile {
  std::string_view media_type;
  Content content;
};

// By the path below /ui/; "" is index.html. Null: no such file.
const BundleFile* bundle_file(std::string_view path);

}  // namespace berth::dashboard
