#include "cel/times.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "cel/libraries.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;
constexpr std::int64_t kNanosPerSecond = 1000000000;
constexpr std::int64_t kFirstSecond = -62135596800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z

// Removes the leading digits and returns them as a number; false unless there are exactly `count`.
bool take_digits(std::string_view& text, std::size_t count, int& number) {
  if (text.size() < count) return false;
  number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

Instant plus(Instant instant, std::int64_t nanos) {
  const std::int64_t total = instant.nanos + nanos % kNanosPerSecond;
  const std::int64_t carry = floor_div(total, kNanosPerSecond);
  return {instant.seconds + nanos / kNanosPerSecond + carry,
          static_cast<std::int32_t>(total - carry * kNanosPerSecond)};
}

std::string fraction_text(std::int64_t nanos) {
  if (nanos == 0) return "";
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, ".%09lld", static_cast<long long>(nanos));
  std::string text = buffer;
  while (text.back() == '0') text.pop_back();
  return text;
}

Value instant_plus(Instant instant, std::int64_t nanos) {
  const Instant sum = plus(instant, nanos);
  return in_range(sum) ? Value::of_instant(sum) : Value::error("timestamp overflow");
}

Value add_timestamp_duration(Args a, Runtime&) {
  return instant_plus(a[0].as_instant(), a[1].as_nanos());
}
Value add_duration_timestamp(Args a, Runtime&) {
  return instant_plus(a[1].as_instant(), a[0].as_nanos());
}
Value subtract_timestamp_duration(Args a, Runtime&) {
  if (a[1].as_nanos() == INT64_MIN) return Value::error("timestamp overflow");
  return instant_plus(a[0].as_instant(), -a[1].as_nanos());
}
Value add_durations(Args a, Runtime&) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a[0].as_nanos(), a[1].as_nanos(), &sum))
    return Value::error("duration overflow");
  return Value::of_duration(sum);
}
Value subtract_durations(Args a, Runtime&) {
  std::int64_t rest = 0;
  if (__builtin_sub_overflow(a[0].as_nanos(), a[1].as_nanos(), &rest))
    return Value::error("duration overflow");
  return Value::of_duration(rest);
}
Value subtract_timestamps(Args a, Runtime&) {
  const Instant x = a[0].as_instant(), y = a[1].as_instant();
  const __int128 nanos = static_cast<__int128>(x.seconds - y.seconds) * kNanosPerSecond + (x.nanos - y.nanos);
  if (nanos > INT64_MAX || nanos < INT64_MIN) return Value::error("duration overflow");
  return Value::of_duration(static_cast<std::int64_t>(nanos));
}
Value negate_duration(Args a, Runtime&) {
  return a[0].as_nanos() == INT64_MIN ? Value::error("duration overflow")
                                      : Value::of_duration(-a[0].as_nanos());
}

enum class TimeField { Year, Month, DayOfYear, DayOfMonth, Date, DayOfWeek, Hours, Minutes, Seconds, Millis };

std::int64_t part_of(TimeField field, Instant instant) {
  const std::int64_t day_number = floor_div(instant.seconds, 86400);
  const std::int64_t second = instant.seconds - day_number * 86400;
  const std::chrono::sys_days day{std::chrono::days{day_number}};
  const std::chrono::year_month_day date{day};
  switch (field) {
    case TimeField::Year:
      return static_cast<int>(date.year());
    case TimeField::Month:
      return static_cast<unsigned>(date.month()) - 1;
    case TimeField::DayOfYear:
      return (day - std::chrono::sys_days{date.year() / 1 / 1}).count();
    case TimeField::DayOfMonth:
      return static_cast<unsigned>(date.day()) - 1;
    case TimeField::Date:
      return static_cast<unsigned>(date.day());
    case TimeField::DayOfWeek:
      return std::chrono::weekday{day}.c_encoding();
    case TimeField::Hours:
      return second / 3600;
    case TimeField::Minutes:
      return second / 60 % 60;
    case TimeField::Seconds:
      return second % 60;
    case TimeField::Millis:
      return instant.nanos / 1000000;
  }
  return 0;
}

// The last Sunday of a month, in days since 1970.
std::int64_t last_sunday(std::chrono::year year, unsigned month) {
  using namespace std::chrono;
  return sys_days{year / std::chrono::month{month} / Sunday[last]}.time_since_epoch().count();
}
std::int64_t nth_sunday(std::chrono::year year, unsigned month, unsigned n) {
  using namespace std::chrono;
  return sys_days{year / std::chrono::month{month} / Sunday[n]}.time_since_epoch().count();
}

