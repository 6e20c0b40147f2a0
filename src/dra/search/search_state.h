// The choices of a search so far, what they take of the node, and the undo of the latest one.
//
// Owner: one Search, on one thread, reused for every run. Cost: take and undo O(counters, groups and
// constraints of the device), and O(picks) for a shared one; no allocation once it has grown. Checks nothing:
// DeviceTrial has the rules.
#pragma once

#include <vector>

#include "dra/pools/capacity.h"
#include "dra/pools/constraints.h"
#include "dra/search/counter_ledger.h"
#include "dra/search/search_context.h"

namespace berth::dra {

// One chosen device.
struct Pick {
  RequestRef at;
  DeviceRef place;
  bool share = false;
  CapacityMap consumed;        // of a share
  CounterLedger::Mark before;  // of the counters, before the pick
};

class SearchState {
 public:
  explicit SearchState(const SearchContext& context) : context_(context) {}

  // Nothing chosen, for the context's request and node.
  void reset();

  // The constraints that cover the request must have added the device before.
  void take(Pick&& pick);
  void undo_last();
  void undo_all();

  // In the order of claims and requests, when a search is done.
  const std::vector<Pick>& picks() const { return picks_; }
  std::size_t picks_of(std::uint32_t claim) const;
  // The most picks at once since the reset.
  std::size_t most_picks() const { return most_picks_; }
  // Devices of the run that are picked as a whole.
  Mask used(std::uint32_t device_run) const { return used_[device_run]; }
  bool in_use(RequestRef at, DeviceRef place) const;
  // Whether the device has live shares, so that another share draws nothing from counters.
  bool carries_share(DeviceRef place) const {
    return context_.devices->is_shareable(place) && has_share(place);
  }
  const CounterLedger& counters() const { return counters_; }

  // By claim.
  const std::vector<std::vector<ConstraintState>>& constraints() const { return constraints_; }
  ConstraintState& constraint(std::uint32_t claim, std::uint32_t index) { return constraints_[claim][index]; }
  // Removes the latest device from the first `count` constraints that cover the request.
  void undo_constraints(RequestRef at, std::size_t count);

  // The chosen alternative.
  std::uint32_t alternative(std::uint32_t claim, std::uint32_t request) const {
    return alternatives_[claim][request];
  }
  void set_alternative(RequestRef at) { alternatives_[at.claim][at.request] = at.alternative; }

  // Marks the device as used and charges its counters, like take(). Called directly only by the museum.
  void charge(DeviceRef place);

 private:
  bool has_share(DeviceRef place) const;

  const SearchContext& context_;
  std::vector<Pick> picks_;
  std::size_t most_picks_ = 0;
  std::vector<Mask> used_;  // by run of devices
  CounterLedger counters_;
  std::vector<std::vector<ConstraintState>> constraints_;
  std::vector<std::vector<std::uint32_t>> alternatives_;  // by claim and request
};

// A proof may disable the constraints of one kind.
inline bool leaves_out(const SearchContext& context, const ConstraintState& constraint) {
  return context.leaves_out(constraint.is_match() ? CertificateKind::Match : CertificateKind::Distinct);
}

}  // namespace berth::dra
