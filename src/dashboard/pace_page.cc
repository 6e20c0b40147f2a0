#include "dashboard/pace_page.h"

#include <utility>

namespace berth::dashboard {

void PacePage::sample(const PaceTotals& totals, std::size_t waiting, Time now) {
  const PaceTotals before = std::exchange(totals_, totals);
  const auto since = [](std::uint64_t after, std::uint64_t then) {
    return static_cast<std::int64_t>(after - then);
  };
  if (samples_.size() == kSamplesMax) samples_.pop_front();
  samples_.push_back({now.whole_seconds(), since(totals.decided.placed, before.decided.placed),
                      since(totals.decided.refused, before.decided.refused),
                      since(totals.bound, before.bound),
                      since(totals.writes.accepted, before.writes.accepted),
                      since(totals.writes.failed, before.writes.failed), static_cast<std::int64_t>(waiting)});
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
  page["decisions"] = notes.latest();
  return page;
}

}  // namespace berth::dashboard
