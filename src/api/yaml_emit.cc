// The way from JSON to YAML text (yaml.h).
#include <algorithm>

#include "api/yaml.h"

namespace berth::api {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Words that YAML 1.1 reads as booleans or null.
bool is_word_of_yaml(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

// Begins with a letter and has only characters that mean nothing to YAML.
bool is_plain(std::string_view text) {
  if (text.empty() || !is_letter(text.front()) || is_word_of_yaml(text)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

// JSON's quotes and escapes are YAML's, too.
std::string scalar(const Json& value) {
  return value.is_string() && is_plain(value.as_string()) ? value.as_string() : to_string(value);
}

bool is_block(const Json& value) {
  return (value.is_object() && !value.as_object().empty()) || (value.is_array() && !value.as_array().empty());
}

void emit(const Json& value, std::size_t indent, bool at_line_start, std::string& out) {
  const std::string margin(indent, ' ');
  if (value.is_object()) {
    for (const JsonMember& member : value.as_object()) {
      if (at_line_start) out += margin;
      at_line_start = true;
      out += scalar(Json(member.key)) + ":";
      if (is_block(member.value)) {
        out += "\n";
        emit(member.value, member.value.is_array() ? indent : indent + 2, true, out);
      } else {
        out += " " + scalar(member.value) + "\n";
      }
    }
    return;
  }
  for (const Json& item : value.as_array()) {
    if (at_line_start) out += margin;
    at_line_start = true;
    out += "- ";
    if (is_block(item))
      emit(item, indent + 2, false, out);
    else
      out += scalar(item) + "\n";
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  if (!is_block(value)) return scalar(value) + "\n";
  std::string out;
  emit(value, 0, true, out);
  return out;
}

}  // namespace berth::api
