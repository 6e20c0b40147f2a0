#include "scheduling/decision_log.h"

#include <array>

namespace berth::scheduling {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"Pod", "Group"};
constexpr std::array<std::string_view, kDecisionResultCount> kResults = {"Placed", "Unschedulable", "Error",
                                                                         "Undone"};

}  // namespace

std::string_view name_of(DecisionKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}
std::string_view name_of(DecisionResult result) {
  return kResults[static_cast<std::size_t>(result)];
}

void DecisionRing::append(DecisionRecord record) {
  ++counts_[static_cast<std::size_t>(record.result)];
  if (next_) next_->append(record);
  records_.push_back(std::move(record));
  if (records_.size() > kDecisionsKept) records_.pop_front();
}

const DecisionRecord* DecisionRing::find(std::string_view id) const {
  for (auto at = records_.rbegin(); at != records_.rend(); ++at)
    if (at->id == id) return &*at;
  return nullptr;
}

}  // namespace berth::scheduling
