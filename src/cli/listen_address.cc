#include "cli/listen_address.h"

#include <arpa/inet.h>

#include <charconv>

namespace berth::cli {

Result<ListenAddress> parse_listen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const Error refused(ErrorCode::Invalid, "--listen",
                      "\"" + text + "\" is no ADDR:PORT such as 127.0.0.1:6443");
  if (colon == std::string::npos) return refused;
  ListenAddress listen;
  listen.address = text.substr(0, colon);
  if (listen.address.size() > 2 && listen.address.front() == '[')
    listen.address = listen.address.substr(1, listen.address.size() - 2);
  if (listen.address.empty()) listen.address = "0.0.0.0";
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, listen.port);
  if (error != std::errc() || stop != end) return refused;
  return listen;
}

bool is_loopback(const ListenAddress& listen) {
  return listen.address.starts_with("127.") || listen.address == "::1" || listen.address == "localhost";
}

bool is_ip_address(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

std::string url_of(const std::string& scheme, const std::string& address, std::uint16_t port) {
  const bool six = address.find(':') != std::string::npos;
  return scheme + "://" + (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace berth::cli
