#include "api/protobuf_encode.h"

#include <simdjson.h>

#include <array>
#include <bit>

#include "api/protobuf.h"
#include "api/protobuf_wire.h"
#include "base/base64.h"
#include "base/time.h"

namespace berth::api {
namespace {

namespace ondemand = simdjson::ondemand;
using ondemand::json_type;

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int64_t kNanosPerMicro = 1000;

Error unwritable(const FieldInfo& field, std::string why) {
  return Error(ErrorCode::Unsupported, std::string(field.json), std::move(why));
}

Error no_json(simdjson::error_code error) {
  return Error(ErrorCode::Invalid, std::string("not JSON: ") + simdjson::error_message(error));
}

template <class T>
Result<T> taken(simdjson::simdjson_result<T> read) {
  T value;
  if (const auto error = std::move(read).get(value)) return no_json(error);
  return value;
}

template <class T>
Result<T> taken(simdjson::simdjson_result<T> read, const FieldInfo& field, const char* otherwise) {
  T value;
  if (std::move(read).get(value)) return unwritable(field, otherwise);
  return value;
}

// The text of any value as it stands.
Result<std::string_view> raw_text(ondemand::value value, json_type type) {
  if (type == json_type::object) return taken(TRY(taken(value.get_object())).raw_json());
  if (type == json_type::array) return taken(TRY(taken(value.get_array())).raw_json());
  std::string_view token = value.raw_json_token();
  while (token.ends_with(' ') || token.ends_with('\n')) token.remove_suffix(1);
  return token;
}

// The data of a ControllerRevision. kube-controller-manager compares its bytes with those that Go writes,
// which escapes three characters of HTML: with others it would restart every pod.
bool is_revision_data(const FieldInfo& field) {
  static const FieldInfo* const kData = find_type("apps", "v1", "ControllerRevision")->field_by_json("data");
  return &field == kData;
}

// JSON has these characters in strings only.
std::string escaped_as_go_does(std::string_view json) {
  std::string text;
  for (const char c : json) {
    if (c == '&')
      text += "\\u0026";
    else if (c == '<')
      text += "\\u003c";
    else if (c == '>')
      text += "\\u003e";
    else
      text += c;
  }
  return text;
}

void append_time(std::string& message, Time time) {
  const std::int64_t micros = time.micros();
  std::int64_t seconds = micros / kMicrosPerSecond, rest = micros % kMicrosPerSecond;
  if (rest < 0) --seconds, rest += kMicrosPerSecond;
  append_varint_field(message, 1, static_cast<std::uint64_t>(seconds));
  append_varint_field(message, 2, static_cast<std::uint64_t>(rest * kNanosPerMicro));
}

// The messages around the flattened members that are being written. One that is left and entered again is
// written in two parts, which readers merge.
class Embedding {
 public:
  explicit Embedding(std::string& out) : out_(out) {}

  void enter(const std::array<std::uint16_t, 2>& numbers) {
    std::size_t same = 0;
    while (same < numbers.size() && numbers[same] != 0 && numbers[same] == numbers_[same]) ++same;
    for (std::size_t i = numbers.size(); i-- > same;)
      if (std::exchange(numbers_[i], std::uint16_t{0}) != 0) end_bytes_field(out_, begins_[i]);
    for (; same < numbers.size() && numbers[same] != 0; ++same) {
      begins_[same] = begin_bytes_field(out_, numbers[same]);
      numbers_[same] = numbers[same];
    }
  }
  void leave() { enter({}); }

 private:
  std::string& out_;
  std::array<std::uint16_t, 2> numbers_{};
  std::array<std::size_t, 2> begins_{};
};

class Transcoder {
 public:
  Transcoder(std::string& out, Unnumbered unnumbered) : out_(out), unnumbered_(unnumbered) {}
  Status message(const TypeInfo& type, ondemand::object members);

 private:
  Status member(const FieldInfo& field, ondemand::value value, json_type type);
  Status items(const FieldInfo& field, std::uint32_t number, ondemand::value value);
  Status entries(const FieldInfo& field, ondemand::value value);
  Status entry(const FieldInfo& field, ondemand::value value);
  Status value(const FieldInfo& field, std::uint32_t number, ondemand::value value, json_type type);
  // Of kinds that are messages or bytes on the wire: what is in the field.
  Status content(const FieldInfo& field, ondemand::value value, json_type type);
  Status text(const FieldInfo& field, std::string_view text);
  Status int_or_string(const FieldInfo& field, ondemand::value value, json_type type);
  Status schema_union(const FieldInfo& field, ondemand::value value, json_type type);
  Status part(const FieldInfo& field, std::uint32_t number, ondemand::value value);

