#include "sim/story_scoring.h"

#include <algorithm>

namespace berth::sim {

Result<placement::ResourcesFitArguments> story_strategy(const Json& words) {
  using enum placement::FitStrategy;
  constexpr std::pair<std::string_view, placement::FitStrategy> kStrategies[] = {
      {"LeastAllocated", LeastAllocated},
      {"MostAllocated", MostAllocated},
      {"RequestedToCapacityRatio", RequestedToCapacityRatio}};
  const auto* row =
      std::ranges::find(kStrategies, words.string_at("type"), [](auto& one) { return one.first; });
  if (row == std::end(kStrategies))
    return Error(ErrorCode::Invalid, "scoringStrategy.type",
                 "is LeastAllocated, MostAllocated or RequestedToCapacityRatio");
  placement::ResourcesFitArguments fit;
  fit.strategy = row->second;
  if (words.find("resources")) fit.resources.clear();
  for (const Json& one : words.items_at("resources"))
    fit.resources.push_back({std::string(one.string_at("name")), one.int_at("weight", 1)});
  for (const Json& point : words.part("requestedToCapacityRatio").items_at("shape"))
    fit.shape.push_back({point.int_at("utilization"), point.int_at("score")});
  return fit;
}

}  // namespace berth::sim
