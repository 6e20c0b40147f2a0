// VolumeBinding: the pod's PersistentVolumeClaims. The volumes of bound claims restrict the pod to their
// nodes; claims that wait for a consumer get a volume that exists, or one that is provisioned for the node.
// The choice is part of the decision: it counts from the transaction on, until a claim shows it. Source:
// kube-scheduler's plugin for rules and texts.
#include <algorithm>
#include <optional>
#include <utility>

#include "client/volumes.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using client::ClaimProblem;

bool has_volumes(const api::Pod& pod) {
  return !pod.volumes.empty();
}

// A choice for a claim that is not bound yet, of a decision under way. Valid until the view, an assumption or
// the transaction changes.
struct PendingBinding {
  const PersistentVolumeClaim* claim;
  const api::VolumeBinding* binding;
  std::string_view node;
};

struct DelayedClaim {
  const PersistentVolumeClaim* claim;
  std::vector<const PersistentVolume*> volumes;  // best first
  std::string only_node;                         // where it is provisioned; empty: not chosen yet
  bool may_provision = true;
};

// In CycleState::slots.
struct PodVolumes {
  std::vector<const PersistentVolume*> bound;  // of its bound claims; null: it does not exist
  std::vector<DelayedClaim> delayed;           // smallest request first
  void clear() {
    bound.clear();
    delayed.clear();
  }
};

// In CycleState::node_slots: for the node that was judged last.
struct NodeVolumes {
  std::vector<api::VolumeBinding> bindings;
  void clear() { bindings.clear(); }
};

// The choices of decisions under way: written, assumed, or made in this transaction.
class PendingBindings {
 public:
  explicit PendingBindings(const SchedulingContext& context) : context_(context) {
    model::Cluster& cluster = context.cluster;
    for (const auto& [uid, assumption] : cluster.assumptions())
      add(unwritten_, assumption.pod.ns, assumption.reservation.volumes, assumption.node);
    if (const model::Ledger::Transaction* open = cluster.ledger().open_transaction())
      for (const model::Step& step : open->steps())
        if (const auto* place = std::get_if<model::Place>(&step);
            place && value_of(place->reservation).volumes)
          add(unwritten_, cluster.pod(place->pod).key.ns, *place->reservation->volumes,
              cluster.node(place->node).name);
  }

  std::optional<PendingBinding> about(const PersistentVolumeClaim& claim) const {
    return first(context_.view.bind_requests_of_volume_claim(claim.meta.ns, claim.meta.name),
                 [&](const PendingBinding& one) { return one.claim == &claim; });
  }
  bool takes(const PersistentVolume& volume) const {
    const std::string& name = volume.meta.name;
    return first(context_.view.bind_requests_of_volume(name),
                 [&](const PendingBinding& one) { return one.binding->volume == name; })
        .has_value();
  }

 private:
  template <class Match>
  std::optional<PendingBinding> first(const std::vector<const api::BindRequest*>& requests,
                                      Match matches) const {
    std::vector<PendingBinding> written;
    for (const api::BindRequest* request : requests)
      if (context_.cluster.is_effective(*request))
        add(written, request->meta.ns, request->volumes, request->node);
    for (const auto* list : {&unwritten_, &std::as_const(written)})
      if (const auto found = std::find_if(list->begin(), list->end(), matches); found != list->end())
        return *found;
    return std::nullopt;
  }

  // A claim that names its volume speaks for itself; one of another UID was not decided about.
  void add(std::vector<PendingBinding>& list, const std::string& ns,
           const std::vector<api::VolumeBinding>& bindings, std::string_view node) const {
    for (const api::VolumeBinding& binding : bindings) {
      const PersistentVolumeClaim* claim = context_.view.volume_claims.find(ns, binding.claim_name);
      if (claim && claim->meta.uid == binding.claim_uid && claim->volume_name.empty())
        list.push_back({claim, &binding, node});
    }
  }

  const SchedulingContext& context_;
  std::vector<PendingBinding> unwritten_;
};

DelayedClaim delayed_claim(const SchedulingContext& context, const PersistentVolumeClaim& claim,
                           const PendingBindings& pending) {
  DelayedClaim delayed{&claim, {}, std::string(claim.selected_node())};
  if (!delayed.only_node.empty()) return delayed;
  if (const auto decided = pending.about(claim)) {
    const std::string& name = decided->binding->volume;
    if (name.empty()) {
      delayed.only_node = decided->node;
    } else {
      delayed.may_provision = false;
      if (const PersistentVolume* volume = context.view.volumes.find("", name))
        delayed.volumes.push_back(volume);
    }
    return delayed;
  }
  delayed.volumes = client::volumes_for(
      context.view, claim, [&](const PersistentVolume& volume) { return pending.takes(volume); });
  // A volume that is reserved for the claim is the only one that it can get.
  if (!delayed.volumes.empty() && delayed.volumes.front()->claim_ref) delayed.may_provision = false;
  return delayed;
}

const Reason& row_of(ClaimProblem problem) {
  switch (problem) {
    case ClaimProblem::NotMadeYet:
      return reason_row("EphemeralClaimNotMade");
    case ClaimProblem::Lost:
      return reason_row("VolumeClaimLost");
    case ClaimProblem::Deleting:
      return reason_row("VolumeClaimDeleting");
    case ClaimProblem::NotOwned:
      return reason_row("VolumeClaimOfOther");
    case ClaimProblem::Unbound:
      return reason_row("UnboundImmediateClaims");
    case ClaimProblem::NotFound:
    case ClaimProblem::None:
      break;
  }
  return reason_row("VolumeClaimNotFound");
}

