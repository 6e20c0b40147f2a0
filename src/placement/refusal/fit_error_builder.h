// Adds up refusals of one attempt by Kubernetes' text, and names what is kept of them.
//
// Owner: one call. Reads the attempt's state. Cost: O(nodes counted); names and amounts for kNodesNamedMax
// nodes a reason.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "placement/cycle_state.h"
#include "placement/refusal/absent_labels.h"
#include "placement/refusal/fit_error.h"

namespace berth::placement {

class FitErrorBuilder {
 public:
  // The nodes that are refused for one text.
  struct Nodes {
    const KnownReason* reason = nullptr;
    std::uint32_t count = 0;
    std::vector<NodeId> named;  // the first by name are among them
    NodeId nearest;             // with most of the resource free; none: to be found among `named`
  };
  // Why a node is refused for the reason, in the filter's own words.
  using WhyNot = std::function<std::string(const Reason& reason, NodeId node)>;

  // Both outlive it.
  explicit FitErrorBuilder(const CycleState& state) : state_(state) {}

  void add(FilterStatus status, std::uint32_t count) {
    (status == FilterStatus::UnschedulableAndUnresolvable ? made_.unresolvable : made_.unschedulable) +=
        count;
  }
  // If several reasons have one text, the first id counts. `reason` outlives the builder.
  Nodes& of(const KnownReason& reason);
  // Everything that the attempt's own diagnosis has.
  void add_diagnosis();
  // Without `why_not` nodes are only named; without `labels` labels that no node has are not looked for.
  FitError take(const WhyNot& why_not, AbsentLabels* labels);

 private:
  RefusedFor describe(Nodes& nodes, const WhyNot& why_not);
  // No node came as far as a filter after NodeAffinity.
  bool no_node_matched() const;
  Shortage shortage(const Nodes& nodes);
  std::vector<std::string> untolerated(const std::vector<NodeId>& nodes) const;

  const CycleState& state_;
  FitError made_;
  std::map<std::string_view, Nodes> by_text_;
  std::set<std::string_view> plugins_;
  std::optional<api::ResourceMap> asked_;  // by the pod; made when it is needed
};

}  // namespace berth::placement
