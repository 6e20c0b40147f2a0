#include <array>
#include <charconv>
#include <optional>

#include "base/hex.h"
#include "cel/libraries.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;
using Extents = std::span<const Extent>;

// An IPv4 address uses the first four bytes.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  bool is_v4 = false;
  friend bool operator==(const Address&, const Address&) = default;
};

// Writes four bytes, or returns the error.
std::string parse_v4(std::string_view text, std::uint8_t* out) {
  std::size_t field = 0;
  int value = 0, digits = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '.') {
      if (digits == 0) return "IPv4 field must have at least one digit";
      if (field == 3 && i < text.size()) return "IPv4 address too long";
      out[field++] = static_cast<std::uint8_t>(value);
      value = digits = 0;
      continue;
    }
    if (text[i] < '0' || text[i] > '9')
      return "unexpected character (at \"" + std::string(text.substr(i)) + "\")";
    if (digits == 1 && value == 0) return "IPv4 field has octet with leading zero";
    value = value * 10 + (text[i] - '0');
    ++digits;
    if (value > 255) return "IPv4 field has value >255";
  }
  return field == 4 ? "" : "IPv4 address too short";
}

std::string at(std::string_view rest) {
  return " (at \"" + std::string(rest) + "\")";
}

std::string parse_v6(std::string_view text, std::uint8_t* out) {
  std::optional<std::size_t> gap;
  std::size_t filled = 0;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
    if (text.empty()) return "";
  }
  while (filled < 16) {
    std::size_t digits = 0;
    int value = 0;
    for (; digits < text.size() && hex_value(text[digits]) >= 0; ++digits) {
      if (digits > 3) return "each group must have 4 or fewer digits" + at(text);
      value = value * 16 + hex_value(text[digits]);
    }
    if (digits == 0) return "each colon-separated field must have at least one digit" + at(text);
    if (digits < text.size() && text[digits] == '.') {
      if (!gap && filled != 12)
        return "embedded IPv4 address must replace the final 2 fields of the address" + at(text);
      if (filled + 4 > 16)
        return "too many hex fields to fit an embedded IPv4 at the end of the address" + at(text);
      if (std::string fault = parse_v4(text, out + filled); !fault.empty()) return fault;
      filled += 4;
      text = {};
      break;
    }
    out[filled++] = static_cast<std::uint8_t>(value >> 8);
    out[filled++] = static_cast<std::uint8_t>(value);
    text.remove_prefix(digits);
    if (text.empty()) break;
    if (text.front() != ':') return "unexpected character, want colon" + at(text);
    if (text.size() == 1) return "colon must be followed by more characters" + at(text);
    text.remove_prefix(1);
    if (text.front() == ':') {
      if (gap) return "multiple :: in address" + at(text);
      gap = filled;
      text.remove_prefix(1);
      if (text.empty()) break;
    }
  }
  if (!text.empty()) return "trailing garbage after address" + at(text);
  if (filled == 16) return gap ? "the :: must expand to at least one field of zeros" : "";
  if (!gap) return "address string too short";
  const std::size_t moved = filled - *gap;
  for (std::size_t i = 0; i < moved; ++i) out[15 - i] = out[filled - 1 - i];
  for (std::size_t i = *gap; i < 16 - moved; ++i) out[i] = 0;
  return "";
}

bool is_mapped(const Address& address) {
  if (address.is_v4) return false;
  for (std::size_t i = 0; i < 10; ++i)
    if (address.bytes[i] != 0) return false;
  return address.bytes[10] == 0xFF && address.bytes[11] == 0xFF;
}

// The error in Go's words, or empty.
std::string parse_address(std::string_view text, Address& address) {
  for (const char c : text) {
    if (c == '.') {
      address.is_v4 = true;
      return parse_v4(text, address.bytes.data());
    }
    if (c == ':') return parse_v6(text, address.bytes.data());
    if (c == '%') return "missing IPv6 address";
  }
  return "unable to parse IP";
}

// Kubernetes refuses zones and IPv4-mapped addresses, which Go accepts.
std::string checked_address(std::string_view text, Address& address) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  const std::size_t zone = text.find('%');
  const bool zoned = zone != std::string_view::npos && text.find(':') < zone;
  const std::string fault = parse_address(zoned ? text.substr(0, zone) : text, address);
  if (!fault.empty())
    return "IP Address " + quoted + " parse error during conversion from string: ParseAddr(" + quoted +
           "): " + fault;
  if (zoned) return "IP address " + quoted + " with zone value is not allowed";
  if (is_mapped(address)) return "IPv4-mapped IPv6 address " + quoted + " is not allowed";
  return "";
}

