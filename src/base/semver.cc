#include "base/semver.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace berth {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_identifier(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string_view next_part(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view part = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  return part;
}

Error invalid_version(std::string text) {
  return Error(ErrorCode::Invalid, std::move(text));
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

Result<std::uint64_t> parse_number(std::string_view text, std::string_view name) {
  if (!all_digits(text)) {
    if (text.empty()) return invalid_version("strconv.ParseUint: parsing \"\": invalid syntax");
    return invalid_version("Invalid character(s) found in " + std::string(name) + " number " + quoted(text));
  }
  if (text.size() > 1 && text.front() == '0')
    return invalid_version(std::string(1, static_cast<char>(name.front() - 'a' + 'A')) +
                           std::string(name.substr(1)) + " number must not contain leading zeroes " +
                           quoted(text));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return invalid_version("number " + quoted(text) + " is out of range");
  return number;
}

Status check_prerelease(std::string_view rest) {
  for (bool more = true; more;) {
    more = rest.find('.') != std::string_view::npos;
    const std::string_view part = next_part(rest);
    if (part.empty()) return invalid_version("Prerelease is empty");
    if (all_digits(part) && part.size() > 1 && part.front() == '0')
      return invalid_version("Numeric PreRelease version must not contain leading zeroes " + quoted(part));
    if (!is_identifier(part))
      return invalid_version("Invalid character(s) found in prerelease " + quoted(part));
  }
  return {};
}

Status check_build(std::string_view rest) {
  for (bool more = true; more;) {
    more = rest.find('.') != std::string_view::npos;
    const std::string_view part = next_part(rest);
    if (part.empty()) return invalid_version("Build meta data is empty");
    if (!is_identifier(part))
      return invalid_version("Invalid character(s) found in build meta data " + quoted(part));
  }
  return {};
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_number = all_digits(a), b_number = all_digits(b);
  if (a_number != b_number) return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

std::strong_ordering compare_prereleases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  while (!a.empty() && !b.empty()) {
    const auto order = compare_identifiers(next_part(a), next_part(b));
    if (order != 0) return order;
  }
  return b.empty() <=> a.empty();
}

}  // namespace

std::strong_ordering operator<=>(const SemVer& a, const SemVer& b) {
  if (const auto order = a.major_ <=> b.major_; order != 0) return order;
  if (const auto order = a.minor_ <=> b.minor_; order != 0) return order;
  if (const auto order = a.patch_ <=> b.patch_; order != 0) return order;
  return compare_prereleases(a.prerelease_, b.prerelease_);
}

std::string SemVer::text() const {
  std::string text = std::to_string(major_) + "." + std::to_string(minor_) + "." + std::to_string(patch_);
  if (!prerelease_.empty()) text += "-" + prerelease_;
  if (!build_.empty()) text += "+" + build_;
  return text;
}

Result<SemVer> parse_semver(std::string_view text) {
  if (text.empty()) return invalid_version("Version string empty");
  if (text.size() > kSemVerLengthMax) return invalid_version("Version string is longer than 256 bytes");
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return invalid_version("No Major.Minor.Patch elements found");

  SemVer version;
  version.major_ = TRY(parse_number(text.substr(0, first), "major"));
  version.minor_ = TRY(parse_number(text.substr(first + 1, second - first - 1), "minor"));
  std::string_view patch = text.substr(second + 1);
  if (const std::size_t plus = patch.find('+'); plus != std::string_view::npos) {
    version.build_ = patch.substr(plus + 1);
    if (Status status = check_build(version.build_); !status.ok()) return status.error();
    patch = patch.substr(0, plus);
  }
  if (const std::size_t dash = patch.find('-'); dash != std::string_view::npos) {
    version.prerelease_ = patch.substr(dash + 1);
    if (Status status = check_prerelease(version.prerelease_); !status.ok()) return status.error();
    patch = patch.substr(0, dash);
  }
  version.patch_ = TRY(parse_number(patch, "patch"));
  return version;
}

std::string normalized_semver_text(std::string_view text) {
  if (!text.empty() && text.front() == 'v') text.remove_prefix(1);
  const std::size_t tail_start = text.find_first_of("+-");
  const std::string_view tail = tail_start == std::string_view::npos ? "" : text.substr(tail_start);
  std::string_view numbers = text.substr(0, tail_start);
  std::string result;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    more = numbers.find('.') != std::string_view::npos;
    std::string_view part = next_part(numbers);
    while (part.size() > 1 && part.front() == '0') part.remove_prefix(1);
    if (parts > 0) result += '.';
    result += part;
  }
  for (; parts < 3; ++parts) result += ".0";
  return result.append(tail);
}

}  // namespace berth
