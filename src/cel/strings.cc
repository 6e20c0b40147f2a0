#include <string.h>

#include <algorithm>

#include "base/utf8.h"
#include "cel/format.h"
#include "cel/libraries.h"
#include "cel/limits.h"
#include "cel/regex.h"
#include "cel/work.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;
using Extents = std::span<const Extent>;
using Codes = std::vector<std::uint32_t>;

Value text(std::string out) {
  if (out.size() > kTextBytesMax)
    return Value::error("text exceeds " + std::to_string(kTextBytesMax) + " bytes");
  return Value::of_string(std::move(out));
}
Value number(std::size_t n) {
  return Value::of_int(static_cast<std::int64_t>(n));
}
Value out_of_range(std::int64_t index) {
  return Value::error("index out of range: " + std::to_string(index));
}

// Linear in both texts, unlike std::string_view::find(); npos when there is none.
std::size_t first_in(std::string_view text, std::string_view wanted, std::size_t from = 0) {
  const void* found = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data())
               : std::string_view::npos;
}

Codes codes_of(std::string_view text) {
  constexpr std::uint64_t kBytesPerCodeStep = 16;
  spend_work(text.size() / kBytesPerCodeStep);
  return code_points(text);
}

Value contains(Args a, Runtime&) {
  return Value::of_bool(first_in(a[0].as_text(), a[1].as_text()) != std::string_view::npos);
}
Value starts_with(Args a, Runtime&) {
  return Value::of_bool(a[0].as_text().starts_with(a[1].as_text()));
}
Value ends_with(Args a, Runtime&) {
  return Value::of_bool(a[0].as_text().ends_with(a[1].as_text()));
}

Value matches(Args a, Runtime& runtime) {
  std::string reason;
  const Regex* regex = runtime.regex(a[1].as_text(), a[0].as_text().size(), reason);
  return regex ? Value::of_bool(regex->found_in(a[0].as_text())) : Value::error(reason);
}

Value find(Args a, Runtime& runtime) {
  std::string reason;
  const Regex* regex = runtime.regex(a[1].as_text(), a[0].as_text().size(), reason);
  if (!regex) return Value::error(reason);
  const auto match = regex->find(a[0].as_text(), 0);
  return text(match ? std::string(a[0].as_text().substr(match->offset, match->length)) : "");
}

Value find_all_up_to(Args a, Runtime& runtime, std::int64_t limit) {
  std::string reason;
  const std::string_view whole = a[0].as_text();
  const Regex* regex = runtime.regex(a[1].as_text(), whole.size(), reason);
  std::vector<Value> found;
  std::size_t from = 0, previous_end = std::string_view::npos;
  while (from <= whole.size() && (limit < 0 || static_cast<std::int64_t>(found.size()) < limit)) {
    // Every search may have to look at all the rest.
    if (from > 0) regex = runtime.regex(a[1].as_text(), whole.size() - from, reason);
    if (!regex) return Value::error(reason);
    const auto match = regex->find(whole, from);
    if (!match) break;
    const bool repeats_end = match->length == 0 && match->offset == previous_end;
    if (!repeats_end)
      found.push_back(Value::of_string(std::string(whole.substr(match->offset, match->length))));
    previous_end = match->offset + match->length;
    from = match->length > 0
               ? previous_end
               : match->offset + std::max<std::size_t>(1, byte_offset(whole.substr(match->offset), 1));
  }
  return Value::of_list(std::move(found));
}
Value find_all(Args a, Runtime& runtime) {
  return find_all_up_to(a, runtime, -1);
}
Value find_all_limited(Args a, Runtime& runtime) {
  return find_all_up_to(a, runtime, a[2].as_int());
}

Value char_at(Args a, Runtime&) {
  const Codes codes = codes_of(a[0].as_text());
  const std::int64_t index = a[1].as_int();
  if (index < 0 || index > static_cast<std::int64_t>(codes.size())) return out_of_range(index);
  const std::uint32_t* at = codes.data() + index;
  return text(index == static_cast<std::int64_t>(codes.size()) ? "" : encode_utf8(at, at + 1));
}

