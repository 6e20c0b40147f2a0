// Why nodes were refused to one pod, node by node.
//
// Owner: one attempt. Cost: a few bytes per refused node and reason; what it all comes to is fit_error.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "scheduling/reasons.h"

namespace berth::scheduling {

using model::NodeId;
using ReasonId = DenseId<struct ReasonTag>;

// A row of the table and what it is about.
struct KnownReason {
  const Reason* row = nullptr;
  std::string text;            // Kubernetes', with its subjects
  std::string subject;         // the first one
  model::ResourceId resource;  // that the nodes have too little of; none: another matter
};

class Diagnosis {
 public:
  // Forgets all but the ids of reasons.
  void clear();
  ReasonId reason(const Reason& row, std::string_view subject = {}, std::string_view second = {});
  ReasonId lack_of(const Reason& row, model::ResourceId resource, std::string_view resource_name);
  const KnownReason& reason(ReasonId reason) const { return reasons_[reason.index()]; }

  void refuse(NodeId node, ReasonId reason);
  // One more reason for the node refused last; its refusal is the harder one of both.
  void add_reason(ReasonId reason);
  // The pod fits no node at all, whatever the node: a PreFilter's message.
  void refuse_everywhere(const Reason& row, std::string_view subject, std::string_view second = {});
  // An error that ends the attempt: "running … filter plugin: …". The first one stays.
  void fail(std::string_view plugin, std::string message, std::string hint = {});

  bool refused_everywhere() const { return !everywhere_.empty(); }
  const std::string& everywhere() const { return everywhere_; }
  const std::string& error() const { return error_; }
  // What was probably meant, in our words; empty where nothing is known.
  const std::string& hint() const { return hint_; }
  // Who refused the pod everywhere or failed; empty when nobody did.
  std::string_view ended_by() const { return ended_by_; }

  struct Row {
    NodeId node;
    FilterStatus refusal;
    std::span<const ReasonId> reasons;
  };
  // In the order they were refused. The reasons hold until the next refusal.
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
  // By row and subjects; for looking up, never walked.
  std::map<const Reason*, std::map<std::string, ReasonId, std::less<>>> ids_;
  std::vector<StoredRow> rows_;
  std::vector<ReasonId> flat_;
  std::string everywhere_;
  std::string error_;
  std::string hint_;  // of the error
  std::string_view ended_by_;
};

}  // namespace berth::scheduling
