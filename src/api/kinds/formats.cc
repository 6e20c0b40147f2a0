#include "api/kinds/formats.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace berth::api {
namespace {

constexpr std::size_t kAnnotationsBytesMax = 256 << 10;

constexpr std::string_view kCaselessText =
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'Example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kIdentifierText =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')";

}  // namespace

NameProblems caseless_subdomain(std::string_view text) {
  NameProblems problems = dns_subdomain_problems(to_lower(text));
  if (!problems.empty() && problems.back() != too_long_problem(kDnsSubdomainBytesMax))
    problems.back() = kCaselessText;
  return problems;
}

NameProblems c_identifier(std::string_view text) {
  const bool fine =
      !text.empty() && !is_digit(text.front()) &&
      std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '_'; });
  return fine ? NameProblems{} : NameProblems{std::string(kIdentifierText)};
}

NameProblems lower_case_uuid(std::string_view text) {
  bool fine = text.size() == 36;
  for (std::size_t i = 0; fine && i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    fine = dash ? text[i] == '-' : is_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'f');
  }
  return fine ? NameProblems{} : NameProblems{"must be a lowercase UUID in 8-4-4-4-12 format"};
}

NameProblems pool_segments(std::string_view text) {
  if (text.size() > kDnsSubdomainBytesMax) return {too_long_problem(kDnsSubdomainBytesMax)};
  NameProblems complaints;
  for (std::size_t segment = 0;; ++segment) {
    const std::size_t slash = text.find('/');
    for (const std::string& complaint : dns_subdomain_problems(text.substr(0, slash)))
      complaints.push_back("segment " + std::to_string(segment) + ": " + complaint);
    if (slash == std::string_view::npos) return complaints;
    text.remove_prefix(slash + 1);
  }
}

NameProblems extended_resource(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return {"a name must be a domain-prefixed path, such as 'example.com/my-prop'"};
  if (text.substr(0, slash + 1).ends_with("kubernetes.io/"))
    return {"must not have \"kubernetes.io/\" domain"};
  if (text.starts_with("requests.")) return {"must not have \"requests.\" prefix"};
  // Quotas count it as "requests." and its name, which must be a qualified name as well.
  return qualified_name_problems("requests." + std::string(text));
}

FieldErrors check_format(const std::string& path, std::string_view text, Format format) {
  FieldErrors errors;
  for (const std::string& complaint : format(text)) errors.push_back(invalid(path, text, complaint));
  return errors;
}

FieldErrors check_required(const std::string& path, std::string_view text, Format format) {
  if (text.empty()) return {required(path)};
  return check_format(path, text, format);
}

FieldErrors check_csi_driver(const std::string& path, std::string_view name) {
  if (name.empty()) return {required(path)};
  FieldErrors errors;
  if (name.size() > kCsiDriverBytesMax) errors.push_back(too_long(path, kCsiDriverBytesMax));
  for (const std::string& problem : dns_subdomain_problems(to_lower(name)))
    errors.push_back(invalid(path, name, problem));
  return errors;
}

FieldErrors check_labels(const std::string& path, const Json* labels) {
  FieldErrors errors;
  if (!labels || !labels->is_object()) return errors;
  for (const JsonMember& label : labels->as_object()) {
    append(errors, check_format(path, label.key, qualified_name_problems));
    if (label.value.is_string())
      append(errors, check_format(path, label.value.as_string(), label_value_problems));
  }
  return errors;
}

FieldErrors check_annotations(const std::string& path, const Json* annotations) {
  FieldErrors errors;
  if (!annotations || !annotations->is_object()) return errors;
  std::size_t bytes = 0;
  for (const JsonMember& annotation : annotations->as_object()) {
    for (const std::string& complaint : qualified_name_problems(to_lower(annotation.key)))
      errors.push_back(invalid(path, annotation.key, complaint));
    bytes += annotation.key.size() + (annotation.value.is_string() ? annotation.value.as_string().size() : 0);
  }
  if (bytes > kAnnotationsBytesMax) errors.push_back(too_long(path, kAnnotationsBytesMax));
  return errors;
}

}  // namespace berth::api
