#include "engine/work_queue.h"

#include <algorithm>

#include "base/backoff.h"

namespace berth::engine {

std::size_t WorkQueue::Hash::operator()(const WorkKey& key) const {
  constexpr std::size_t kPrime = 0x9e3779b97f4a7c15ull;
  const std::hash<std::string> text;
  std::size_t hash = key.reconciler * 64u + static_cast<std::size_t>(key.key.kind);
  hash = (hash ^ text(key.key.ns)) * kPrime;
  hash = (hash ^ text(key.key.name)) * kPrime;
  return (hash ^ text(key.key.resource.resource)) * kPrime;
}

void WorkQueue::enqueue(Entry& entry) {
  if (entry.second.queued) return;
  entry.second.queued = true;
  queue_.push_back(&entry);
}

void WorkQueue::unpark(Entry& entry) {
  if (entry.second.parked) deadlines_.erase(*entry.second.parked);
  entry.second.parked.reset();
}

void WorkQueue::add(std::uint32_t reconciler, api::ObjectKey key) {
  Entry& entry = *entries_.try_emplace(WorkKey{reconciler, std::move(key)}).first;
  if (entry.second.running)
    entry.second.again = true;
  else
    enqueue(entry);
}

void WorkQueue::wake_due(Time now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Entry& entry = *deadlines_.begin()->second;
    unpark(entry);
    enqueue(entry);
  }
}

WorkQueue::Entry* WorkQueue::take() {
  if (queue_.empty()) return nullptr;
  Entry& entry = *queue_.front();
  queue_.pop_front();
  unpark(entry);
  entry.second.queued = false;
  entry.second.running = true;
  ++running_;
  return &entry;
}

void WorkQueue::done(Entry* entry, RunResult result, std::optional<Time> wake_at, Time now) {
  State& state = entry->second;
  BERTH_ASSERT(state.running, "only a running key can be done");
  state.running = false;
  --running_;
  bool at_once = std::exchange(state.again, false);
  if (result == RunResult::Fine) {
    state.failures = 0;
  } else {
    ++state.failures;
    const std::uint32_t counted = result == RunResult::Stale ? state.failures - 1 : state.failures;
    const Time retry_at = now + backoff(kKeyBackoffBase, kKeyBackoffCap, counted);
    wake_at = wake_at ? std::min(*wake_at, retry_at) : retry_at;
  }
  if (wake_at && *wake_at <= now) at_once = true;
  if (at_once) return enqueue(*entry);
  if (wake_at) {
    state.parked = deadlines_.emplace(*wake_at, entry);
    return;
  }
  entries_.erase(entries_.find(entry->first));
}

void WorkQueue::clear() {
  queue_.clear();
  deadlines_.clear();
  for (auto it = entries_.begin(); it != entries_.end();) {
    it->second.again = false;
    it = it->second.running ? std::next(it) : entries_.erase(it);
  }
}

std::optional<Time> WorkQueue::next_wake() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace berth::engine
