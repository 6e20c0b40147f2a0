#include "dra/search/search_context.h"

#include <algorithm>

namespace berth::dra {

void SearchContext::reset(const CompiledAllocationRequest& request, model::NodeId on_node,
                          std::size_t most_steps) {
  compiled = &request;
  node = on_node;
  devices = &inventory.of(node);
  steps = 0;
  steps_max = most_steps;
  error.clear();
  hint.clear();
  collected.clear();
  inventory.trim_values(*devices);
  values.resize(request.claims.size());
  for (std::size_t c = 0; c < request.claims.size(); ++c) {
    values[c].clear();
    for (const CompiledConstraint& constraint : request.claims[c].compiled_spec->constraints)
      values[c].push_back(
          &inventory.values(*devices, constraint.table_key, constraint.attribute, constraint.derived));
  }
}

SearchOutcome SearchContext::fail(std::string text, std::string with_hint) {
  error = std::move(text);
  hint = std::move(with_hint);
  return SearchOutcome::Error;
}

std::size_t SearchContext::wanted(const CompiledSubRequest& sub) const {
  return sub.spec->mode == api::AllocationMode::All ? collected.at(&sub).size()
                                                    : static_cast<std::size_t>(sub.spec->count);
}

std::size_t SearchContext::wanted_at_least(const CompiledRequest& request) const {
  std::size_t least = ~std::size_t{0};
  for (const CompiledSubRequest& sub : request.alternatives) least = std::min(least, wanted(sub));
  return least;
}

}  // namespace berth::dra
