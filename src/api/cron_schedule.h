// The times of spec.schedule of a CronJob, in UTC or in a time zone.
//
// Immutable, any thread. Cost: next() and latest() look at up to kDaysSearchedMax days, a few nanoseconds
// each. Source: github.com/robfig/cron v3, ParseStandard, whose error texts parse() has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/time_zone.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::api {

class CronSchedule {
 public:
  // "minute hour day-of-month month day-of-week" with lists, ranges, steps and names; "@hourly" and similar;
  // "@every 1h30m". Refuses a time zone in the text.
  static Result<CronSchedule> parse(std::string_view text);

  // The first time after `after`; nothing when there is none within five years ("0 0 31 2 *").
  std::optional<Time> next(Time after) const;
  // The last time after `after` and not after `now`. Those of "@every" are counted from `after`.
  std::optional<Time> latest(Time after, Time now) const;
  // The same by the clocks of a zone: what a change of the offset skips does not come, what it repeats comes
  // twice.
  std::optional<Time> next(Time after, const TimeZone& zone) const;
  std::optional<Time> latest(Time after, Time now, const TimeZone& zone) const;

  // How many days are searched: five years.
  static constexpr int kDaysSearchedMax = 5 * 366;
  // How many changes of a zone's offset are looked at; no zone has more than four a year.
  static constexpr int kZoneChangesMax = 64;

 private:
  bool has_day(std::int64_t day) const;  // since 1970-01-01
  std::optional<Time> first_of_day(std::int64_t day, std::int64_t minute_min) const;
  std::optional<Time> last_of_day(std::int64_t day, std::int64_t minute_max) const;

  // Bit n: the value n.
  std::uint64_t minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  // A day must be in both; where neither is "*", in one of them.
  bool any_day_ = false, any_weekday_ = false;
  std::optional<Duration> every_;  // of "@every"; the bits are not used
};

}  // namespace berth::api
