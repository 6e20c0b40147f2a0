#include "scheduling/decision_log.h"

#include <array>

#include "placement/refusal/berth_words.h"

namespace berth::scheduling {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"Pod", "Group", "CompositeGroup"};

}  // namespace

std::string_view name_of(DecisionKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

DecisionKind kind_of(const placement::EntityKey& key) {
  return static_cast<DecisionKind>(key.kind);
}

std::string message_of(const DecisionRecord& record) {
  if (record.result == DecisionResult::Undone) return "the bind requests could not be written";
  return record.refusal ? placement::message_of(*record.refusal) : "";
}

void DecisionCounts::append(DecisionRecord record) {
  const bool counts = record.parent.empty();  // a group of a tree is counted with the tree
  if (counts) ++counts_[static_cast<std::size_t>(record.result)];
  if (record.result == DecisionResult::Placed && record.attempts > 0) {
    for (std::size_t i = 0; i < record.placed.size(); ++i) attempts_.observe(record.attempts);
    flush_found_ += record.swept ? 1 : 0;
  }
  if (record.refusal && counts) preemptions_.count(*record.refusal);
  if (next_) next_->append(std::move(record));
}

}  // namespace berth::scheduling
