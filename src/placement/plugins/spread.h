// What PodTopologySpread counts, for its filter and its score.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "placement/framework.h"

namespace berth::placement::plugins {

inline constexpr std::string_view kPodTopologySpread = "PodTopologySpread";

// Constraints of a pod that count together. If `all_labels`, a node that lacks the label of one of them
// counts for none. Valid as long as the pod and the plugin.
struct SpreadGroup {
  std::span<const api::SpreadConstraint> constraints;
  bool all_labels = true;
  // Of default constraints: it selects the pods that count, and the constraints select none.
  model::ReplicaSelectorPtr replicas = nullptr;

  bool counts(const api::SpreadConstraint& constraint, const api::StringMap& labels) const {
    return replicas ? replicas->matches(labels) : constraint.pods.matches(labels);
  }
};

// What default constraints count for a pod without constraints of its own; null: nothing, and they do not
// apply to it. Written by a prefilter.
struct DefaultSpread {
  model::ReplicaSelectorPtr replicas;
  void clear() { replicas = nullptr; }
};

// Whether the node counts: its labels, and what the constraint's policies ask.
bool is_included(const api::Pod& pod, const SpreadGroup& group, const api::SpreadConstraint& constraint,
                 const api::Node& node);
// The pods of the node that the constraint counts.
std::int64_t selected_on(NodeId node, const api::Pod& pod, const SpreadGroup& group,
                         const api::SpreadConstraint& constraint, const model::Cluster& cluster);
// Equal bytes: the same amounts.
std::string spread_bytes(const api::Pod& pod, const SpreadGroup& group,
                         const api::SpreadConstraint& constraint);
void sign_spread(const api::Pod& pod, const SpreadGroup& group, std::string_view fragment,
                 PodSignature& signature);

}  // namespace berth::placement::plugins
