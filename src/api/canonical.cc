#include "api/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

Error invalid_document(std::string message) {
  return Error(ErrorCode::Invalid, std::move(message));
}

constexpr std::string_view kSuffixCharacters = "eEinumkKMGTP";

// The reference's three error texts for a quantity.
Error bad_quantity(std::string_view text) {
  std::size_t at = 0;
  const auto skip = [&](std::string_view set) {
    const std::size_t from = at;
    while (at < text.size() && set.find(text[at]) != std::string_view::npos) ++at;
    return at - from;
  };
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  std::size_t digits = skip("0123456789");
  if (at < text.size() && text[at] == '.') ++at, digits += skip("0123456789");
  skip(kSuffixCharacters);
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  skip("0123456789");
  if (text.empty() || at < text.size())
    return invalid_document(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  return invalid_document(digits == 0 ? "unable to parse numeric part of quantity"
                                      : "unable to parse quantity's suffix");
}

// One element of a Go time layout and its allowed values.
struct LayoutPart {
  std::string_view layout;
  int digits;  // 0: a literal
  int low;
  int high;
  std::string_view what;
};

constexpr std::array<LayoutPart, 11> kLayout = {{{"2006", 4, 0, 9999, "year"},
                                                 {"-", 0, 0, 0, ""},
                                                 {"01", 2, 1, 12, "month"},
                                                 {"-", 0, 0, 0, ""},
                                                 {"02", 2, 1, 31, "day"},
                                                 {"T", 0, 0, 0, ""},
                                                 {"15", 2, 0, 23, "hour"},
                                                 {":", 0, 0, 0, ""},
                                                 {"04", 2, 0, 59, "minute"},
                                                 {":", 0, 0, 0, ""},
                                                 {"05", 2, 0, 59, "second"}}};
constexpr std::string_view kTimeLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

Error bad_time(std::string_view text, std::string_view layout) {
  const std::string head = fmt::format("parsing time {} as \"{}\": ", quoted(text), layout);
  const auto cannot = [&](std::string_view rest, std::string_view part) {
    return invalid_document(fmt::format("{}cannot parse {} as \"{}\"", head.substr(0, head.size() - 2) + ": ",
                                        quoted(rest), part));
  };
  const auto out_of_range = [&](std::string_view what) {
    return invalid_document(fmt::format("parsing time {}: {} out of range", quoted(text), what));
  };
  std::string_view rest = text;
  for (const LayoutPart& part : kLayout) {
    if (part.digits == 0) {
      if (rest.substr(0, 1) != part.layout) return cannot(rest, part.layout);
      rest.remove_prefix(1);
      continue;
    }
    int value = 0;
    for (int i = 0; i < part.digits; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (at >= rest.size() || rest[at] < '0' || rest[at] > '9') return cannot(rest, part.layout);
      value = value * 10 + (rest[at] - '0');
    }
    if (value < part.low || value > part.high) return out_of_range(part.what);
    rest.remove_prefix(static_cast<std::size_t>(part.digits));
  }
  const bool micro = layout == kMicroLayout;
  std::size_t fraction = 0;
  if (rest.starts_with('.'))
    for (fraction = 1; fraction < rest.size() && rest[fraction] >= '0' && rest[fraction] <= '9';) ++fraction;
  if (micro && fraction != 7) return cannot(rest, ".000000");
  rest.remove_prefix(std::min(fraction, rest.size()));
  if (rest.starts_with('Z') && rest.size() > 1)
    return invalid_document(
        fmt::format("parsing time {}: extra text: {}", quoted(text), quoted(rest.substr(1))));
  if (!rest.starts_with('Z')) return cannot(rest, "Z07:00");
  return out_of_range("day");
}

bool is_scalar_zero(const FieldInfo& field, const Json& value) {
  switch (field.kind) {
    case ValueKind::String:
    case ValueKind::Bytes:
      return value.is_null() || (value.is_string() && value.as_string().empty());
    case ValueKind::Bool:
      return value.is_null() || (value.is_bool() && !value.as_bool());
    case ValueKind::Int32:
    case ValueKind::Int64:
    case ValueKind::Double:
      return value.is_null() || (value.is_number() && value.as_double() == 0);
    default:
      return false;
  }
}

bool is_empty_container(const Json& value) {
  return value.is_null() || (value.is_array() && value.as_array().empty()) ||
         (value.is_object() && value.as_object().empty());
}

// Zero for the decision whether a whole struct is omitted.
bool is_zero_member(const FieldInfo& field, const Json& value) {
  if (value.is_null()) return true;
  if (field.is(kPointer)) return false;
  if (field.shape != Shape::One) return is_empty_container(value);
  if (field.kind == ValueKind::Message) return is_zero(field.type(), value);
  return is_scalar_zero(field, value) || value == zero_of(field);
}

void append_member(JsonObject& out, const FieldInfo& field, Json value) {
  const auto write = [&](Json what) { out.append(std::string(field.json), std::move(what)); };
  if (field.shape != Shape::One) {
    // A value that is stored as protobuf is read back without empty lists and maps.
    if (!is_empty_container(value))
      write(std::move(value));
    else if (!field.is(kOmitEmpty))
      write(Json());
    return;
  }
  if (field.is(kPointer)) {
    if (!value.is_null())
      write(std::move(value));
    else if (!field.is(kOmitEmpty))
      write(Json());
    return;
  }
  if (value.is_null()) value = zero_of(field);
  const bool zero_text = field.is(kOmitEmpty) && is_scalar_zero(field, value);
  if (zero_text || (field.is(kOmitZero) && is_zero_member(field, value))) return;
  write(field.kind == ValueKind::Bytes && value.as_string().empty() ? Json() : std::move(value));
}

}  // namespace

