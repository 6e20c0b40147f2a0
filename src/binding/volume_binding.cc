#include "binding/volume_binding.h"

#include <algorithm>

#include "binding/seal.h"
#include "client/volumes.h"

namespace berth::binding {
namespace {

using api::Kind;
using api::PersistentVolume;
using api::PersistentVolumeClaim;
using api::VolumeBinding;
using client::Chain;

std::string quoted(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

PreBindStep volumes_failed(std::string_view reason, std::string message) {
  return {{}, Failed{api::FailureClass::OtherPlacement, std::string(reason), "binding volumes: " + message}};
}

PreBindStep waiting(std::string why) {
  return {{}, Waiting{{}, std::move(why), "VolumeBindingPending", api::BindStep::WaitingForVolumes}};
}

const PersistentVolumeClaim* find_claim(const BindContext& context, const VolumeBinding& binding) {
  const auto* claim = context.view.volume_claims.find(context.request.meta.ns, binding.claim_name);
  return claim && claim->meta.uid == binding.claim_uid ? claim : nullptr;
}

bool is_ours(const BindContext& context, const api::ObjectMeta& meta) {
  return meta.annotation(kBindingForAnnotation) == sealing_id(context.request);
}

// A write of this decision was carried out and then taken back by a controller. Members of a committed gang
// only go forward, so they write again.
bool was_taken_back(const BindContext& context, const api::ObjectMeta& meta) {
  return is_ours(context, meta) && !context.committed;
}

Chain patch(Kind kind, const api::ObjectMeta& meta, Json change) {
  const api::ObjectKey key = client::key_of(kind, meta);
  return {key, {client::merge_patch(key, std::move(change), meta.uid, meta.resource_version)}};
}

// What this decision writes on what it reserves or requests.
Json marks_of(const BindContext& context) {
  return Json::object({{std::string(kBindingForAnnotation), sealing_id(context.request)},
                       {std::string(kBindingSinceAnnotation), format_time(context.now)}});
}
Json without_marks() {
  return Json::object(
      {{std::string(kBindingForAnnotation), nullptr}, {std::string(kBindingSinceAnnotation), nullptr}});
}

Json with_annotations(Json annotations) {
  return Json::object({{"metadata", Json::object({{"annotations", std::move(annotations)}})}});
}

// The other watch may lag.
PreBindStep not_seen(const BindContext& context, const std::string& what, const std::string& name) {
  const Time until = context.first_seen + kInformerLagGrace;
  if (context.now < until) return {{}, Waiting{until, what + " " + name + " is not seen", ""}};
  return volumes_failed("VolumeNotFound", what + " " + quoted(name) + " does not exist any more");
}

PreBindStep check_reach(const BindContext& context, const PersistentVolume& volume, PreBindStep otherwise) {
  const api::Node* node = context.view.nodes.find("", context.request.node);
  if (node && api::reaches(volume, node->meta.labels)) return otherwise;
  return volumes_failed(
      "VolumeElsewhere",
      "pv " + quoted(volume.meta.name) + " node affinity doesn't match node " + quoted(context.request.node));
}

// The claim names its volume.
PreBindStep check_bound(const BindContext& context, const PersistentVolumeClaim& claim) {
  const PersistentVolume* volume = context.view.volumes.find("", claim.volume_name);
  if (!volume)
    return waiting("waiting to see the volume " + claim.volume_name + " of claim " + claim.meta.name);
  return check_reach(
      context, *volume,
      claim.bound() ? PreBindStep{{}, Ready{}}
                    : waiting("waiting for the binding of claim " + claim.meta.name + " to be completed"));
}

PreBindStep reserve_volume(const BindContext& context, const PersistentVolumeClaim& claim,
                           const PersistentVolume& volume) {
  const std::string& name = volume.meta.name;
  if (volume.meta.deleting())
    return volumes_failed(api::kVolumeTaken, "pv " + quoted(name) + " is being deleted");
  if (volume.claim_ref && !api::is_for(volume, claim))
    return volumes_failed(api::kVolumeTaken, "pv " + quoted(name) + " is reserved for claim " +
                                                 volume.claim_ref->ns + "/" + volume.claim_ref->name);
  if (volume.claim_ref && !volume.claim_ref->uid.empty())
    return check_reach(context, volume,
                       waiting("waiting for claim " + claim.meta.name + " to be bound to volume " + name));
  if (was_taken_back(context, volume.meta))
    return volumes_failed("ClaimRefReset", "ClaimRef got reset for pv " + quoted(name));
  Json annotations = marks_of(context);
  if (!volume.claim_ref) annotations[std::string(api::kBoundByControllerAnnotation)] = "yes";
  Json change = with_annotations(std::move(annotations));
  change["spec"] = Json::object({{"claimRef", api::claim_ref_json(claim)}});
  return {{patch(Kind::PersistentVolume, volume.meta, std::move(change))}, Ready{}};
}

PreBindStep request_volume(const BindContext& context, const PersistentVolumeClaim& claim) {
  const std::string& node = context.request.node;
  if (claim.selected_node() == node)
    return waiting("waiting for a volume to be provisioned for claim " + claim.meta.name + " on node " +
                   node);
  if (!claim.selected_node().empty())
    return volumes_failed(
        "NodeSelectedElsewhere",
        "claim " + quoted(claim.meta.name) + " is provisioned for node " + quoted(claim.selected_node()));
  if (was_taken_back(context, claim.meta))
    return volumes_failed(api::kProvisioningFailed, "provisioning failed for PVC " + quoted(claim.meta.name));
  Json annotations = marks_of(context);
  annotations[std::string(api::kSelectedNodeAnnotation)] = node;
  return {{patch(Kind::PersistentVolumeClaim, claim.meta, with_annotations(std::move(annotations)))},
          Ready{}};
}

PreBindStep step_of(const BindContext& context, const VolumeBinding& binding) {
  const PersistentVolumeClaim* claim = find_claim(context, binding);
  if (!claim) return not_seen(context, "persistentvolumeclaim", binding.claim_name);
  if (claim->meta.deleting())
    return volumes_failed("ClaimDeleting", "claim " + quoted(claim->meta.name) + " is being deleted");
  if (!claim->volume_name.empty()) return check_bound(context, *claim);
  if (binding.volume.empty()) return request_volume(context, *claim);
  const PersistentVolume* volume = context.view.volumes.find("", binding.volume);
  return volume ? reserve_volume(context, *claim, *volume)
                : not_seen(context, "persistentvolume", binding.volume);
}

// What this decision reserved and the controller has not completed is released; a volume that it did not get
// yet is sealed.
std::optional<Chain> release_volume(const BindContext& context, const PersistentVolumeClaim* claim,
                                    const PersistentVolume& volume, const std::string& claim_uid) {
  if (!volume.claim_ref) return seal(context, Kind::PersistentVolume, volume.meta);
  const bool completed = volume.phase == "Bound" || (claim && !claim->volume_name.empty());
  const bool reserved_by_us = volume.claim_ref->uid == claim_uid && is_ours(context, volume.meta);
  // A reference that was there before by hand stays, with the UID of its claim.
  const bool by_hand = volume.meta.annotation(api::kBoundByControllerAnnotation).empty();
  if (completed || !reserved_by_us || by_hand) return std::nullopt;
  Json annotations = without_marks();
  annotations[std::string(api::kBoundByControllerAnnotation)] = nullptr;
  Json change = with_annotations(std::move(annotations));
  change["spec"] = Json::object({{"claimRef", nullptr}});
  return patch(Kind::PersistentVolume, volume.meta, std::move(change));
}

// A volume that was made for the claim stays its own.
bool is_being_provisioned(const BindContext& context, const PersistentVolumeClaim& claim) {
  for (const PersistentVolume* volume : context.view.volumes_for_claim(claim.meta.ns, claim.meta.name))
    if (api::is_for(*volume, claim)) return true;
  return false;
}

// A provisioner that was told of the claim may be making a volume for its node, and takes the node away once
// it has given up for good. Were the node taken from it, the storage would be asked for the same volume in
// another place while the first one is being made. The removal names a version, so a claim that reaches its
// provisioner meanwhile keeps its node.
bool is_with_provisioner(const PersistentVolumeClaim& claim) {
  return claim.meta.annotations.contains(kStorageProvisionerAnnotation);
}

std::optional<Chain> release_claim(const BindContext& context, const PersistentVolumeClaim& claim) {
  if (!claim.volume_name.empty() || claim.meta.deleting() || is_being_provisioned(context, claim))
    return std::nullopt;
  if (!is_ours(context, claim.meta))
    return claim.selected_node().empty() ? seal(context, Kind::PersistentVolumeClaim, claim.meta)
                                         : std::nullopt;
  if (claim.selected_node() != context.request.node || is_with_provisioner(claim)) return std::nullopt;
  Json annotations = without_marks();
  annotations[std::string(api::kSelectedNodeAnnotation)] = nullptr;
  return patch(Kind::PersistentVolumeClaim, claim.meta, with_annotations(std::move(annotations)));
}

// A claim of the pod that waits for its volume and that the request, which others may have written, does not
// name.
const PersistentVolumeClaim* undecided_claim(const BindContext& context) {
  if (context.pod->volumes.empty()) return nullptr;
  for (const PersistentVolumeClaim* claim : client::volume_claims_of(context.view, *context.pod).delayed) {
    const auto& decided = context.request.volumes;
    const auto is_it = [claim](const VolumeBinding& binding) { return binding.claim_uid == claim->meta.uid; };
    if (std::none_of(decided.begin(), decided.end(), is_it)) return claim;
  }
  return nullptr;
}

// The scheduler may have seen the claim bound already.
PreBindStep refuse_without(const BindContext& context, const PersistentVolumeClaim& claim) {
  const Time until = context.first_seen + kInformerLagGrace;
  const std::string& name = claim.meta.name;
  if (context.now < until) return {{}, Waiting{until, "claim " + name + " is not seen bound", ""}};
  return {{},
          Failed{api::FailureClass::Permanent, "InvalidRequest",
                 "spec.volumeBindings: Required value: has no entry for the pod's persistentvolumeclaim " +
                     name + ": add it, with the volume or without one to have it provisioned"}};
}

void note_earliest(const BindContext& context, const api::ObjectMeta& meta, Time& earliest) {
  if (!is_ours(context, meta)) return;
  const Time since = api::decode_time(meta.annotation(kBindingSinceAnnotation));
  if (since.is_set()) earliest = std::min(earliest, since);
}

// When the decision began to wait: its first write says so, whatever process made it.
Time begun_at(const BindContext& context) {
  Time earliest = context.first_seen;
  for (const VolumeBinding& binding : context.request.volumes) {
    if (const PersistentVolumeClaim* claim = find_claim(context, binding))
      note_earliest(context, claim->meta, earliest);
    if (const PersistentVolume* volume = context.view.volumes.find("", binding.volume))
      note_earliest(context, volume->meta, earliest);
  }
  return earliest;
}

class VolumeBindingPlugin final : public Plugin {
 public:
  std::string_view name() const override { return kVolumeBindingName; }
  PreBindStep pre_bind(const BindContext& context) const override;
  std::vector<Chain> rollback(const BindContext& context) const override;
};

// A failure of any claim precedes the writes and waits of others.
PreBindStep VolumeBindingPlugin::pre_bind(const BindContext& context) const {
  if (const PersistentVolumeClaim* claim = undecided_claim(context)) return refuse_without(context, *claim);
  PreBindStep all{{}, Ready{}};
  std::optional<Waiting> first;
  for (const VolumeBinding& binding : context.request.volumes) {
    PreBindStep one = step_of(context, binding);
    if (std::holds_alternative<Failed>(one.verdict)) return one;
    for (Chain& chain : one.chains) all.chains.push_back(std::move(chain));
    if (auto* wait = std::get_if<Waiting>(&one.verdict); wait && !first) first = std::move(*wait);
  }
  if (!all.chains.empty() || !first) return all;
  const Time deadline = begun_at(context) + context.options.volume_timeout;
  if (context.now >= deadline)
    return volumes_failed(api::kVolumeBindingTimeout,
                          first->why + ", for more than " +
                              std::to_string(context.options.volume_timeout.whole_seconds()) + "s");
  if (!first->until.is_set() || deadline < first->until) first->until = deadline;
  all.verdict = *std::move(first);
  return all;
}

std::vector<Chain> VolumeBindingPlugin::rollback(const BindContext& context) const {
  std::vector<Chain> chains;
  const auto add = [&chains](std::optional<Chain> chain) {
    if (chain) chains.push_back(*std::move(chain));
  };
  for (const VolumeBinding& binding : context.request.volumes) {
    const PersistentVolumeClaim* claim = find_claim(context, binding);
    if (!binding.volume.empty()) {
      if (const PersistentVolume* volume = context.view.volumes.find("", binding.volume))
        add(release_volume(context, claim, *volume, binding.claim_uid));
    } else if (claim) {
      add(release_claim(context, *claim));
    }
  }
  return chains;
}

}  // namespace

std::unique_ptr<const Plugin> make_volume_binding() {
  return std::make_unique<VolumeBindingPlugin>();
}

}  // namespace berth::binding