// Time zones by rule, current law: enough for selectors, which have no clock and compare constants.
struct Zone {
  std::string_view name;
  int standard_minutes;
  enum class Summer { None, Europe, America } summer;
};
constexpr std::array<Zone, 26> kZones = {{
    {"UTC", 0, Zone::Summer::None},
    {"GMT", 0, Zone::Summer::None},
    {"Etc/UTC", 0, Zone::Summer::None},
    {"Europe/London", 0, Zone::Summer::Europe},
    {"Europe/Lisbon", 0, Zone::Summer::Europe},
    {"Europe/Berlin", 60, Zone::Summer::Europe},
    {"Europe/Paris", 60, Zone::Summer::Europe},
    {"Europe/Madrid", 60, Zone::Summer::Europe},
    {"Europe/Rome", 60, Zone::Summer::Europe},
    {"Europe/Amsterdam", 60, Zone::Summer::Europe},
    {"Europe/Zurich", 60, Zone::Summer::Europe},
    {"Europe/Vienna", 60, Zone::Summer::Europe},
    {"Europe/Warsaw", 60, Zone::Summer::Europe},
    {"Europe/Stockholm", 60, Zone::Summer::Europe},
    {"Europe/Helsinki", 120, Zone::Summer::Europe},
    {"Europe/Athens", 120, Zone::Summer::Europe},
    {"Europe/Moscow", 180, Zone::Summer::None},
    {"America/New_York", -300, Zone::Summer::America},
    {"America/Chicago", -360, Zone::Summer::America},
    {"America/Denver", -420, Zone::Summer::America},
    {"America/Los_Angeles", -480, Zone::Summer::America},
    {"America/Sao_Paulo", -180, Zone::Summer::None},
    {"Asia/Tokyo", 540, Zone::Summer::None},
    {"Asia/Shanghai", 480, Zone::Summer::None},
    {"Asia/Singapore", 480, Zone::Summer::None},
    {"Asia/Kolkata", 330, Zone::Summer::None},
}};

int offset_minutes(const Zone& zone, std::int64_t seconds) {
  const std::chrono::sys_days day{std::chrono::days{floor_div(seconds, 86400)}};
  const std::chrono::year year = std::chrono::year_month_day{day}.year();
  std::int64_t begin = 0, end = 0;
  if (zone.summer == Zone::Summer::Europe) {
    begin = last_sunday(year, 3) * 86400 + 3600;
    end = last_sunday(year, 10) * 86400 + 3600;
  } else if (zone.summer == Zone::Summer::America) {
    begin = nth_sunday(year, 3, 2) * 86400 + 7200 - zone.standard_minutes * 60;
    end = nth_sunday(year, 11, 1) * 86400 + 3600 - zone.standard_minutes * 60;
  }
  return zone.standard_minutes + (seconds >= begin && seconds < end ? 60 : 0);
}

std::optional<int> parse_offset(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  int hours = 0, minutes = 0;
  const std::size_t digits = text.find(':');
  if (digits == std::string_view::npos || digits == 0 || digits > 2) return std::nullopt;
  if (!take_digits(text, digits, hours) || !take(text, ':') || !take_digits(text, 2, minutes) ||
      !text.empty())
    return std::nullopt;
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (negative ? -1 : 1) * (hours * 60 + minutes);
}

template <TimeField field>
Value timestamp_part(Args a, Runtime&) {
  return Value::of_int(part_of(field, a[0].as_instant()));
}

template <TimeField field>
Value timestamp_part_in(Args a, Runtime&) {
  const std::string_view name = a[1].as_text();
  const Instant instant = a[0].as_instant();
  std::optional<int> minutes = parse_offset(name);
  if (name.empty()) minutes = 0;
  for (const Zone& zone : kZones)
    if (zone.name == name) minutes = offset_minutes(zone, instant.seconds);
  if (!minutes) return Value::error("unknown time zone " + std::string(name));
  return Value::of_int(part_of(field, {instant.seconds + *minutes * 60, instant.nanos}));
}

template <std::int64_t nanos>
Value duration_in(Args a, Runtime&) {
  return Value::of_int(a[0].as_nanos() / nanos);
}