Result<std::string> canonical_quantity(std::string_view text) {
  const Result<Quantity> parsed = parse_quantity(text);
  if (parsed) return parsed->text();
  const bool too_large = parsed.error().code() == ErrorCode::TooLarge;
  return too_large ? invalid_document(parsed.error().message()) : bad_quantity(text);
}

Result<std::string> canonical_time(std::string_view text) {
  const Result<Time> parsed = parse_time(text);
  return parsed ? Result<std::string>(format_time(*parsed))
                : Result<std::string>(bad_time(text, kTimeLayout));
}

Result<std::string> canonical_micro_time(std::string_view text) {
  const Result<Time> parsed = parse_time(text);
  constexpr std::size_t kSecondsEnd = 19, kFractionEnd = 26;
  const bool six = text.size() > kFractionEnd && text[kSecondsEnd] == '.' &&
                   (text[kFractionEnd] < '0' || text[kFractionEnd] > '9');
  if (!parsed || !six) return bad_time(text, kMicroLayout);
  return format_micro_time(*parsed);
}

std::string duration_text(Duration duration) {
  const std::int64_t micros = duration.micros();
  const auto rest = static_cast<std::uint64_t>(micros < 0 ? -micros : micros);
  const std::string sign = micros < 0 ? "-" : "";
  if (rest == 0) return "0s";
  const auto with_fraction = [](std::uint64_t whole, std::uint64_t part, int width) {
    if (part == 0) return std::to_string(whole);
    std::string digits = fmt::format("{:0{}}", part, width);
    digits.erase(digits.find_last_not_of('0') + 1);
    return std::to_string(whole) + "." + digits;
  };
  if (rest < 1000) return sign + std::to_string(rest) + "µs";
  if (rest < 1000000) return sign + with_fraction(rest / 1000, rest % 1000, 3) + "ms";
  const std::uint64_t seconds = rest / 1000000;
  std::string text = with_fraction(seconds % 60, rest % 1000000, 6) + "s";
  if (seconds >= 60) text = std::to_string(seconds / 60 % 60) + "m" + text;
  if (seconds >= 3600) text = std::to_string(seconds / 3600) + "h" + text;
  return sign + text;
}

Result<std::string> canonical_duration(std::string_view text) {
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed) return invalid_document("time: invalid duration " + quoted(text));
  return duration_text(*parsed);
}

Result<std::string> canonical_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;
    if (c == '=')
      ++padding;
    else if (padding > 0 || kBase64Alphabet.find(c) == std::string_view::npos)
      return invalid_document(fmt::format("illegal base64 data at input byte {}", i));
    out += c;
  }
  if (out.size() % 4 != 0 || padding > 2)
    return invalid_document(
        fmt::format("illegal base64 data at input byte {}", text.size() - text.size() % 4));
  return out;
}

Json zero_of(const FieldInfo& field) {
  switch (field.kind) {
    case ValueKind::String:
    case ValueKind::Bytes:
      return Json("");
    case ValueKind::Bool:
      return Json(false);
    case ValueKind::Int32:
    case ValueKind::Int64:
    case ValueKind::Double:
    case ValueKind::IntOrString:
      return Json(0);
    case ValueKind::Quantity:
      return Json("0");
    case ValueKind::Duration:
      return Json("0s");
    case ValueKind::Message:
      return assemble(field.type(), Members(field.type().field_count));
    default:
      return Json();
  }
}

bool is_zero(const TypeInfo& type, const Json& document) {
  if (!document.is_object()) return document.is_null();
  const JsonObject& object = document.as_object();
  return std::all_of(object.begin(), object.end(), [&](const JsonMember& member) {
    const FieldInfo* field = type.field_by_json(member.key);
    return field && is_zero_member(*field, member.value);
  });
}

Json assemble(const TypeInfo& type, Members members) {
  const std::span<const FieldInfo> fields = type.fields();
  BERTH_ASSERT(members.size() == fields.size(), "one entry for each field");
  JsonObject out;
  const auto is_given = [](const Json& member) { return !member.is_null(); };
  out.reserve(static_cast<std::size_t>(std::count_if(members.begin(), members.end(), is_given)));
  for (std::size_t i = 0; i < fields.size(); ++i) append_member(out, fields[i], std::move(members[i]));
  return Json(std::move(out));
}

}  // namespace berth::api
