// How many pods that are alike find devices on one node together: their claims as one request, which the
// allocator searches to the end.
#include <map>

#include "dra/allocator.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

// The pods' claims without devices, by the number of pods that name them.
std::map<model::ClaimId, std::size_t> claims_without_devices(const model::Cluster& cluster,
                                                             std::span<const api::Pod* const> pods) {
  std::map<model::ClaimId, std::size_t> claims;
  for (const api::Pod* pod : pods)
    for (const api::PodClaim& claim : pod->claims) {
      const model::ClaimId id = cluster.find_claim(pod->meta.ns, api::claim_object_name(*pod, claim));
      if (id.valid() && cluster.claim(id).live && !cluster.ledger().reservation(id)) ++claims[id];
    }
  return claims;
}

class DeviceFitCounter final : public JointFitCounter {
 public:
  // More pods never fit where fewer do not, so the largest number is found by halving. Where some of the pods
  // share a claim, it would matter which of them are counted.
  std::int64_t count(const SchedulingContext& context, std::span<const api::Pod* const> alike,
                     NodeId node) const override {
    std::size_t fit = 1, most = alike.size();
    for (const auto& [claim, pods] : claims_without_devices(context.cluster, alike))
      if (pods != 1 && pods != most) return static_cast<std::int64_t>(most);
    if (may_fit(context, alike, node)) return static_cast<std::int64_t>(most);
    while (most - fit > 1) {
      const std::size_t half = fit + (most - fit) / 2;
      (may_fit(context, alike.first(half), node) ? fit : most) = half;
    }
    return static_cast<std::int64_t>(fit);
  }

 private:
  static bool may_fit(const SchedulingContext& context, std::span<const api::Pod* const> pods, NodeId node) {
    std::vector<dra::ClaimPtr> claims;
    for (const auto& [claim, users] : claims_without_devices(context.cluster, pods))
      claims.push_back(context.cluster.claim(claim).live);
    if (claims.empty()) return true;
    const auto request = context.allocator.prepare(claims);
    if (!request) return true;
    const dra::AllocationVerdict verdict = context.allocator.allocate(**request, node, dra::Explain::Nothing);
    return !std::holds_alternative<dra::Impossible>(verdict);
  }
};

}  // namespace

std::unique_ptr<JointFitCounter> device_fit_counter() {
  return std::make_unique<DeviceFitCounter>();
}

}  // namespace berth::placement::plugins
