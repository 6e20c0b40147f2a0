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

namespace {

// Makes the member in its place: a document is built of many.
template <class Contents>
void append_member(Contents& contents, std::string&& key, Json&& value) {
  contents.members.emplace_back(std::move(key), std::move(value));
  if (!contents.index.empty())
    contents.add_to_index(static_cast<std::uint32_t>(contents.members.size() - 1));
  else if (contents.members.size() > JsonObject::kSearchedMembersMax)
    contents.make_index();
}

}  // namespace

void JsonObject::Contents::append(std::string key, Json value) {
  append_member(*this, std::move(key), std::move(value));
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
  append_member(contents_.write(), std::move(key), std::move(value));
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

constexpr std::size_t kTextBytesUsual = 1024;

constexpr std::uint64_t kOnes = 0x0101010101010101;

// Whether one of the word's bytes is below 0x20, a quote or a backslash.
bool needs_escape(std::uint64_t word) {
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  const auto zero_byte = [](std::uint64_t of) { return (of - kOnes) & ~of & kHigh; };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHigh;
  return (control | zero_byte(word ^ kOnes * '"') | zero_byte(word ^ kOnes * '\\')) != 0;
}

bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

template <class Word>
std::uint64_t word_at(const char* text) {
  Word word = 0;
  std::memcpy(&word, text, sizeof word);
  return word;
}

// Eight bytes a step; the last step reads bytes again where fewer are left.
bool is_without_escapes(std::string_view text) {
  constexpr std::size_t kStep = sizeof(std::uint64_t), kHalf = sizeof(std::uint32_t);
  const char* const last = text.data() + text.size();
  if (text.size() < kHalf)
    return std::none_of(text.begin(), text.end(), [](char c) { return needs_escape(c); });
  if (text.size() < kStep)
    return !needs_escape(word_at<std::uint32_t>(text.data()) | word_at<std::uint32_t>(last - kHalf) << 32);
  for (const char* at = text.data(); at < last - kStep; at += kStep)
    if (needs_escape(word_at<std::uint64_t>(at))) return false;
  return !needs_escape(word_at<std::uint64_t>(last - kStep));
}

// Appends to a text. What it has reserved in the text is cut off at its end.
class Writer {
 public:
  // `expected`: bytes; more are reserved as needed.
  Writer(std::string& out, std::size_t expected) : out_(out), begin_(out.size()), end_(begin_) {
    out_.resize(begin_ + expected);
  }
  ~Writer() { out_.resize(end_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void put(char c) {
    *room(1) = c;
    ++end_;
  }
  void put(std::string_view text) { end_ += text.copy(room(text.size()), text.size()); }
  void put(std::int64_t value) {
    constexpr std::size_t kDigitsMax = 24;
    char* const at = room(kDigitsMax);
    end_ += static_cast<std::size_t>(std::to_chars(at, at + kDigitsMax, value).ptr - at);
  }
  void put(double value) {
    constexpr std::size_t kDigitsMax = 32;
    if (!std::isfinite(value)) return put("null");
    char* const at = room(kDigitsMax);
    const auto [end, error] = std::to_chars(at, at + kDigitsMax, value);
    if (error == std::errc()) end_ += static_cast<std::size_t>(end - at);
  }
  void put_quoted(std::string_view text) {
    if (!is_without_escapes(text)) return put_escaped(text);
    char* const at = room(text.size() + 2);
    *at = '"';
    text.copy(at + 1, text.size());
    at[text.size() + 1] = '"';
    end_ += text.size() + 2;
  }
  // False for arrays and objects.
  bool put_scalar(const Json& json) {
    if (json.is_string())
      put_quoted(json.as_string());
    else if (json.is_int())
      put(json.as_int());
    else if (json.is_bool())
      put(json.as_bool() ? "true" : "false");
    else if (json.is_null())
      put("null");
    else if (json.is_double())
      put(json.as_double());
    else
      return false;
    return true;
  }

 private:
  char* room(std::size_t count) {
    if (out_.size() - end_ < count) out_.resize(end_ + std::max({count, end_ - begin_, kTextBytesUsual}));
    return out_.data() + end_;
  }
  void put_escaped(std::string_view text);

  std::string& out_;
  const std::size_t begin_;
  std::size_t end_;
};

// In place of a character that needs an escape; `digits` is scratch.
std::string_view escape_of(char c, std::string& digits) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      digits = "\\u00";
      append_hex(digits, static_cast<unsigned char>(c), kHexLower);
      return digits;
  }
}

void Writer::put_escaped(std::string_view text) {
  std::string digits;
  put('"');
  for (auto at = text.begin(); at != text.end(); ++at) {
    const auto plain_end = std::find_if(at, text.end(), [](char c) { return needs_escape(c); });
    put(std::string_view(at, plain_end));
    at = plain_end;
    if (at == text.end()) break;
    put(escape_of(*at, digits));
  }
  put('"');
}

void write(Writer& out, const Json& json) {
  if (out.put_scalar(json)) return;
  bool first = true;
  if (json.is_array()) {
    out.put('[');
    for (const Json& item : json.as_array()) {
      if (!std::exchange(first, false)) out.put(',');
      write(out, item);
    }
    return out.put(']');
  }
  out.put('{');
  for (const JsonMember& member : json.as_object()) {
    if (!std::exchange(first, false)) out.put(',');
    out.put_quoted(member.key);
    out.put(':');
    write(out, member.value);
  }
  out.put('}');
}

void write_pretty(Writer& out, const Json& json, std::size_t indent) {
  if (out.put_scalar(json)) return;
  const std::string inner(indent + 2, ' ');
  const bool is_array = json.is_array();
  const std::size_t count = is_array ? json.as_array().size() : json.as_object().size();
  out.put(is_array ? '[' : '{');
  std::size_t written = 0;
  const auto begin_item = [&] {
    out.put(written++ ? ",\n" : "\n");
    out.put(inner);
  };
  if (is_array) {
    for (const Json& item : json.as_array()) begin_item(), write_pretty(out, item, indent + 2);
  } else {
    for (const JsonMember& member : json.as_object()) {
      begin_item();
      out.put_quoted(member.key);
      out.put(": ");
      write_pretty(out, member.value, indent + 2);
    }
  }
  if (count > 0) {
    out.put('\n');
    out.put(std::string_view(inner).substr(2));
  }
  out.put(is_array ? ']' : '}');
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

void append_json_string(std::string& out, std::string_view text) {
  Writer(out, text.size() + 2).put_quoted(text);
}

void append_to(std::string& out, const Json& json) {
  Writer writer(out, json.is_string() ? json.as_string().size() + 2 : 0);
  write(writer, json);
}

std::string to_string(const Json& json) {
  std::string out;
  append_to(out, json);
  return out;
}

std::string to_pretty_string(const Json& json) {
  std::string out;
  {
    Writer writer(out, 0);
    write_pretty(writer, json, 0);
  }
  return out;
}

}  // namespace berth
