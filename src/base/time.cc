#include "base/time.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace berth {
namespace {

// Howard Hinnant's civil calendar algorithms: proleptic Gregorian, days since 1970-01-01.
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const unsigned year_of_era = static_cast<unsigned>(year - era * 400);
  const unsigned day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + static_cast<std::int64_t>(day_of_era) - 719468;
}

struct Civil {
  std::int64_t year;
  unsigned month, day;
};

Civil civil_from_days(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const unsigned day_of_era = static_cast<unsigned>(days - era * 146097);
  const unsigned year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned shifted_month = (5 * day_of_year + 2) / 153;
  const unsigned month = shifted_month + (shifted_month < 10 ? 3 : -9);
  return {static_cast<std::int64_t>(year_of_era) + era * 400 + (month <= 2), month,
          day_of_year - (153 * shifted_month + 2) / 5 + 1};
}

unsigned days_in_month(std::int64_t year, unsigned month) {
  static constexpr std::array<unsigned, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// Reads exactly `width` digits at `at`; false for anything else.
bool read_digits(std::string_view text, std::size_t at, std::size_t width, int& value) {
  if (at + width > text.size()) return false;
  value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  return true;
}

Error not_a_time(std::string_view text) {
  return Error(ErrorCode::Invalid, "\"" + std::string(text) + "\" is no RFC 3339 time");
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

void append_padded(std::string& out, std::int64_t number, std::size_t width) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number < 0 ? -number : number);
  const auto count = static_cast<std::size_t>(end - digits);
  if (number < 0) out += '-';
  const std::size_t sign = number < 0;
  if (count + sign < width) out.append(width - count - sign, '0');
  out.append(digits, count);
}

std::string format_seconds(std::int64_t micros) {
  const std::int64_t seconds = floor_div(micros, 1000000);
  const std::int64_t days = floor_div(seconds, 86400);
  const int of_day = static_cast<int>(seconds - days * 86400);
  const Civil date = civil_from_days(days);
  std::string out;
  out.reserve(sizeof "2006-01-02T15:04:05.000000Z");
  append_padded(out, date.year, 4);
  const struct {
    char before;
    std::int64_t number;
  } kRest[] = {
      {'-', date.month}, {'-', date.day}, {'T', of_day / 3600}, {':', of_day / 60 % 60}, {':', of_day % 60}};
  for (const auto& [before, number] : kRest) append_padded(out += before, number, 2);
  return out;
}

}  // namespace

Result<Time> parse_time(std::string_view text) {
  int year, month, day, hour, minute, second;
  const bool shape = read_digits(text, 0, 4, year) && read_digits(text, 5, 2, month) &&
                     read_digits(text, 8, 2, day) && read_digits(text, 11, 2, hour) &&
                     read_digits(text, 14, 2, minute) && read_digits(text, 17, 2, second) && text[4] == '-' &&
                     text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':';
  if (!shape || month < 1 || month > 12 || day < 1 ||
      day > static_cast<int>(days_in_month(year, static_cast<unsigned>(month))) || hour > 23 || minute > 59 ||
      second > 59)
    return not_a_time(text);

  std::size_t at = 19;
  std::int64_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    std::size_t digits = 0;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits)
      if (digits < 6) fraction = fraction * 10 + (text[at] - '0');
    if (digits == 0) return not_a_time(text);
    for (; digits < 6; ++digits) fraction *= 10;
  }

  std::int64_t offset = 0;
  if (at < text.size() && text[at] == 'Z') {
    ++at;
  } else {
    int offset_hours, offset_minutes;
    if (at >= text.size() || (text[at] != '+' && text[at] != '-') ||
        !read_digits(text, at + 1, 2, offset_hours) || !read_digits(text, at + 4, 2, offset_minutes) ||
        text[at + 3] != ':' || offset_hours > 23 || offset_minutes > 59)
      return not_a_time(text);
    offset = (offset_hours * 60 + offset_minutes) * 60 * (text[at] == '-' ? -1 : 1);
    at += 6;
  }
  if (at != text.size()) return not_a_time(text);

  const std::int64_t days = days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day));
  const std::int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset;
  return Time::from_micros(seconds * 1000000 + fraction);
}

std::string format_time(Time time) {
  if (!time.is_set()) return "";
  std::string out = format_seconds(time.micros());
  return out += 'Z';
}

std::string format_micro_time(Time time) {
  if (!time.is_set()) return "";
  const std::int64_t micros = time.micros() - floor_div(time.micros(), 1000000) * 1000000;
  std::string out = format_seconds(time.micros());
  append_padded(out += '.', micros, 6);
  return out += 'Z';
}

Result<Duration> parse_duration(std::string_view text) {
  const Error refused(ErrorCode::Invalid,
                      "\"" + std::string(text) + "\" is no duration such as 30s or 1h15m");
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  if (rest == "0") return Duration();
  if (rest.empty()) return refused;

  struct Unit {
    std::string_view name;
    double micros;
  };
  static constexpr Unit kUnits[] = {{"ns", 1e-3}, {"us", 1},  {"µs", 1},   {"μs", 1},
                                    {"ms", 1e3},  {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}};
  double total = 0;
  while (!rest.empty()) {
    double number = 0;
    if ((rest.front() < '0' || rest.front() > '9') && rest.front() != '.') return refused;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (error != std::errc()) return refused;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    std::size_t unit_size = 0;
    while (unit_size < rest.size() && (rest[unit_size] < '0' || rest[unit_size] > '9') &&
           rest[unit_size] != '.')
      ++unit_size;
    const Unit* unit = nullptr;
    for (const Unit& candidate : kUnits)
      if (candidate.name == rest.substr(0, unit_size)) unit = &candidate;
    if (!unit) return refused;
    total += number * unit->micros;
    rest.remove_prefix(unit_size);
  }
  if (total > 9.2e15) return refused;
  const auto micros = static_cast<std::int64_t>(std::llround(total));
  return Duration::micros(negative ? -micros : micros);
}

std::string human_age(Duration age) {
  const std::int64_t seconds = age.whole_seconds();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  const auto two = [](std::int64_t major, char unit, std::int64_t minor, char minor_unit) {
    std::string text = std::to_string(major) + unit;
    if (minor != 0) text += std::to_string(minor) + minor_unit;
    return text;
  };
  const std::int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24, years = days / 365;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return std::to_string(minutes) + "m";
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return std::to_string(hours) + "h";
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 730) return std::to_string(days) + "d";
  if (years < 8) return two(years, 'y', days % 365, 'd');
  return std::to_string(years) + "y";
}

}  // namespace berth
