#include "api/cron_schedule.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "api/types/meta.h"
#include "base/ascii.h"

namespace berth::api {
namespace {

constexpr std::int64_t kMinutesOfDay = 24 * 60;
constexpr std::int64_t kSecondsOfDay = kMinutesOfDay * 60;
constexpr std::size_t kScheduleBytesMax = 4096;

constexpr std::string_view kMonthNames[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                            "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdayNames[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

// The values of one field; the first name means `min`.
struct CronBounds {
  std::int64_t min, max;
  std::span<const std::string_view> names = {};
};
constexpr CronBounds kMinutes{0, 59}, kHours{0, 23}, kDays{1, 31}, kMonths{1, 12, kMonthNames},
    kWeekdays{0, 6, kWeekdayNames};

struct CronField {
  std::uint64_t bits = 0;
  bool star = false;
};

struct CronDescriptor {
  std::string_view name, text;
};
constexpr CronDescriptor kDescriptors[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
};

Error cron_error(std::string text) {
  return Error(ErrorCode::Invalid, std::move(text));
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split_at(text, ' ');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return words;
}

Result<std::int64_t> parse_value(std::string_view text, const CronBounds& bounds) {
  const auto name = std::find(bounds.names.begin(), bounds.names.end(), to_lower(text));
  if (name != bounds.names.end()) return bounds.min + (name - bounds.names.begin());
  const std::optional<std::int64_t> number = to_int(text);
  if (!number)
    return cron_error("failed to parse int from " + std::string(text) + ": strconv.Atoi: parsing \"" +
                      std::string(text) + "\": invalid syntax");
  if (*number < 0)
    return cron_error("negative number (" + std::to_string(*number) + ") not allowed: " + std::string(text));
  return *number;
}

Status check_range(std::int64_t start, std::int64_t end, std::int64_t step, const CronBounds& bounds,
                   std::string_view text) {
  const std::string tail = ": " + std::string(text);
  const auto number = [](std::int64_t value) { return "(" + std::to_string(value) + ")"; };
  if (start < bounds.min)
    return cron_error("beginning of range " + number(start) + " below minimum " + number(bounds.min) + tail);
  if (end > bounds.max)
    return cron_error("end of range " + number(end) + " above maximum " + number(bounds.max) + tail);
  if (start > end)
    return cron_error("beginning of range " + number(start) + " beyond end of range " + number(end) + tail);
  if (step == 0) return cron_error("step of range should be a positive number" + tail);
  return {};
}

// "*", "5", "1-5", "*/2", "3/10".
Result<CronField> parse_range(std::string_view text, const CronBounds& bounds) {
  const std::vector<std::string_view> parts = split_at(text, '/');
  const std::vector<std::string_view> ends = split_at(parts.front(), '-');
  CronField field;
  std::int64_t start = bounds.min, end = bounds.max, step = 1;
  field.star = ends.front() == "*" || ends.front() == "?";
  if (!field.star) {
    if (ends.size() > 2) return cron_error("too many hyphens: " + std::string(text));
    start = TRY(parse_value(ends.front(), bounds));
    end = ends.size() == 2 ? TRY(parse_value(ends.back(), bounds)) : start;
  }
  if (parts.size() > 2) return cron_error("too many slashes: " + std::string(text));
  if (parts.size() == 2) {
    step = TRY(parse_value(parts.back(), {0, 0}));
    if (ends.size() == 1) end = bounds.max;
    field.star &= step <= 1;
  }
  TRY(check_range(start, end, step, bounds, text));
  step = std::min(step, bounds.max + 1);  // a larger one would not fit an int64 beside the value
  for (std::int64_t value = start; value <= end; value += step) field.bits |= std::uint64_t{1} << value;
  return field;
}

Result<CronField> parse_field(std::string_view text, const CronBounds& bounds) {
  CronField all;
  for (const std::string_view range : split_at(text, ',')) {
    if (range.empty()) continue;
    const CronField field = TRY(parse_range(range, bounds));
    all.bits |= field.bits;
    all.star |= field.star;
  }
  return all;
}

bool has_bit(std::uint64_t bits, std::int64_t value) {
  return bits >> value & 1;
}

Time at_minute(std::int64_t day, std::int64_t minute) {
  return Time::from_seconds(day * kSecondsOfDay + minute * 60);
}

std::int64_t day_of(Time time) {
  return time.whole_seconds() / kSecondsOfDay;
}

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  if (text.empty()) return cron_error("empty spec string");
  if (text.size() > kScheduleBytesMax) return cron_error("a schedule has at most 4096 bytes");
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ="))
    return cron_error("cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  CronSchedule schedule;
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    const Result<Duration> every = parse_duration(text.substr(kEvery.size()));
    if (!every)
      return cron_error("failed to parse duration " + std::string(text) + ": " + every.error().text());
    schedule.every_ = Duration::seconds(std::max<std::int64_t>(1, every->whole_seconds()));
    return schedule;
  }
  if (text.starts_with('@')) {
    const auto known = std::find_if(std::begin(kDescriptors), std::end(kDescriptors),
                                    [&](const CronDescriptor& row) { return row.name == text; });
    if (known == std::end(kDescriptors)) return cron_error("unrecognized descriptor: " + std::string(text));
    text = known->text;
  }
  const std::vector<std::string_view> fields = words_of(text);
  constexpr std::size_t kFields = 5;
  if (fields.size() != kFields) {
    std::string found;
    for (const std::string_view field : fields) found.append(found.empty() ? "" : " ").append(field);
    return cron_error("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" + found +
                      "]");
  }
  schedule.minutes_ = TRY(parse_field(fields[0], kMinutes)).bits;
  schedule.hours_ = TRY(parse_field(fields[1], kHours)).bits;
  const CronField days = TRY(parse_field(fields[2], kDays));
  schedule.months_ = TRY(parse_field(fields[3], kMonths)).bits;
  const CronField weekdays = TRY(parse_field(fields[4], kWeekdays));
  schedule.days_ = days.bits;
  schedule.weekdays_ = weekdays.bits;
  schedule.any_day_ = days.star;
  schedule.any_weekday_ = weekdays.star;
  return schedule;
}

bool CronSchedule::has_day(std::int64_t day) const {
  if (minutes_ == 0 || hours_ == 0) return false;  // of ",": no minute of any day would be found
  const std::chrono::sys_days date{std::chrono::days(day)};
  const std::chrono::year_month_day civil(date);
  if (!has_bit(months_, static_cast<unsigned>(civil.month()))) return false;
  const bool in_month = has_bit(days_, static_cast<unsigned>(civil.day()));
  const bool in_week = has_bit(weekdays_, std::chrono::weekday(date).c_encoding());
  return any_day_ || any_weekday_ ? in_month && in_week : in_month || in_week;
}

std::optional<Time> CronSchedule::first_of_day(std::int64_t day, std::int64_t minute_min) const {
  for (std::int64_t minute = minute_min; minute < kMinutesOfDay; ++minute)
    if (has_bit(hours_, minute / 60) && has_bit(minutes_, minute % 60)) return at_minute(day, minute);
  return std::nullopt;
}

std::optional<Time> CronSchedule::last_of_day(std::int64_t day, std::int64_t minute_max) const {
  for (std::int64_t minute = minute_max; minute >= 0; --minute)
    if (has_bit(hours_, minute / 60) && has_bit(minutes_, minute % 60)) return at_minute(day, minute);
  return std::nullopt;
}

std::optional<Time> CronSchedule::next(Time after) const {
  if (every_) return after.to_second() + *every_;
  const std::int64_t today = day_of(after);
  std::int64_t minute = (after.whole_seconds() - today * kSecondsOfDay) / 60 + 1;
  for (std::int64_t day = today; day <= today + kDaysSearchedMax; ++day, minute = 0)
    if (has_day(day))
      if (const auto found = first_of_day(day, minute)) return found;
  return std::nullopt;
}

std::optional<Time> CronSchedule::latest(Time after, Time now) const {
  if (now <= after) return std::nullopt;
  if (every_) {
    const std::int64_t count = (now - after.to_second()).micros() / every_->micros();
    return count > 0 ? std::optional(after.to_second() + *every_ * count) : std::nullopt;
  }
  const std::int64_t today = day_of(now);
  std::int64_t minute = (now.whole_seconds() - today * kSecondsOfDay) / 60;
  const std::int64_t first = std::max(day_of(after), today - kDaysSearchedMax);
  for (std::int64_t day = today; day >= first; --day, minute = kMinutesOfDay - 1)
    if (has_day(day))
      if (const auto found = last_of_day(day, minute)) return *found > after ? found : std::optional<Time>();
  return std::nullopt;
}

// Between two changes of the offset, the zone's clocks are UTC's with a constant added.
std::optional<Time> CronSchedule::next(Time after, const TimeZone& zone) const {
  if (every_) return next(after);
  Time begin = after, exclusive = after;
  for (int changes = 0; changes < kZoneChangesMax; ++changes) {
    const Duration offset = zone.offset_at(begin);
    const std::optional<Time> local = next(exclusive + offset), change = zone.next_change(begin);
    if (!local) return std::nullopt;
    if (!change || *local - offset < *change) return *local - offset;
    begin = *change;
    exclusive = *change - Duration::seconds(1);
  }
  return std::nullopt;
}

std::optional<Time> CronSchedule::latest(Time after, Time now, const TimeZone& zone) const {
  if (every_) return latest(after, now);
  Time until = now;
  for (int changes = 0; changes < kZoneChangesMax && until > after; ++changes) {
    const Duration offset = zone.offset_at(until);
    const std::optional<Time> change = zone.last_change(until);
    const Time exclusive = change ? std::max(after, *change - Duration::seconds(1)) : after;
    if (const auto local = latest(exclusive + offset, until + offset)) return *local - offset;
    if (!change) return std::nullopt;
    until = *change - Duration::micros(1);
  }
  return std::nullopt;
}

}  // namespace berth::api
