#include "scheduling/defragmentation_figures.h"

#include "api/metric_table.h"

namespace berth::scheduling {
namespace {

using api::family_of;
using api::Metric;

constexpr std::array<std::string_view, kDefragmentationResultCount> kDefragmentationResults = {
    "NoLevel", "Nothing", "Reported", "Begun", "Reached", "GivenUp", "Moved"};
constexpr std::size_t kMoved = static_cast<std::size_t>(DefragmentationResult::Moved);

bool is_of_search(DefragmentationResult result) {
  return result == DefragmentationResult::Nothing || result == DefragmentationResult::Reported ||
         result == DefragmentationResult::Begun;
}

}  // namespace

std::string_view name_of(DefragmentationResult result) {
  return kDefragmentationResults[static_cast<std::size_t>(result)];
}

void DefragmentationFigures::count(const DefragmentationRecord& record) {
  ++counts_[static_cast<std::size_t>(record.result)];
  if (is_of_search(record.result)) whole_domains_ = record.whole_domains;
}

void DefragmentationFigures::write_metrics(MetricsText& text) const {
  text.family(family_of(Metric::DefragmentationResults));
  for (std::size_t i = 0; i < kMoved; ++i) text.sample({kDefragmentationResults[i]}, counts_[i]);
  text.single(family_of(Metric::DefragmentationMoves), counts_[kMoved]);
  text.single(family_of(Metric::WholeDomains), whole_domains_);
}

}  // namespace berth::scheduling
