// The request target of HTTP/1.1, split and percent-decoded.
//
// Pure; cost linear in the text. Source: RFC 9112 section 3.2, and the form encoding of query strings
// ('+' is a space there) that client-go writes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::server {

struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

// Takes the origin form ("/api?watch=1"), the absolute form ("http://host/api") and "*".
// Bytes that are not UTF-8 become U+FFFD, as Go writes them into JSON: no name and no value has them.
// Refuses (Invalid) other forms, a '%' without two hexadecimal digits, and an encoded NUL.
Result<Target> parse_target(std::string_view text);

}  // namespace berth::server
