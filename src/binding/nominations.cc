#include "binding/nominations.h"

#include <algorithm>

#include "base/backoff.h"

namespace berth::binding {
namespace {

constexpr Duration kNominationSpacing = Duration::micros(1'000'000 / kNominationsPerSecondMax);

}  // namespace

void Nominations::add(const api::Pod& pod, const std::string& node, NominationRecord& record, Time now,
                      client::Effects& effects) {
  if (pod.nominated_node == node || !effects.chains.empty()) return;
  if (!record.due.is_set()) {
    record.due = std::max(now + kQuietNomination, next_);
    next_ = record.due + kNominationSpacing;
  }
  if (now < record.due) {
    effects.wake_at = effects.wake_at ? std::min(*effects.wake_at, record.due) : record.due;
    return;
  }
  record.due = now + backoff(kNominationRetryFirst, kNominationRetryMax, ++record.attempts);
  record.under_way = true;
  const api::ObjectKey key = client::key_of(api::Kind::Pod, pod.meta);
  effects.chains.push_back({key, {client::nomination_patch(key, pod.meta, node)}});
}

}  // namespace berth::binding
