// The search for one request's devices on one node: the plain search, then the symmetry-pruned one, then the
// best of several allocations; or why there is none.
//
// Owner: one Allocator, on one thread; reused for every node, so that a plain request costs no allocation.
// Cost: bounded by the step budget, and for scoring by the bounds of branch_and_bound.h. Source: KEP-4381
// structured parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dra/scoring.h"
#include "dra/search/branch_and_bound.h"
#include "dra/search/nearest_miss.h"
#include "dra/search/plain_search.h"
#include "dra/search/symmetry_search.h"

namespace berth::dra {

// Steps of the plain search for each wanted device (and for as many devices more) before the symmetry-pruned
// search starts.
inline constexpr std::size_t kPlainStepsPerDevice = 4;
inline constexpr std::size_t kPlainDevicesMore = 8;

struct SearchSteps {
  std::size_t max = 0;
  std::size_t hard_max = 0;  // where the plain search did not suffice
  std::size_t scoring_tries = kScoringTriesMax;
};

class Search {
 public:
  Search(const model::Cluster& cluster, Inventory& inventory, const DeviceGates& gates)
      : context_(cluster, inventory, gates) {}
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Never TooLarge.
  SearchOutcome run(const CompiledAllocationRequest& compiled, model::NodeId node, SearchSteps steps,
                    Explain explain);
  // Whether a request of `chosen` with allocationMode All would get a device now that it does not have. False
  // while a pool of the node cannot be used, or a selector fails. Ends the latest run.
  bool wants_more(const CompiledAllocationRequest& compiled, model::NodeId node,
                  const api::Allocation& chosen);
  // 0: the symmetry-pruned search at once. For tests; the results are the same.
  void set_plain_steps(std::size_t per_device) { plain_steps_ = per_device; }
  void set_scoring(DeviceScoring scoring) { scoring_ = scoring; }

  // Of the latest run.
  std::size_t steps() const { return context_.steps; }
  // The plain search did not suffice. Before certificate() alone.
  bool was_hard() const { return problem_.has_value(); }
  const std::string& error() const { return context_.error; }
  const std::string& hint() const { return context_.hint; }
  const NodeDevices& devices() const { return *context_.devices; }
  // Of the solution, in the order of claims and requests.
  const std::vector<Pick>& picks() const { return state_.picks(); }
  std::uint32_t alternative(std::uint32_t claim, std::uint32_t request) const {
    return state_.alternative(claim, request);
  }
  // Why it found nothing, when explanations were requested.
  std::string why() const { return nearest_miss_.words(context_, state_); }
  // Why pools of the node could not serve it, to append to a reason; empty: all could.
  std::string pool_notes() const { return nearest_miss_.pool_notes(context_); }
  // The proof for it. Invalidates the results of the run.
  Certificate certificate();

 private:
  void begin(const CompiledAllocationRequest& compiled, model::NodeId node, std::size_t steps_max,
             Explain explain);
  std::size_t plain_budget() const;
  const Problem& set_up_problem();
  SearchOutcome run_with_plan();

  SearchContext context_;
  SearchState state_{context_};
  NearestMiss nearest_miss_;
  DeviceTrial trial_{context_, state_, nearest_miss_};
  PlainSearch plain_{context_, state_, trial_, nearest_miss_};
  // Of the latest run, if it was needed. Freed when the next run starts, which allocates the same sizes.
  std::optional<Problem> problem_;
  std::optional<SymmetrySearch> symmetry_;
  std::size_t plain_steps_ = kPlainStepsPerDevice;
  DeviceScoring scoring_ = DeviceScoring::Reference;
};

}  // namespace berth::dra
