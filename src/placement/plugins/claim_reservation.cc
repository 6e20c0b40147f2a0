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
  Status reserve(const PodQuery& query, const NodeChoice& choice, NodeId,
                 model::Ledger::Transaction& transaction, Reservation& reservation) const override {
    const PodClaims& pod = claims_of(query);
    const NodeDevices& devices = devices_of(choice);
    reservation.node_allocatable = devices.node_allocatable;
    std::size_t next = 0;
    for (const ClaimChoice& claim : pod.claims) {
      ClaimChoice& chosen = reservation.claims.emplace_back(claim);
      if (!chosen.allocation) {
        BERTH_ASSERT(next < devices.allocations.size(), "every claim of the ask has an allocation");
        chosen.allocation = devices.allocations[next++];
      }
      // A claim that is already allocated is charged too: another client may be deallocating it unseen.
      transaction.allocate(chosen.claim, reservation_of(query, chosen));
    }
    if (!devices.extended) return {};
    BERTH_ASSERT(next < devices.allocations.size(), "the claim for extended resources comes last");
    const model::ClaimId made = query.context->cluster.new_claim(transaction);
    reservation.claims.push_back({"", made, devices.allocations[next], ClaimState::Usable, devices.extended});
    transaction.allocate(made, reservation_of(query, reservation.claims.back()));
    return {};
  }
  void unreserve(const PodQuery&, NodeId) const override {}

 private:
  static model::ClaimReservationPtr reservation_of(const PodQuery& query, const ClaimChoice& chosen) {
    return query.context->cluster.reservation_for(chosen.allocation);
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
  std::vector<client::Chain> after_refusal(const PodQuery& query, model::Ledger::Transaction& transaction,
                                           const FitsNow& fits_now) const override {
    if (has(KnownDefect::FailedBindingKeepsClaims)) return {};
    const SchedulingContext& context = *query.context;
    std::vector<client::Chain> unusable, sound;
    const auto before = transaction.savepoint();
    for (const ClaimChoice& choice : claims_of(query).claims) {
      if (!choice.allocation || !is_ours_alone(context, choice.claim, *query.pod)) continue;
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