Value index_from(const Value& in, const Value& what, std::int64_t from) {
  const std::string_view text = in.as_text(), wanted = what.as_text();
  const auto size = static_cast<std::int64_t>(size_of(in));
  if (from < 0) return out_of_range(from);
  if (wanted.empty()) return Value::of_int(std::min(from, size));
  if (from >= size) return Value::of_int(-1);
  const std::size_t found = first_in(text, wanted, byte_offset(text, static_cast<std::size_t>(from)));
  return found == std::string_view::npos ? Value::of_int(-1)
                                         : number(code_point_count(text.substr(0, found)));
}
Value index_of(Args a, Runtime&) {
  return index_from(a[0], a[1], 0);
}
Value index_of_from(Args a, Runtime&) {
  return index_from(a[0], a[1], a[2].as_int());
}

Value last_index_from(const Value& in, const Value& what, std::int64_t from) {
  std::string_view text = in.as_text();
  const std::string_view wanted = what.as_text();
  const auto size = static_cast<std::int64_t>(size_of(in)), length = static_cast<std::int64_t>(size_of(what));
  if (from < 0) return out_of_range(from);
  if (wanted.empty()) return Value::of_int(std::min(from, size));
  if (from >= size) return Value::of_int(-1);
  const std::int64_t last = std::min(from, size - length);
  if (last < 0) return Value::of_int(-1);
  text = text.substr(0, byte_offset(text, static_cast<std::size_t>(last + length)));
  const std::string backwards(text.rbegin(), text.rend()), wanted_backwards(wanted.rbegin(), wanted.rend());
  const std::size_t found = first_in(backwards, wanted_backwards);
  if (found == std::string_view::npos) return Value::of_int(-1);
  return number(code_point_count(text.substr(0, text.size() - found - wanted.size())));
}
Value last_index_of(Args a, Runtime&) {
  const auto size = static_cast<std::int64_t>(code_point_count(a[0].as_text()));
  return a[1].as_text().empty() ? Value::of_int(size)
                                : last_index_from(a[0], a[1], std::max<std::int64_t>(size - 1, 0));
}
Value last_index_of_from(Args a, Runtime&) {
  return last_index_from(a[0], a[1], a[2].as_int());
}

Value join_with(const ListSource& list, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value item = list.at(i);
    if (!item.is(Kind::String)) return Value::error("no such overload");
    out.append(i ? separator : "").append(item.as_text());
    if (!spend_work(1) || out.size() > kTextBytesMax) break;
  }
  return text(std::move(out));
}
Value join(Args a, Runtime&) {
  return join_with(a[0].as_list(), "");
}
Value join_separated(Args a, Runtime&) {
  return join_with(a[0].as_list(), a[1].as_text());
}

template <char first, char last>
Value shifted(Args a, Runtime&) {
  std::string out(a[0].as_text());
  for (char& c : out)
    if (c >= first && c <= last) c ^= 0x20;
  return text(std::move(out));
}

Value replace_up_to(Args a, std::int64_t limit) {
  const std::string_view whole = a[0].as_text(), from = a[1].as_text(), to = a[2].as_text();
  std::string out;
  std::size_t at = 0;
  for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
    if (!spend_work(1) || out.size() > kTextBytesMax) break;
    if (from.empty()) {
      out += to;
      if (at >= whole.size()) break;
      const std::size_t step = byte_offset(whole.substr(at), 1);
      out += whole.substr(at, step);
      at += step;
      continue;
    }
    const std::size_t found = first_in(whole, from, at);
    if (found == std::string_view::npos) break;
    out.append(whole.substr(at, found - at)).append(to);
    at = found + from.size();
  }
  return text(out.append(whole.substr(std::min(at, whole.size()))));
}
Value replace(Args a, Runtime&) {
  return replace_up_to(a, -1);
}
Value replace_limited(Args a, Runtime&) {
  return replace_up_to(a, a[3].as_int());
}

Value split_up_to(Args a, std::int64_t limit) {
  std::string_view rest = a[0].as_text();
  const std::string_view separator = a[1].as_text();
  std::vector<Value> parts;
  if (limit == 0) return Value::of_list(std::move(parts));
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) + 1 < limit) {
    const std::size_t end = separator.empty() ? byte_offset(rest, 1) : first_in(rest, separator);
    if (end == std::string_view::npos || (separator.empty() && end >= rest.size())) break;
    if (!spend_work(1)) break;
    parts.push_back(Value::of_string(std::string(rest.substr(0, end))));
    rest.remove_prefix(end + separator.size());
  }
  if (!separator.empty() || !rest.empty()) parts.push_back(Value::of_string(std::string(rest)));
  return Value::of_list(std::move(parts));
}
Value split(Args a, Runtime&) {
  return split_up_to(a, -1);
}
Value split_limited(Args a, Runtime&) {
  return split_up_to(a, a[2].as_int());
}

