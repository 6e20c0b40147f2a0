// Why nodes were refused to one pod, node by node.
//
// Owner: one attempt. Cost: a few bytes per refused node and reason; what it all comes to is refusals.h.
#pragma once

#include <span>
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
  // Forgets all but the ids of reasons.
  void clear();
  // A reason belongs to one plugin: the first that gives it. `plugin` has static lifetime.
  ReasonId reason(std::string_view plugin, std::string_view text);
  const std::string& text(ReasonId reason) const { return reasons_.text(reason); }
  std::string_view plugin(ReasonId reason) const { return plugins_[reason.index()]; }

  void refuse(NodeId node, Refusal refusal, ReasonId reason);
  // One more reason for the node refused last; `worst` replaces its refusal when it is the harder one.
  void add_reason(ReasonId reason, Refusal worst);
  // The pod fits no node at all, whatever the node: a PreFilter's message.
  void refuse_everywhere(std::string_view plugin, std::string message);
  // An error that ends the attempt: "running … filter plugin: …". The first one stays.
  void fail(std::string_view plugin, std::string message);

  bool refused_everywhere() const { return !everywhere_.empty(); }
  const std::string& everywhere() const { return everywhere_; }
  const std::string& error() const { return error_; }
  // Who refused the pod everywhere or failed; empty when nobody did.
  std::string_view ended_by() const { return ended_by_; }

  struct Row {
    NodeId node;
    Refusal refusal;
    std::span<const ReasonId> reasons;
  };
  // In the order they were refused. The reasons hold until the next refusal.
  std::size_t size() const { return rows_.size(); }
  Row row(std::size_t i) const {
    const Kept& kept = rows_[i];
    return {kept.node, kept.refusal, std::span(flat_).subspan(kept.first, kept.count)};
  }

 private:
  struct Kept {
    NodeId node;
    Refusal refusal;
    std::uint32_t first;
    std::uint32_t count;
  };
  model::Names<ReasonId> reasons_;
  std::vector<std::string_view> plugins_;  // by ReasonId
  std::vector<Kept> rows_;
  std::vector<ReasonId> flat_;
  std::string everywhere_;
  std::string error_;
  std::string_view ended_by_;
};

}  // namespace berth::scheduling
