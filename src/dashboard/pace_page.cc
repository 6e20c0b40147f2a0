#include "dashboard/pace_page.h"

namespace berth::dashboard {

void PacePage::sample(const DecisionTotals& decided, std::uint64_t bound, std::size_t waiting, Time now) {
  if (samples_.size() == kSamplesMax) samples_.pop_front();
  samples_.push_back({now.whole_seconds(), static_cast<std::int64_t>(decided.placed - decided_.placed),
                      static_cast<std::int64_t>(decided.refused - decided_.refused),
                      static_cast<std::int64_t>(bound - bound_), static_cast<std::int64_t>(waiting)});
  decided_ = decided;
  bound_ = bound;
}

Json PacePage::page(const DecisionNotes& notes) const {
  JsonArray time, placed, refused, bound, waiting;
  for (const Sample& sample : samples_) {
    time.emplace_back(sample.second);
    placed.emplace_back(sample.placed);
    refused.emplace_back(sample.refused);
    bound.emplace_back(sample.bound);
    waiting.emplace_back(sample.waiting);
  }
  return Json::object({{"time", std::move(time)},
                       {"placed", std::move(placed)},
                       {"refused", std::move(refused)},
                       {"bound", std::move(bound)},
                       {"waiting", std::move(waiting)},
                       {"decisions", notes.latest()}});
}

}  // namespace berth::dashboard
