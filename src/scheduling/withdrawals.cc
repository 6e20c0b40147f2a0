#include "scheduling/withdrawals.h"

#include <algorithm>

namespace berth::scheduling {
namespace {

client::Write withdrawal(const api::ObjectKey& key, const api::BindRequest& request) {
  return client::merge_patch(key, Json::object({{"spec", Json::object({{"withdrawn", true}})}}),
                             request.meta.uid, request.meta.resource_version);
}

}  // namespace

void Withdrawals::want(const api::BindRequest& request, Time now) {
  Entry& entry = entries_[client::key_of(api::Kind::BindRequest, request.meta)];
  if (entry.decision == request.decision_id) return;
  const bool under_way = entry.under_way;
  entry = {request.decision_id, now, 0, under_way};
}

client::Effects Withdrawals::due(const client::View& view, Time now) {
  client::Effects effects;
  for (auto at = entries_.begin(); at != entries_.end() && effects.chains.size() < kWithdrawalsPerWriteMax;) {
    const auto& key = at->first;
    Entry& entry = at->second;
    const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
    const bool wanted = request && request->decision_id == entry.decision && !request->withdrawn &&
                        request->phase == api::BindPhase::Pending;
    if (!wanted && !entry.under_way) {
      at = entries_.erase(at);
      continue;
    }
    if (wanted && !entry.under_way && entry.due <= now) {
      entry.under_way = true;
      effects.chains.push_back({key, {withdrawal(key, *request)}});
    }
    ++at;
  }
  return effects;
}

bool Withdrawals::settle(const api::ObjectKey& key, bool ok, Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.under_way) return false;
  Entry& entry = found->second;
  entry.under_way = false;
  constexpr std::uint32_t kDoublingsMax = 10;
  const Duration delay = kWithdrawalRetryFirst * (std::int64_t{1} << std::min(entry.failures, kDoublingsMax));
  entry.failures = ok ? 0 : entry.failures + 1;
  entry.due = ok ? now : now + std::min(delay, kWithdrawalRetryMax);
  return true;
}

std::optional<Time> Withdrawals::next_time() const {
  std::optional<Time> next;
  for (const auto& [key, entry] : entries_)
    if (!entry.under_way && (!next || entry.due < *next)) next = entry.due;
  return next;
}

}  // namespace berth::scheduling
