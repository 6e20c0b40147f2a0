#include "scheduling/queue/scheduling_queue.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"

namespace berth::scheduling {

Duration backoff_after(std::uint32_t attempts, QueueBackoff times) {
  return backoff(times.first, times.max, std::max(attempts, 1u));
}

void SchedulingQueue::place(QueuedSlot slot) {
  if (slot.entry.arrival == 0) slot.entry.arrival = ++arrivals_;
  QueuedSlot& kept = entries_[slot.entry.key];
  kept = std::move(slot);
  list(kept);
}

void SchedulingQueue::list(const QueuedSlot& slot) {
  if (slot.place == SubQueue::Active) active_.insert(slot.entry);
  if (slot.place == SubQueue::Backoff || slot.place == SubQueue::ErrorBackoff)
    backoff_.emplace(slot.ready, slot.entry.key);
  if (slot.place == SubQueue::Unschedulable) {
    unschedulable_.emplace(slot.sweep_at, slot.entry.key);
    rows_.insert(slot.row, slot.entry, slot.backoff_end);
  }
}

void SchedulingQueue::take_out(const QueuedSlot& slot) {
  if (slot.place == SubQueue::Active) active_.erase(slot.entry);
  if (slot.place == SubQueue::Backoff || slot.place == SubQueue::ErrorBackoff)
    backoff_.erase({slot.ready, slot.entry.key});
  if (slot.row == kNoRow) return;
  if (slot.place == SubQueue::Unschedulable) {
    unschedulable_.erase({slot.sweep_at, slot.entry.key});
    return rows_.erase(slot.row, slot.entry, slot.backoff_end);
  }
  rows_.clear_head(slot.row);
  unanswered_.insert(slot.row);
}

void SchedulingQueue::add(const EntityKey& key, std::int32_t priority, Time since) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) {
    figures_.count(IncomingQueue::Active, QueueEvent::Added);
    return place({{key, priority, since, 0}, SubQueue::Active, {}});
  }
  if (known->second.place != SubQueue::Gated && known->second.entry.priority == priority) return;
  QueuedSlot& slot = known->second;
  take_out(slot);
  slot.entry.priority = priority;
  slot.entry.since = since;
  slot.row = kNoRow;
  if (slot.place == SubQueue::Gated || slot.place == SubQueue::Unschedulable) {
    figures_.count(IncomingQueue::Active, QueueEvent::Asked);
    slot.place = SubQueue::Active;
  }
  list(slot);
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
  QueuedSlot slot{{key, priority, since, 0}, SubQueue::Gated, {}};
  const auto known = entries_.find(key);
  if (known == entries_.end() || known->second.place != SubQueue::Gated)
    figures_.count(IncomingQueue::Gated, QueueEvent::Added);
  if (known != entries_.end()) {
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

IncomingQueue SchedulingQueue::let_out(QueuedSlot& slot, Time now, RowId head_of) {
  if (head_of != kNoRow) rows_.set_head(head_of, slot.entry.key);
  take_out(slot);
  slot.row = head_of;
  slot.ready = slot.backoff_end;
  const bool backs_off = slot.ready.is_set() && slot.ready > now;
  slot.place = backs_off ? SubQueue::Backoff : SubQueue::Active;
  list(slot);
  return backs_off ? IncomingQueue::Backoff : IncomingQueue::Active;
}

// A head in its backoff gives way to an entry that can be tried earlier.
std::optional<IncomingQueue> SchedulingQueue::let_next_out(RowId row, Time now) {
  if (!rows_.contains(row)) return std::nullopt;
  const std::optional<EntityKey> first = rows_.next(row, now);
  if (!first) return std::nullopt;
  QueuedSlot& next = entries_.at(*first);
  if (const std::optional<EntityKey> head = rows_.head(row)) {
    QueuedSlot& waits = entries_.at(*head);
    if (waits.place == SubQueue::Active || next.backoff_end >= waits.ready) return std::nullopt;
    rows_.set_head(row, *first);
    backoff_.erase({waits.ready, *head});
    waits.place = SubQueue::Unschedulable;
    list(waits);
  }
  return let_out(next, now, row);
}

void SchedulingQueue::let_rows_out(const std::vector<RowId>& rows, std::uint32_t events, Time now) {
  ++wakes_;
  for (const RowId row : rows)
    if (const std::optional<IncomingQueue> queue = let_next_out(row, now))
      figures_.count_change(*queue, events);
}

void SchedulingQueue::activate(QueuedSlot& slot) {
  figures_.count(IncomingQueue::Active, QueueEvent::BackoffOver);
  backoff_.erase({slot.ready, slot.entry.key});
  slot.place = SubQueue::Active;
  active_.insert(slot.entry);
}

void SchedulingQueue::advance(Time now) {
  for (const RowId row : std::exchange(unanswered_, {}))
    if (const std::optional<IncomingQueue> queue = let_next_out(row, now))
      figures_.count(*queue, QueueEvent::Asked);
  while (!backoff_.empty() && backoff_.begin()->first <= now) activate(entries_.at(backoff_.begin()->second));
  sweep(now);
}

void SchedulingQueue::sweep(Time now) {
  if (unschedulable_.empty()) return;
  const auto [due, key] = *unschedulable_.begin();
  if (due > now || (!active_.empty() && due + kSweepDelayMax > now)) return;
  // An entry whose row is being tried has missed nothing.
  QueuedSlot& slot = entries_.at(key);
  const bool was_woken = rows_.head(slot.row).has_value();
  figures_.count(let_out(slot, now), QueueEvent::Swept);
  slot.swept_at = was_woken ? 0 : wakes_;
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
    figures_.count(IncomingQueue::Active, QueueEvent::TakenEarly);
    key = early->second;
  }
  const auto known = entries_.find(key);
  take_out(known->second);
  QueuedEntity entry = std::move(known->second.entry);
  entry.swept = known->second.swept_at == wakes_;
  ++entry.attempts;
  entries_.erase(known);
  return entry;
}

