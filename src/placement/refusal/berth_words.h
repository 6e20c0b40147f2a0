// Berth's own words for a refusal, after Kubernetes': why a pod or a group waits, and what proves it.
//
// Pure: the same refusal gives the same text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/refusal/refusal.h"
#include "placement/refusal/remedy.h"

namespace berth::placement {

// Members of one decision that are explained, the first in their order.
inline constexpr std::size_t kMembersExplainedMax = 8;

// "pod default/train-7 waits: 2 of 4 nodes lack cpu (it asks for 8; n2 comes closest with 3500m free); …".
// For an Error, what was probably meant; empty if nothing is known.
std::string explanation_of(const Refusal& refusal);
// Of a member of a refused group: its own and the group's. `own`: of the placement that takes most members;
// null if it fits there or was not tried.
std::string explanation_of_member(const Refusal* own, const Refusal& group);
// The first kVictimsNamedMax of them: "default/a, default/b and 3 more".
std::string list_pods(const std::vector<std::string>& pods);
// Kubernetes' sentence first, ours after it.
std::string joined(const std::string& sentence, const std::string& explanation);
std::string message_of(const Refusal& refusal);

// "removing taint dedicated=db:NoSchedule from node-4": completes "The pod would fit after …".
std::string words_of(const Remedy& remedy);
// "evicting pods, whatever their priority": completes "Nothing helps of what was tried: …".
std::string_view tried_words(RemedyKind kind);
// Of a change of a node, what the node lacks without it: "2Gi of memory short".
std::string lack_words(const RemedyStep& step);
// What a node that is refused for the reason lacks, in the filter's own words where it has any.
std::string lack_words(const RefusedFor& refused);

// Why an entry is not tried; of a pod Kubernetes' sentence, where there is one.
std::string gate_words(const GateReason& gate);

// The smallest blocking set found. `kind` is a dra::CertificateKind or "Nodes", "Topology", "Gang".
struct ProofText {
  std::string kind;
  std::string claim, request, node;
  Quantity need, have;
  std::vector<std::string> items;
  std::string words;  // the same as a sentence
};
// Not set: nothing is proved, or the decision was not asked for it.
std::optional<ProofText> proof_text(const Refusal& refusal);

}  // namespace berth::placement
