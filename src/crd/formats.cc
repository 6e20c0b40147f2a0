#include "crd/formats.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "api/canonical.h"
#include "api/names.h"
#include "base/time.h"
#include "cel/regex.h"
#include "crd/network_text.h"

namespace berth::crd {
namespace {

// A format that is a pattern.
struct PatternRow {
  std::string_view format, pattern;
};
constexpr PatternRow kPatterns[] = {
    {"bsonobjectid", "^[0-9a-fA-F]{24}$"},
    {"uuid", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"},
    {"uuid3", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"},
    {"uuid4", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"},
    {"uuid5", "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"},
    {"ssn", "^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$"},
    {"hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"},
    {"rgbcolor",
     "^rgb\\(\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])"
     "\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*\\)$"},
    {"creditcard",
     "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|"
     "[68][0-9])[0-9]{11}|(?:2131|1800|35\\d{3})\\d{11})$"},
    // Addresses: a mailbox alone; Go's parser takes "Name <a@b>" too.
    {"email", "^([^@<>\\s]+|\"[^\"]*\"|[^<>]*<[^@<>\\s]+)@[^@<>\\s]+>?$"},
    {"hostname",
     "^([a-zA-Z0-9\\p{L}]([a-zA-Z0-9\\p{L}_-]{0,61}[a-zA-Z0-9\\p{L}])?)(\\.[a-zA-Z0-9\\p{L}]"
     "([a-zA-Z0-9\\p{L}_-]{0,61}[a-zA-Z0-9\\p{L}])?)*\\.?$"},
    {"uri", "^([a-zA-Z][a-zA-Z0-9+.-]*:[^\\x00-\\x20\\x7f]+|/[^\\x00-\\x20\\x7f]*|\\*)$"},
    {"duration",
     "^[+-]?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
     "(ns|us|µs|μs|ms|s|m|h))*|[0-9]+\\s*(ns|nano|nanosecond|us|µs|micro|microsecond|ms|milli|"
     "millisecond|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?)$"},
    {"k8s-short-name", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
};

const std::map<std::string_view, std::shared_ptr<const cel::Regex>>& patterns() {
  static const auto kCompiled = [] {
    std::map<std::string_view, std::shared_ptr<const cel::Regex>> compiled;
    std::string reason;
    for (const PatternRow& row : kPatterns) compiled[row.format] = cel::Regex::compile(row.pattern, reason);
    return compiled;
  }();
  return kCompiled;
}

std::string digits_of(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if ((c >= '0' && c <= '9') || c == 'X' || c == 'x') digits += c;
  return digits;
}

bool is_isbn10(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() != 10) return false;
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    const char c = digits[static_cast<std::size_t>(i)];
    if (c > '9' && i != 9) return false;
    sum += (10 - i) * (c > '9' ? 10 : c - '0');
  }
  return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() != 13) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 13; ++i) {
    if (digits[i] > '9') return false;
    sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
  }
  return sum % 10 == 0;
}

bool is_base64(std::string_view text) {
  return text.empty() || api::canonical_base64(text).ok();
}

bool is_date(std::string_view text) {
  return text.size() == 10 && parse_time(std::string(text) + "T00:00:00Z").ok();
}

bool is_date_time(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c == 't' ? 'T' : c == 'z' ? 'Z' : c;
  });
  return parse_time(upper).ok() || (is_date(text) && text.size() == 10);
}

struct TestRow {
  std::string_view format;
  bool (*passes)(std::string_view);
};
constexpr TestRow kTests[] = {
    {"datetime", is_date_time},
    {"date", is_date},
    {"byte", is_base64},
    {"password", [](std::string_view) { return true; }},
    {"ipv4", is_ipv4},
    {"ipv6", is_ipv6},
    {"cidr", is_cidr},
    {"mac", is_mac},
    {"isbn", [](std::string_view text) { return is_isbn10(text) || is_isbn13(text); }},
    {"isbn10", is_isbn10},
    {"isbn13", is_isbn13},
    {"k8s-long-name", [](std::string_view text) { return api::dns_subdomain_problems(text).empty(); }},
};

}  // namespace

std::string checked_format(Schema::Type type, std::string_view format) {
  using Type = Schema::Type;
  if (format.empty()) return {};
  if (type == Type::Integer) return format == "int32" || format == "int64" ? std::string(format) : "";
  if (type == Type::Number) return format == "float" || format == "double" ? std::string(format) : "";
  if (type != Type::String && type != Type::Any) return {};
  std::string plain(format);
  if (!format.starts_with("k8s-")) std::erase(plain, '-');
  const bool known =
      patterns().contains(plain) || std::any_of(std::begin(kTests), std::end(kTests),
                                                [&](const TestRow& row) { return row.format == plain; });
  return known ? std::string(format) : "";
}

bool has_format(std::string_view text, std::string_view format) {
  std::string plain(format);
  if (!format.starts_with("k8s-")) std::erase(plain, '-');
  for (const TestRow& row : kTests)
    if (row.format == plain) return row.passes(text);
  if (plain == "creditcard") {
    const std::string digits = digits_of(text);
    return patterns().at(plain)->found_in(digits);
  }
  const auto found = patterns().find(plain);
  return found == patterns().end() || found->second->found_in(text);
}

}  // namespace berth::crd
