#include "api/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace berth::api {
namespace {

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns_label(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_label_word(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// The rules in the words of the reference: sentence, examples, expression.
constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelKeyRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

}  // namespace

std::string too_long_problem(std::size_t bytes_max) {
  return fmt::format("must be no more than {} bytes", bytes_max);
}

NameProblems dns_label_problems(std::string_view text) {
  NameProblems problems;
  if (text.size() > kDnsLabelBytesMax) problems.push_back(too_long_problem(kDnsLabelBytesMax));
  if (!is_dns_label(text))
    problems.emplace_back(is_dns_subdomain(text) ? "must not contain dots" : kLabelRule);
  return problems;
}

NameProblems dns_1035_label_problems(std::string_view text) {
  NameProblems problems;
  if (text.size() > kDnsLabelBytesMax)
    problems.push_back("must be no more than " + std::to_string(kDnsLabelBytesMax) + " characters");
  if (!is_dns_label(text) || !is_lower(text.front()))
    problems.emplace_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic "
        "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
        "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  return problems;
}

NameProblems dns_subdomain_problems(std::string_view text) {
  NameProblems problems;
  if (text.size() > kDnsSubdomainBytesMax) problems.push_back(too_long_problem(kDnsSubdomainBytesMax));
  if (!is_dns_subdomain(text)) problems.emplace_back(kSubdomainRule);
  return problems;
}

NameProblems qualified_name_problems(std::string_view text) {
  NameProblems problems;
  std::string_view name = text;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return {fmt::format(
          "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
          kLabelKeyRule)};
    if (slash == 0)
      problems.emplace_back("prefix part must be non-empty");
    else
      for (const std::string& problem : dns_subdomain_problems(text.substr(0, slash)))
        problems.push_back("prefix part " + problem);
  }
  if (name.empty())
    problems.emplace_back("name part must be non-empty");
  else if (name.size() > kLabelKeyNameBytesMax)
    problems.push_back("name part " + too_long_problem(kLabelKeyNameBytesMax));
  if (!is_label_word(name)) problems.push_back(fmt::format("name part {}", kLabelKeyRule));
  return problems;
}

NameProblems label_value_problems(std::string_view text) {
  NameProblems problems;
  if (text.size() > kLabelValueBytesMax) problems.push_back(too_long_problem(kLabelValueBytesMax));
  if (!text.empty() && !is_label_word(text)) problems.emplace_back(kLabelValueRule);
  return problems;
}

NameProblems path_segment_problems(std::string_view text) {
  if (text == "." || text == "..") return {fmt::format("may not be '{}'", text)};
  NameProblems problems;
  for (const char c : {'/', '%'})
    if (text.find(c) != std::string_view::npos) problems.push_back(fmt::format("may not contain '{}'", c));
  return problems;
}

std::string with_masked_trailing_dash(std::string_view generate_name) {
  std::string masked(generate_name);
  if (masked.size() > 1 && masked.back() == '-') {
    masked.resize(masked.size() - 2);
    masked += 'a';
  }
  return masked;
}

}  // namespace berth::api
