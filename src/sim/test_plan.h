// What `berth plan` decides from the objects that a simulated world has now.
#pragma once

#include <vector>

#include "api/kinds.h"
#include "dra/cel_selectors.h"
#include "planning/plan.h"
#include "sim/world.h"

namespace berth::sim {

inline Result<planning::Plan> plan_of(World& world) {
  std::vector<planning::Document> documents;
  for (std::size_t at = 0; at < api::kTypedKindCount; ++at) {
    const auto kind = static_cast<api::Kind>(at);
    for (Json& object : world.read_all(api::ref_of(kind))) documents.push_back({kind, std::move(object)});
  }
  planning::PlanOptions options;
  options.now = world.now();
  options.gates = &world.gates();
  options.device_gates = dra::gates_of(world.gates());
  dra::CelSelectors selectors;
  return planning::make_plan(std::move(documents), options, selectors);
}

}  // namespace berth::sim
