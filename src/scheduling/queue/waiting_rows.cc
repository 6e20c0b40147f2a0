#include "scheduling/queue/waiting_rows.h"

#include <algorithm>

namespace berth::scheduling {

using placement::ChangeFacts;
using placement::HintKey;
using placement::PodHints;

RowId WaitingRows::row_of(placement::WaitsFor waits_for) {
  RowId id = last_ + 1;
  if (!waits_for.alike.empty()) id = by_likeness_.emplace(waits_for.alike, id).first->second;
  last_ = std::max(last_, id);
  const auto [at, is_new] = rows_.try_emplace(id);
  Row& row = at->second;
  if (!is_new && row.hints == waits_for.hints) return id;
  if (!is_new) unlist(id, row.hints);
  row.alike = std::move(waits_for.alike);
  row.hints = std::move(waits_for.hints);
  list(id, row.hints);
  return id;
}

void WaitingRows::insert(RowId id, const QueuedEntity& entry, Time backoff_end) {
  Row& row = rows_.at(id);
  row.backing_off.emplace(backoff_end, entry.key);
  row.entries.emplace(entry.key, entry);
}

void WaitingRows::erase(RowId id, const QueuedEntity& entry, Time backoff_end) {
  Row& row = rows_.at(id);
  row.ready.erase(entry);
  row.backing_off.erase({backoff_end, entry.key});
  row.entries.erase(entry.key);
  forget_if_empty(id);
}

void WaitingRows::clear_head(RowId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  found->second.head.reset();
  forget_if_empty(id);
}

void WaitingRows::forget_if_empty(RowId id) {
  const auto found = rows_.find(id);
  const Row& row = found->second;
  if (row.head || !row.ready.empty() || !row.backing_off.empty()) return;
  unlist(id, row.hints);
  if (!row.alike.empty()) by_likeness_.erase(row.alike);
  rows_.erase(found);
}

std::optional<EntityKey> WaitingRows::next(RowId id, Time now) {
  Row& row = rows_.at(id);
  while (!row.backing_off.empty() && row.backing_off.begin()->first <= now) {
    const auto over = row.entries.find(row.backing_off.begin()->second);
    row.ready.insert(std::move(over->second));
    row.entries.erase(over);
    row.backing_off.erase(row.backing_off.begin());
  }
  if (!row.ready.empty()) return row.ready.begin()->key;
  if (!row.backing_off.empty()) return row.backing_off.begin()->second;
  return std::nullopt;
}

void WaitingRows::list(RowId id, const PodHints& hints) {
  by_events_[{hints.events, hints.keyed}].insert(id);
  for (const HintKey& key : hints.keys) posts_.emplace(key.front().fact, key.front().at_least, id);
}

void WaitingRows::unlist(RowId id, const PodHints& hints) {
  const auto at = by_events_.find({hints.events, hints.keyed});
  at->second.erase(id);
  if (at->second.empty()) by_events_.erase(at);
  for (const HintKey& key : hints.keys) posts_.erase({key.front().fact, key.front().at_least, id});
}

std::vector<RowId> WaitingRows::waiting_for(std::uint32_t events) const {
  std::vector<RowId> rows;
  for (const auto& [of, ids] : by_events_)
    if (((of.first | of.second) & events) != 0) rows.insert(rows.end(), ids.begin(), ids.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

bool WaitingRows::reads_facts_of(std::uint32_t event) const {
  return std::ranges::any_of(by_events_, [&](const auto& of) { return (of.first.second & event) != 0; });
}

std::vector<RowId> WaitingRows::touched(std::uint32_t event, const ChangeFacts& facts) const {
  std::vector<RowId> rows;
  for (const auto& [of, ids] : by_events_)
    if ((of.first & event) != 0) rows.insert(rows.end(), ids.begin(), ids.end());
  for (const auto& [fact, amount] : facts.amounts())
    for (auto at = posts_.lower_bound({fact, INT64_MIN, kNoRow});
         at != posts_.end() && std::get<0>(*at) == fact && std::get<1>(*at) <= amount; ++at) {
      const Row& row = rows_.at(std::get<2>(*at));
      if (std::ranges::any_of(row.hints.keys, [&](const HintKey& key) {
            return key.front().fact == fact && facts.bring(key);
          }))
        rows.push_back(std::get<2>(*at));
    }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace berth::scheduling
