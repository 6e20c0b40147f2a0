#include "api/kinds/formats.h"

#include <algorithm>
#include <array>

namespace berth::api {
namespace {

constexpr std::size_t kAnnotationsBytesMax = 256 << 10;
constexpr std::size_t kQualifiedNameBytesMax = 63;

constexpr std::string_view kLabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kCaselessText =
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with "
    "an "
    "alphanumeric character (e.g. 'Example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kNameText =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation "
    "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kIdentifierText =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')";

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_alnum(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_alnum(char c) {
  return is_lower_alnum(c) || is_upper(c);
}

bool is_label(std::string_view text) {
  return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_label(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return is_label(text);
}

// The part of a qualified name behind the slash, and a label value that is not empty.
bool is_name(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string longer_than(std::size_t bytes_max) {
  return "must be no more than " + std::to_string(bytes_max) + " bytes";
}

}  // namespace

Complaints dns_label(std::string_view text) {
  Complaints complaints;
  if (text.size() > kLabelBytesMax) complaints.push_back(longer_than(kLabelBytesMax));
  if (is_label(text)) return complaints;
  complaints.emplace_back(is_subdomain(text) ? "must not contain dots" : kLabelText);
  return complaints;
}

Complaints dns_subdomain(std::string_view text) {
  Complaints complaints;
  if (text.size() > kSubdomainBytesMax) complaints.push_back(longer_than(kSubdomainBytesMax));
  if (!is_subdomain(text)) complaints.emplace_back(kSubdomainText);
  return complaints;
}

Complaints caseless_subdomain(std::string_view text) {
  Complaints complaints;
  if (text.size() > kSubdomainBytesMax) complaints.push_back(longer_than(kSubdomainBytesMax));
  if (!is_subdomain(lower(text))) complaints.emplace_back(kCaselessText);
  return complaints;
}

Complaints label_key(std::string_view text) {
  Complaints complaints;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return {"a qualified name " + std::string(kNameText) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    if (prefix.empty()) complaints.emplace_back("prefix part must be non-empty");
    if (!prefix.empty())
      for (const std::string& complaint : dns_subdomain(prefix))
        complaints.push_back("prefix part " + complaint);
  }
  if (name.empty()) complaints.emplace_back("name part must be non-empty");
  if (name.size() > kQualifiedNameBytesMax)
    complaints.push_back("name part " + longer_than(kQualifiedNameBytesMax));
  if (!is_name(name)) complaints.push_back("name part " + std::string(kNameText));
  return complaints;
}

Complaints label_value(std::string_view text) {
  Complaints complaints;
  if (text.size() > kLabelBytesMax) complaints.push_back(longer_than(kLabelBytesMax));
  if (!text.empty() && !is_name(text)) complaints.emplace_back(kLabelValueText);
  return complaints;
}

Complaints c_identifier(std::string_view text) {
  const bool fine = !text.empty() && !is_digit(text.front()) &&
                    std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '_'; });
  return fine ? Complaints{} : Complaints{std::string(kIdentifierText)};
}

Complaints path_segment(std::string_view text) {
  if (text == "." || text == "..") return {"may not be '" + std::string(text) + "'"};
  Complaints complaints;
  for (const char* character : {"/", "%"})
    if (text.find(character) != std::string_view::npos)
      complaints.push_back("may not contain '" + std::string(character) + "'");
  return complaints;
}

Complaints lower_case_uuid(std::string_view text) {
  bool fine = text.size() == 36;
  for (std::size_t i = 0; fine && i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    fine = dash ? text[i] == '-' : is_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'f');
  }
  return fine ? Complaints{} : Complaints{"must be a lowercase UUID in 8-4-4-4-12 format"};
}

Complaints pool_segments(std::string_view text) {
  if (text.size() > kSubdomainBytesMax) return {longer_than(kSubdomainBytesMax)};
  Complaints complaints;
  for (std::size_t segment = 0;; ++segment) {
    const std::size_t slash = text.find('/');
    for (const std::string& complaint : dns_subdomain(text.substr(0, slash)))
      complaints.push_back("segment " + std::to_string(segment) + ": " + complaint);
    if (slash == std::string_view::npos) return complaints;
    text.remove_prefix(slash + 1);
  }
}

Complaints extended_resource(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return {"a name must be a domain-prefixed path, such as 'example.com/my-prop'"};
  if (text.substr(0, slash + 1).ends_with("kubernetes.io/"))
    return {"must not have \"kubernetes.io/\" domain"};
  if (text.starts_with("requests.")) return {"must not have \"requests.\" prefix"};
  // Quotas count it as "requests." and its name, which must be a qualified name, too.
  return label_key("requests." + std::string(text));
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

FieldErrors check_labels(const std::string& path, const Json* labels) {
  FieldErrors errors;
  if (!labels || !labels->is_object()) return errors;
  for (const JsonMember& label : labels->as_object()) {
    append(errors, check_format(path, label.key, label_key));
    if (label.value.is_string()) append(errors, check_format(path, label.value.as_string(), label_value));
  }
  return errors;
}

FieldErrors check_annotations(const std::string& path, const Json* annotations) {
  FieldErrors errors;
  if (!annotations || !annotations->is_object()) return errors;
  std::size_t bytes = 0;
  for (const JsonMember& annotation : annotations->as_object()) {
    for (const std::string& complaint : label_key(lower(annotation.key)))
      errors.push_back(invalid(path, annotation.key, complaint));
    bytes += annotation.key.size() + (annotation.value.is_string() ? annotation.value.as_string().size() : 0);
  }
  if (bytes > kAnnotationsBytesMax) errors.push_back(too_long(path, kAnnotationsBytesMax));
  return errors;
}

}  // namespace berth::api
