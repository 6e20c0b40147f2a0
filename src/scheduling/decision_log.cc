#include "scheduling/decision_log.h"

#include <array>

namespace berth::scheduling {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"Pod", "Group"};
}  // namespace

std::string_view name_of(DecisionKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

void DecisionCounts::append(DecisionRecord record) {
  ++counts_[static_cast<std::size_t>(record.result)];
  if (next_) next_->append(std::move(record));
}

}  // namespace berth::scheduling