std::string address_text(const Address& address) {
  std::string out;
  if (address.is_v4) {
    for (std::size_t i = 0; i < 4; ++i) out += (i ? "." : "") + std::to_string(address.bytes[i]);
    return out;
  }
  const auto group = [&](std::size_t i) { return address.bytes[2 * i] << 8 | address.bytes[2 * i + 1]; };
  std::size_t best = 8, best_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && group(i + length) == 0) ++length;
    if (length > best_length) best = i, best_length = length;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    char hex[8];
    std::snprintf(hex, sizeof hex, "%x", static_cast<unsigned>(group(i)));
    if (!out.empty() && out.back() != ':') out += ':';
    out += hex;
  }
  return out;
}

class Ip : public ObjectSource {
 public:
  explicit Ip(Address address) : address(address) {}
  std::string_view type_name() const override { return "net.IP"; }
  bool is_opaque() const override { return true; }
  bool equals(const ObjectSource& other) const override {
    return address == static_cast<const Ip&>(other).address;
  }
  std::size_t size() const override { return address.is_v4 ? 4 : 16; }

  Address address;
};

class Cidr : public ObjectSource {
 public:
  Cidr(Address address, int bits) : address(address), bits(bits) {}
  std::string_view type_name() const override { return "net.CIDR"; }
  bool is_opaque() const override { return true; }
  bool equals(const ObjectSource& other) const override {
    const auto& that = static_cast<const Cidr&>(other);
    return bits == that.bits && address == that.address;
  }
  std::size_t size() const override { return static_cast<std::size_t>(bits + 7) / 8; }

  Address address;
  int bits;
};

const Ip& ip_of(const Value& value) {
  return static_cast<const Ip&>(value.as_object());
}
const Cidr& cidr_of(const Value& value) {
  return static_cast<const Cidr&>(value.as_object());
}
Value ip_value(Address address) {
  return Value::of_object(std::make_shared<Ip>(address));
}

std::string parse_prefix(std::string_view text, Address& address, int& bits) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  const std::string head = "network address parse error during conversion from string: ";
  const auto wrong = [&](std::string_view fault) {
    return head + head + "netip.ParsePrefix(" + quoted + "): " + std::string(fault);
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return wrong("no '/'");
  const std::string fault = parse_address(text.substr(0, slash), address);
  if (!fault.empty()) return wrong("ParseAddr(\"" + std::string(text.substr(0, slash)) + "\"): " + fault);
  const std::string_view digits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const bool bad =
      digits.empty() || digits[0] < '0' || digits[0] > '9' || (digits.size() > 1 && digits[0] == '0');
  if (bad || error != std::errc() || end != digits.data() + digits.size())
    return wrong("bad bits after slash: \"" + std::string(digits) + "\"");
  if (bits > (address.is_v4 ? 32 : 128)) return wrong("prefix length out of range");
  if (is_mapped(address)) return head + "IPv4-mapped IPv6 address " + quoted + " is not allowed";
  return "";
}

Address masked_address(Address address, int bits) {
  for (int i = 0; i < 16; ++i) {
    const int kept = std::min(std::max(bits - 8 * i, 0), 8);
    address.bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xFF00 >> kept);
  }
  return address;
}

bool contains(const Cidr& cidr, const Address& address) {
  return cidr.address.is_v4 == address.is_v4 &&
         masked_address(cidr.address, cidr.bits) == masked_address(address, cidr.bits);
}

Value ip(Args a, Runtime&) {
  Address address;
  const std::string fault = checked_address(a[0].as_text(), address);
  return fault.empty() ? ip_value(address) : Value::error(fault);
}
Value is_ip(Args a, Runtime&) {
  Address address;
  return Value::of_bool(checked_address(a[0].as_text(), address).empty());
}
Value is_canonical(Args a, Runtime&) {
  Address address;
  const std::string fault = checked_address(a[0].as_text(), address);
  return fault.empty() ? Value::of_bool(address_text(address) == a[0].as_text()) : Value::error(fault);
}
Value ip_text(Args a, Runtime&) {
  return Value::of_string(address_text(ip_of(a[0]).address));
}
Value family(Args a, Runtime&) {
  return Value::of_int(ip_of(a[0]).address.is_v4 ? 4 : 6);
}

