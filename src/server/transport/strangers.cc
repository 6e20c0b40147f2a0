#include "server/transport/strangers.h"

namespace berth::server {

Strangers::Admission Strangers::admit(Id id, const std::string& address, Time now) {
  Admission admission;
  OfAddress& same = addresses_[address];
  if (same.count >= per_address_max_) {
    if (same.order.empty()) return admission;
    admission.evicted = same.order.begin()->second;
  }
  admission.admitted = true;
  Entry& entry = entries_.try_emplace(id).first->second;
  entry.address = address;
  ++same.count;
  place(id, entry, now);
  if (admission.evicted) remove(admission.evicted);
  return admission;
}

void Strangers::place(Id id, Entry& entry, Time since) {
  entry.since = since;
  order_.emplace(since, id);
  addresses_[entry.address].order.emplace(since, id);
}

void Strangers::unplace(Id id, Entry& entry) {
  order_.erase({entry.since, id});
  addresses_[entry.address].order.erase({entry.since, id});
}

void Strangers::heard(Id id, Time now) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  unplace(id, found->second);
  found->second.is_answered = false;
  place(id, found->second, now + kHeardCredit);
}

void Strangers::answering(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.is_answered) return;
  unplace(id, found->second);
  found->second.is_answered = true;
}

void Strangers::remove(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  unplace(id, found->second);
  const auto address = addresses_.find(found->second.address);
  if (--address->second.count == 0) addresses_.erase(address);
  entries_.erase(found);
}

Strangers::Id Strangers::evict_but(Id id) {
  for (const auto& [since, candidate] : order_) {
    if (candidate == id) continue;
    const Id goes = candidate;
    remove(goes);
    return goes;
  }
  return nullptr;
}

}  // namespace berth::server
