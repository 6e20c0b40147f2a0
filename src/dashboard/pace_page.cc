#include "dashboard/pace_page.h"

#include <utility>

namespace berth::dashboard {
namespace {

constexpr std::uint64_t kHalfPercent = 50, kMostPercent = 99;

Json micros_or_null(std::optional<Duration> took) {
  return took ? Json(took->micros()) : Json();
}

Json answers_json(const client::WriteTimes& times) {
  JsonArray rows;
  for (std::size_t verb = 0; verb < client::kWriteVerbs; ++verb) {
    const client::DurationCounts& took = times[verb];
    rows.push_back(Json::object({{"verb", name_of(static_cast<client::WriteVerb>(verb))},
                                 {"count", static_cast<std::int64_t>(took.count())},
                                 {"p50Micros", micros_or_null(took.within(kHalfPercent))},
                                 {"p99Micros", micros_or_null(took.within(kMostPercent))}}));
  }
  return rows;
}

}  // namespace

void PacePage::sample(const PaceTotals& totals, std::size_t waiting, Time now) {
  const PaceTotals before = std::exchange(totals_, totals);
  const auto since = [](std::uint64_t after, std::uint64_t then) {
    return static_cast<std::int64_t>(after - then);
  };
  const client::DurationCounts took = all_of(totals.write_times).since(all_of(before.write_times));
  if (samples_.size() == kSamplesMax) samples_.pop_front();
  samples_.push_back({now.whole_seconds(), since(totals.decided.placed, before.decided.placed),
                      since(totals.decided.refused, before.decided.refused),
                      since(totals.bound, before.bound),
                      since(totals.writes.accepted, before.writes.accepted),
                      since(totals.writes.failed, before.writes.failed), static_cast<std::int64_t>(waiting),
                      took.within(kHalfPercent), took.within(kMostPercent)});
}

Json PacePage::page(const DecisionNotes& notes) const {
  constexpr std::pair<const char*, std::int64_t Sample::*> kColumns[] = {
      {"time", &Sample::second},     {"placed", &Sample::placed},   {"refused", &Sample::refused},
      {"bound", &Sample::bound},     {"written", &Sample::written}, {"notWritten", &Sample::not_written},
      {"waiting", &Sample::waiting},
  };
  Json page = Json::object({});
  for (const auto& [name, of] : kColumns) {
    JsonArray column;
    for (const Sample& sample : samples_) column.emplace_back(sample.*of);
    page[name] = std::move(column);
  }
  constexpr std::pair<const char*, std::optional<Duration> Sample::*> kAnswered[] = {
      {"answerP50Micros", &Sample::half_within}, {"answerP99Micros", &Sample::most_within}};
  for (const auto& [name, of] : kAnswered) {
    JsonArray column;
    for (const Sample& sample : samples_) column.push_back(micros_or_null(sample.*of));
    page[name] = std::move(column);
  }
  page["answers"] = answers_json(notes.write_times());
  page["decisions"] = notes.latest();
  return page;
}

}  // namespace berth::dashboard
