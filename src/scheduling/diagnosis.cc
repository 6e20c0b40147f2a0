#include "scheduling/diagnosis.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::scheduling {
namespace {

constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";
constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";

std::string available(std::size_t node_count) {
  return "0/" + std::to_string(node_count) + " nodes are available:";
}

// Sorted as texts with their counts, as kube-scheduler does it: "10 x" comes before "2 y".
std::string counted(const std::map<std::string, std::uint32_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? " " : ", ").append(part);
  return text;
}

}  // namespace

void Diagnosis::clear() {
  rows_.clear();
  flat_.clear();
  everywhere_.clear();
  error_.clear();
}

void Diagnosis::refuse(NodeId node, Refusal refusal, ReasonId reason) {
  rows_.push_back({node, refusal, static_cast<std::uint32_t>(flat_.size()), 1});
  flat_.push_back(reason);
}

void Diagnosis::add_reason(ReasonId reason, Refusal worst) {
  BERTH_ASSERT(!rows_.empty(), "a further reason follows a first one");
  rows_.back().refusal = std::max(rows_.back().refusal, worst);
  ++rows_.back().count;
  flat_.push_back(reason);
}

void Diagnosis::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

std::map<std::string, std::uint32_t> Diagnosis::counts() const {
  std::vector<std::uint32_t> by_reason(reasons_.size());
  for (const ReasonId reason : flat_) ++by_reason[reason.index()];
  std::map<std::string, std::uint32_t> counts;
  for (std::uint32_t i = 0; i < by_reason.size(); ++i)
    if (by_reason[i] > 0) counts[reasons_.text(ReasonId(i))] = by_reason[i];
  return counts;
}

std::vector<NodeId> Diagnosis::nodes_with(std::string_view text) const {
  const ReasonId reason = reasons_.find(text);
  std::vector<NodeId> nodes;
  for (const Row& row : rows_) {
    const auto first = flat_.begin() + row.first;
    if (std::find(first, first + row.count, reason) != first + row.count) nodes.push_back(row.node);
  }
  return nodes;
}

std::string Diagnosis::fit_sentence(std::size_t node_count) const {
  if (node_count == 0) return "no nodes available to schedule pods";
  if (!everywhere_.empty()) return available(node_count) + " " + everywhere_ + ".";
  return available(node_count) + counted(counts()) + ".";
}

std::string Diagnosis::preemption_sentence(std::size_t node_count, std::string_view preemption_policy) const {
  if (preemption_policy == "Never") return "preemption: not eligible due to preemptionPolicy=Never.";
  std::map<std::string, std::uint32_t> counts;
  for (const Row& row : rows_)
    ++counts[std::string(row.refusal == Refusal::Unresolvable ? kNotHelpful : kNoVictims)];
  if (!everywhere_.empty()) counts = {{std::string(kNotHelpful), static_cast<std::uint32_t>(node_count)}};
  return "preemption: " + available(node_count) + counted(counts) + ".";
}

}  // namespace berth::scheduling
