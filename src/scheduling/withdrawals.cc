#include "scheduling/withdrawals.h"

#include "base/backoff.h"
#include "base/known_defects.h"

namespace berth::scheduling {
namespace {

client::Write withdrawal(const api::ObjectKey& key, const api::BindRequest& request) {
  return client::merge_patch(key, Json::object({{"spec", Json::object({{"withdrawn", true}})}}),
                             request.meta.uid, request.meta.resource_version);
}

}  // namespace

void Withdrawals::schedule(const api::ObjectKey& key, PendingWithdrawal& entry, Time at) {
  due_.erase({entry.due, key});
  entry.due = at;
  if (!entry.under_way) due_.emplace(at, key);
}

void Withdrawals::want(const api::BindRequest& request, Time now) {
  const api::ObjectKey key = client::key_of(api::Kind::BindRequest, request.meta);
  PendingWithdrawal& entry = entries_[key];
  if (entry.decision == request.decision_id) return;
  entry.decision = request.decision_id;
  entry.failures = 0;
  schedule(key, entry, now);
}

void Withdrawals::clear() {
  entries_.clear();
  due_.clear();
}

client::Effects Withdrawals::due(const client::View& view, Time now) {
  client::Effects effects;
  while (!due_.empty() && due_.begin()->first <= now && effects.chains.size() < kWithdrawalsPerWriteMax) {
    const api::ObjectKey key = due_.begin()->second;
    due_.erase(due_.begin());
    PendingWithdrawal& entry = entries_.at(key);
    const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
    const bool wanted = request && request->decision_id == entry.decision && !request->withdrawn &&
                        request->phase == api::BindPhase::Pending;
    if (!wanted) {
      entries_.erase(key);
      continue;
    }
    entry.under_way = true;
    effects.chains.push_back({key, {withdrawal(key, *request)}});
  }
  return effects;
}

bool Withdrawals::write_done(const api::ObjectKey& key, bool ok, Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.under_way) return false;
  PendingWithdrawal& entry = found->second;
  entry.under_way = false;
  entry.failures = ok ? 0 : entry.failures + 1;
  if (has(KnownDefect::WithdrawalSentOnce)) return true;
  schedule(key, entry, now + backoff(kWithdrawalRetryFirst, kWithdrawalRetryMax, entry.failures));
  return true;
}

std::optional<Time> Withdrawals::next_time() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace berth::scheduling
