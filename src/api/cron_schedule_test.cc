#include "api/cron_schedule.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::api {
namespace {

Time at(const char* text) {
  return parse_time(text).value();
}

struct NextCase {
  const char *schedule, *after, *next;  // null: none
};

TEST(CronSchedule, TheNextTime) {
  const NextCase cases[] = {
      {"*/15 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:15:00Z"},
      {"*/15 * * * ?", "2026-01-01T00:59:59Z", "2026-01-01T01:00:00Z"},
      {"30 6-16/4 * * 1-5", "2026-11-27T14:30:00Z", "2026-11-30T06:30:00Z"},
      {"0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
      {"59 23 31 2 *", "2026-01-01T00:00:00Z", nullptr},
      {", * * * *", "2026-01-01T00:00:00Z", nullptr},
      {"0 12 13 * FRI", "2026-11-01T00:00:00Z", "2026-11-06T12:00:00Z"},  // the 13th, or a Friday
      {"0 12 * jan-Mar sun", "2026-11-01T00:00:00Z", "2027-01-03T12:00:00Z"},
      {"5/20 0 1,15 * *", "2026-11-01T00:25:00Z", "2026-11-01T00:45:00Z"},
      {"59/9223372036854775807 * * * *", "2026-11-01T00:25:00Z", "2026-11-01T00:59:00Z"},
      {"@hourly", "2026-11-28T07:12:55Z", "2026-11-28T08:00:00Z"},
      {"@weekly", "2026-11-28T07:12:55Z", "2026-11-29T00:00:00Z"},
      {"@yearly", "2026-11-28T07:12:55Z", "2027-01-01T00:00:00Z"},
      {"@every 90s", "2026-11-28T07:12:55.5Z", "2026-11-28T07:14:25Z"},
  };
  for (const NextCase& test : cases) {
    SCOPED_TRACE(test.schedule);
    const auto next = CronSchedule::parse(test.schedule).value().next(at(test.after));
    EXPECT_EQ(next ? format_time(*next) : "none", test.next ? test.next : "none");
  }
}

struct RefusedCase {
  const char *schedule, *why;
};

TEST(CronSchedule, RefusesAsTheReferenceDoes) {
  const RefusedCase cases[] = {
      {"", "empty spec string"},
      {"* * *", "expected exactly 5 fields, found 3: [* * *]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
      {"1/2/3 * * * *", "too many slashes: 1/2/3"},
      {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
      {"@never", "unrecognized descriptor: @never"},
      {"TZ=UTC 0 0 * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"},
  };
  for (const RefusedCase& test : cases) {
    SCOPED_TRACE(test.schedule);
    const auto schedule = CronSchedule::parse(test.schedule);
    ASSERT_FALSE(schedule);
    EXPECT_EQ(schedule.error().text(), test.why);
  }
}

// Clocks of New York go forward at 07:00 UTC on 14 March 2027, and back at 06:00 UTC on 7 November.
TEST(CronSchedule, FollowsTheClocksOfAZone) {
  const struct {
    const char *zone, *schedule, *after, *next;
  } cases[] = {
      {"America/New_York", "30 8 * * *", "2027-01-10T13:30:00Z", "2027-01-11T13:30:00Z"},
      {"America/New_York", "30 8 * * *", "2027-07-10T00:00:00Z", "2027-07-10T12:30:00Z"},
      {"America/New_York", "30 2 * * *", "2027-03-13T07:30:00Z", "2027-03-15T06:30:00Z"},  // skipped
      {"America/New_York", "0 3 * * *", "2027-03-14T06:59:00Z", "2027-03-14T07:00:00Z"},
      {"America/New_York", "30 1 * * *", "2027-11-07T05:00:00Z", "2027-11-07T05:30:00Z"},
      {"America/New_York", "30 1 * * *", "2027-11-07T05:30:00Z", "2027-11-07T06:30:00Z"},  // repeated
      {"Asia/Kolkata", "0 0 1 * *", "2027-01-15T00:00:00Z", "2027-01-31T18:30:00Z"},
      {"UTC", "0 0 1 * *", "2027-01-15T00:00:00Z", "2027-02-01T00:00:00Z"},
      {"America/New_York", "@every 90s", "2027-01-10T13:30:00Z", "2027-01-10T13:31:30Z"},
      {"America/New_York", "59 23 31 2 *", "2027-01-10T13:30:00Z", nullptr},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.schedule);
    const auto next =
        CronSchedule::parse(test.schedule).value().next(at(test.after), TimeZone::find(test.zone).value());
    EXPECT_EQ(next ? format_time(*next) : "none", test.next ? test.next : "none");
  }
}

TEST(TimeZones, AreRefusedAsTheReferenceDoes) {
  for (const char* name :
       {"Europe/Atlantis", "../etc/passwd", "-x", "a b", "Fixed/UTC+01:00:00", "localtime", "UTC0", "Europe"})
    EXPECT_EQ(TimeZone::find(name).error().message(), "unknown time zone " + std::string(name));
  EXPECT_EQ(TimeZone::find("local").error().message(),
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  EXPECT_EQ(TimeZone::find("").error().message(), "timeZone must be nil or non-empty string");
}

// The latest time is the last of those that next() gives one after the other.
TEST(CronSchedule, TheLatestTimeIsTheLastOfASeries) {
  const char* schedules[] = {"*/7 * * * *", "0 3,17 * * 1-5", "30 2 13 * 5", "0 0 1 */5 *", "@every 45m"};
  SeededRandom random(5);
  for (const char* text : schedules) {
    const CronSchedule schedule = CronSchedule::parse(text).value();
    for (std::size_t i = 0; i < 50; ++i) {
      const Time after =
          at("2026-01-01T00:00:00Z") + Duration::seconds(static_cast<std::int64_t>(random.below(86400)));
      const Time now = after + Duration::seconds(static_cast<std::int64_t>(random.below(40 * 86400)));
      std::optional<Time> last;
      for (auto next = schedule.next(after); next && *next <= now; next = schedule.next(*next)) last = next;
      EXPECT_EQ(schedule.latest(after, now), last) << text << " after " << format_time(after);
      // Its clocks go back on 15 February 2026.
      const TimeZone zone = TimeZone::find("Africa/Casablanca").value();
      const Time begin = after + Duration::seconds(30 * 86400), end = now + Duration::seconds(30 * 86400);
      last.reset();
      for (auto next = schedule.next(begin, zone); next && *next <= end; next = schedule.next(*next, zone))
        last = next;
      EXPECT_EQ(schedule.latest(begin, end, zone), last) << text << " after " << format_time(begin);
    }
  }
}

}  // namespace
}  // namespace berth::api
