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

Result<scheduling::DefragmentationSettings> story_defragmentation(const Json& words) {
  scheduling::DefragmentationSettings settings;
  const auto mode = scheduling::defragmentation_mode_of(words.string_at("mode"));
  if (!mode) return Error(ErrorCode::Invalid, "defragmentation.mode", "is Never, Report or Evict");
  settings.mode = *mode;
  settings.level = words.string_at("level");
  if (words.find("interval")) settings.interval = TRY(parse_duration(words.string_at("interval")));
  settings.moves_at_once = words.int_at("movesAtOnce", settings.moves_at_once);
  settings.moves_an_hour = words.int_at("movesPerHour", settings.moves_an_hour);
  settings.ratio = words.int_at("ratio", settings.ratio);
  return settings;
}

}  // namespace berth::sim