bool unspecified(const Address& a) {
  return a == Address{{}, a.is_v4};
}
bool loopback(const Address& a) {
  if (a.is_v4) return a.bytes[0] == 127;
  Address one;
  one.bytes[15] = 1;
  return a == one;
}
bool link_local_multicast(const Address& a) {
  if (a.is_v4) return a.bytes[0] == 224 && a.bytes[1] == 0 && a.bytes[2] == 0;
  return a.bytes[0] == 0xFF && (a.bytes[1] & 0x0F) == 2;
}
bool link_local_unicast(const Address& a) {
  if (a.is_v4) return a.bytes[0] == 169 && a.bytes[1] == 254;
  return a.bytes[0] == 0xFE && (a.bytes[1] & 0xC0) == 0x80;
}
bool multicast(const Address& a) {
  return a.is_v4 ? (a.bytes[0] & 0xF0) == 0xE0 : a.bytes[0] == 0xFF;
}
bool global_unicast(const Address& a) {
  const bool broadcast =
      a.is_v4 && a.bytes[0] == 255 && a.bytes[1] == 255 && a.bytes[2] == 255 && a.bytes[3] == 255;
  return !broadcast && !unspecified(a) && !loopback(a) && !multicast(a) && !link_local_unicast(a);
}
template <bool (*test)(const Address&)>
Value ip_is(Args a, Runtime&) {
  return Value::of_bool(test(ip_of(a[0]).address));
}

Value cidr(Args a, Runtime&) {
  Address address;
  int bits = 0;
  const std::string fault = parse_prefix(a[0].as_text(), address, bits);
  return fault.empty() ? Value::of_object(std::make_shared<Cidr>(address, bits)) : Value::error(fault);
}
Value is_cidr(Args a, Runtime&) {
  Address address;
  int bits = 0;
  return Value::of_bool(parse_prefix(a[0].as_text(), address, bits).empty());
}
Value cidr_text(Args a, Runtime&) {
  return Value::of_string(address_text(cidr_of(a[0]).address) + "/" + std::to_string(cidr_of(a[0]).bits));
}
Value cidr_ip(Args a, Runtime&) {
  return ip_value(cidr_of(a[0]).address);
}
Value masked(Args a, Runtime&) {
  const Cidr& c = cidr_of(a[0]);
  return Value::of_object(std::make_shared<Cidr>(masked_address(c.address, c.bits), c.bits));
}
Value prefix_length(Args a, Runtime&) {
  return Value::of_int(cidr_of(a[0]).bits);
}
Value contains_ip(Args a, Runtime& runtime) {
  const Value other = a[1].is(Kind::String) ? ip(a.subspan(1), runtime) : a[1];
  return other.is_error() ? other : Value::of_bool(contains(cidr_of(a[0]), ip_of(other).address));
}
Value contains_cidr(Args a, Runtime& runtime) {
  const Value other = a[1].is(Kind::String) ? cidr(a.subspan(1), runtime) : a[1];
  if (other.is_error()) return other;
  const Cidr &outer = cidr_of(a[0]), &inner = cidr_of(other);
  return Value::of_bool(inner.bits >= outer.bits && contains(outer, inner.address));
}

std::uint64_t parse_cost(const Extent& value) {
  return value.is(Kind::String) ? tenth(size_of(value)) : 0;
}
std::uint64_t contains_ip_cost(Extents a, const Extent&) {
  return tenth(size_of(a[0])) + parse_cost(a[1]);
}
std::uint64_t contains_cidr_cost(Extents a, const Extent&) {
  return tenth(size_of(a[0])) + 2 + parse_cost(a[1]);
}

constexpr FunctionRow kNetworkRows[] = {
    {"ip", "(string) ip", ip, cost_of_traversal},
    {"isIP", "(string) bool", is_ip, cost_of_traversal},
    {"ip.isCanonical", "(string) bool", is_canonical, cost_of_two_traversals},
    {"string", "(ip) string", ip_text},
    {"family", "ip.() int", family},
    {"isUnspecified", "ip.() bool", ip_is<unspecified>},
    {"isLoopback", "ip.() bool", ip_is<loopback>},
    {"isLinkLocalMulticast", "ip.() bool", ip_is<link_local_multicast>},
    {"isLinkLocalUnicast", "ip.() bool", ip_is<link_local_unicast>},
    {"isGlobalUnicast", "ip.() bool", ip_is<global_unicast>},
    {"cidr", "(string) cidr", cidr, cost_of_traversal},
    {"isCIDR", "(string) bool", is_cidr, cost_of_traversal},
    {"string", "(cidr) string", cidr_text},
    {"ip", "cidr.() ip", cidr_ip},
    {"masked", "cidr.() cidr", masked},
    {"prefixLength", "cidr.() int", prefix_length},
    {"containsIP", "cidr.(ip) bool", contains_ip, contains_ip_cost},
    {"containsIP", "cidr.(string) bool", contains_ip, contains_ip_cost},
    {"containsCIDR", "cidr.(cidr) bool", contains_cidr, contains_cidr_cost},
    {"containsCIDR", "cidr.(string) bool", contains_cidr, contains_cidr_cost},
};

}  // namespace

std::span<const FunctionRow> network_rows() {
  return kNetworkRows;
}

}  // namespace berth::cel
