#include "scheduling/scheduling_queue.h"

#include <algorithm>
#include <vector>

#include "base/backoff.h"

namespace berth::scheduling {

Duration backoff_after(std::uint32_t attempts) {
  return backoff(kBackoffFirst, kBackoffMax, std::max(attempts, 1u));
}

void Queue::place(Slot slot) {
  const EntryKey key = slot.entry.key;
  if (slot.place == Place::Active) active_.insert(order_of(slot.entry));
  if (slot.place == Place::Backoff || slot.place == Place::ErrorBackoff) backoff_.emplace(slot.ready, key);
  if (slot.place == Place::Unschedulable) unschedulable_.emplace(slot.ready, key);
  entries_[key] = std::move(slot);
}

void Queue::take_out(const Slot& slot) {
  active_.erase(order_of(slot.entry));
  backoff_.erase({slot.ready, slot.entry.key});
  unschedulable_.erase({slot.ready, slot.entry.key});
}

void Queue::add(const EntryKey& key, std::int32_t priority, Time since) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return place({{key, priority, since, 0}, Place::Active, 0, {}, {}});
  if (known->second.place != Place::Gated && known->second.entry.priority == priority) return;
  Slot slot = known->second;
  take_out(slot);
  slot.entry.priority = priority;
  slot.entry.since = since;
  if (slot.place == Place::Gated) slot.place = Place::Active;
  place(std::move(slot));
}

void Queue::add_after_failures(const EntryKey& key, std::int32_t priority, Time since, std::uint32_t attempts,
                               Time now) {
  const auto known = entries_.find(key);
  if (known != entries_.end() && known->second.place != Place::Gated) return add(key, priority, since);
  if (known != entries_.end()) erase(key);
  put_after_error({key, priority, since, attempts}, now);
}

void Queue::gate(const EntryKey& key, std::int32_t priority, Time since) {
  const auto known = entries_.find(key);
  if (known != entries_.end()) take_out(known->second);
  place({{key, priority, since, 0}, Place::Gated, 0, {}, {}});
}

void Queue::erase(const EntryKey& key) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return;
  take_out(known->second);
  entries_.erase(known);
}

void Queue::let_out(const EntryKey& key, Time now) {
  Slot slot = entries_.at(key);
  take_out(slot);
  slot.ready = slot.backoff_end;
  slot.place = slot.ready.is_set() && slot.ready > now ? Place::Backoff : Place::Active;
  place(std::move(slot));
}

void Queue::advance(Time now) {
  while (!backoff_.empty() && backoff_.begin()->first <= now) {
    Slot slot = entries_.at(backoff_.begin()->second);
    take_out(slot);
    slot.place = Place::Active;
    place(std::move(slot));
  }
  while (!unschedulable_.empty() && unschedulable_.begin()->first <= now)
    let_out(EntryKey(unschedulable_.begin()->second), now);
}

std::optional<Entry> Queue::pop(Time now) {
  advance(now);
  EntryKey key;
  if (!active_.empty()) {
    key = active_.begin()->key;
  } else {
    const auto early = std::find_if(backoff_.begin(), backoff_.end(), [this](const Deadline& deadline) {
      return entries_.at(deadline.second).place == Place::Backoff;
    });
    if (early == backoff_.end()) return std::nullopt;
    key = early->second;
  }
  Slot slot = entries_.at(key);
  take_out(slot);
  entries_.erase(key);
  ++slot.entry.attempts;
  return slot.entry;
}

void Queue::put_unschedulable(Entry entry, std::uint32_t hints, Time now) {
  const Time backoff_end = now + backoff_after(entry.attempts);
  place({std::move(entry), Place::Unschedulable, hints, now + kUnschedulableMax, backoff_end});
}

void Queue::put_after_error(Entry entry, Time now) {
  const Time ready = now + backoff_after(entry.attempts);
  place({std::move(entry), Place::ErrorBackoff, 0, ready, ready});
}

void Queue::put_active(Entry entry) {
  place({std::move(entry), Place::Active, 0, {}, {}});
}

void Queue::wake(std::uint32_t events, Time now) {
  std::vector<EntryKey> woken;
  for (const auto& [ready, key] : unschedulable_)
    if ((entries_.at(key).hints & events) != 0) woken.push_back(key);
  for (const EntryKey& key : woken) let_out(key, now);
}

void Queue::wake_one(const EntryKey& key, Time now) {
  const auto known = entries_.find(key);
  if (known != entries_.end() && known->second.place == Place::Unschedulable) let_out(key, now);
}

std::optional<Time> Queue::next_time() const {
  std::optional<Time> next;
  if (!backoff_.empty()) next = backoff_.begin()->first;
  if (!unschedulable_.empty()) {
    const Time sweep = unschedulable_.begin()->first;
    next = next ? std::min(*next, sweep) : sweep;
  }
  return next;
}

}  // namespace berth::scheduling
