// Depth first in Kubernetes' order: claims, requests, alternatives and devices as written; the first solution
// wins, every backtrack restores from the journal.
//
// Owner: one Search, on one thread. Cost: bounded by the context's steps; a plain request costs some word
// operations a slice and no allocation. Source: KEP-4381 structured parameters.
#pragma once

#include "dra/search/device_trial.h"

namespace berth::dra {

class PlainSearch {
 public:
  PlainSearch(SearchContext& context, SearchState& state, DeviceTrial& trial, NearestMiss& nearest_miss)
      : context_(context), state_(state), trial_(trial), nearest_miss_(nearest_miss) {}

  // From a state without picks. Found: the state has the solution; else it has no picks, unless the step
  // budget ended it. Never TooLarge.
  SearchOutcome run();

 private:
  SearchOutcome enter(std::uint32_t claim, std::uint32_t request);
  SearchOutcome take_next(RequestRef at, std::size_t taken, std::size_t in_claim, DeviceRef from);
  SearchOutcome take_any(RequestRef at, std::size_t taken, std::size_t in_claim, DeviceRef from);
  SearchOutcome take_collected(RequestRef at, std::size_t taken, std::size_t in_claim);
  bool may_err(RequestRef at) const;
  bool cannot_suffice(const CompiledSubRequest& sub, DeviceRef from, std::size_t missing) const;
  void note_rest(RequestRef at, DeviceRef from);
  Mask open(const CompiledSubRequest& sub, const Selected& selected, std::uint32_t run, DeviceRef from) const;

  SearchContext& context_;
  SearchState& state_;
  DeviceTrial& trial_;
  NearestMiss& nearest_miss_;
};

}  // namespace berth::dra
