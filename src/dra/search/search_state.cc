#include "dra/search/search_state.h"

#include <algorithm>

namespace berth::dra {

void SearchState::reset() {
  picks_.clear();
  most_picks_ = 0;
  used_.assign(context_.devices->order.size(), Mask());
  counters_.reset(*context_.devices);
  const std::vector<CompiledClaim>& claims = context_.compiled->claims;
  constraints_.resize(claims.size());
  alternatives_.resize(claims.size());
  for (std::size_t c = 0; c < claims.size(); ++c) {
    const std::vector<CompiledConstraint>& compiled = claims[c].compiled_spec->constraints;
    constraints_[c].clear();
    for (std::size_t k = 0; k < compiled.size(); ++k)
      constraints_[c].emplace_back(compiled[k].is_match, context_.values[c][k]->value_count());
    alternatives_[c].assign(claims[c].requests.size(), 0);
  }
}

std::size_t SearchState::picks_of(std::uint32_t claim) const {
  return static_cast<std::size_t>(
      std::count_if(picks_.begin(), picks_.end(), [&](const Pick& pick) { return pick.at.claim == claim; }));
}

bool SearchState::in_use(RequestRef at, DeviceRef place) const {
  const bool shareable = context_.devices->is_shareable(place);
  if (!context_.sub(at).spec->admin_access)
    return context_.devices->order[place.device_run].blocked.test(place.device) ||
           (!shareable && used_[place.device_run].test(place.device));
  if (shareable) return false;
  return std::any_of(picks_.begin(), picks_.end(),
                     [&](const Pick& pick) { return pick.at.claim == at.claim && pick.place == place; });
}

bool SearchState::has_share(DeviceRef place) const {
  if (context_.cluster.ledger().device(context_.devices->id_at(place)).shares > 0) return true;
  return std::any_of(picks_.begin(), picks_.end(), [&](const Pick& pick) { return pick.place == place; });
}

void SearchState::undo_constraints(RequestRef at, std::size_t count) {
  const std::vector<Covering>& coverings = context_.sub(at).constraints;
  while (count > 0)
    if (ConstraintState& state = constraints_[at.claim][coverings[--count].constraint];
        !leaves_out(context_, state))
      state.undo();
}

void SearchState::charge(DeviceRef place) {
  if (!context_.devices->is_shareable(place)) used_[place.device_run].set(place.device);
  const DeviceRun& run = context_.devices->order[place.device_run];
  if (context_.devices->pools[run.pool].draws.empty() || carries_share(place)) return;
  counters_.charge(run.pool, context_.devices->draws_at(place));
}

void SearchState::take(Pick&& pick) {
  pick.before = counters_.mark();
  charge(pick.place);
  picks_.push_back(std::move(pick));
  most_picks_ = std::max(most_picks_, picks_.size());
}

void SearchState::undo_last() {
  const Pick& pick = picks_.back();
  counters_.undo_to(pick.before);
  undo_constraints(pick.at, context_.sub(pick.at).constraints.size());
  const auto same_device = [&](const Pick& other) { return &other != &pick && other.place == pick.place; };
  if (std::none_of(picks_.begin(), picks_.end(), same_device))
    used_[pick.place.device_run].reset(pick.place.device);
  picks_.pop_back();
}

void SearchState::undo_all() {
  while (!picks_.empty()) undo_last();
}

}  // namespace berth::dra
