// One allocation request on one node as numbers: places (devices that could serve), the slots that accept
// them, which are interchangeable, and what is shared. Built when the plain search does not finish, and for
// the proof of a "no".
//
// Owner: one search. Cost: O(kinds of requests × devices), some tens of µs for 128 devices.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "dra/pools/eligibility.h"
#include "dra/proof/bits.h"
#include "dra/proof/matching.h"

namespace berth::dra {

// The devices that All requests must take.
using Collected = std::map<const CompiledSubRequest*, std::vector<DeviceRef>>;

// Places fed by one shared counter. `draws` ascends.
struct CounterBottleneck {
  std::uint32_t pool = 0;     // of NodeDevices
  std::uint32_t counter = 0;  // of NodePool
  std::vector<std::pair<Quantity, std::uint32_t>> draws;
};

// The slots of one request: as many as its least demanding alternative needs.
struct SlotGroup {
  std::uint32_t claim = 0, request = 0;
  std::uint32_t first = 0, count = 0;
  Bits accepts;                        // by any alternative
  std::vector<Bits> each;              // by slot, for an All request; else empty
  std::vector<std::uint32_t> matches;  // of Problem::matches, those that cover every alternative
};

// A matchAttribute over two devices or more, with the values that enough places have.
struct MatchGroup {
  std::uint32_t claim = 0, constraint = 0;
  std::size_t covered = 0;                             // slots
  std::vector<std::pair<std::uint32_t, Bits>> values;  // ascending; and their places
  Bits places;                                         // of any of them
  std::size_t best = 0;                                // the largest number of places with one value
  std::uint32_t best_value = Matching::kNone;
  Bits open;  // places of the covered slots, with any value
};

class Problem {
 public:
  Problem(const CompiledAllocationRequest& compiled, const EligibilityCheck& eligibility_check,
          const ConstraintValues& values, const Collected& collected);

  // The order of trials matters, so only the plain search order is right. A device in play would end the
  // attempt with an error, or has negative draws as well as positive ones.
  bool may_err = false;

  std::vector<DeviceRef> places;        // in search order
  std::vector<std::uint32_t> class_of;  // equal: interchangeable in every respect that this request can see
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> multiplicity;  // how often a place can be used, at most
  std::vector<std::uint32_t> bottleneck_of;
  std::vector<CounterBottleneck> bottlenecks;  // of whole devices, each device in one
  std::vector<CounterBottleneck>
      scarce;  // counters that cannot feed all places at once, with their whole devices
  bool any_admin = false;
  std::vector<SlotGroup> groups;
  std::vector<MatchGroup> matches;

  // The places that the sub-request accepts by itself, without constraints.
  const Bits& accepted(const CompiledSubRequest& sub) const { return accepted_[kinds_.at(sub.kind)]; }
  std::uint32_t place_of(std::uint32_t flat) const { return place_of_[flat]; }
  std::uint32_t flat_of(std::uint32_t place) const {
    return eligibility_check_.devices.order[places[place].device_run].base +
           static_cast<std::uint32_t>(places[place].device);
  }
  const EligibilityCheck& eligibility_check() const { return eligibility_check_; }
  // The most places of the bottleneck, without those in `used`, that `left` can feed.
  static std::uint32_t fed(const CounterBottleneck& bottleneck, Quantity left, const Bits* used);

 private:
  void find_places(const CompiledAllocationRequest& compiled);
  void count_multiplicity(const CompiledAllocationRequest& compiled);
  void find_bottlenecks(const CompiledAllocationRequest& compiled);
  void find_classes(const CompiledAllocationRequest& compiled, const ConstraintValues& values);
  void write_draws(std::uint32_t place, std::string& key) const;
  void write_shares(const CompiledAllocationRequest& compiled, std::uint32_t place, std::string& key) const;
  void find_groups(const CompiledAllocationRequest& compiled, const Collected& collected);
  std::vector<SlotGroup*> covered_by(const CompiledAllocationRequest& compiled, std::uint32_t claim,
                                     std::uint32_t constraint, std::uint32_t& variant);
  void find_matches(const CompiledAllocationRequest& compiled, const ConstraintValues& values);
  void count_values(const ValueTable& table, std::uint32_t variant, MatchGroup& match) const;
  bool counts_shares(std::uint32_t place) const;

  const EligibilityCheck eligibility_check_;
  std::unordered_map<std::uint32_t, std::uint32_t> kinds_;  // CompiledSubRequest::kind to index
  std::vector<Bits> accepted_;
  std::vector<std::uint32_t> place_of_;           // by flat device number
  std::vector<std::vector<std::uint8_t>> slack_;  // by pool and counter: enough for all places together
};

}  // namespace berth::dra