  std::string& out_;
  const Unnumbered unnumbered_;
  std::size_t depth_ = 0;
};

Status Transcoder::message(const TypeInfo& type, ondemand::object members) {
  if (++depth_ > kProtobufDepthMax) return Error(ErrorCode::TooLarge, "nested too deep");
  Embedding embedding(out_);
  std::size_t hint = 0;
  for (auto read : members) {
    ondemand::field given = TRY(taken(std::move(read)));
    const std::string_view name = TRY(taken(given.unescaped_key()));
    const FieldInfo* field = type.field_by_json(name, hint);
    if (!field || field->proto == 0) {
      const bool is_of_envelope = depth_ == 1 && (name == "kind" || name == "apiVersion");
      if (unnumbered_ == Unnumbered::LeaveOut || is_of_envelope) continue;
      return Error(ErrorCode::Unsupported, std::string(name), "it is not in the type table");
    }
    hint = static_cast<std::size_t>(field - type.fields().data()) + 1;
    const json_type value_type = TRY(taken(given.value().type()));
    if (value_type == json_type::null) continue;
    embedding.enter(field->embed);
    TRY(member(*field, given.value(), value_type));
  }
  embedding.leave();
  --depth_;
  return {};
}

Status Transcoder::member(const FieldInfo& field, ondemand::value given, json_type type) {
  if (field.shape == Shape::One) return value(field, field.proto, given, type);
  if (field.shape != Shape::List) return entries(field, given);
  if (!field.is(kItemsMessage)) return items(field, field.proto, given);
  const std::size_t begin = begin_bytes_field(out_, field.proto);
  TRY(items(field, 1, given));
  end_bytes_field(out_, begin);
  return {};
}

Status Transcoder::items(const FieldInfo& field, std::uint32_t number, ondemand::value given) {
  for (auto read : TRY(taken(given.get_array(), field, "it is no list"))) {
    ondemand::value item = TRY(taken(read));
    TRY(value(field, number, item, TRY(taken(item.type()))));
  }
  return {};
}

Status Transcoder::entries(const FieldInfo& field, ondemand::value given) {
  for (auto read : TRY(taken(given.get_object(), field, "it is no map"))) {
    ondemand::field member = TRY(taken(std::move(read)));
    const std::size_t begin = begin_bytes_field(out_, field.proto);
    append_bytes_field(out_, 1, TRY(taken(member.unescaped_key())));
    TRY(entry(field, member.value()));
    end_bytes_field(out_, begin);
  }
  return {};
}

Status Transcoder::entry(const FieldInfo& field, ondemand::value given) {
  const json_type type = TRY(taken(given.type()));
  if (type == json_type::null) return {};
  if (field.shape == Shape::Map) return value(field, 2, given, type);
  const std::size_t begin = begin_bytes_field(out_, 2);
  TRY(items(field, 1, given));
  end_bytes_field(out_, begin);
  return {};
}

Status Transcoder::value(const FieldInfo& field, std::uint32_t number, ondemand::value given,
                         json_type type) {
  switch (field.kind) {
    case ValueKind::Bool:
      append_varint_field(out_, number, TRY(taken(given.get_bool(), field, "it is no boolean")) ? 1 : 0);
      return {};
    case ValueKind::Int32:
    case ValueKind::Int64:
      append_varint_field(
          out_, number, static_cast<std::uint64_t>(TRY(taken(given.get_int64(), field, "it is no integer"))));
      return {};
    case ValueKind::Double:
      append_fixed64_field(
          out_, number,
          std::bit_cast<std::uint64_t>(TRY(taken(given.get_double(), field, "it is no number"))));
      return {};
    case ValueKind::String:
      append_bytes_field(out_, number, TRY(taken(given.get_string(), field, "it is no string")));
      return {};
    default:
      break;
  }
  const std::size_t begin = begin_bytes_field(out_, number);
  TRY(content(field, given, type));
  end_bytes_field(out_, begin);
  return {};
}

Status Transcoder::content(const FieldInfo& field, ondemand::value given, json_type type) {
  switch (field.kind) {
    case ValueKind::Message:
      return message(field.type(), TRY(taken(given.get_object(), field, "it is no object")));
    case ValueKind::SchemaOrArray:
    case ValueKind::SchemaOrBool:
    case ValueKind::SchemaOrStrings:
      return schema_union(field, given, type);
    case ValueKind::RawJson:
    case ValueKind::FieldsV1: {
      const std::string_view raw = TRY(raw_text(given, type));
      append_bytes_field(out_, 1, is_revision_data(field) ? escaped_as_go_does(raw) : raw);
      return {};
    }
    case ValueKind::IntOrString:
      return int_or_string(field, given, type);
    default:
      return text(field, TRY(taken(given.get_string(), field, "it is no string")));
  }
}

Status Transcoder::text(const FieldInfo& field, std::string_view text) {
  switch (field.kind) {
    case ValueKind::Bytes:
      out_ += TRY(base64_decode(text));
      return {};
    case ValueKind::Time:
    case ValueKind::MicroTime:
      append_time(out_, TRY(parse_time(text)));
      return {};
    case ValueKind::Duration:
      append_varint_field(out_, 1,
                          static_cast<std::uint64_t>(TRY(parse_duration(text)).micros() * kNanosPerMicro));
      return {};
    default:
      append_bytes_field(out_, 1, text);
      return {};
  }
}

Status Transcoder::int_or_string(const FieldInfo& field, ondemand::value given, json_type type) {
  constexpr const char* kNeither = "it is neither integer nor string";
  const bool is_text = type == json_type::string;
  append_varint_field(out_, 1, is_text ? 1 : 0);
  append_varint_field(
      out_, 2, is_text ? 0 : static_cast<std::uint64_t>(TRY(taken(given.get_int64(), field, kNeither))));
  append_bytes_field(out_, 3, is_text ? TRY(taken(given.get_string(), field, kNeither)) : std::string_view());
  return {};
}

// A schema, or what may stand in its place: a boolean, schemas, strings. The reference allows where a schema
// is.
Status Transcoder::schema_union(const FieldInfo& field, ondemand::value given, json_type type) {
  if (field.kind == ValueKind::SchemaOrBool) {
    const bool is_schema = type == json_type::object;
    const bool allows = is_schema || TRY(taken(given.get_bool(), field, "it is neither schema nor boolean"));
    append_varint_field(out_, 1, allows ? 1 : 0);
    return is_schema ? part(field, 2, given) : Status();
  }
  if (type == json_type::object) return part(field, 1, given);
  for (auto read : TRY(taken(given.get_array(), field, "it is neither schema nor list"))) {
    ondemand::value item = TRY(taken(read));
    if (field.kind == ValueKind::SchemaOrStrings)
      append_bytes_field(out_, 2, TRY(taken(item.get_string(), field, "it is no string")));
    else
      TRY(part(field, 2, item));
  }
  return {};
}

Status Transcoder::part(const FieldInfo& field, std::uint32_t number, ondemand::value given) {
  const std::size_t begin = begin_bytes_field(out_, number);
  TRY(message(field.type(), TRY(taken(given.get_object(), field, "it is no object"))));
  end_bytes_field(out_, begin);
  return {};
}

// JSON text that simdjson may read behind, and its parser. One to a thread.
class Reader {
 public:
  static Reader& of_this_thread() {
    thread_local Reader reader;
    return reader;
  }

