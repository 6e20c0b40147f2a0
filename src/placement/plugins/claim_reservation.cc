// DynamicResources, Reserve and PostFilter: reserves the chosen devices; deallocates claims of a pod that
// fits nowhere. Source: KEP-4381, KEP-5007 (devices that do not get ready). Unlike kube-scheduler, all
// unusable claims of a pod are deallocated at once, and a usable one only if that lets the pod fit.
#include <algorithm>

#include "base/assert.h"
#include "base/known_defects.h"
#include "client/claim_writes.h"
#include "placement/claims.h"
#include "placement/plugins/extended_resources.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class ClaimReservation final : public Reserve {
 public:
  std::string_view name() const override { return kDynamicResources; }
  Status reserve(CycleState& state, NodeId node, model::Ledger::Transaction& transaction) const override {
    const PodClaims& pod = claims_of(state);
    const NodeDevices& devices = devices_of(state);
    state.reservation.node_allocatable = devices.node_allocatable;
    std::size_t next = 0;
    for (const ClaimChoice& choice : pod.claims) {
      ClaimChoice& chosen = state.reservation.claims.emplace_back(choice);
      if (!chosen.allocation) {
        BERTH_ASSERT(next < devices.allocations.size(), "every claim of the ask has an allocation");
        chosen.allocation = devices.allocations[next++];
      }
      // A claim that is already allocated is charged too: another client may be deallocating it unseen.
      allocate(state, chosen, transaction);
    }
    if (!pod.extended || !allocation_request_for(state, node) || !pod.extended->chosen) return {};
    BERTH_ASSERT(next < devices.allocations.size(), "the claim for extended resources comes last");
    const model::ClaimId made = state.context->cluster.claim_id(state.pod->meta.ns, pod.extended->claim_name);
    state.reservation.claims.push_back(
        {"", made, devices.allocations[next], ClaimState::Usable, pod.extended->chosen});
    allocate(state, state.reservation.claims.back(), transaction);
    return {};
  }
  void unreserve(CycleState&, NodeId) const override {}

 private:
  static void allocate(const CycleState& state, const ClaimChoice& chosen,
                       model::Ledger::Transaction& transaction) {
    transaction.allocate(chosen.claim, state.context->cluster.reservation_for(chosen.allocation));
  }
};

client::Chain deallocation(const api::ResourceClaim& claim) {
  return {client::key_of(api::Kind::ResourceClaim, claim.meta), {client::clear_allocation(claim)}};
}

// No other pod has reserved the claim or is decided to use it.
bool is_ours_alone(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod) {
  const model::ClaimRow& row = context.cluster.claim(claim);
  const bool carried =
      std::any_of(row.bind_requests.begin(), row.bind_requests.end(),
                  [&](const auto& request) { return context.cluster.is_effective(*request.second); });
  return row.live && row.live->allocation && !row.live->meta.deleting() && !carried &&
         row.assumed_by.empty() && other_consumers(context, claim, pod) == 0;
}

// One write for each claim to deallocate: the unusable ones; if there are none, usable ones if the pod would
// then fit somewhere. Never a claim that another pod has reserved or is decided to use.
class ClaimDeallocation final : public PostFilter {
 public:
  std::string_view name() const override { return kDynamicResources; }
  std::vector<client::Chain> after_refusal(const CycleState& state, model::Ledger::Transaction& transaction,
                                           const FitsNow& fits_now) const override {
    if (has(KnownDefect::FailedBindingKeepsClaims)) return {};
    const SchedulingContext& context = *state.context;
    std::vector<client::Chain> unusable, sound;
    const auto before = transaction.savepoint();
    for (const ClaimChoice& choice : claims_of(state).claims) {
      if (!choice.allocation || !is_ours_alone(context, choice.claim, *state.pod)) continue;
      const api::ResourceClaim& claim = *context.cluster.claim(choice.claim).live;
      (choice.state == ClaimState::Unusable ? unusable : sound).push_back(deallocation(claim));
      transaction.remove_claim(choice.claim);
    }
    const bool helps = unusable.empty() && !sound.empty() && fits_now();
    transaction.roll_back_to(before);
    return helps ? std::move(sound) : std::move(unusable);
  }
};

}  // namespace

std::unique_ptr<Reserve> claim_reservation() {
  return std::make_unique<ClaimReservation>();
}
std::unique_ptr<PostFilter> claim_deallocation() {
  return std::make_unique<ClaimDeallocation>();
}

}  // namespace berth::placement::plugins
