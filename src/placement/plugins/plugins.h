// The factory of each plugin: a row of plugins.def declares it here and registers it in default_plugins().
#pragma once

#include <memory>

#include "placement/framework.h"

namespace berth::placement::plugins {

#define PLUGIN(point, name, ...) \
  std::unique_ptr<point> name(__VA_OPT__(const decltype(PluginArguments::__VA_ARGS__)&));
#define SCORE(name, weight, ...) PLUGIN(Score, name __VA_OPT__(, ) __VA_ARGS__)
#define DOMAIN_SCORE(name, weight, ...) PLUGIN(DomainScore, name __VA_OPT__(, ) __VA_ARGS__)
#define NORMALIZED_SCORE(name, weight, ...) PLUGIN(NormalizedScore, name __VA_OPT__(, ) __VA_ARGS__)
#define PLACEMENT_SCORE(name, weight) PLUGIN(PlacementScorer, name)
#include "placement/plugins/plugins.def"
#undef PLACEMENT_SCORE
#undef NORMALIZED_SCORE
#undef DOMAIN_SCORE
#undef SCORE
#undef PLUGIN

}  // namespace berth::placement::plugins
