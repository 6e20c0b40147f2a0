// VolumeBinding: the pod's PersistentVolumeClaims, and the score by the storage that nodes have for them. The
// volumes of bound claims restrict the pod to their nodes; claims that wait for a consumer get a volume that
// exists, or one that is provisioned for the node. The choice is part of the decision: it counts from the
// transaction on, until a claim shows it. Source: kube-scheduler's plugin for rules and texts.
#include <algorithm>
#include <map>

#include "client/volumes.h"
#include "placement/plugins/plugins.h"
#include "placement/plugins/resource_arithmetic.h"
#include "placement/plugins/volume_facts.h"

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
  client::Provisioner provisioner;
  client::NodeLabelIndex<PersistentVolume> volumes = {};  // best first
  std::string only_node = {};                             // where it is provisioned; empty: not chosen yet
  bool may_provision = true;
};

// In PodQuery::slots.
struct PodVolumes {
  std::vector<const PersistentVolume*> bound;  // of its bound claims; null: it does not exist
  std::vector<DelayedClaim> delayed;           // smallest request first
  void clear() {
    bound.clear();
    delayed.clear();
  }
};

// In NodeChoice::slots.
struct NodeVolumes {
  std::vector<api::VolumeBinding> bindings;
  void clear() { bindings.clear(); }
};

// The choices of decisions under way. The ledger has those that are written, assumed, or made in this
// transaction.
class PendingBindings {
 public:
  // A claim that names its volume speaks for itself; one of another UID was not decided about.
  explicit PendingBindings(const SchedulingContext& context) {
    const model::Cluster& cluster = context.cluster;
    for (const PodId pod : cluster.ledger().pods_with_volumes()) {
      const model::PodCharge& charge = cluster.ledger().charge(pod);
      const std::string& ns = cluster.pod(pod).key.ns;
      for (const api::VolumeBinding& binding : *charge.volumes) {
        const PersistentVolumeClaim* claim = context.view.volume_claims.find(ns, binding.claim_name);
        if (claim && claim->meta.uid == binding.claim_uid && claim->volume_name.empty())
          all_.push_back({claim, &binding, cluster.node(charge.node).name});
      }
    }
  }

  const PendingBinding* about(const PersistentVolumeClaim& claim) const {
    return first([&](const PendingBinding& one) { return one.claim == &claim; });
  }
  bool takes(const PersistentVolume& volume) const {
    return first([&](const PendingBinding& one) { return one.binding->volume == volume.meta.name; });
  }

 private:
  template <class Match>
  const PendingBinding* first(Match matches) const {
    const auto found = std::find_if(all_.begin(), all_.end(), matches);
    return found == all_.end() ? nullptr : &*found;
  }

  std::vector<PendingBinding> all_;
};

// Local disks name their host, and a node has few of them.
void index_volume(const PersistentVolume& volume, client::NodeLabelIndex<PersistentVolume>& volumes) {
  if (volume.node_affinity && volume.node_affinity->terms.size() == 1)
    for (const api::Requirement& one : volume.node_affinity->terms.front().expressions)
      if (one.op == "In") return volumes.add(&volume, one.key, one.values);
  volumes.add(&volume);
}

