// Addresses of network interfaces in text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "api/names.h"

namespace berth::api {

// "10.9.8.7" or "fe80::1" as Go prints it; nothing for a text that is no address.
std::optional<std::string> canonical_address(std::string_view text);

// "10.9.8.7/24" or "2001:db8::1/64" as Go prints it; nothing for a text that is no address with a prefix
// length.
std::optional<std::string> canonical_interface_address(std::string_view text);

// Of an IPv4 or IPv6 address; Kubernetes refuses leading zeros and IPv4 inside IPv6 in words of their own.
NameProblems address_problems(std::string_view text);
// 4 or 6 of an address with a prefix length; 0 for a text that is none.
int family_of_range(std::string_view text);
// Each of the texts is an address with a prefix length.
FieldErrors check_ranges(const FieldPath& path, const JsonArray& ranges);

}  // namespace berth::api
