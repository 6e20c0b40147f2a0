#include "api/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <map>
#include <memory>

#include "api/yaml_scalar.h"

namespace berth::api {
namespace {

class YamlEvent {
 public:
  YamlEvent() = default;
  ~YamlEvent() { yaml_event_delete(&event_); }
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;

  yaml_event_t* raw() { return &event_; }
  yaml_event_type_t type() const { return event_.type; }
  int line() const { return static_cast<int>(event_.start_mark.line) + 1; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_ = {};
};

std::string_view view_of(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

// A value with its counts for the bounds.
struct YamlNode {
  Json value;
  std::size_t nodes = 1;
  std::size_t depth = 1;
  std::size_t bytes = 1;  // of the texts in it, and one for each value
};

// Turns the events of one text into documents.
class YamlReader {
 public:
  explicit YamlReader(std::string_view text, std::string_view wanted_path = {},
                      YamlLines lines = YamlLines::Counted)
      : lines_(lines), aliased_bytes_max_(text.size() * kYamlAliasedBytesFactor), wanted_(wanted_path) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~YamlReader() { yaml_parser_delete(&parser_); }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  // False at the end of the text.
  Result<bool> next_document(YamlDocument& document);
  int number() const { return number_; }
  int wanted_line() const { return wanted_line_; }

 private:
  Status next(YamlEvent& event);
  Result<YamlNode> node(YamlEvent& event, std::size_t depth);
  Result<YamlNode> alias(const YamlEvent& event, std::size_t depth);
  Status account(const YamlNode& copied, int line);
  Result<YamlNode> scalar(const YamlEvent& event);
  Result<YamlNode> sequence(std::size_t depth);
  Result<YamlNode> mapping(std::size_t depth);
  Result<YamlNode> inner(const std::string& step, YamlEvent& event, std::size_t depth);
  Status merge(JsonObject& into, const Json& merged, int line) const;
  Result<std::string> key_of(const Json& key, std::string_view written, int line) const;
  void note_place(int line);
  Error refused(std::string_view why, int line) const {
    if (lines_ == YamlLines::Counted)
      return Error(ErrorCode::Invalid, fmt::format("document {}, line {}: {}", number_, line, why));
    return Error(ErrorCode::Invalid, line > 0 ? fmt::format("line {}: {}", line, why) : std::string(why));
  }

  yaml_parser_t parser_ = {};
  std::map<std::string, YamlNode, std::less<>> anchors_;
  std::vector<std::string> duplicate_keys_;
  const YamlLines lines_;
  const std::size_t aliased_bytes_max_;
  std::string_view wanted_;
  std::string path_;
  std::size_t wanted_length_ = 0;
  int wanted_line_ = 0;
  std::size_t aliased_nodes_ = 0;
  std::size_t aliased_bytes_ = 0;
  int number_ = 0;
};

Status YamlReader::next(YamlEvent& event) {
  if (yaml_parser_parse(&parser_, event.raw())) return {};
  const int problem = static_cast<int>(parser_.problem_mark.line);
  const int in_go = problem == 0 ? static_cast<int>(parser_.context_mark.line)
                                 : problem + (parser_.error == YAML_SCANNER_ERROR ? 1 : 0);
  const int line = lines_ == YamlLines::AsGo ? in_go : problem + 1;
  return refused(parser_.problem ? parser_.problem : "the text is not UTF-8", line);
}

Result<bool> YamlReader::next_document(YamlDocument& document) {
  while (true) {
    YamlEvent event;
    TRY(next(event));
    if (event.type() == YAML_STREAM_END_EVENT || event.type() == YAML_NO_EVENT) return false;
    if (event.type() != YAML_DOCUMENT_START_EVENT) continue;
    ++number_;
    anchors_.clear();
    duplicate_keys_.clear();
    wanted_line_ = 0;
    wanted_length_ = 0;
    YamlEvent first;
    TRY(next(first));
    document.line = first.line();
    document.number = number_;
    document.value = TRY(node(first, 1)).value;
    document.duplicate_keys = std::move(duplicate_keys_);
    return true;
  }
}

// Records the line when the current path from the root is the wanted one.
void YamlReader::note_place(int line) {
  if (!wanted_.starts_with(path_)) return;
  const bool ends = wanted_.size() == path_.size() || path_.empty() || wanted_[path_.size()] == '.' ||
                    wanted_[path_.size()] == '[';
  if (!ends || (wanted_line_ != 0 && path_.size() <= wanted_length_)) return;
  wanted_line_ = line;
  wanted_length_ = path_.size();
}

Result<YamlNode> YamlReader::node(YamlEvent& event, std::size_t depth) {
  const int line = event.line();
  note_place(line);
  if (depth > kYamlDepthMax) return refused(fmt::format("nested deeper than {} levels", kYamlDepthMax), line);
  if (event.type() == YAML_ALIAS_EVENT) return alias(event, depth);
  std::string anchor;
  YamlNode made;
  switch (event.type()) {
    case YAML_SCALAR_EVENT:
      anchor = view_of(event->data.scalar.anchor);
      made = TRY(scalar(event));
      break;
    case YAML_SEQUENCE_START_EVENT:
      anchor = view_of(event->data.sequence_start.anchor);
      made = TRY(sequence(depth));
      break;
    case YAML_MAPPING_START_EVENT:
      anchor = view_of(event->data.mapping_start.anchor);
      made = TRY(mapping(depth));
      break;
    default:
      return refused("a value is missing", line);
  }
  if (anchor.empty()) return made;
  TRY(account(made, line));
  anchors_[anchor] = made;
  return made;
}

Result<YamlNode> YamlReader::alias(const YamlEvent& event, std::size_t depth) {
  const std::string_view name = view_of(event->data.alias.anchor);
  const auto found = anchors_.find(name);
  if (found == anchors_.end())
    return refused(fmt::format("unknown anchor '{}' referenced", name), event.line());
  if (depth + found->second.depth > kYamlDepthMax)
    return refused(fmt::format("nested deeper than {} levels", kYamlDepthMax), event.line());
  TRY(account(found->second, event.line()));
  return found->second;
}

// For a copy of the value. The second text is that of the reference's YAML reader.
Status YamlReader::account(const YamlNode& copied, int line) {
  aliased_nodes_ += copied.nodes;
  if (aliased_nodes_ > kYamlAliasedNodesMax)
    return refused(fmt::format("aliases stand for more than {} values", kYamlAliasedNodesMax), line);
  aliased_bytes_ += copied.bytes;
  if (aliased_bytes_ > aliased_bytes_max_) return refused("document contains excessive aliasing", line);
  return {};
}

Result<YamlNode> YamlReader::scalar(const YamlEvent& event) {
  const auto& scalar = event->data.scalar;
  const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  const std::string_view tag = view_of(scalar.tag);
  const bool plain =
      scalar.style == YAML_PLAIN_SCALAR_STYLE && (tag.empty() || tag != "tag:yaml.org,2002:str");
  YamlNode made{!plain || tag == "!" ? Json(text) : plain_yaml_scalar(text)};
  made.bytes += text.size();
  return made;
}

Result<YamlNode> YamlReader::inner(const std::string& step, YamlEvent& event, std::size_t depth) {
  const std::size_t outer = path_.size();
  path_ += step;
  Result<YamlNode> made = node(event, depth + 1);
  path_.resize(outer);
  return made;
}

Result<YamlNode> YamlReader::sequence(std::size_t depth) {
  YamlNode made{Json(JsonArray())};
  for (std::size_t index = 0;; ++index) {
    YamlEvent event;
    TRY(next(event));
    if (event.type() == YAML_SEQUENCE_END_EVENT) return made;
    YamlNode item = TRY(inner(fmt::format("[{}]", index), event, depth));
    made.nodes += item.nodes;
    made.bytes += item.bytes;
    made.depth = std::max(made.depth, item.depth + 1);
    made.value.as_array().push_back(std::move(item.value));
  }
}

Result<std::string> YamlReader::key_of(const Json& key, std::string_view written, int line) const {
  if (key.is_string()) return key.as_string();
  if (key.is_bool()) return std::string(key.as_bool() ? "true" : "false");
  if (key.is_number()) return to_string(key);
  return refused(key.is_null() ? fmt::format("the key '{}' is null; quote it", written)
                               : std::string("a key is no plain value"),
                 line);
}

// Existing members take precedence over merged ones.
Status YamlReader::merge(JsonObject& into, const Json& merged, int line) const {
  if (merged.is_array()) {
    for (const Json& one : merged.as_array()) TRY(merge(into, one, line));
    return {};
  }
  if (!merged.is_object()) return refused("map merge requires map or sequence of maps as the value", line);
  for (const JsonMember& member : merged.as_object())
    if (!into.find(member.key)) into.append(member.key, member.value);
  return {};
}

Result<YamlNode> YamlReader::mapping(std::size_t depth) {
  YamlNode made{Json::object()};
  std::vector<std::pair<Json, int>> merged;
  while (true) {
    YamlEvent key_event;
    TRY(next(key_event));
    if (key_event.type() == YAML_MAPPING_END_EVENT) break;
    const int line = key_event.line();
    const bool is_scalar = key_event.type() == YAML_SCALAR_EVENT;
    const std::string written(is_scalar ? view_of(key_event->data.scalar.value) : std::string_view());
    const bool is_merge = written == "<<" && key_event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const std::string key = TRY(key_of(TRY(node(key_event, depth + 1)).value, written, line));
    YamlEvent event;
    TRY(next(event));
    YamlNode value = TRY(inner((path_.empty() ? "" : ".") + key, event, depth));
    made.nodes += value.nodes + 1;
    made.bytes += value.bytes + key.size() + 1;
    made.depth = std::max(made.depth, value.depth + 1);
    if (is_merge) {
      merged.emplace_back(std::move(value.value), line);
    } else if (Json* earlier = made.value.find(key)) {
      duplicate_keys_.push_back(
          fmt::format("line {}: key {} already set in map", line, to_string(Json(key))));
      *earlier = std::move(value.value);
    } else {
      made.value.as_object().append(key, std::move(value.value));
    }
  }
  for (const auto& [value, line] : merged) TRY(merge(made.value.as_object(), value, line));
  return made;
}

bool begins_like_json(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

}  // namespace

Result<std::vector<YamlDocument>> parse_yaml_documents(std::string_view text, std::string_view file,
                                                       YamlLines lines) {
  std::vector<YamlDocument> documents;
  // Not every escape of JSON is one of YAML.
  if (begins_like_json(text))
    if (Result<Json> json = parse_json(text)) {
      documents.push_back({*std::move(json)});
      return documents;
    }
  YamlReader reader(text, {}, lines);
  while (true) {
    YamlDocument document;
    const Result<bool> more = reader.next_document(document);
    if (!more) return Error(ErrorCode::Invalid, fmt::format("{}: {}", file, more.error().message()));
    if (!*more) return documents;
    if (!document.value.is_null()) documents.push_back(std::move(document));
  }
}

int yaml_line_of(std::string_view text, int number, std::string_view path) {
  YamlReader reader(text, path);
  YamlDocument document;
  while (reader.number() < number) {
    const Result<bool> more = reader.next_document(document);
    if (!more || !*more) return reader.number() == number ? reader.wanted_line() : 0;
  }
  return reader.wanted_line();
}

std::string yaml_position(std::string_view text, std::string_view file, int number, std::string_view path) {
  return fmt::format("{}:{}: document {}{}{}", file, yaml_line_of(text, number, path), number,
                     path.empty() ? "" : ": ", path);
}

}  // namespace berth::api
