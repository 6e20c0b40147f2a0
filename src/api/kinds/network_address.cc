#include "api/kinds/network_address.h"

#include <arpa/inet.h>

#include <algorithm>
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

namespace {

bool is_address(const std::string& text, int family, std::array<unsigned char, 16>& bytes) {
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

// "010.0.0.1" as "10.0.0.1".
std::string without_leading_zeros(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '.' || (!out.empty() && out.back() == '.');
    const bool goes_on = i + 1 < text.size() && text[i + 1] != '.';
    if (!(text[i] == '0' && begins && goes_on)) out += text[i];
  }
  return out;
}

}  // namespace

NameProblems address_problems(std::string_view text) {
  std::array<unsigned char, 16> bytes{};
  constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const std::string address(text);
  if (is_address(address, AF_INET, bytes)) return {};
  if (is_address(address, AF_INET6, bytes)) {
    if (!std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) return {};
    return {"must not be an IPv4-mapped IPv6 address"};
  }
  if (is_address(without_leading_zeros(text), AF_INET, bytes)) return {"must not have leading 0s"};
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

int family_of_range(std::string_view text) {
  const std::optional<std::string> range = canonical_interface_address(text);
  if (!range) return 0;
  return range->find(':') == std::string::npos ? 4 : 6;
}

FieldErrors check_ranges(const FieldPath& path, const JsonArray& ranges) {
  FieldErrors errors;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (!canonical_interface_address(ranges[i].as_string()))
      errors.push_back(invalid(path.index(i), ranges[i],
                               "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
  return errors;
}

}  // namespace berth::api
