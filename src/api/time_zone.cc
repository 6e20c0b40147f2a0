#include "api/time_zone.h"

#include <absl/time/time.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text_file.h"

namespace berth::api {
namespace {

// A part of a name between slashes.
bool is_zone_word(std::string_view word) {
  constexpr std::size_t kWordBytesMax = 14;
  const auto fits = [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_' || c == '+'; };
  return !word.empty() && word.size() <= kWordBytesMax && word != "." && word != ".." &&
         word.front() != '-' && std::all_of(word.begin(), word.end(), fits);
}

bool is_zone_name(std::string_view name) {
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    if (!is_zone_word(name.substr(0, slash))) return false;
    name.remove_prefix(slash + 1);
  }
  return is_zone_word(name);
}

// LoadTimeZone() keeps every name that it was asked for, so it is asked for no other.
bool has_file(std::string_view name) {
  if (name == "UTC") return true;  // it needs none
  constexpr std::size_t kZoneBytesMax = 1u << 20;
  const Result<std::string> text = read_text_file("/usr/share/zoneinfo/" + std::string(name), kZoneBytesMax);
  return text && text->starts_with("TZif");
}

absl::Time to_absl(Time time) {
  return absl::FromUnixMicros(time.micros());
}

Time moment_of(const absl::TimeZone& zone, const absl::TimeZone::CivilTransition& change) {
  // After a gap it is a moment of its own, in an overlap the one between both.
  return Time::from_micros(absl::ToUnixMicros(zone.At(change.to).trans));
}

}  // namespace

struct TimeZone::Zone {
  absl::TimeZone zone;
};

Result<TimeZone> TimeZone::find(std::string_view name) {
  const auto unknown = [&] { return Error(ErrorCode::Invalid, "unknown time zone " + std::string(name)); };
  if (name.empty()) return Error(ErrorCode::Invalid, "timeZone must be nil or non-empty string");
  if (!is_zone_name(name)) return unknown();
  if (to_lower(name) == "local")
    return Error(ErrorCode::Invalid,
                 "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  auto zone = std::make_shared<Zone>();
  // The zone of this machine is not that of another replica.
  if (name == "localtime" || !has_file(name) || !absl::LoadTimeZone(std::string(name), &zone->zone))
    return unknown();
  return TimeZone(std::move(zone));
}

Duration TimeZone::offset_at(Time time) const {
  return Duration::seconds(zone_->zone.At(to_absl(time)).offset);
}

std::optional<Time> TimeZone::next_change(Time after) const {
  absl::TimeZone::CivilTransition change;
  if (!zone_->zone.NextTransition(to_absl(after), &change)) return std::nullopt;
  return moment_of(zone_->zone, change);
}

std::optional<Time> TimeZone::last_change(Time until) const {
  absl::TimeZone::CivilTransition change;
  if (!zone_->zone.PrevTransition(to_absl(until + Duration::seconds(1)), &change)) return std::nullopt;
  return moment_of(zone_->zone, change);
}

}  // namespace berth::api