constexpr FunctionRow kTimesRows[] = {
    {"_+_", "(timestamp, duration) timestamp", add_timestamp_duration},
    {"_+_", "(duration, timestamp) timestamp", add_duration_timestamp},
    {"_+_", "(duration, duration) duration", add_durations},
    {"_-_", "(timestamp, timestamp) duration", subtract_timestamps},
    {"_-_", "(timestamp, duration) timestamp", subtract_timestamp_duration},
    {"_-_", "(duration, duration) duration", subtract_durations},
    {"-_", "(duration) duration", negate_duration},
    {"getFullYear", "timestamp.() int", timestamp_part<TimeField::Year>},
    {"getFullYear", "timestamp.(string) int", timestamp_part_in<TimeField::Year>},
    {"getMonth", "timestamp.() int", timestamp_part<TimeField::Month>},
    {"getMonth", "timestamp.(string) int", timestamp_part_in<TimeField::Month>},
    {"getDayOfYear", "timestamp.() int", timestamp_part<TimeField::DayOfYear>},
    {"getDayOfYear", "timestamp.(string) int", timestamp_part_in<TimeField::DayOfYear>},
    {"getDayOfMonth", "timestamp.() int", timestamp_part<TimeField::DayOfMonth>},
    {"getDayOfMonth", "timestamp.(string) int", timestamp_part_in<TimeField::DayOfMonth>},
    {"getDate", "timestamp.() int", timestamp_part<TimeField::Date>},
    {"getDate", "timestamp.(string) int", timestamp_part_in<TimeField::Date>},
    {"getDayOfWeek", "timestamp.() int", timestamp_part<TimeField::DayOfWeek>},
    {"getDayOfWeek", "timestamp.(string) int", timestamp_part_in<TimeField::DayOfWeek>},
    {"getHours", "timestamp.() int", timestamp_part<TimeField::Hours>},
    {"getHours", "timestamp.(string) int", timestamp_part_in<TimeField::Hours>},
    {"getHours", "duration.() int", duration_in<3600 * kNanosPerSecond>},
    {"getMinutes", "timestamp.() int", timestamp_part<TimeField::Minutes>},
    {"getMinutes", "timestamp.(string) int", timestamp_part_in<TimeField::Minutes>},
    {"getMinutes", "duration.() int", duration_in<60 * kNanosPerSecond>},
    {"getSeconds", "timestamp.() int", timestamp_part<TimeField::Seconds>},
    {"getSeconds", "timestamp.(string) int", timestamp_part_in<TimeField::Seconds>},
    {"getSeconds", "duration.() int", duration_in<kNanosPerSecond>},
    {"getMilliseconds", "timestamp.() int", timestamp_part<TimeField::Millis>},
    {"getMilliseconds", "timestamp.(string) int", timestamp_part_in<TimeField::Millis>},
    {"getMilliseconds", "duration.() int", duration_in<1000000>},
};

}  // namespace

std::span<const FunctionRow> time_rows() {
  return kTimesRows;
}

bool in_range(Instant instant) {
  return instant.seconds >= kFirstSecond && instant.seconds <= kLastSecond;
}

std::optional<Instant> parse_instant(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 4, year) || !take(text, '-') || !take_digits(text, 2, month) || !take(text, '-') ||
      !take_digits(text, 2, day) || !take(text, 'T') || !take_digits(text, 2, hour) || !take(text, ':') ||
      !take_digits(text, 2, minute) || !take(text, ':') || !take_digits(text, 2, second))
    return std::nullopt;
  std::int64_t nanos = 0;
  if (take(text, '.') || take(text, ',')) {
    std::int64_t unit = kNanosPerSecond / 10;
    if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), unit /= 10)
      nanos += unit * (text[0] - '0');
  }
  int offset = 0;
  if (!take(text, 'Z')) {
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
    const std::optional<int> minutes = parse_offset(text);
    if (!minutes) return std::nullopt;
    offset = *minutes;
    text = {};
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const Instant instant{days * 86400 + hour * 3600 + minute * 60 + second - offset * 60,
                        static_cast<std::int32_t>(nanos)};
  if (!in_range(instant)) return std::nullopt;
  return instant;
}

std::string instant_text(Instant instant) {
  char buffer[64];
  const auto field = [&](TimeField which) { return static_cast<int>(part_of(which, instant)); };
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d", field(TimeField::Year),
                field(TimeField::Month) + 1, field(TimeField::Date), field(TimeField::Hours),
                field(TimeField::Minutes), field(TimeField::Seconds));
  return buffer + fraction_text(instant.nanos) + "Z";
}

std::optional<std::int64_t> parse_nanos(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {{"ns", 1},
                                                                         {"us", 1000},
                                                                         {"µs", 1000},
                                                                         {"μs", 1000},
                                                                         {"ms", 1000000},
                                                                         {"s", kNanosPerSecond},
                                                                         {"m", 60 * kNanosPerSecond},
                                                                         {"h", 3600 * kNanosPerSecond}};
  __int128 total = 0;
  while (!text.empty()) {
    __int128 whole = 0, decimals = 0, scale = 1;
    std::size_t digits = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), ++digits) {
      whole = whole * 10 + (text[0] - '0');
      if (whole > static_cast<__int128>(1) << 63) return std::nullopt;
    }
    if (take(text, '.')) {
      for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), ++digits) {
        if (scale > kNanosPerSecond * kNanosPerSecond / 10) continue;
        decimals = decimals * 10 + (text[0] - '0');
        scale *= 10;
      }
    }
    std::size_t length = 0;
    while (length < text.size() && text[length] != '.' && (text[length] < '0' || text[length] > '9'))
      ++length;
    std::int64_t unit = 0;
    for (const auto& [name, nanos] : kUnits)
      if (name == text.substr(0, length)) unit = nanos;
    if (digits == 0 || unit == 0) return std::nullopt;
    text.remove_prefix(length);
    total += whole * unit + decimals * unit / scale;
    if (total > static_cast<__int128>(1) << 63) return std::nullopt;
  }
  if (negative) total = -total;
  if (total > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::string duration_text(std::int64_t nanos) {
  const bool negative = nanos < 0;
  const std::uint64_t size =
      negative ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  return (negative ? "-" : "") + std::to_string(size / kNanosPerSecond) +
         fraction_text(static_cast<std::int64_t>(size % kNanosPerSecond)) + "s";
}

}  // namespace berth::cel
