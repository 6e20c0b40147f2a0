#include "crd/network_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace berth::crd {
namespace {

constexpr std::size_t kAddressTextMax = 64;

bool is_address(int family, std::string_view text) {
  if (text.size() > kAddressTextMax) return false;
  unsigned char bytes[16];
  return inet_pton(family, std::string(text).c_str(), bytes) == 1;
}

bool is_hex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

}  // namespace

bool is_ipv4(std::string_view text) {
  return is_address(AF_INET, text);
}

bool is_ipv6(std::string_view text) {
  return is_address(AF_INET6, text);
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  int length = -1;
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), length);
  if (error != std::errc() || end != bits.data() + bits.size() || length < 0) return false;
  return (is_ipv4(address) && length <= 32) || (is_ipv6(address) && length <= 128);
}

bool is_mac(std::string_view text) {
  if (text.size() < 14 || text.size() > 59) return false;
  const std::size_t width = text[4] == '.' ? 4 : 2;
  const char separator = text[width];
  if (width == 2 && separator != ':' && separator != '-') return false;
  std::size_t digits = 0;
  while (!text.empty()) {
    if (text.size() < width || !is_hex(text.substr(0, width))) return false;
    digits += width;
    text.remove_prefix(width);
    if (text.empty()) break;
    if (text.front() != separator || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return digits == 12 || digits == 16 || digits == 40;
}

}  // namespace berth::crd
