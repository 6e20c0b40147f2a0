#include "binding/pending_allocations.h"

#include <algorithm>

#include "base/known_defects.h"
#include "binding/reservation.h"

namespace berth::binding {
namespace {

const api::ResourceClaim* find_claim(const client::View& view, const api::ObjectKey& key,
                                     std::string_view uid) {
  const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
  return claim && claim->meta.uid == uid ? claim : nullptr;
}

// A copy of the write may have been carried out, or may still be.
bool may_still_land(const client::ApiReply& reply) {
  constexpr int kBadRequest = 400, kTimeout = 408, kThrottled = 429, kServerError = 500;
  const bool refused = reply.code >= kBadRequest && reply.code < kServerError && reply.code != kTimeout &&
                       reply.code != kThrottled;
  return reply.delivery != client::Delivery::Answered || !refused;
}

std::vector<std::string> whole_devices(const api::Allocation& allocation) {
  std::vector<std::string> devices;
  for (const api::DeviceResult& result : allocation.results)
    if (client::takes_whole(result)) devices.push_back(client::device_key(result));
  return devices;
}

}  // namespace

bool PendingAllocations::may_land(const client::View& view, const Entry& entry) {
  const api::ResourceClaim* claim = find_claim(view, entry.claim, entry.claim_uid);
  if (!claim || claim->allocation) return false;
  return !entry.is_unknown || claim->meta.resource_version <= entry.version;
}

void PendingAllocations::erase(Entries::iterator entry) {
  for (const std::string& device : entry->second.devices) {
    const auto holders = by_device_.find(device);
    holders->second.erase(&entry->second);
    if (holders->second.empty()) by_device_.erase(holders);
  }
  entries_.erase(entry);
}

void PendingAllocations::sent(const client::View& view, const api::BindRequest& request,
                              const client::Effects& effects) {
  if (has(KnownDefect::PendingAllocationsForgotten)) return;
  const api::ObjectKey key = client::key_of(api::Kind::BindRequest, request.meta);
  for (const api::ClaimAllocation& wanted : request.claims) {
    const api::ResourceClaim* claim = view.claims.find(request.meta.ns, wanted.claim_name);
    if (!claim || claim->allocation) continue;
    const api::ObjectKey claim_key = client::key_of(api::Kind::ResourceClaim, claim->meta);
    const bool allocates = std::any_of(effects.chains.begin(), effects.chains.end(), [&](const auto& chain) {
      return chain.key == claim_key && allocates_claim(chain);
    });
    if (!allocates) continue;
    for (auto [at, end] = entries_.equal_range(key); at != end;)
      if (const auto same = at++; same->second.claim == claim_key) erase(same);
    const auto entry = entries_.emplace(
        key, Entry{claim_key, claim->meta.uid, request.decision_id, whole_devices(wanted.allocation)});
    for (const std::string& device : entry->second.devices) by_device_[device].insert(&entry->second);
  }
}

void PendingAllocations::failed(const client::View& view, const api::ObjectKey& request,
                                const client::Outcome& outcome) {
  for (auto [at, end] = entries_.equal_range(request); at != end; ++at) {
    Entry& entry = at->second;
    for (const client::ChainOutcome& chain : outcome.chains) {
      if (chain.key != entry.claim || chain.ok || !may_still_land(chain.last)) continue;
      const api::ResourceClaim* claim = find_claim(view, entry.claim, entry.claim_uid);
      entry.is_unknown = true;
      entry.version = claim ? claim->meta.resource_version : 0;
    }
  }
}

void PendingAllocations::answered(const client::View& view, const api::ObjectKey& request) {
  for (auto [at, end] = entries_.equal_range(request); at != end;)
    if (const auto entry = at++; !entry->second.is_unknown || !may_land(view, entry->second)) erase(entry);
}

std::vector<client::Chain> PendingAllocations::to_seal(const client::View& view,
                                                       const api::ObjectKey& request) const {
  std::vector<client::Chain> chains;
  if (has(KnownDefect::LateAllocationNotSealed)) return chains;
  for (auto [at, end] = entries_.equal_range(request); at != end; ++at)
    if (const api::ResourceClaim* claim = find_claim(view, at->second.claim, at->second.claim_uid))
      chains.push_back(seal_claim(*claim, at->second.decision));
  return chains;
}

std::string PendingAllocations::holder_of(const client::View& view, const api::DeviceResult& device,
                                          std::string_view claim_uid) const {
  if (!client::takes_whole(device)) return "";
  const auto holders = by_device_.find(client::device_key(device));
  if (holders == by_device_.end()) return "";
  for (const Entry* entry : holders->second)
    if (entry->claim_uid != claim_uid && may_land(view, *entry)) return entry->claim.name;
  return "";
}

}  // namespace berth::binding
