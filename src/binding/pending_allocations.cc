#include "binding/pending_allocations.h"

#include <algorithm>

#include "base/known_defects.h"
#include "binding/reservation.h"
#include "client/claim_writes.h"

namespace berth::binding {
namespace {

const api::ResourceClaim* find_claim(const client::View& view, const api::ObjectKey& key,
                                     std::string_view uid) {
  const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
  return claim && claim->meta.uid == uid ? claim : nullptr;
}

// Whether the write may have been carried out, or may still be.
bool may_still_land(const client::ApiReply& reply) {
  constexpr int kBadRequest = 400, kTimeout = 408, kThrottled = 429, kServerError = 500;
  const bool refused = reply.code >= kBadRequest && reply.code < kServerError && reply.code != kTimeout &&
                       reply.code != kThrottled;
  return reply.delivery != client::Delivery::Answered || !refused;
}

}  // namespace

bool PendingAllocations::may_land(const client::View& view, const api::ObjectKey& key, const Entry& entry) {
  const api::ResourceClaim* claim = find_claim(view, key, entry.claim_uid);
  if (!claim || claim->allocation) return false;
  return !entry.is_unknown || claim->meta.resource_version <= entry.version;
}

void PendingAllocations::forget_devices(const api::ObjectKey& request, const Claims::value_type& row) {
  for (const std::string& device : row.second.devices) {
    const auto holders = by_device_.find(device);
    if (holders == by_device_.end()) continue;
    holders->second.erase({request, row.first});
    if (holders->second.empty()) by_device_.erase(holders);
  }
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
    Claims& claims = claims_[key];
    Entry entry{claim->meta.uid, request.decision_id, client::whole_devices(wanted.allocation)};
    if (const auto before = claims.find(claim_key); before != claims.end()) {
      forget_devices(key, *before);
      // The answer to this write says nothing about an earlier one of unknown fate.
      if (before->second.claim_uid == entry.claim_uid && before->second.is_unknown) {
        entry.is_unknown = true;
        entry.version = before->second.version;
      }
    }
    for (const std::string& device : entry.devices) by_device_[device].insert({key, claim_key});
    claims[claim_key] = std::move(entry);
  }
}

void PendingAllocations::failed(const client::View& view, const api::ObjectKey& request,
                                const client::Outcome& outcome) {
  const auto sent = claims_.find(request);
  if (sent == claims_.end()) return;
  for (const client::ChainOutcome& chain : outcome.chains) {
    const auto entry = sent->second.find(chain.key);
    if (entry == sent->second.end() || chain.ok || !may_still_land(chain.last)) continue;
    const api::ResourceClaim* claim = find_claim(view, chain.key, entry->second.claim_uid);
    entry->second.is_unknown = true;
    entry->second.version = claim ? claim->meta.resource_version : 0;
  }
}

void PendingAllocations::answered(const client::View& view, const api::ObjectKey& request) {
  const auto sent = claims_.find(request);
  if (sent == claims_.end()) return;
  std::erase_if(sent->second, [&](const Claims::value_type& row) {
    if (row.second.is_unknown && may_land(view, row.first, row.second)) return false;
    forget_devices(request, row);
    return true;
  });
  if (sent->second.empty()) claims_.erase(sent);
}

std::vector<client::Chain> PendingAllocations::to_seal(const client::View& view,
                                                       const api::ObjectKey& request) const {
  std::vector<client::Chain> chains;
  const auto sent = claims_.find(request);
  if (sent == claims_.end() || has(KnownDefect::LateAllocationNotSealed)) return chains;
  for (const auto& [key, entry] : sent->second)
    if (const api::ResourceClaim* claim = find_claim(view, key, entry.claim_uid))
      chains.push_back({key, {client::seal_claim(*claim, entry.decision)}});
  return chains;
}

std::string PendingAllocations::holder_of(const client::View& view, const api::DeviceResult& device,
                                          std::string_view claim_uid) const {
  if (!client::takes_whole(device)) return "";
  const auto holders = by_device_.find(client::device_key(device));
  if (holders == by_device_.end()) return "";
  for (const auto& [request, claim] : holders->second) {
    const Entry& entry = claims_.at(request).at(claim);
    if (entry.claim_uid != claim_uid && may_land(view, claim, entry)) return claim.name;
  }
  return "";
}

}  // namespace berth::binding
