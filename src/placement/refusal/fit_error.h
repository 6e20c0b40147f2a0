// The summary of all nodes' refusals for one pod.
//
// A value without pointers into the attempt: nodes by name, rows of the table of reasons. The same state
// gives the same value: reasons by text, nodes by name. Source: kube-scheduler's FitError.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "placement/refusal/reasons.h"

namespace berth::placement {

// Nodes that are named for one reason and explained.
inline constexpr std::size_t kNodesNamedMax = 3;

struct RefusedNode {
  std::string name;
  std::string why;  // the filter's own words; empty: there is nothing to add to the reason
  friend bool operator==(const RefusedNode&, const RefusedNode&) = default;
};

// Of a resource that nodes lack.
struct Shortage {
  std::optional<Quantity> asked;  // by the pod itself; none: only its devices take of it
  std::string nearest;            // the node with most of it free; the first by name
  Quantity free;                  // there
  Quantity missing;               // there: so much more, and the pod's own amount fits
  friend bool operator==(const Shortage&, const Shortage&) = default;
};

struct RefusedFor {
  const Reason* row = nullptr;
  std::string reason;   // Kubernetes' text
  std::string subject;  // the row's first
  std::uint32_t count = 0;
  std::vector<RefusedNode> first;   // by name, at most kNodesNamedMax
  std::optional<Shortage> lacks;    // none: not about resources
  std::vector<std::string> taints;  // of `first`, those that the pod does not tolerate
  std::string absent;               // labels that no node has (absent_labels.h); empty: none is known
  friend bool operator==(const RefusedFor&, const RefusedFor&) = default;
};

struct FitError {
  std::string error;       // ended the attempt
  std::string hint;        // ours, about `error` or `everywhere`
  std::string everywhere;  // holds for every node: Kubernetes' text
  const Reason* everywhere_row = nullptr;
  std::uint32_t unresolvable = 0;
  std::uint32_t unschedulable = 0;
  std::vector<RefusedFor> reasons;             // by text
  std::string_view ended_by = {};              // the plugin that refused the pod everywhere; empty: none
  std::vector<std::string_view> plugins = {};  // that refused the pod or a node; ascending
  std::string_view unproved = {};  // why it does not prove that the pod fits nowhere; empty: it does
  friend bool operator==(const FitError&, const FitError&) = default;
};

}  // namespace berth::placement
