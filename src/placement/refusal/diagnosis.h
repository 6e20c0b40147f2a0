// Why nodes were refused to one pod, node by node.
//
// Owner: one attempt. Memory: a few bytes per refused node and reason. fit_error.h summarizes it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "placement/refusal/reasons.h"

namespace berth::placement {

using model::NodeId;
using ReasonId = DenseId<struct ReasonTag>;

// A row of the table of reasons with its subjects.
struct KnownReason {
  const Reason* row = nullptr;
  std::string text;            // Kubernetes', with its subjects
  std::string subject;         // the first one
  model::ResourceId resource;  // that the nodes lack; none: not about resources
};

class Diagnosis {
 public:
  // Forgets everything except the ids of reasons.
  void clear();
  ReasonId reason(const Reason& row, std::string_view subject = {}, std::string_view second = {});
  ReasonId lack_of(const Reason& row, model::ResourceId resource, std::string_view resource_name);
  const KnownReason& reason(ReasonId reason) const { return reasons_[reason.index()]; }

  void refuse(NodeId node, ReasonId reason);
  // Adds a reason to the node that was refused last; the harder FilterStatus of the two counts.
  void add_reason(ReasonId reason);
  // The pod fits no node: a PreFilter's message.
  void refuse_everywhere(const Reason& row, std::string_view subject, std::string_view second = {},
                         std::string hint = {});
  // Ends the attempt with an error: "running … filter plugin: …". Only the first error is kept.
  void fail(std::string_view plugin, std::string message, std::string hint = {});

  bool refused_everywhere() const { return everywhere_row_ != nullptr; }
  const Reason* everywhere_row() const { return everywhere_row_; }
  const std::string& everywhere() const { return everywhere_; }
  const std::string& error() const { return error_; }
  // What was probably meant, in Berth's words; empty if nothing is known.
  const std::string& hint() const { return hint_; }
  // The plugin that refused the pod everywhere or failed; empty: none.
  std::string_view ended_by() const { return ended_by_; }
  // Why the refusals do not prove that the pod fits nowhere; empty: they do.
  std::string_view unproved() const { return unproved_; }

  struct Row {
    NodeId node;
    FilterStatus refusal;
    std::span<const ReasonId> reasons;
  };
  // In the order of the refusals. `reasons` is valid until the next refusal.
  std::size_t size() const { return rows_.size(); }
  Row row(std::size_t i) const {
    const StoredRow& kept = rows_[i];
    return {kept.node, kept.refusal, std::span(flat_).subspan(kept.first, kept.count)};
  }

 private:
  struct StoredRow {
    NodeId node;
    FilterStatus refusal;
    std::uint32_t first;
    std::uint32_t count;
  };
  ReasonId known(const Reason& row, std::string_view subject, std::string_view second,
                 model::ResourceId resource);

  std::vector<KnownReason> reasons_;  // by ReasonId
  // By row and subjects; only looked up, never iterated.
  std::map<const Reason*, std::map<std::string, ReasonId, std::less<>>> ids_;
  std::vector<StoredRow> rows_;
  std::vector<ReasonId> flat_;
  const Reason* everywhere_row_ = nullptr;
  std::string everywhere_;
  std::string error_;
  std::string hint_;  // of either
  std::string_view ended_by_;
  std::string_view unproved_;
};

}  // namespace berth::placement
