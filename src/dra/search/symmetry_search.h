// The search with a plan: refuted at once where counting shows it, else depth first in the plain order,
// without what cannot hold a solution (symmetry_pruning.h). Finds the same first solution as the plain
// search.
//
// Owner: one Search, for one run. Cost: bounded by the context's steps; a repair of the matching a step once
// something has failed.
#pragma once

#include "dra/search/device_trial.h"
#include "dra/search/symmetry_pruning.h"

namespace berth::dra {

class SymmetrySearch {
 public:
  // `problem` is that of the context, and may not err.
  SymmetrySearch(SearchContext& context, SearchState& state, DeviceTrial& trial, const Problem& problem)
      : context_(context),
        state_(state),
        trial_(trial),
        problem_(problem),
        pruning_(*context.compiled, problem, context.values) {}

  // From a state without picks. Found: the state has the solution.
  SearchOutcome run();

 private:
  SearchOutcome enter(std::uint32_t claim, std::uint32_t request);
  SearchOutcome try_alternatives(std::uint32_t claim, std::uint32_t request, std::size_t in_claim);
  SearchOutcome take_next(RequestRef at, std::size_t taken, std::size_t in_claim, std::uint32_t from);
  SearchOutcome take_any(RequestRef at, std::size_t taken, std::size_t in_claim, std::uint32_t from);
  SearchOutcome try_place(RequestRef at, std::size_t taken, std::size_t in_claim, std::uint32_t place);
  bool still_possible();
  bool describe(std::uint32_t claim, std::uint32_t request, std::size_t in_claim, std::string& key) const;
  void describe_shares(std::string& key) const;

  SearchContext& context_;
  SearchState& state_;
  DeviceTrial& trial_;
  const Problem& problem_;
  SymmetryPruning pruning_;
};

}  // namespace berth::dra
