// The devices that All requests must take (search_context.h).
#include <algorithm>
#include <tuple>

#include "dra/pools/capacity.h"
#include "dra/search/refusal_texts.h"
#include "dra/search/search_context.h"

namespace berth::dra {
namespace {

// In Kubernetes' order, slice by slice. An All request takes every device, so preferences do not apply.
std::vector<DeviceRef> all_selected(const SearchContext& context, const CompiledSubRequest& sub) {
  const NodeDevices& devices = *context.devices;
  std::vector<DeviceRef> places;
  for (std::uint32_t s = 0; s < devices.order.size(); ++s) {
    const Selected selected = context.selected(devices.order[s], sub);
    const Mask look = (selected.match | selected.error) & devices.order[s].mask;
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) places.push_back({s, i});
  }
  const auto rank = [&](const DeviceRef& place) {
    const DeviceRun& run = devices.order[place.device_run];
    return std::tuple(devices.pools[run.pool].has_binding_conditions, run.pool, run.slice, place.device);
  };
  std::sort(places.begin(), places.end(),
            [&](const DeviceRef& a, const DeviceRef& b) { return rank(a) < rank(b); });
  return places;
}

bool all_pools_usable(SearchContext& context, const std::string& where) {
  for (const NodePool& pool : context.devices->pools) {
    if (pool.state == PoolState::Usable) continue;
    const model::PoolRow& row = context.cluster.pool(pool.id);
    context.fail(where + ": asks for all devices, but resource pool " + row.driver + "/" + row.pool +
                     " is currently " + (pool.state == PoolState::Invalid ? "invalid" : "being updated"),
                 pool.fault);
    return false;
  }
  return true;
}

bool collect(SearchContext& context, const CompiledClaim& claim, const CompiledSubRequest& sub,
             std::vector<DeviceRef>& out) {
  const std::string where = text_of(*claim.claim) + ", request " + sub.spec->name;
  if (!all_pools_usable(context, where)) return false;
  const NodeDevices& devices = *context.devices;
  for (const DeviceRef place : all_selected(context, sub)) {
    const DeviceRun& run = devices.order[place.device_run];
    if (context.selected(run, sub).error.test(place.device)) {
      fail_on_selector(context, *claim.claim, sub, place);
      return false;
    }
    if (!run.here.test(place.device)) continue;
    const api::Device& device = devices.device_at(place);
    const Result<bool> enough = devices.is_shareable(place) ? share_fits_unused(device, sub.spec->capacity)
                                                            : large_enough(device, sub.spec->capacity);
    if (!enough) {
      context.fail(where + ": checking capacity for device " + device.name + ": " + enough.error().message());
      return false;
    }
    if (*enough) out.push_back(place);
  }
  return true;
}

}  // namespace

bool collect_all(SearchContext& context) {
  for (const CompiledClaim& claim : context.compiled->claims) {
    std::size_t least = 0;
    for (const CompiledRequest& request : claim.requests) {
      for (const CompiledSubRequest& sub : request.alternatives) {
        if (sub.spec->mode != api::AllocationMode::All) continue;
        const auto [entry, added] = context.collected.try_emplace(&sub);
        // Claims of one spec share what is collected.
        if (added && !collect(context, claim, sub, entry->second)) return false;
      }
      least += context.wanted_at_least(request);
    }
    if (least <= kClaimResultsMax) continue;
    context.fail(text_of(*claim.claim) + ": number of requested devices " + std::to_string(least) +
                 " exceeds the claim limit of " + std::to_string(kClaimResultsMax));
    return false;
  }
  return true;
}

}  // namespace berth::dra