class VolumeClaims final : public PreFilter {
 public:
  std::string_view name() const override { return kVolumeBinding; }
  void prepare(CycleState& state) const override {
    if (!has_volumes(*state.pod)) return;
    const SchedulingContext& context = *state.context;
    const client::PodVolumeClaims claims = client::volume_claims_of(context.view, *state.pod);
    if (claims.problem != ClaimProblem::None)
      return state.diagnosis.refuse_everywhere(row_of(claims.problem), claims.subject, claims.second);
    PodVolumes& volumes = state.slots.write<PodVolumes>();
    for (const PersistentVolumeClaim* claim : claims.bound)
      volumes.bound.push_back(context.view.volumes.find("", claim->volume_name));
    if (claims.delayed.empty()) return;
    const PendingBindings pending(context);
    for (const PersistentVolumeClaim* claim : claims.delayed)
      volumes.delayed.push_back(delayed_claim(context, *claim, pending));
  }
};

// The first volume that the node reaches and no other claim of the pod got; null: none.
const PersistentVolume* choose(const DelayedClaim& delayed, const api::Node& node,
                               const std::vector<api::VolumeBinding>& chosen) {
  for (const PersistentVolume* volume : delayed.volumes) {
    const bool used = std::any_of(chosen.begin(), chosen.end(), [&](const api::VolumeBinding& binding) {
      return binding.volume == volume->meta.name;
    });
    if (!used && api::reaches(*volume, node.meta.labels)) return volume;
  }
  return nullptr;
}

// What the node lacks for the claims; null: nothing, and `bindings` has a volume for each claim.
const Reason* bind_delayed(const CycleState& state, const api::Node& node,
                           std::vector<api::VolumeBinding>& bindings) {
  const Reason& none = reason_row("NoVolumeToBind");
  for (const DelayedClaim& delayed : state.slots.read<PodVolumes>().delayed) {
    if (!delayed.only_node.empty() && delayed.only_node != node.meta.name) return &none;
    const PersistentVolume* volume = choose(delayed, node, bindings);
    bindings.push_back(
        {delayed.claim->meta.name, delayed.claim->meta.uid, volume ? volume->meta.name : std::string()});
    if (volume) continue;
    if (!delayed.may_provision) return &none;
    const auto provisioning = client::can_provision(state.context->view, *delayed.claim, node);
    if (provisioning == client::Provisioning::Impossible) return &none;
    if (provisioning == client::Provisioning::NotEnoughSpace) return &reason_row("NotEnoughStorage");
  }
  return nullptr;
}

// What keeps the volumes of bound claims from the node; null: nothing.
const Reason* reach_bound(const CycleState& state, const api::Node& node) {
  for (const PersistentVolume* volume : state.slots.read<PodVolumes>().bound) {
    if (!volume) return &reason_row("VolumeMissing");
    if (!api::reaches(*volume, node.meta.labels)) return &reason_row("VolumeElsewhere");
  }
  return nullptr;
}

class VolumeBinding final : public LazyFilter {
 public:
  std::string_view name() const override { return kVolumeBinding; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged | kEventVolumeChanged | kEventPodGone, has_volumes};
  }
  // The volumes of a node change without it, so nothing is cached.
  Signing sign(const CycleState& state, PodSignature&) const override {
    return has_volumes(*state.pod) ? Signing::Unsigned : Signing::Signed;
  }
  bool wanted(const CycleState& state) const override { return has_volumes(*state.pod); }
  bool prefers(const CycleState&) const override { return false; }
  bool explains(const CycleState&, const Reason&) const override { return false; }
  std::string explain(const CycleState&, NodeId) const override { return ""; }

  bool accepts(CycleState& state, NodeId id) const override {
    const api::Node& node = *state.context->cluster.node(id).live;
    std::vector<api::VolumeBinding>& bindings = state.node_slots.write<NodeVolumes>().bindings;
    const Reason* of_bound = reach_bound(state, node);
    const Reason* of_delayed = bind_delayed(state, node, bindings);
    if (!of_bound && !of_delayed) return true;
    Diagnosis& diagnosis = state.diagnosis;
    diagnosis.refuse(id, diagnosis.reason(of_bound ? *of_bound : *of_delayed));
    if (of_bound && of_delayed) diagnosis.add_reason(diagnosis.reason(*of_delayed));
    return false;
  }
};

class VolumeReservation final : public Reserve {
 public:
  std::string_view name() const override { return kVolumeBinding; }
  Status reserve(CycleState& state, NodeId, model::Ledger::Transaction&) const override {
    const std::vector<api::VolumeBinding>& bindings = state.node_slots.read<NodeVolumes>().bindings;
    if (!bindings.empty())
      state.reservation.volumes = std::make_shared<const std::vector<api::VolumeBinding>>(bindings);
    return {};
  }
  void unreserve(CycleState&, NodeId) const override {}
};

}  // namespace

std::unique_ptr<PreFilter> volume_claims() {
  return std::make_unique<VolumeClaims>();
}
std::unique_ptr<LazyFilter> volume_binding() {
  return std::make_unique<VolumeBinding>();
}
std::unique_ptr<Reserve> volume_reservation() {
  return std::make_unique<VolumeReservation>();
}

}  // namespace berth::placement::plugins
