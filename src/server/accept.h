// The media types of an Accept header, in order of preference.
//
// Pure, any thread. Source: github.com/munnerz/goautoneg, by which Kubernetes negotiates: the order of types
// with wildcards is its own, not RFC 9110's.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::server {

inline constexpr std::size_t kAcceptClausesMax = 64;  // of a header; what follows is not looked at

// Views into the header.
struct AcceptClause {
  std::string_view type, subtype;
  double quality = 1;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;  // but for q

  // The last value of that name; null when absent.
  const std::string_view* parameter(std::string_view name) const;
};

// Clauses that are no media type, and parameters without a value, are left out.
std::vector<AcceptClause> parse_accept(std::string_view header);
// Whether the header names the media type without parameters, or is any type at all.
bool names_media_type(std::string_view header, std::string_view media_type);

}  // namespace berth::server
