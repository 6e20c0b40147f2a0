#include "scheduling/queue/scheduling_queue.h"

#include <algorithm>
#include <vector>

#include "base/backoff.h"

namespace berth::scheduling {

Duration backoff_after(std::uint32_t attempts, QueueBackoff times) {
  return backoff(times.first, times.max, std::max(attempts, 1u));
}

void SchedulingQueue::place(QueuedSlot slot) {
  if (slot.entry.arrival == 0) slot.entry.arrival = ++arrivals_;
  const EntityKey key = slot.entry.key;
  if (slot.place == SubQueue::Active) active_.insert(slot.entry);
  if (slot.place == SubQueue::Backoff || slot.place == SubQueue::ErrorBackoff)
    backoff_.emplace(slot.ready, key);
  if (slot.place == SubQueue::Unschedulable) {
    unschedulable_.emplace(slot.ready, key);
    ++hints_[slot.queueing_hints];
  }
  entries_[key] = std::move(slot);
}

void SchedulingQueue::take_out(const QueuedSlot& slot) {
  active_.erase(slot.entry);
  backoff_.erase({slot.ready, slot.entry.key});
  if (slot.place != SubQueue::Unschedulable) return;
  unschedulable_.erase({slot.ready, slot.entry.key});
  if (const auto at = hints_.find(slot.queueing_hints); --at->second == 0) hints_.erase(at);
}

void SchedulingQueue::add(const EntityKey& key, std::int32_t priority, Time since) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return place({{key, priority, since, 0}, SubQueue::Active, 0, {}, {}});
  if (known->second.place != SubQueue::Gated && known->second.entry.priority == priority) return;
  QueuedSlot slot = known->second;
  take_out(slot);
  slot.entry.priority = priority;
  slot.entry.since = since;
  if (slot.place == SubQueue::Gated) slot.place = SubQueue::Active;
  place(std::move(slot));
}

void SchedulingQueue::add_after_failures(const EntityKey& key, std::int32_t priority, Time since,
                                         std::uint32_t attempts, Time now) {
  const auto known = entries_.find(key);
  if (known != entries_.end() && known->second.place != SubQueue::Gated) return add(key, priority, since);
  QueuedEntity entry{key, priority, since, attempts};
  if (known != entries_.end()) entry.arrival = known->second.entry.arrival;
  erase(key);
  put_after_error(std::move(entry), now);
}

void SchedulingQueue::gate(const EntityKey& key, std::int32_t priority, Time since) {
  QueuedSlot slot{{key, priority, since, 0}, SubQueue::Gated, 0, {}, {}};
  if (const auto known = entries_.find(key); known != entries_.end()) {
    slot.entry.arrival = known->second.entry.arrival;
    take_out(known->second);
  }
  place(std::move(slot));
}

void SchedulingQueue::erase(const EntityKey& key) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return;
  take_out(known->second);
  entries_.erase(known);
}

void SchedulingQueue::let_out(const EntityKey& key, Time now) {
  QueuedSlot slot = entries_.at(key);
  take_out(slot);
  slot.ready = slot.backoff_end;
  slot.place = slot.ready.is_set() && slot.ready > now ? SubQueue::Backoff : SubQueue::Active;
  place(std::move(slot));
}

void SchedulingQueue::advance(Time now) {
  while (!backoff_.empty() && backoff_.begin()->first <= now) {
    QueuedSlot slot = entries_.at(backoff_.begin()->second);
    take_out(slot);
    slot.place = SubQueue::Active;
    place(std::move(slot));
  }
  while (!unschedulable_.empty() && unschedulable_.begin()->first <= now)
    let_out(EntityKey(unschedulable_.begin()->second), now);
}

std::optional<QueuedEntity> SchedulingQueue::pop(Time now) {
  advance(now);
  EntityKey key;
  if (!active_.empty()) {
    key = active_.begin()->key;
  } else {
    const auto early = std::find_if(backoff_.begin(), backoff_.end(), [this](const Deadline& deadline) {
      return entries_.at(deadline.second).place == SubQueue::Backoff;
    });
    if (early == backoff_.end()) return std::nullopt;
    key = early->second;
  }
  QueuedSlot slot = entries_.at(key);
  take_out(slot);
  entries_.erase(key);
  ++slot.entry.attempts;
  return slot.entry;
}

void SchedulingQueue::put_unschedulable(QueuedEntity entry, std::uint32_t queueing_hints, Time now) {
  const Time backoff_end = now + backoff_after(entry.attempts, backoff_times_);
  place({std::move(entry), SubQueue::Unschedulable, queueing_hints, now + kUnschedulableMax, backoff_end});
}

void SchedulingQueue::put_after_error(QueuedEntity entry, Time now) {
  const Time ready = now + backoff_after(entry.attempts, backoff_times_);
  place({std::move(entry), SubQueue::ErrorBackoff, 0, ready, ready});
}

void SchedulingQueue::wake(std::uint32_t events, Time now) {
  if (std::none_of(hints_.begin(), hints_.end(), [&](const auto& one) { return (one.first & events) != 0; }))
    return;
  std::vector<EntityKey> woken;
  for (const auto& [ready, key] : unschedulable_)
    if ((entries_.at(key).queueing_hints & events) != 0) woken.push_back(key);
  for (const EntityKey& key : woken) let_out(key, now);
}

void SchedulingQueue::wake_one(const EntityKey& key, Time now) {
  const auto known = entries_.find(key);
  if (known != entries_.end() && known->second.place == SubQueue::Unschedulable) let_out(key, now);
}

std::optional<Time> SchedulingQueue::next_time() const {
  std::optional<Time> next;
  if (!backoff_.empty()) next = backoff_.begin()->first;
  if (!unschedulable_.empty()) {
    const Time sweep = unschedulable_.begin()->first;
    next = next ? std::min(*next, sweep) : sweep;
  }
  return next;
}

}  // namespace berth::scheduling
