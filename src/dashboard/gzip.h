// Bytes in gzip's format, for browsers. Source: RFC 1952.
#pragma once

#include <string>
#include <string_view>

namespace berth::dashboard {

// Cost: about 10 ms a megabyte.
std::string gzipped(std::string_view bytes);

}  // namespace berth::dashboard
