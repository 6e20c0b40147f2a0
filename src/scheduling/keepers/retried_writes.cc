#include "scheduling/keepers/retried_writes.h"

#include "base/backoff.h"

namespace berth::scheduling {

void RetriedWrites::schedule(const api::ObjectKey& key, WriteState& state, Time at) {
  due_.erase({state.due, key});
  state.due = at;
  if (!state.under_way) due_.emplace(at, key);
}

void RetriedWrites::want(const api::ObjectKey& key, Time now) {
  WriteState& state = entries_[key];
  state.failures = 0;
  schedule(key, state, now);
}

void RetriedWrites::erase(const api::ObjectKey& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  due_.erase({found->second.due, key});
  entries_.erase(found);
}

std::optional<api::ObjectKey> RetriedWrites::next(Time now) {
  if (due_.empty() || due_.begin()->first > now) return std::nullopt;
  const api::ObjectKey key = due_.begin()->second;
  due_.erase(due_.begin());
  entries_.at(key).under_way = true;
  return key;
}

bool RetriedWrites::write_done(const api::ObjectKey& key, bool ok, Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.under_way) return false;
  WriteState& state = found->second;
  state.under_way = false;
  state.failures = ok ? 0 : state.failures + 1;
  schedule(key, state, now + backoff(kRetriedWriteFirst, kRetriedWriteMax, state.failures));
  return true;
}

std::optional<Time> RetriedWrites::next_time() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace berth::scheduling
