#include "sim/event_queue.h"

#include <algorithm>

namespace berth::sim {

void EventQueue::at(Time when, Action action) {
  BERTH_ASSERT(heap_.size() < kEventsWaitingMax, "events come to an end");
  heap_.push_back({std::max(when, now_), ++last_sequence_, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

std::optional<Time> EventQueue::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().when;
}

void EventQueue::advance_to(Time time) {
  now_ = std::max(now_, time);
}

bool EventQueue::run_due() {
  if (heap_.empty() || heap_.front().when > now_) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Action action = std::move(heap_.back().action);
  heap_.pop_back();
  action();
  return true;
}

}  // namespace berth::sim
