// Points in time and durations, in the formats of the Kubernetes API.
//
// Time is microseconds since 1970-01-01T00:00:00Z; the default value is "not set". Nothing here reads a
// clock. Source: metav1.Time (RFC 3339, whole seconds), metav1.MicroTime (six decimals), metav1.Duration
// (Go's text).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration micros(std::int64_t n) { return Duration(n); }
  static constexpr Duration millis(std::int64_t n) { return Duration(n * 1000); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1000000); }
  static constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }

  constexpr std::int64_t micros() const { return micros_; }
  constexpr std::int64_t millis() const { return micros_ / 1000; }
  constexpr std::int64_t whole_seconds() const { return micros_ / 1000000; }
  constexpr double seconds_f() const { return static_cast<double>(micros_) / 1e6; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.micros_ + b.micros_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.micros_ - b.micros_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.micros_ * n); }

 private:
  constexpr explicit Duration(std::int64_t micros) : micros_(micros) {}
  std::int64_t micros_ = 0;
};

class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_micros(std::int64_t micros) { return Time(micros); }
  static constexpr Time from_seconds(std::int64_t seconds) { return Time(seconds * 1000000); }

  constexpr bool is_set() const { return micros_ != kUnset; }
  constexpr std::int64_t micros() const { return micros_; }
  constexpr std::int64_t whole_seconds() const { return micros_ / 1000000; }
  constexpr Time to_second() const { return from_seconds(whole_seconds()); }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time t, Duration d) { return Time(t.micros_ + d.micros()); }
  friend constexpr Time operator-(Time t, Duration d) { return Time(t.micros_ - d.micros()); }
  friend constexpr Duration operator-(Time a, Time b) { return Duration::micros(a.micros_ - b.micros_); }

 private:
  constexpr explicit Time(std::int64_t micros) : micros_(micros) {}
  static constexpr std::int64_t kUnset = INT64_MIN;
  std::int64_t micros_ = kUnset;
};

// RFC 3339 with any number of decimals (kept to microseconds) and any offset. Refuses everything else.
Result<Time> parse_time(std::string_view text);
// "2026-01-02T03:04:05Z"; empty when not set.
std::string format_time(Time time);
// "2026-01-02T03:04:05.000006Z"; empty when not set.
std::string format_micro_time(Time time);

// Go's duration text: "300ms", "-1.5h", "2h45m".
Result<Duration> parse_duration(std::string_view text);
// The age as kubectl prints it: "38s", "5m12s", "3h", "2d5h", "400d", "3y". Negative ages print "<invalid>".
std::string human_age(Duration age);

}  // namespace berth