Value substring_of(const Value& in, std::int64_t begin, std::int64_t end) {
  const Codes codes = codes_of(in.as_text());
  const auto size = static_cast<std::int64_t>(codes.size());
  if (begin > end)
    return Value::error("invalid substring range. start: " + std::to_string(begin) +
                        ", end: " + std::to_string(end));
  if (begin < 0 || begin > size) return out_of_range(begin);
  if (end < 0 || end > size) return out_of_range(end);
  return text(encode_utf8(codes.data() + begin, codes.data() + end));
}
Value substring_from(Args a, Runtime&) {
  const auto size = static_cast<std::int64_t>(code_point_count(a[0].as_text()));
  const std::int64_t begin = a[1].as_int();
  if (begin < 0 || begin > size) return out_of_range(begin);
  return substring_of(a[0], begin, size);
}
Value substring(Args a, Runtime&) {
  return substring_of(a[0], a[1].as_int(), a[2].as_int());
}

bool is_space(std::uint32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}
Value trim(Args a, Runtime&) {
  const Codes codes = code_points(a[0].as_text());
  const std::uint32_t *begin = codes.data(), *end = codes.data() + codes.size();
  while (begin != end && is_space(*begin)) ++begin;
  while (begin != end && is_space(end[-1])) --end;
  return text(encode_utf8(begin, end));
}

Value quote(Args a, Runtime&) {
  static constexpr std::string_view kFrom = "\a\b\f\n\r\t\v\\\"", kTo = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : a[0].as_text()) {
    const std::size_t at = kFrom.find(c);
    if (at == std::string_view::npos)
      out += c;
    else
      (out += '\\') += kTo[at];
  }
  return text(out + '"');
}

Value format(Args a, Runtime&) {
  return format_text(a[0].as_text(), a[1].as_list());
}

std::uint64_t contains_cost(Extents a, const Extent&) {
  return tenth(size_of(a[0])) * tenth(size_of(a[1]));
}
std::uint64_t join_cost(Extents, const Extent& result) {
  return tenth(2 * size_of(result));
}
std::uint64_t affix_cost(Extents a, const Extent&) {
  return tenth(size_of(a[1]));
}

constexpr FunctionRow kStringsRows[] = {
    {"contains", "string.(string) bool", contains, contains_cost},
    {"startsWith", "string.(string) bool", starts_with, affix_cost},
    {"endsWith", "string.(string) bool", ends_with, affix_cost},
    {"matches", "string.(string) bool", matches, cost_of_regex},
    {"matches", "(string, string) bool", matches, cost_of_regex},
    {"find", "string.(string) string", find, cost_of_regex},
    {"findAll", "string.(string) list(string)", find_all, cost_of_regex},
    {"findAll", "string.(string, int) list(string)", find_all_limited, cost_of_regex},
    {"charAt", "string.(int) string", char_at},
    {"indexOf", "string.(string) int", index_of, cost_of_items},
    {"indexOf", "string.(string, int) int", index_of_from, cost_of_items},
    {"lastIndexOf", "string.(string) int", last_index_of, cost_of_items},
    {"lastIndexOf", "string.(string, int) int", last_index_of_from, cost_of_items},
    {"join", "list(string).() string", join, join_cost},
    {"join", "list(string).(string) string", join_separated, join_cost},
    {"lowerAscii", "string.() string", shifted<'A', 'Z'>, cost_of_traversal},
    {"upperAscii", "string.() string", shifted<'a', 'z'>, cost_of_traversal},
    {"replace", "string.(string, string) string", replace, cost_of_two_traversals},
    {"replace", "string.(string, string, int) string", replace_limited, cost_of_two_traversals},
    {"split", "string.(string) list(string)", split, cost_of_two_traversals},
    {"split", "string.(string, int) list(string)", split_limited, cost_of_two_traversals},
    {"substring", "string.(int) string", substring_from, cost_of_traversal},
    {"substring", "string.(int, int) string", substring, cost_of_traversal},
    {"trim", "string.() string", trim, cost_of_traversal},
    {"strings.quote", "(string) string", quote, cost_of_traversal},
    {"format", "string.(list(dyn)) string", format, cost_of_traversal},
};

}  // namespace

std::span<const FunctionRow> string_rows() {
  return kStringsRows;
}

}  // namespace berth::cel
