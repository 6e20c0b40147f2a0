#include "base/json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/hex.h"

namespace berth {

std::size_t JsonObject::Contents::place_of(std::string_view key) const {
  if (!index.empty()) {
    const std::uint32_t found =
        index.find(key, [this](std::uint32_t at) -> std::string_view { return members[at].key; });
    return found == KeyIndex::kAbsent ? members.size() : found;
  }
  // The first characters distinguish most keys of equal length.
  const char first = key.empty() ? '\0' : key.front();
  std::size_t at = 0;
  for (; at < members.size(); ++at) {
    const std::string& name = members[at].key;
    if (name.size() == key.size() && name[0] == first && name == key) break;
  }
  return at;
}

void JsonObject::Contents::append(std::string key, Json value) {
  JsonMember& member = members.emplace_back();
  member.key = std::move(key);
  member.value = std::move(value);
  if (!index.empty())
    add_to_index(static_cast<std::uint32_t>(members.size() - 1));
  else if (members.size() > kSearchedMembersMax)
    make_index();
}

void JsonObject::Contents::add_to_index(std::uint32_t at) {
  const auto key_at = [this](std::uint32_t other) -> std::string_view { return members[other].key; };
  repeats |= index.add(members[at].key, at, key_at) != at;
}

void JsonObject::Contents::make_index() {
  index = {};
  repeats = false;
  if (members.size() <= kSearchedMembersMax) return;
  index.reserve(members.size());
  for (std::uint32_t at = 0; at < members.size(); ++at) add_to_index(at);
}

JsonObject::JsonObject(Members members) {
  if (members.empty()) return;
  contents_ = CopyOnWrite(Contents{std::move(members), {}});
  if (size() > kSearchedMembersMax) contents_.write().make_index();
}

const Json* JsonObject::find(std::string_view key) const {
  const Contents& contents = contents_.read();
  const std::size_t at = contents.place_of(key);
  return at < contents.members.size() ? &contents.members[at].value : nullptr;
}

Json* JsonObject::find(std::string_view key) {
  const std::size_t at = contents_.read().place_of(key);
  return at < size() ? &contents_.lend().members[at].value : nullptr;
}

Json& JsonObject::operator[](std::string_view key) {
  if (Json* found = find(key)) return *found;
  Contents& contents = contents_.lend();
  contents.append(std::string(key), Json());
  return contents.members.back().value;
}

void JsonObject::append(std::string key, Json value) {
  contents_.write().append(std::move(key), std::move(value));
}

void JsonObject::reserve(std::size_t count) {
  if (count > 0) contents_.write().members.reserve(count);
}

bool JsonObject::erase(std::string_view key) {
  const std::size_t before = size();
  if (contents_.read().repeats) erase_if([&](const JsonMember& member) { return member.key == key; });
  for (std::size_t at = 0; (at = contents_.read().place_of(key)) < size();) {
    Contents& contents = contents_.write();
    if (!contents.index.empty()) contents.index.erase(key, static_cast<std::uint32_t>(at));
    contents.members.erase(contents.members.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return size() < before;
}

void JsonObject::erase_if(const std::function<bool(const JsonMember&)>& unwanted) {
  const Members& members = contents_.read().members;
  if (std::none_of(members.begin(), members.end(), unwanted)) return;
  Contents& contents = contents_.write();
  std::erase_if(contents.members, unwanted);
  contents.make_index();
}

bool operator==(const JsonObject& a, const JsonObject& b) {
  if (a.shares_with(b)) return true;
  const JsonObject::Members& left = a.contents_.read().members;
  const JsonObject::Members& right = b.contents_.read().members;
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const JsonMember& member = left[i];
    const Json* other = right[i].key == member.key ? &right[i].value : b.find(member.key);
    if (!other || !(*other == member.value)) return false;
  }
  return true;
}

Json Json::object(std::initializer_list<JsonMember> members) {
  return Json(JsonObject(JsonObject::Members(members)));
}

Json Json::array(std::initializer_list<Json> items) {
  return Json(JsonArray(items));
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<JsonObject>(&value_);
  return object ? object->find(key) : nullptr;
}

Json* Json::find(std::string_view key) {
  auto* object = std::get_if<JsonObject>(&value_);
  return object ? object->find(key) : nullptr;
}

const Json* Json::find_path(std::initializer_list<std::string_view> keys) const {
  const Json* at = this;
  for (std::string_view key : keys) {
    at = at->find(key);
    if (!at) return nullptr;
  }
  return at;
}

const Json& Json::part(std::string_view key) const {
  static const Json kNull;
  const Json* found = find(key);
  return found ? *found : kNull;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = JsonObject();
  BERTH_ASSERT(is_object(), "only an object has members");
  return as_object()[key];
}

std::string_view Json::string_at(std::string_view key) const {
  const Json* member = find(key);
  return member && member->is_string() ? std::string_view(member->as_string()) : std::string_view();
}

std::int64_t Json::int_at(std::string_view key, std::int64_t otherwise) const {
  const Json* member = find(key);
  return member && member->is_int() ? member->as_int() : otherwise;
}

bool Json::bool_at(std::string_view key, bool otherwise) const {
  const Json* member = find(key);
  return member && member->is_bool() ? member->as_bool() : otherwise;
}

bool Json::shares_with(const Json& other) const {
  if (is_object() && other.is_object()) return as_object().shares_with(other.as_object());
  if (!is_array() || !other.is_array()) return false;
  return std::get<CopyOnWrite<JsonArray>>(value_).is_same_as(std::get<CopyOnWrite<JsonArray>>(other.value_));
}

const JsonArray& Json::items_at(std::string_view key) const {
  static const JsonArray kEmpty;
  const Json* member = find(key);
  return member && member->is_array() ? member->as_array() : kEmpty;
}

namespace {

// `into` is null.
void build(const simdjson::dom::element& element, Json& into) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY: {
      const simdjson::dom::array source = element.get_array().value_unsafe();
      JsonArray items(source.size());
      auto item = items.begin();
      for (const simdjson::dom::element& element_of : source) build(element_of, *item++);
      into = std::move(items);
      return;
    }
    case element_type::OBJECT: {
      const simdjson::dom::object source = element.get_object().value_unsafe();
      JsonObject::Members members(source.size());
      auto member = members.begin();
      for (const auto& [key, value] : source) {
        member->key.assign(key);
        build(value, member->value);
        ++member;
      }
      into = JsonObject(std::move(members));
      return;
    }
    case element_type::INT64:
      into = element.get_int64().value_unsafe();
      return;
    case element_type::UINT64:
      into = static_cast<double>(element.get_uint64().value_unsafe());
      return;
    case element_type::DOUBLE:
      into = element.get_double().value_unsafe();
      return;
    case element_type::STRING:
      into = element.get_string().value_unsafe();
      return;
    case element_type::BOOL:
      into = element.get_bool().value_unsafe();
      return;
    case element_type::NULL_VALUE:
      return;
  }
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, error == std::errc() ? end : buffer);
}

