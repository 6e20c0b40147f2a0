#include "scheduling/keepers/withdrawals.h"

#include "base/known_defects.h"
#include "client/request_writes.h"

namespace berth::scheduling {
namespace {

client::Write withdrawal(const api::ObjectKey& key, const api::BindRequest& request) {
  if (request.in_memory) {
    api::BindRequest withdrawn = request;
    withdrawn.withdrawn = true;
    return client::change_kept_request(request, std::move(withdrawn));
  }
  return client::merge_patch(key, Json::object({{"spec", Json::object({{"withdrawn", true}})}}),
                             request.meta.uid, request.meta.resource_version);
}

}  // namespace

void Withdrawals::want(const api::BindRequest& request, Time now) {
  const api::ObjectKey key = client::key_of(api::Kind::BindRequest, request.meta);
  std::string& decision = decisions_[key];
  if (decision == request.decision_id) return;
  decision = request.decision_id;
  writes_.want(key, now);
}

client::Effects Withdrawals::due(const client::View& view, Time now) {
  client::Effects effects;
  while (effects.chains.size() < kWithdrawalsPerWriteMax) {
    const std::optional<api::ObjectKey> key = writes_.next(now);
    if (!key) break;
    const api::BindRequest* request = view.bind_requests.find(key->ns, key->name);
    const bool wanted = request && request->decision_id == decisions_.at(*key) && !request->withdrawn &&
                        request->phase == api::BindPhase::Pending;
    if (wanted) {
      effects.chains.push_back({*key, {withdrawal(*key, *request)}});
    } else {
      decisions_.erase(*key);
      writes_.erase(*key);
    }
  }
  return effects;
}

bool Withdrawals::write_done(const api::ObjectKey& key, bool ok, Time now) {
  if (!writes_.write_done(key, ok, now)) return false;
  if (has(KnownDefect::WithdrawalSentOnce)) writes_.erase(key);
  return true;
}

}  // namespace berth::scheduling
