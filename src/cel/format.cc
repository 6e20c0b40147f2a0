#include "cel/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cel/limits.h"
#include "cel/times.h"

namespace berth::cel {
namespace {

struct Clause {
  std::string_view literal;  // before the clause
  char verb = '\0';          // '\0': only the literal, at the end
  int precision = 6;
};

struct Parsed {
  std::vector<Clause> clauses;
  std::string fault;
};

Parsed parse_clauses(std::string_view format) {
  Parsed parsed;
  while (!format.empty()) {
    const std::size_t percent = format.find('%');
    Clause clause{format.substr(0, percent)};
    if (percent == std::string_view::npos) {
      parsed.clauses.push_back(clause);
      break;
    }
    std::string_view rest = format.substr(percent + 1);
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      clause.precision = 0;
      for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1))
        clause.precision = std::min(clause.precision * 10 + (rest[0] - '0'), 1000);
    }
    if (rest.empty()) {
      parsed.fault = "unexpected end of string";
      break;
    }
    clause.verb = rest[0];
    if (std::string_view("sdfebxXo%").find(clause.verb) == std::string_view::npos) {
      parsed.fault = "could not parse formatting clause: unrecognized formatting clause \"" +
                     std::string(1, rest[0]) + "\"";
      break;
    }
    parsed.clauses.push_back(clause);
    format = rest.substr(1);
  }
  return parsed;
}

struct Rule {
  char verb;
  const char* text;
  std::string_view kinds;  // the accepted type names, between spaces
};
constexpr Rule kRules[] = {
    {'s',
     "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
     "and "
     "timestamps, was given ",
     " string bool bytes int uint double map list type null_type google.protobuf.Duration "
     "google.protobuf.Timestamp "},
    {'d', "decimal clause can only be used on integers, was given ", " int uint "},
    {'f', "fixed-point clause can only be used on doubles, was given ", " double string "},
    {'e', "scientific clause can only be used on doubles, was given ", " double string "},
    {'b', "only integers and bools can be formatted as binary, was given ", " int uint bool "},
    {'x', "only integers, byte buffers, and strings can be formatted as hex, was given ",
     " int uint string bytes "},
    {'X', "only integers, byte buffers, and strings can be formatted as hex, was given ",
     " int uint string bytes "},
    {'o', "octal clause can only be used on integers, was given ", " int uint "},
};

const Rule& rule_of(char verb) {
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const Rule& rule) { return rule.verb == verb; });
}

bool names(std::string_view kinds, std::string_view type_name) {
  return kinds.find(" " + std::string(type_name) + " ") != std::string_view::npos;
}

std::string digits(std::uint64_t value, unsigned base, bool upper) {
  std::string text;
  do {
    const unsigned digit = static_cast<unsigned>(value % base);
    text += static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
    value /= base;
  } while (value > 0);
  std::reverse(text.begin(), text.end());
  return text;
}

std::string based(const Value& value, unsigned base, bool upper) {
  if (value.is(Kind::Bool)) return value.as_bool() ? "1" : "0";
  if (value.is(Kind::Uint)) return digits(value.as_uint(), base, upper);
  if (!value.is(Kind::Int)) {
    std::string text;
    for (const char c : value.as_text()) {
      const auto byte = static_cast<unsigned char>(c);
      text += digits(byte / 16, 16, upper) + digits(byte % 16, 16, upper);
    }
    return text;
  }
  const std::int64_t number = value.as_int();
  const std::uint64_t size =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  return (number < 0 ? "-" : "") + digits(size, base, upper);
}

// %f and %e accept a double, or the name of a value without digits.
struct NamedDouble {
  std::string_view name;
  double value;
};
constexpr NamedDouble kNamedDoubles[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                         {"Infinity", std::numeric_limits<double>::infinity()},
                                         {"-Infinity", -std::numeric_limits<double>::infinity()}};
const NamedDouble* named_double(const Value& value) {
  for (const NamedDouble& named : kNamedDoubles)
    if (value.is(Kind::String) && value.as_text() == named.name) return &named;
  return nullptr;
}
double as_number(const Value& value) {
  const NamedDouble* named = named_double(value);
  return named ? named->value : value.as_double();
}

std::string special_double(double value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "∞" : "-∞";
}