DelayedClaim delayed_claim(const SchedulingContext& context, const PersistentVolumeClaim& claim,
                           const PendingBindings& pending) {
  DelayedClaim delayed{&claim, client::Provisioner(context.view, claim)};
  delayed.only_node = claim.selected_node();
  if (!delayed.only_node.empty()) return delayed;
  if (const PendingBinding* decided = pending.about(claim)) {
    const std::string& name = decided->binding->volume;
    if (name.empty()) {
      delayed.only_node = decided->node;
    } else {
      delayed.may_provision = false;
      if (const PersistentVolume* volume = context.view.volumes.find("", name))
        index_volume(*volume, delayed.volumes);
    }
    return delayed;
  }
  const auto found = client::volumes_for(
      context.view, claim, [&](const PersistentVolume& volume) { return pending.takes(volume); });
  for (const PersistentVolume* volume : found) index_volume(*volume, delayed.volumes);
  // A volume that is reserved for the claim is the only one that it can get.
  if (!found.empty() && found.front()->claim_ref) delayed.may_provision = false;
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
  void prepare(PodQuery& query, Diagnosis& diagnosis) const override {
    if (!has_volumes(*query.pod)) return;
    const SchedulingContext& context = *query.context;
    const client::PodVolumeClaims claims = client::volume_claims_of(context.view, *query.pod);
    if (claims.problem != ClaimProblem::None)
      return diagnosis.refuse_everywhere(row_of(claims.problem), claims.subject, claims.second);
    PodVolumes& volumes = query.slots.write<PodVolumes>();
    for (const PersistentVolumeClaim* claim : claims.bound)
      volumes.bound.push_back(context.view.volumes.find("", claim->volume_name));
    if (claims.delayed.empty()) return;
    const PendingBindings pending(context);
    for (const PersistentVolumeClaim* claim : claims.delayed)
      volumes.delayed.push_back(delayed_claim(context, *claim, pending));
  }
};

struct ChosenVolume {
  const DelayedClaim* of;
  const PersistentVolume* volume = nullptr;       // null: it is provisioned
  const api::CSIStorageCapacity* from = nullptr;  // then, where the driver tells
};

// The first volume that the node reaches and no other claim of the pod got; null: none.
const PersistentVolume* choose(const DelayedClaim& delayed, const api::Node& node,
                               const std::vector<ChosenVolume>& chosen) {
  return delayed.volumes.first(node.meta.labels, [&](const PersistentVolume& volume) {
    return std::ranges::find(chosen, &volume, &ChosenVolume::volume) == chosen.end() &&
           api::reaches(volume, node.meta.labels);
  });
}

// What the node lacks for the claims; null: nothing, and `chosen` has a volume for each claim.
const Reason* bind_delayed(const PodQuery& query, const api::Node& node, std::vector<ChosenVolume>& chosen) {
  const Reason& none = reason_row("NoVolumeToBind");
  for (const DelayedClaim& delayed : query.slots.read<PodVolumes>().delayed) {
    if (!delayed.only_node.empty() && delayed.only_node != node.meta.name) return &none;
    if (const PersistentVolume* volume = choose(delayed, node, chosen)) {
      chosen.push_back({&delayed, volume});
      continue;
    }
    if (!delayed.may_provision) return &none;
    const client::Provisioner::Answer made = delayed.provisioner.ask(node);
    if (made.provisioning == client::Provisioning::Impossible) return &none;
    if (made.provisioning == client::Provisioning::NotEnoughSpace) return &reason_row("NotEnoughStorage");
    chosen.push_back({&delayed, nullptr, made.from});
  }
  return nullptr;
}

// By storage class. Where volumes exist for some of the claims, these alone count; several claims are
// provisioned from one capacity.
std::vector<StorageUse> storage_of(const std::vector<ChosenVolume>& chosen) {
  const bool exist =
      std::ranges::any_of(chosen, [](const ChosenVolume& one) { return one.volume != nullptr; });
  std::map<std::string_view, StorageUse> classes;
  for (const ChosenVolume& one : chosen) {
    if (exist ? !one.volume : !one.from) continue;
    const PersistentVolumeClaim& claim = *one.of->claim;
    StorageUse& use = classes[exist ? one.volume->traits.storage_class : claim.traits.storage_class];
    use.requested += claim.request ? claim.request->ceil_units() : 0;
    use.capacity = exist ? use.capacity + one.volume->capacity.ceil_units() : one.from->capacity.ceil_units();
  }
  std::vector<StorageUse> uses;
  for (const auto& [name, use] : classes) uses.push_back(use);
  return uses;
}

