// Addresses as text, as Go's package net reads them.
//
// Pure, any thread. Cost: one pass.
#pragma once

#include <string_view>

namespace berth::crd {

bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);
// An address of either family and the length of its prefix.
bool is_cidr(std::string_view text);
// 6, 8 or 20 bytes with colons, dashes or dots.
bool is_mac(std::string_view text);

}  // namespace berth::crd
