#include "scheduling/keepers/whole_claims.h"

#include <algorithm>
#include <utility>

namespace berth::scheduling {
namespace {

bool wants_all(const api::ResourceClaim& claim) {
  return std::any_of(claim.requests.begin(), claim.requests.end(), [](const api::DeviceRequest& request) {
    return std::any_of(request.alternatives.begin(), request.alternatives.end(),
                       [](const api::DeviceSubRequest& one) { return one.mode == api::AllocationMode::All; });
  });
}

bool lacks_devices(const client::View& view, model::NodeId node, const api::BindRequest& request,
                   const api::ClaimAllocation& decided, dra::Allocator& allocator) {
  const dra::ClaimPtr claim = view.claims.find_shared(request.meta.ns, decided.claim_name);
  if (!claim || claim->meta.uid != decided.claim_uid || claim->allocation || !wants_all(*claim)) return false;
  const auto compiled = allocator.prepare({&claim, 1});
  return compiled && allocator.wants_more(**compiled, node, decided.allocation);
}

}  // namespace

void WholeClaims::note(const api::ObjectKey& key, const api::BindRequest* request) {
  const bool waits =
      request && request->phase == api::BindPhase::Pending && !request->withdrawn && !request->claims.empty();
  if (waits)
    waiting_.insert(key);
  else
    waiting_.erase(key);
}

std::vector<api::BindRequestPtr> WholeClaims::outdated(const client::View& view,
                                                       const model::Cluster& cluster,
                                                       dra::Allocator& allocator) {
  std::vector<api::BindRequestPtr> found;
  if (!std::exchange(look_, false)) return found;
  for (const api::ObjectKey& key : waiting_) {
    const api::BindRequestPtr request = view.bind_requests.find_shared(key.ns, key.name);
    const model::NodeId node = request ? cluster.find_node(request->node) : model::NodeId();
    if (node.valid() &&
        std::any_of(request->claims.begin(), request->claims.end(), [&](const api::ClaimAllocation& claim) {
          return lacks_devices(view, node, *request, claim, allocator);
        }))
      found.push_back(request);
  }
  return found;
}

}  // namespace berth::scheduling
