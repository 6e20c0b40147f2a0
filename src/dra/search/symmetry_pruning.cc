#include "dra/search/symmetry_pruning.h"

#include <algorithm>
#include <map>

namespace berth::dra {

SymmetryPruning::SymmetryPruning(const CompiledAllocationRequest& compiled, const Problem& problem,
                                 const ConstraintValues& values)
    : problem(problem),
      relaxation(compiled, problem, values),
      used(problem.places.size()),
      uses(problem.places.size()),
      class_use(problem.classes) {
  find_interchangeable(compiled);
}

void SymmetryPruning::find_interchangeable(const CompiledAllocationRequest& compiled) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> sets;
  std::uint32_t rows = 0;
  const auto set_of = [&](std::vector<std::uint32_t> key, std::size_t alternatives) {
    const auto [at, added] = sets.try_emplace(std::move(key), static_cast<std::uint32_t>(sets.size()));
    if (added) {
      interchangeable_row_.push_back(rows);
      interchangeable_floor_.push_back(0);
      rows += static_cast<std::uint32_t>(alternatives);
    }
    return at->second;
  };
  for (std::uint32_t c = 0; c < compiled.claims.size(); ++c) {
    first_group_.push_back(static_cast<std::uint32_t>(own_row_.size()));
    for (std::uint32_t r = 0; r < compiled.claims[c].requests.size(); ++r) {
      const std::vector<CompiledSubRequest>& alternatives = compiled.claims[c].requests[r].alternatives;
      own_row_.push_back(rows);
      rows += static_cast<std::uint32_t>(alternatives.size());
      interchangeable_.push_back({Matching::kNone, Matching::kNone});
      // With admin access the order of the requests matters.
      if (problem.any_admin) continue;
      std::vector<std::uint32_t> key = {0, 0};
      for (const CompiledSubRequest& sub : alternatives) {
        key.push_back(sub.kind);
        key.push_back(static_cast<std::uint32_t>(sub.spec->count));
        key.push_back(sub.spec->mode == api::AllocationMode::All ? 1 : 0);
        key.push_back(static_cast<std::uint32_t>(sub.constraints.size()));
        for (const Covering& by : sub.constraints) key.insert(key.end(), {by.constraint, by.variant});
        // Constraints belong to their claim, and so does the limit on results.
        if (!sub.constraints.empty() || alternatives.size() > 1) key[1] = c + 1;
      }
      interchangeable_.back()[0] = set_of(std::move(key), alternatives.size());
      if (r == 0)
        interchangeable_.back()[1] = set_of({1, compiled.claims[c].compiled_spec->id}, alternatives.size());
    }
  }
  excluded_.assign(static_cast<std::size_t>(rows) * problem.classes, 0);
}

bool SymmetryPruning::excluded(std::uint32_t group, std::uint32_t alternative,
                               std::uint32_t device_class) const {
  const auto has_row = [&](std::uint32_t row) {
    return excluded_[(row + alternative) * problem.classes + device_class] != 0;
  };
  if (has_row(own_row_[group])) return true;
  for (const std::uint32_t set : interchangeable_[group])
    if (set != Matching::kNone && has_row(interchangeable_row_[set])) return true;
  return false;
}

void SymmetryPruning::exclude(std::uint32_t group, std::uint32_t alternative, std::uint32_t device_class,
                              bool first) {
  const auto add_row = [&](std::uint32_t row) {
    ++count_of(row + alternative, device_class);
    journal_.emplace_back(row + alternative, device_class);
  };
  add_row(own_row_[group]);
  for (const std::uint32_t set : interchangeable_[group])
    if (first && set != Matching::kNone) add_row(interchangeable_row_[set]);
}

void SymmetryPruning::back_to(std::size_t mark) {
  for (; journal_.size() > mark; journal_.pop_back())
    --count_of(journal_.back().first, journal_.back().second);
}

std::uint32_t SymmetryPruning::first_alternative(std::uint32_t group) const {
  std::uint32_t first = 0;
  for (const std::uint32_t set : interchangeable_[group])
    if (set != Matching::kNone) first = std::max(first, interchangeable_floor_[set]);
  return first;
}

void SymmetryPruning::raise_alternative(std::uint32_t group, int by) {
  for (const std::uint32_t set : interchangeable_[group])
    if (set != Matching::kNone) interchangeable_floor_[set] += static_cast<std::uint32_t>(by);
}

void SymmetryPruning::take(std::uint32_t place, std::uint32_t slot, bool whole) {
  ++uses[place];
  ++class_use[problem.class_of[place]];
  if (whole) used.set(place);
  relaxation.matching().fix(slot, place);
}

void SymmetryPruning::give_back(std::uint32_t place, std::uint32_t slot, bool whole) {
  --class_use[problem.class_of[place]];
  if (--uses[place] == 0 && whole) used.reset(place);
  relaxation.matching().unfix(slot, place);
}

}  // namespace berth::dra
