// Why nodes were refused to one pod, and Kubernetes' own sentence about it.
//
// Owner: one attempt. Cost: a few bytes per refused node and reason; texts are made only when asked for.
// Source: kube-scheduler's FitError and preemption sentences, byte for byte (observed on 1.37.0).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace berth::scheduling {

using model::NodeId;
using ReasonId = DenseId<struct ReasonTag>;

// Unresolvable: no eviction can help this pod onto this node.
enum class Refusal : std::uint8_t { Unschedulable, Unresolvable };

class Diagnosis {
 public:
  void clear();
  ReasonId reason(std::string_view text) { return reasons_.intern(text); }

  void refuse(NodeId node, Refusal refusal, ReasonId reason);
  // One more reason for the node refused last; `worst` replaces its refusal when it is the harder one.
  void add_reason(ReasonId reason, Refusal worst);
  // The pod fits no node at all, whatever the node: a PreFilter's message.
  void refuse_everywhere(std::string message) { everywhere_ = std::move(message); }
  // An error that ends the attempt: "running … filter plugin: …". The first one stays.
  void fail(std::string message);

  bool refused_everywhere() const { return !everywhere_.empty(); }
  const std::string& everywhere() const { return everywhere_; }
  const std::string& error() const { return error_; }
  // How many nodes bear each reason.
  std::map<std::string, std::uint32_t> counts() const;
  // The nodes that bear `reason`, in the order they were refused.
  std::vector<NodeId> nodes_with(std::string_view reason) const;

  // "0/4 nodes are available: 1 Insufficient cpu, 3 cannot allocate all claims."
  std::string fit_sentence(std::size_t node_count) const;
  // "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
  std::string preemption_sentence(std::size_t node_count, std::string_view preemption_policy) const;

 private:
  struct Row {
    NodeId node;
    Refusal refusal;
    std::uint32_t first;
    std::uint32_t count;
  };
  model::Names<ReasonId> reasons_;
  std::vector<Row> rows_;
  std::vector<ReasonId> flat_;
  std::string everywhere_;
  std::string error_;
};

}  // namespace berth::scheduling