void SchedulingQueue::put_unschedulable(QueuedEntity entry, placement::WaitsFor waits_for, Time now) {
  figures_.count(IncomingQueue::Unschedulable, QueueEvent::Failed);
  const bool is_shared = !waits_for.alike.empty();
  const RowId row = rows_.row_of(std::move(waits_for));
  // An attempt for the whole row costs the head no backoff: it would lose its turn to those that it stood
  // for.
  const bool answers = unanswered_.erase(row) > 0 && is_shared;
  const Time backoff_end = answers ? now : now + backoff_after(entry.attempts, backoff_times_);
  place({std::move(entry), SubQueue::Unschedulable, backoff_end, backoff_end, now + kUnschedulableMax, row});
}

void SchedulingQueue::put_after_error(QueuedEntity entry, Time now) {
  figures_.count(IncomingQueue::Backoff, QueueEvent::Failed);
  const Time ready = now + backoff_after(entry.attempts, backoff_times_);
  place({std::move(entry), SubQueue::ErrorBackoff, ready});
}

void SchedulingQueue::wake(std::uint32_t events, Time now) {
  let_rows_out(rows_.waiting_for(events), events, now);
}

void SchedulingQueue::wake(std::uint32_t event, const placement::ChangeFacts& facts, Time now) {
  let_rows_out(rows_.touched(event, facts), event, now);
}

void SchedulingQueue::wake_one(const EntityKey& key, Time now) {
  const auto known = entries_.find(key);
  ++wakes_;
  if (known != entries_.end() && known->second.place == SubQueue::Unschedulable)
    figures_.count(let_out(known->second, now), QueueEvent::Asked);
}

std::vector<QueuedEntity> SchedulingQueue::refused(std::size_t entries_max) const {
  std::vector<QueuedEntity> entries;
  for (const auto& [key, slot] : entries_)
    if (slot.place == SubQueue::Unschedulable || slot.place == SubQueue::Backoff)
      entries.push_back(slot.entry);
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(std::min(entries.size(), entries_max));
  std::partial_sort(entries.begin(), end, entries.end(), placement::queue_sort_less);
  entries.erase(end, entries.end());
  return entries;
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
