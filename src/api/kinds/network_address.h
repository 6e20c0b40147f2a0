// Addresses of network interfaces in text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::api {

// "10.9.8.7" or "fe80::1" as Go prints it; nothing for a text that is no address.
std::optional<std::string> canonical_address(std::string_view text);

// "10.9.8.7/24" or "2001:db8::1/64" as Go prints it; nothing for a text that is no address with a prefix
// length.
std::optional<std::string> canonical_interface_address(std::string_view text);

}  // namespace berth::api