  // Valid until the next call.
  Result<ondemand::document> open(std::string_view json) {
    text_.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    text_.assign(json);
    if (parser_.max_depth() < kJsonDepthMax)
      if (parser_.allocate(json.size(), kJsonDepthMax))
        return Error(ErrorCode::Internal, "no memory for a JSON parser");
    ondemand::document document;
    if (const auto error = parser_.iterate(text_).get(document)) return no_json(error);
    return document;
  }

 private:
  ondemand::parser parser_;
  std::string text_;
};

Status append_message(std::string& out, const TypeInfo& type, ondemand::document& document,
                      Unnumbered unnumbered) {
  return Transcoder(out, unnumbered).message(type, TRY(taken(document.get_object())));
}

Status append_message(std::string& out, const TypeInfo& type, std::string_view json) {
  auto document = Reader::of_this_thread().open(json);
  if (!document) return document.error();
  return append_message(out, type, *document, Unnumbered::LeaveOut);
}

// A member of the text's object; empty when absent.
Result<std::string> text_member(ondemand::document& document, std::string_view name) {
  std::string_view text;
  const auto error = document.find_field_unordered(name).get_string().get(text);
  if (error && error != simdjson::NO_SUCH_FIELD && error != simdjson::INCORRECT_TYPE) return no_json(error);
  return std::string(text);
}

}  // namespace

Status append_protobuf_body(std::string& out, const ProtobufKind& kind, std::string_view json) {
  const std::size_t begin = begin_envelope(out, kind.api_version, kind.kind);
  TRY(append_message(out, *kind.type, json));
  end_envelope(out, begin);
  return {};
}

Status append_protobuf_field(std::string& out, std::uint32_t number, const TypeInfo& type,
                             std::string_view json) {
  const std::size_t begin = begin_bytes_field(out, number);
  TRY(append_message(out, type, json));
  end_bytes_field(out, begin);
  return {};
}

Result<std::string> encode_protobuf_body(std::string_view json, Unnumbered unnumbered) {
  auto document = Reader::of_this_thread().open(json);
  if (!document) return document.error();
  const std::string api_version = TRY(text_member(*document, "apiVersion"));
  const std::string kind = TRY(text_member(*document, "kind"));
  const TypeInfo* type = find_kind(api_version, kind);
  if (!type) return Error(ErrorCode::Unsupported, "kind", "it is not in the type table");
  document->rewind();
  std::string body;
  body.reserve(json.size());
  const std::size_t begin = begin_envelope(body, api_version, kind);
  TRY(append_message(body, *type, *document, unnumbered));
  end_envelope(body, begin);
  return body;
}

}  // namespace berth::api
