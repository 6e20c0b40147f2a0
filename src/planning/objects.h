// The objects that a decision would leave in the API: the bound pod, its allocated claims, its bind request.
#pragma once

#include "scheduling/framework.h"

namespace berth::planning {

struct Placing {
  const api::Pod& pod;
  const std::string& node;
  const std::vector<scheduling::ClaimChoice>& claims;
  const api::BindGroup& group;
  const std::string& decision_id;
};

// Appends them, whole and as `kubectl apply` would take them.
void add_objects(const scheduling::World& world, const Placing& placing, std::vector<Json>& objects);

}  // namespace berth::planning
