// URLs as Go's net/url reads them, with its words for those that it refuses.
//
// Pure, any thread. Cost: a pass for each part. Source: net/url of Go 1.26.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::cel {

struct UrlParts {
  std::string scheme, host, path, raw_path, query, fragment;
  std::optional<std::string> user;  // with its password, as it is written in a URL
  friend bool operator==(const UrlParts&, const UrlParts&) = default;
};

// A request's URI is absolute or begins with a slash, and has no fragment.
enum class UrlForm : std::uint8_t { Reference, RequestUri };

// What is wrong with the text; empty when `parts` has it.
std::string parse_url(std::string_view text, UrlForm form, UrlParts& parts);

enum class Plus : std::uint8_t { Literal, Space };
// Nothing, and the offending escape, when one is malformed.
std::optional<std::string> percent_decoded(std::string_view text, Plus plus, std::string& bad);

}  // namespace berth::cel
