// The summary of all nodes' refusals for one pod, and Kubernetes' sentences for it.
//
// A value without pointers into the attempt. The same state gives the same value: reasons by text, nodes by
// name. Source: kube-scheduler's FitError and preemption sentences, byte for byte (observed on 1.37.0).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "placement/refusal/diagnosis.h"
#include "placement/refusal/refused_nodes.h"

namespace berth::placement {

// Nodes that are named for one reason and explained.
inline constexpr std::size_t kNodesNamedMax = 3;

struct RefusedFor {
  const Reason* row = nullptr;
  std::string reason;          // Kubernetes' text
  std::string subject;         // the row's first
  model::ResourceId resource;  // that the nodes lack; none: not about resources
  std::uint32_t count = 0;
  std::vector<NodeId> first;     // by name, at most kNodesNamedMax
  std::vector<std::string> why;  // for each of `first`, if the filter explains; else empty
  NodeId nearest;                // with most of the resource free; the first by name
  friend bool operator==(const RefusedFor&, const RefusedFor&) = default;

  // If several reasons have one text, the first id counts.
  void note(const KnownReason& known);
};

struct FitError {
  std::string error;       // ended the attempt
  std::string hint;        // ours, about the error
  std::string everywhere;  // holds for every node
  std::uint32_t unresolvable = 0;
  std::uint32_t unschedulable = 0;
  std::vector<RefusedFor> reasons;  // by text
  std::string_view ended_by = {};   // the plugin that refused the pod everywhere; empty: none
  std::string_view unproved = {};   // why it does not prove that the pod fits nowhere; empty: it does
  friend bool operator==(const FitError&, const FitError&) = default;

  // The reasons with node names, for DecisionRecord.
  std::vector<RefusedNodes> named(const model::Cluster& cluster) const;
  // "0/4 nodes are available: 1 Insufficient cpu, 3 cannot allocate all claims."
  std::string fit_sentence(std::size_t node_count) const;
  // "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
  std::string preemption_sentence(std::size_t node_count, std::string_view preemption_policy) const;
};

// Summarizes a diagnosis; `why` stays empty. Cost: O(rows).
FitError add_up(const Diagnosis& diagnosis, const model::Cluster& cluster);

}  // namespace berth::placement
