#include "placement/plugins/plugins.h"

namespace berth::placement {
namespace {

// One overload per extension point.
void add(PluginSet& set, std::unique_ptr<PreEnqueue> plugin) {
  set.gates.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<PreFilter> plugin) {
  set.prefilters.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<Filter> plugin) {
  set.filters.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<DomainFilter> plugin) {
  set.domain_filters.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<LazyFilter> plugin) {
  set.lazy_filters.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<Reserve> plugin) {
  set.reserves.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<PostFilter> plugin) {
  set.post_filters.push_back(std::move(plugin));
}
void add(PluginSet& set, std::unique_ptr<FitCounter> plugin) {
  set.fit_counter = std::move(plugin);
}
void add(PluginSet& set, std::unique_ptr<JointFitCounter> plugin) {
  set.joint_fit_counter = std::move(plugin);
}
void add(PluginSet& set, std::unique_ptr<PlacementGenerator> plugin) {
  set.placement_generator = std::move(plugin);
}
void add(PluginSet& set, std::unique_ptr<PlacementRefiner> plugin) {
  set.placement_refiner = std::move(plugin);
}
void add(PluginSet& set, std::unique_ptr<PlacementState> plugin) {
  set.placement_state = std::move(plugin);
}

}  // namespace

PluginSet default_plugins(const PluginArguments& arguments) {
  PluginSet set;
  set.arguments = arguments;
#define MADE(name, ...) plugins::name(__VA_OPT__(arguments.__VA_ARGS__))
#define PLUGIN(point, name, ...) add(set, MADE(name __VA_OPT__(, ) __VA_ARGS__));
#define SCORE(name, weight, ...) set.scores.push_back({MADE(name __VA_OPT__(, ) __VA_ARGS__), weight});
#define DOMAIN_SCORE(name, weight, ...) \
  set.domain_scores.push_back({MADE(name __VA_OPT__(, ) __VA_ARGS__), weight});
#define NORMALIZED_SCORE(name, weight, ...) \
  set.normalized_scores.push_back({MADE(name __VA_OPT__(, ) __VA_ARGS__), weight});
#define PLACEMENT_SCORE(name, weight) set.placement_scorers.push_back({plugins::name(), weight});
#include "placement/plugins/plugins.def"
#undef PLACEMENT_SCORE
#undef NORMALIZED_SCORE
#undef DOMAIN_SCORE
#undef SCORE
#undef PLUGIN
#undef MADE
  return set;
}

}  // namespace berth::placement
