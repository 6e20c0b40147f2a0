#include "scheduling/diagnosis.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::scheduling {

void Diagnosis::clear() {
  rows_.clear();
  flat_.clear();
  everywhere_.clear();
  error_.clear();
  ended_by_ = {};
}

ReasonId Diagnosis::reason(std::string_view plugin, std::string_view text) {
  const ReasonId reason = reasons_.intern(text);
  if (reason.index() == plugins_.size()) plugins_.push_back(plugin);
  return reason;
}

void Diagnosis::refuse_everywhere(std::string_view plugin, std::string message) {
  everywhere_ = std::move(message);
  ended_by_ = plugin;
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

void Diagnosis::fail(std::string_view plugin, std::string message) {
  if (!error_.empty()) return;
  error_ = std::move(message);
  ended_by_ = plugin;
}

}  // namespace berth::scheduling