// What keeps the volumes of bound claims from the node; null: nothing.
const Reason* reach_bound(const PodQuery& query, const api::Node& node) {
  for (const PersistentVolume* volume : query.slots.read<PodVolumes>().bound) {
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
  void add_interests(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) const override {
    add_binding_hints(context, pod, hints);
    hints.add(kEventNodeAdded | kEventNodeChanged, {{facts::labels_changed()}});
    hints.add(kEventPodGone, {{facts::volumes_left()}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    add_binding_facts(change, facts);
  }
  // The volumes of a node change without it, so nothing is cached.
  Signing sign(const PodQuery& query, PodSignature&) const override {
    return has_volumes(*query.pod) ? Signing::Unsigned : Signing::Signed;
  }
  bool wanted(const PodQuery& query) const override { return has_volumes(*query.pod); }
  bool prefers(const PodQuery&) const override { return false; }
  bool explains(const PodQuery&, const Reason&) const override { return false; }
  std::string explain(const PodQuery&, NodeId) const override { return ""; }

  bool accepts(const NodeTrial& trial) const override {
    const api::Node& node = *trial.query.context->cluster.node(trial.node).live;
    std::vector<ChosenVolume> chosen;
    const Reason* of_bound = reach_bound(trial.query, node);
    const Reason* of_delayed = bind_delayed(trial.query, node, chosen);
    std::vector<api::VolumeBinding>& bindings = trial.choice.slots.write<NodeVolumes>().bindings;
    for (const ChosenVolume& one : chosen)
      bindings.push_back({one.of->claim->meta.name, one.of->claim->meta.uid,
                          one.volume ? one.volume->meta.name : std::string()});
    if (!of_bound && !of_delayed) return true;
    trial.refuse(of_bound ? *of_bound : *of_delayed);
    if (of_bound && of_delayed) trial.diagnosis.add_reason(trial.diagnosis.reason(*of_delayed));
    return false;
  }
};

// Prefers nodes whose storage the pod's new volumes use less. Source: kube-scheduler's, with the gate
// StorageCapacityScoring.
class VolumeCapacityScore final : public Score {
 public:
  explicit VolumeCapacityScore(const VolumeBindingArguments& arguments) : shape_(arguments.shape) {}

  std::string_view name() const override { return kVolumeBinding; }
  Signing sign(const PodQuery& query, PodSignature&) const override {
    return has_volumes(*query.pod) ? Signing::Unsigned : Signing::Signed;
  }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    if (!has_volumes(*query.pod) || query.slots.read<PodVolumes>().delayed.empty()) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::vector<ChosenVolume> chosen;
      // The filter is asked after the scores, and refuses such a node.
      if (bind_delayed(query, *query.context->cluster.node(nodes[i]).live, chosen)) continue;
      scores[i] += weight * storage_score(storage_of(chosen), shape_);
    }
  }

 private:
  const std::vector<UtilizationPoint> shape_;
};

class VolumeReservation final : public Reserve {
 public:
  std::string_view name() const override { return kVolumeBinding; }
  Status reserve(const PodQuery&, const NodeChoice& choice, NodeId, model::Ledger::Transaction&,
                 Reservation& reservation) const override {
    const std::vector<api::VolumeBinding>& bindings = choice.slots.read<NodeVolumes>().bindings;
    if (!bindings.empty())
      reservation.volumes = std::make_shared<const std::vector<api::VolumeBinding>>(bindings);
    return {};
  }
  void unreserve(const PodQuery&, NodeId) const override {}
};

}  // namespace

std::unique_ptr<PreFilter> volume_claims() {
  return std::make_unique<VolumeClaims>();
}
std::unique_ptr<LazyFilter> volume_binding() {
  return std::make_unique<VolumeBinding>();
}
std::unique_ptr<Score> volume_capacity_score(const VolumeBindingArguments& arguments) {
  return std::make_unique<VolumeCapacityScore>(arguments);
}
std::unique_ptr<Reserve> volume_reservation() {
  return std::make_unique<VolumeReservation>();
}

}  // namespace berth::placement::plugins
