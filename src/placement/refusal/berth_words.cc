#include "placement/refusal/berth_words.h"

#include <array>

#include "base/count_text.h"
#include "base/name_list.h"
#include "placement/refusal/kubernetes_words.h"

namespace berth::placement {
namespace {

// By kind; {} is the claim.
constexpr std::array<std::string_view, 6> kPodGates = {
    "",
    "waits for a ResourceClaim to be made for its claim {}",
    "waits for ResourceClaim {}",
    "waits until ResourceClaim {} is deleted and made again",
    "finds ResourceClaim {} owned by another object",
    "what an earlier process wrote about devices may still land"};
// By kind; {} is the member or the decision.
constexpr std::array<std::string_view, 6> kUnsettledGates = {
    "the bind request of member {} is being written",
    "the bind request of member {} is being given back",
    "the bind request of member {} waits for the other members",
    "the bind request of member {} waits for others to be written",
    "the bind request of member {} is to be taken back",
    "the others of decision {} wait at the gang barrier"};

std::string with_hint(std::string text, const std::string& hint) {
  return hint.empty() ? text : std::move(text) + " (" + hint + ")";
}

std::string words_of(const PodGate& gate) {
  const std::string_view sentence = gate_sentence(gate);
  if (!sentence.empty()) return std::string(sentence);
  return with_hint(with_subjects(kPodGates[static_cast<std::size_t>(gate.kind)], gate.claim), gate.hint);
}

std::string words_of(const MemberGate& member) {
  return "member " + member.pod + " waits: " + words_of(member.gate);
}

std::string words_of(const UnsettledGate& gate) {
  return with_subjects(kUnsettledGates[static_cast<std::size_t>(gate.kind)], gate.of);
}

// "PodGroup decode has 1 of 4 pods"
std::string words_of(const ShortGroup& group) {
  return std::string(group_kind(group.composite)) + " " + group.name + " has " + std::to_string(group.alive) +
         " of " + std::to_string(group.wanted) + (group.composite ? " groups" : " pods");
}

std::string too_few_groups(const GroupGate& gate) {
  std::string text = "CompositePodGroup " + gate.name + " wants " + std::to_string(gate.wanted) +
                     (gate.wanted == 1 ? " group" : " groups") + ", and " + std::to_string(gate.alive) +
                     (gate.alive == 1 ? " is complete" : " are complete");
  for (std::size_t i = 0; i < gate.missing.size(); ++i)
    text.append(i == 0 ? ": " : ", ").append(words_of(gate.missing[i]));
  return text;
}

std::string words_of(const GroupGate& gate) {
  switch (gate.kind) {
    case GroupGate::Kind::NoGroup:
      break;
    case GroupGate::Kind::HeldByParent:
      return "its parent, CompositePodGroup " + gate.name +
             ", may constrain it, and the feature gate CompositePodGroup is off";
    case GroupGate::Kind::TooFewMembers:
      return "the gang wants " + std::to_string(gate.wanted) + " pods, and " + std::to_string(gate.alive) +
             (gate.alive == 1 ? " is there" : " are there");
    case GroupGate::Kind::NoParent:
      return with_hint("CompositePodGroup " + gate.name + " does not exist", gate.why);
    case GroupGate::Kind::ParentCycle:
      return "CompositePodGroup " + gate.name + " is an ancestor of itself";
    case GroupGate::Kind::TreeTooDeep:
      return "the tree of CompositePodGroup " + gate.name + " has more than " + std::to_string(gate.wanted) +
             " levels";
    case GroupGate::Kind::TooFewGroups:
      return too_few_groups(gate);
    case GroupGate::Kind::PolicyFault:
      return gate.why;
    case GroupGate::Kind::BeingMoved:
      return "the group leaves failed nodes, and " + std::to_string(gate.alive) +
             (gate.alive == 1 ? " pod is" : " pods are") + " still there";
  }
  return with_hint("PodGroup " + gate.name + " does not exist", gate.why);
}

std::string waits(const std::string& ns, const std::string& name) {
  return "pod " + ns + "/" + name + " waits: ";
}

// "n1, n2, n3 and 4 more"
std::string list_nodes(const RefusedFor& refused) {
  std::vector<std::string> names;
  for (const RefusedNode& node : refused.first) names.push_back(node.name);
  return first_names(names, names.size(), refused.count);
}

// "it asks for 8; n2 comes closest with 3500m free"
std::string shortage_text(const Shortage& lacks) {
  // A pod that asks for nothing itself is refused for what its devices take, which follows.
  return (lacks.asked ? "it asks for " + lacks.asked->text() + "; " : "") + lacks.nearest +
         " comes closest with " + lacks.free.text() + " free";
}

// What the filter says of the named nodes: "n1: counter set … holds group mig; the device offers vgpu";
// without the name if there is one node.
std::string filter_words(const RefusedFor& refused) {
  std::string text;
  for (const RefusedNode& node : refused.first) {
    if (node.why.empty()) continue;
    text.append(text.empty() ? "" : "; ");
    if (refused.count > 1) text.append(node.name).append(": ");
    text.append(node.why);
  }
  return text;
}

std::string detail_of(const RefusedFor& refused) {
  std::string detail = refused.lacks ? shortage_text(*refused.lacks) : "";
  for (const std::string& taint : refused.taints) detail.append(detail.empty() ? "" : ", ").append(taint);
  for (const std::string& more : {refused.absent, filter_words(refused)})
    detail.append(detail.empty() || more.empty() ? "" : "; ").append(more);
  return detail;
}

std::string clause(const RefusedFor& refused, std::size_t node_count) {
  const Reason& row = *refused.row;
  std::string text = std::to_string(refused.count) + " of " + std::to_string(node_count) + " nodes ";
  if (row.singular.empty()) return text + "say: " + refused.reason + " (" + list_nodes(refused) + ")";
  text += with_subjects(refused.count == 1 ? row.singular : row.plural, refused.subject);
  text += " (" + list_nodes(refused);
  const std::string detail = detail_of(refused);
  return text + (detail.empty() ? ")" : ": " + detail + ")");
}

// Of a pod its node, of a group its domain.
std::string place_text(const Refusal& refusal) {
  const std::string& place = refusal.searched->node;
  if (!refusal.group) return "node " + place;
  return place.empty() ? "its room" : "its room in " + place;
}

// " It gets node n1 when these pods have ended: default/a, default/b."
std::string preemption_text(const Refusal& refusal) {
  if (!refusal.searched) return "";
  const PreemptionSearched& searched = *refusal.searched;
  const std::string annotation = "annotation " + std::string(kPreemptionDelayAnnotation);
  std::string text;
  if (!searched.victims.empty())
    text = " It gets " + place_text(refusal) + " when " +
           (searched.victims.size() == 1 ? "this pod has" : "these pods have") +
           " ended: " + list_pods(searched.victims) + ".";
  if (!searched.invalid_checkpoints.empty())
    text += " The annotation " + std::string(kLastCheckpointAnnotation) + " of " +
            list_pods(searched.invalid_checkpoints) +
            " is no RFC 3339 time, or a later one than now: the work since the start counts.";
  if (!searched.not_before.empty())
    text = " It evicts nobody before " + searched.not_before + " (" + annotation + ").";
  if (!searched.invalid_delay.empty())
    text = " It evicts nobody: its " + annotation + " is \"" + searched.invalid_delay +
           "\"; set it to a duration such as 90s, or remove it.";
  if (searched.ended) text += " The search for pods to evict ended early.";
  return text;
}

std::string explain_pod(const Refusal& refusal) {
  const FitError& nodes = refusal.nodes;
  std::string text = waits(refusal.of.ns, refusal.of.name);
  if (refusal.result == DecisionResult::Error) return nodes.hint.empty() ? "" : text + nodes.hint + ".";
  if (refusal.node_count == 0) return text + "the cluster has no node.";
  if (!nodes.everywhere.empty())
    return text + nodes.everywhere + (nodes.hint.empty() ? "." : " (" + nodes.hint + ").");
  if (!refusal.placement.empty()) text += "in " + refusal.placement + " ";
  bool first = true;
  for (const RefusedFor& refused : nodes.reasons) {
    text.append(first ? "" : "; ").append(clause(refused, refusal.node_count));
    first = false;
  }
  return text + "." + preemption_text(refusal);
}

// "PodGroup decode needs 4 pods next to the other groups, and r2 comes closest with room for 2 by …"
std::string stuck_text(const StuckGroup& stuck) {
  std::string text = std::string(group_kind(stuck.composite)) + " " + stuck.name + " needs " +
                     count_text(stuck.needed, "more pod") + " next to the other groups, and ";
  if (stuck.room && !stuck.nearest.empty())
    return text + stuck.nearest + " comes closest with room for " + std::to_string(*stuck.room) +
           " by cpu, memory and pod slots";
  if (!stuck.nearest.empty()) return text + stuck.nearest + " does not take them";
  return text + (stuck.topology_key.empty() ? "there is no room for them"
                                            : "no node there has the label " + stuck.topology_key);
}

// "; r1 comes closest with room for 2 by cpu, memory and pod slots". Where these suffice, devices or filters
// are what lacks, and the domain with most of them is none that is close.
std::string room_text(const GroupRefusal& group) {
  const std::string counted = "cpu, memory and pod slots";
  if (group.nearest_room >= group.needed) return group.stuck ? "" : "; " + counted + " would suffice";
  const std::string room = "room for " + std::to_string(group.nearest_room) + " by " + counted;
  if (group.topology_key.empty()) return group.nearest_room > 0 ? "; it has " + room : "";
  return group.nearest.empty() ? "" : "; " + group.nearest + " comes closest with " + room;
}

// "none of 3 domains of rack takes the 4 more pods it needs; r1 comes closest with room for 2 by …"
std::string domains_text(const GroupRefusal& group) {
  const bool proved = group.unproved.empty();
  const std::string pods = count_text(group.needed, "more pod");
  const std::string& key = group.topology_key;
  const std::string stuck = group.stuck ? "; " + stuck_text(*group.stuck) : "";
  if (key.empty())
    return (proved ? "the cluster does not take" : "no place was found for") + (" the " + pods) +
           " it needs" + stuck + room_text(group) + ".";
  if (group.placements == 0) return "no node has the label " + key + ".";
  const std::string domains = std::to_string(group.placements) + " domains of " + key;
  std::string text = proved ? "none of " + domains + " takes" : "no place was found in " + domains + " for";
  text += " the " + pods + " it needs" + stuck + room_text(group);
  if (group.unlabelled > 0)
    text += "; " + std::to_string(group.unlabelled) + (group.unlabelled == 1 ? " node has" : " nodes have") +
            " no label " + key;
  return text + ".";
}

std::string shared_devices_text(const SharedDeviceSets& shared, std::int64_t needed) {
  const std::string sets =
      count_text(static_cast<std::int64_t>(shared.sets), "set") + " of nodes that see the same devices ";
  if (shared.with_room == 0)
    return " Its members share claims, and the largest of " + sets + "has room for " +
           std::to_string(shared.most_room) + " of the " + std::to_string(needed) + " pods.";
  return " Its members share claims: of " + sets + std::to_string(shared.with_room) + " may have room, and " +
         std::to_string(shared.with_devices) + " of these devices for all shared claims.";
}

std::string devices_short_text(const GroupRefusal& group) {
  if (group.devices_short == 0) return "";
  return (group.topology_key.empty() ? " The cluster is "
                                     : " Every domain of " + group.topology_key + " is ") +
         (group.placements > 1 ? std::string("at least ") : std::string()) +
         count_text(group.devices_short, "device") + " short.";
}

std::string sizes_text(const WishShortage& wish) {
  if (wish.min == wish.max) return count_text(wish.max, "pod");
  if (wish.max == INT64_MAX) return std::to_string(wish.min) + " pods or more";
  return std::to_string(wish.min) + " to " + std::to_string(wish.max) + " pods";
}

// "33 pods cannot be cut into segments of 16 pods for each rack; 32 can."
std::string parts_text(const WishShortage& wish, std::int64_t needed) {
  std::string text;
  const std::string pods = count_text(wish.members, "pod");
  const std::string segments = "segments of " + sizes_text(wish) + " for each " + wish.level;
  if (!wish.level.empty() && wish.can_be_cut < needed) {
    text = " Its policy asks for " + segments + ": " + pods + " cannot be cut so";
    text += wish.can_be_cut > 0 ? "; " + std::to_string(wish.can_be_cut) + " can." : ".";
  } else if (!wish.level.empty()) {
    text = " Its policy asks for " + segments + ": there is room for " + std::to_string(wish.room) +
           " of the " + pods + " in such segments.";
  }
  if (wish.attribute.empty()) return text;
  if (wish.values == 0) return text + " No free device has the attribute " + wish.attribute + ".";
  return text + " Its policy asks for the same values of " + wish.attribute +
         " in every pod: no set of them is free on enough nodes.";
}

std::string_view unproved_text(const GroupRefusal& group) {
  if (group.unproved.empty()) return "";
  if (group.unproved == kFieldNotHonoured)
    return " A member sets a field that Berth does not honour yet, so this proves nothing.";
  if (!group.saw_all_placements) return " The search for placements ended early, so this proves nothing.";
  return " Other orders of its members and other choices of devices were not all tried, so this proves "
         "nothing.";
}

std::string explain_group(const Refusal& refusal) {
  const GroupRefusal& group = *refusal.group;
  if (group.gate) return gate_words(*group.gate);
  if (refusal.result == DecisionResult::Error)
    return group.hint.empty() ? "" : waits(refusal.of.ns, group.hint_pod) + group.hint + ".";
  std::string text = "pod group " + refusal.of.ns + "/" + refusal.of.name + " waits: " + domains_text(group);
  text += devices_short_text(group);
  if (group.shared_devices) text += shared_devices_text(*group.shared_devices, group.needed);
  if (group.wish) text += parts_text(*group.wish, group.needed);
  return text.append(unproved_text(group)).append(preemption_text(refusal));
}

ProofText device_proof_text(const DeviceProof& proof) {
  const dra::Certificate& found = proof.certificate;
  ProofText text{std::string(dra::name_of(found.kind)),
                 found.claim,
                 found.request,
                 proof.node,
                 found.need,
                 found.have,
                 found.items,
                 dra::to_words(found)};
  // Of a claim whose consumers are as many as it can have, before any node.
  if (found.kind == dra::CertificateKind::ClaimLimit && proof.node.empty())
    text.words = "claim " + found.claim + " has " + (found.need - Quantity::of(1)).text() +
                 " consumers, as many as it can";
  return text;
}

// One item per reason: "3 nodes: Insufficient cpu (n1, n2, n3)".
ProofText nodes_proof_text(const Refusal& refusal) {
  ProofText text{"Nodes", "", "", "", Quantity::of(1), Quantity(), {}, "none of the nodes will do"};
  if (refusal.node_count == 0) text.words = "the cluster has no node";
  for (const RefusedFor& refused : refusal.nodes.reasons)
    text.items.push_back(count_text(refused.count, "node") + ": " + refused.reason + " (" +
                         list_nodes(refused) + ")");
  return text;
}

ProofText gang_proof_text(std::int64_t need, std::int64_t have, std::vector<std::string> items,
                          std::string words) {
  return {"Gang", "", "", "", Quantity::of(need), Quantity::of(have), std::move(items), std::move(words)};
}

std::optional<ProofText> group_proof_text(const Refusal& refusal) {
  const GroupRefusal& group = *refusal.group;
  if (group.gate)
    return group.gate->kind == GroupGate::Kind::TooFewMembers
               ? std::optional(
                     gang_proof_text(group.gate->wanted, group.gate->alive, {}, "the group has too few pods"))
               : std::nullopt;
  // Where one member alone fits nowhere, its own proof.
  if (refusal.alone)
    if (std::optional<ProofText> own = proof_text(*refusal.alone)) {
      own->words = "pod " + refusal.alone->of.name + " alone: " + own->words;
      return own;
    }
  if (!group.proof) return std::nullopt;
  return gang_proof_text(group.proof->need, group.proof->have, group.proof->items,
                         "the group needs room for " + count_text(group.proof->need, "pod") +
                             ", and there is room for at most " + std::to_string(group.proof->have));
}

}  // namespace

std::string list_pods(const std::vector<std::string>& pods) {
  return first_names(pods, kVictimsNamedMax);
}

std::string lack_words(const RefusedFor& refused) {
  const Reason& row = *refused.row;
  if (refused.lacks && refused.lacks->asked)
    return lack_words(
        {.kind = RemedyKind::AddResource, .subjects = {refused.subject}, .more = refused.lacks->missing});
  const std::string detail = detail_of(refused);
  if (row.singular.empty()) return refused.reason;
  return "it " + with_subjects(row.singular, refused.subject) + (detail.empty() ? "" : " (" + detail + ")");
}

std::string explanation_of(const Refusal& refusal) {
  if (refusal.result == DecisionResult::Placed) return "";
  return refusal.group ? explain_group(refusal) : explain_pod(refusal);
}

std::string explanation_of_member(const Refusal* own, const Refusal& group) {
  return own ? joined(explanation_of(*own), explanation_of(group)) : explanation_of(group);
}

std::string joined(const std::string& sentence, const std::string& explanation) {
  return sentence + (sentence.empty() || explanation.empty() ? "" : " ") + explanation;
}

std::string message_of(const Refusal& refusal) {
  return joined(kubernetes_sentence(refusal), explanation_of(refusal));
}

std::string gate_words(const GateReason& gate) {
  return std::visit([](const auto& one) { return words_of(one); }, gate);
}

std::optional<ProofText> proof_text(const Refusal& refusal) {
  if (refusal.group) return group_proof_text(refusal);
  if (!refusal.proof) return std::nullopt;
  if (const auto* devices = std::get_if<DeviceProof>(&*refusal.proof)) return device_proof_text(*devices);
  return nodes_proof_text(refusal);
}

}  // namespace berth::placement
