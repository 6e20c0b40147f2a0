// The symmetry-pruned search: refutes by counting where possible, else searches depth first in the plain
// order without pruned branches (symmetry_pruning.h). Finds the same first solution as the plain search.
//
// Owner: one Search, for one run. Cost: bounded by the context's steps; one repair of the matching per step
// after a failure.
#pragma once

#include "dra/search/device_trial.h"
#include "dra/search/symmetry_pruning.h"

namespace berth::dra {

class SymmetrySearch {
 public:
  // `problem` belongs to the context; its may_err is false.
  SymmetrySearch(SearchContext& context, SearchState& state, DeviceTrial& trial, const Problem& problem)
      : context_(context),
        state_(state),
        trial_(trial),
        problem_(problem),
        pruning_(*context.compiled, problem, context.values) {}

  // From a state without picks. Found: the state has the solution.
  SearchOutcome run();

 private:
  // False when the budget is spent. Each constraint of the claim is looked at with every device.
  bool step(std::uint32_t claim);
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