void append_int(std::string& out, std::int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

bool append_scalar(std::string& out, const Json& json) {
  if (json.is_null())
    out += "null";
  else if (json.is_bool())
    out += json.as_bool() ? "true" : "false";
  else if (json.is_int())
    append_int(out, json.as_int());
  else if (json.is_double())
    append_double(out, json.as_double());
  else if (json.is_string())
    append_json_string(out, json.as_string());
  else
    return false;
  return true;
}

void append_pretty(std::string& out, const Json& json, std::size_t indent) {
  if (append_scalar(out, json)) return;
  const std::string inner(indent + 2, ' ');
  const bool is_array = json.is_array();
  const std::size_t count = is_array ? json.as_array().size() : json.as_object().size();
  out += is_array ? '[' : '{';
  std::size_t written = 0;
  const auto begin_item = [&] { (out += written++ ? ",\n" : "\n") += inner; };
  if (is_array) {
    for (const Json& item : json.as_array()) begin_item(), append_pretty(out, item, indent + 2);
  } else {
    for (const JsonMember& member : json.as_object()) {
      begin_item();
      append_json_string(out, member.key);
      out += ": ";
      append_pretty(out, member.value, indent + 2);
    }
  }
  if (count > 0) (out += '\n').append(indent, ' ');
  out += is_array ? ']' : '}';
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  thread_local simdjson::dom::parser parser;
  if (parser.max_depth() < kJsonDepthMax) {
    const auto error = parser.allocate(1 << 16, kJsonDepthMax);
    if (error) return Error(ErrorCode::Internal, "no memory for a JSON parser");
  }
  simdjson::dom::element root;
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error) return Error(ErrorCode::Invalid, std::string("not JSON: ") + simdjson::error_message(error));
  Json document;
  build(root, document);
  return document;
}

namespace {

// The position of the next character that needs an escape; the text's size without one. Eight bytes a step: a
// byte below 0x20, a quote and a backslash set the highest bit of theirs; a byte after one of these may set
// it too.
std::size_t plain_until(std::string_view text, std::size_t from) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  const auto zero_byte = [](std::uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  std::size_t at = from;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHigh;
    if (control | zero_byte(word ^ kOnes * '"') | zero_byte(word ^ kOnes * '\\')) break;
  }
  for (; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c == '"' || c == '\\') break;
  }
  return at;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain_from = 0;
  for (std::size_t i = plain_until(text, 0); i < text.size(); i = plain_until(text, i + 1)) {
    const auto c = static_cast<unsigned char>(text[i]);
    out.append(text, plain_from, i - plain_from);
    plain_from = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        append_hex(out, c, kHexLower);
    }
  }
  out.append(text, plain_from);
  out += '"';
}

void append_to(std::string& out, const Json& json) {
  if (append_scalar(out, json)) return;
  bool first = true;
  if (json.is_array()) {
    out += '[';
    for (const Json& item : json.as_array()) {
      if (!std::exchange(first, false)) out += ',';
      append_to(out, item);
    }
    out += ']';
    return;
  }
  out += '{';
  for (const JsonMember& member : json.as_object()) {
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, member.key);
    out += ':';
    append_to(out, member.value);
  }
  out += '}';
}

namespace {
constexpr std::size_t kTextBytesUsual = 1024;
}  // namespace

std::string to_string(const Json& json) {
  std::string out;
  if (append_scalar(out, json)) return out;
  out.reserve(kTextBytesUsual);
  append_to(out, json);
  return out;
}

std::string to_pretty_string(const Json& json) {
  std::string out;
  append_pretty(out, json, 0);
  return out;
}

}  // namespace berth