std::string fixed(double value, int precision) {
  if (!std::isfinite(value)) return special_double(value);
  std::string text(static_cast<std::size_t>(precision) + 330, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.*f", precision, value)));
  return text;
}

// "1.500000 × 10⁰⁰", the form of the English locale.
std::string scientific(double value, int precision) {
  if (!std::isfinite(value)) return special_double(value);
  std::string text(static_cast<std::size_t>(precision) + 32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.*e", precision, value)));
  static constexpr const char* kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  const std::size_t e = text.find('e');
  std::string out = text.substr(0, e) + "\u202f×\u202f10";
  for (const char c : text.substr(e + 1)) out += c == '-' ? "⁻" : c == '+' ? "" : kRaised[c - '0'];
  return out;
}

std::string plain(const Value& value, bool nested);

std::string list_text(const ListSource& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + plain(list.at(i), true);
  return out + "]";
}

std::string map_text(const MapSource& map) {
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < map.size(); ++i) {
    Value inner;
    const Value key = map.key_at(i);
    map.find(key, inner);
    entries.push_back(plain(key, true) + ":" + plain(inner, true));
  }
  std::sort(entries.begin(), entries.end());
  std::string out = "{";
  for (std::size_t i = 0; i < entries.size(); ++i) out += (i ? ", " : "") + entries[i];
  return out + "}";
}

std::string plain(const Value& value, bool nested) {
  switch (value.kind()) {
    case Kind::String:
    case Kind::Bytes:
      return nested ? "\"" + std::string(value.as_text()) + "\"" : std::string(value.as_text());
    case Kind::List:
      return list_text(value.as_list());
    case Kind::Map:
      return map_text(value.as_map());
    case Kind::Duration:
      return nested ? "duration(\"" + duration_text(value.as_nanos()) + "\")"
                    : duration_text(value.as_nanos());
    case Kind::Timestamp:
      return nested ? "timestamp(\"" + instant_text(value.as_instant()) + "\")"
                    : instant_text(value.as_instant());
    case Kind::Double:
      return nested ? fixed(value.as_double(), 6) : text_of(value);
    default:
      return text_of(value);
  }
}

// Empty when `value` and everything in it is printable; else the name of the first type that is not.
std::string_view unprintable(const Rule& rule, const Value& value) {
  const bool number = rule.verb == 'f' || rule.verb == 'e';
  if (!names(rule.kinds, value.type_name()) || (number && value.is(Kind::String) && !named_double(value)))
    return value.type_name();
  for (std::size_t i = 0; value.is(Kind::List) && i < value.as_list().size(); ++i)
    if (const std::string_view name = unprintable(rule, value.as_list().at(i)); !name.empty()) return name;
  return {};
}

std::string clause_text(const Clause& clause, const Value& value) {
  switch (clause.verb) {
    case 's':
      return plain(value, false);
    case 'd':
      return value.is(Kind::Int) ? std::to_string(value.as_int()) : std::to_string(value.as_uint());
    case 'f':
      return fixed(as_number(value), clause.precision);
    case 'e':
      return scientific(as_number(value), clause.precision);
    case 'b':
      return based(value, 2, false);
    case 'o':
      return based(value, 8, false);
    default:
      return based(value, 16, clause.verb == 'X');
  }
}

}  // namespace

Value format_text(std::string_view format, const ListSource& args) {
  const Parsed parsed = parse_clauses(format);
  std::string out;
  std::size_t next = 0;
  for (const Clause& clause : parsed.clauses) {
    out += clause.literal;
    if (clause.verb == '%') out += '%';
    if (clause.verb == '%' || clause.verb == '\0') continue;
    if (next >= args.size()) return Value::error("index " + std::to_string(next) + " out of range");
    const Value value = args.at(next++);
    const Rule& rule = rule_of(clause.verb);
    if (const std::string_view name = unprintable(rule, value); !name.empty())
      return Value::error("error during formatting: " + std::string(rule.text).append(name));
    out += clause_text(clause, value);
    if (out.size() > kTextBytesMax)
      return Value::error("text exceeds " + std::to_string(kTextBytesMax) + " bytes");
  }
  if (!parsed.fault.empty()) return Value::error(parsed.fault);
  return Value::of_string(std::move(out));
}

std::optional<FormatFault> check_format(std::string_view format, std::span<const TypeRef> args) {
  const Parsed parsed = parse_clauses(format);
  std::size_t next = 0;
  for (const Clause& clause : parsed.clauses) {
    if (clause.verb == '%' || clause.verb == '\0') continue;
    if (next >= args.size()) return FormatFault{-1, "index " + std::to_string(next) + " out of range"};
    const TypeRef& type = args[next++];
    const Rule& rule = rule_of(clause.verb);
    if (!is_dyn(type) && !names(rule.kinds, type->name))
      return FormatFault{static_cast<int>(next) - 1,
                         "error during formatting: " + std::string(rule.text) + type_text(type)};
  }
  if (!parsed.fault.empty()) return FormatFault{-1, parsed.fault};
  if (next < args.size())
    return FormatFault{static_cast<int>(next), "too many arguments supplied to string.format (expected " +
                                                   std::to_string(next) + ", got " +
                                                   std::to_string(args.size()) + ")"};
  return std::nullopt;
}

}  // namespace berth::cel
