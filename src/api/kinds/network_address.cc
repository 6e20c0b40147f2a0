#include "api/kinds/network_address.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>

namespace berth::api {

std::optional<std::string> canonical_address(std::string_view text) {
  const int family = text.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (inet_pton(family, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  if (!inet_ntop(family, bytes.data(), out.data(), out.size())) return std::nullopt;
  return std::string(out.data());
}

std::optional<std::string> canonical_interface_address(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = canonical_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  const std::string_view prefix = text.substr(slash + 1);
  const bool is_v6 = address->find(':') != std::string::npos;

  int bits = -1;
  const auto [end, error] = std::from_chars(prefix.data(), prefix.data() + prefix.size(), bits);
  if (error != std::errc() || end != prefix.data() + prefix.size()) return std::nullopt;
  if (bits < 0 || bits > (is_v6 ? 128 : 32) || std::to_string(bits) != prefix) return std::nullopt;
  return *address + "/" + std::string(prefix);
}

}  // namespace berth::api
