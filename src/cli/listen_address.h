// ADDR:PORT of a --listen flag.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace berth::cli {

struct ListenAddress {
  std::string address;  // without brackets; "0.0.0.0" when the text has none
  std::uint16_t port = 0;
};

// Refuses (Invalid, path "--listen") anything else.
Result<ListenAddress> parse_listen(const std::string& text);

// Whether only this machine can reach it: 127.0.0.0/8, ::1 and "localhost".
bool is_loopback(const ListenAddress& listen);

// An IPv4 or IPv6 address without brackets.
bool is_ip_address(const std::string& text);

// "https://[::1]:6443"
std::string url_of(const std::string& scheme, const std::string& address, std::uint16_t port);

}  // namespace berth::cli
