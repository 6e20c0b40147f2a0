// Depth-first search for devices: the first solution in order wins, every step back restores from a journal.
//
// Owner: one Allocator; used again for every node, so that a plain request costs no allocation. Cost: bounded
// by the step budget. Source: KEP-4381 structured parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dra/compiled_request.h"
#include "dra/pools/capacity.h"
#include "dra/pools/constraints.h"
#include "dra/pools/eligibility.h"
#include "dra/pools/inventory.h"
#include "dra/proof/prover.h"
#include "dra/scoring.h"
#include "dra/search/branch_and_bound.h"
#include "dra/search/symmetry_pruning.h"

namespace berth::dra {

// Steps of the plain search for each device wanted (and as many devices more) before the search is set up
// anew with all that is known about the problem.
inline constexpr std::size_t kPlainStepsPerDevice = 4;
inline constexpr std::size_t kPlainDevicesMore = 8;

enum class SearchOutcome : std::uint8_t { Found, None, TooLarge, Error, OutOfBudget };

// One chosen device.
struct Pick {
  std::uint32_t claim, request, alternative;
  std::uint32_t device_run, device;
  bool share = false;
  CapacityMap consumed;
  // Sizes of the journals before this pick.
  std::size_t counter_mark = 0, group_mark = 0;
};

class Search {
 public:
  Search(const model::Cluster& cluster, Inventory& inventory, const DeviceGates& gates)
      : cluster_(cluster), inventory_(inventory), gates_(gates) {}

  SearchOutcome run(const CompiledAllocationRequest& compiled, model::NodeId node, std::size_t steps_max,
                    Explain explain);
  // 0: the symmetry-pruned search at once. For tests; the answers are the same.
  void set_plain_steps(std::size_t per_device) { plain_steps_ = per_device; }
  void set_scoring(DeviceScoring scoring) { scoring_ = scoring; }
  std::size_t steps() const { return steps_; }
  const std::string& error() const { return error_; }
  const NodeDevices& devices() const { return *devices_; }
  // Of the solution, in the order of claims and requests.
  const std::vector<Pick>& picks() const { return picks_; }
  std::uint32_t alternative(std::uint32_t claim, std::uint32_t request) const {
    return chosen_[claim][request];
  }
  // Why the latest run found nothing, when it ran with words.
  std::string why() const;
  // The proof of it. Ends what can be asked about the run.
  Certificate certificate();

 private:
  struct Position {
    std::uint32_t claim = 0, request = 0, alternative = 0;
  };
  enum class TakeResult : std::uint8_t { Taken, Refused, Fatal };
  struct RunPool {
    bool copied = false;
    std::vector<Quantity> available;
    std::vector<GroupState> groups;
  };
  struct CounterUndo {
    std::uint32_t pool, slot;
    Quantity old;
  };
  struct GroupUndo {
    std::uint32_t pool, set;
    GroupState old;
  };

  EligibilityCheck eligibility_check() const { return {cluster_, inventory_, gates_, *devices_, node_}; }
  void reset(const CompiledAllocationRequest& compiled, model::NodeId node, std::size_t steps_max,
             Explain explain);
  std::size_t wanted_at_least(const CompiledRequest& request) const;
  void start_over();
  bool collect_all();
  bool collect(const CompiledClaim& claim, const CompiledSubRequest& sub, std::vector<DeviceRef>& out);
  std::vector<DeviceRef> all_selected(const CompiledSubRequest& sub);
  SearchOutcome enter(std::uint32_t claim, std::uint32_t request);
  SearchOutcome pick_next(Position at, std::size_t taken, std::size_t in_claim, DeviceRef from);
  SearchOutcome pick_pruned(Position at, std::size_t taken, std::size_t in_claim, DeviceRef from);
  SearchOutcome pick_collected(Position at, std::size_t taken, std::size_t in_claim);
  std::size_t wanted(Position at) const;
  bool may_err(Position at) const;
  bool cannot_suffice(const CompiledSubRequest& sub, DeviceRef from, std::size_t missing);
  void note_rest(Position at, DeviceRef from);
  Mask open(const CompiledSubRequest& sub, const DeviceRun& device_run, std::uint32_t index) const;

  TakeResult take(Position at, DeviceRef place);
  void undo_last();
  bool in_use(Position at, DeviceRef place) const;
  TakeResult check_capacity(Position at, DeviceRef place, Pick& pick);
  bool admitted(DeviceRef place, std::string& why);
  bool check_constraints(Position at, DeviceRef place, std::string& why);
  // Of the first `checked` constraints that cover the request.
  void undo_constraints(Position at, std::size_t checked);
  void charge(DeviceRef place, Pick& pick);
  bool carries_share(DeviceRef place) const;
  RunPool& run_pool(std::uint32_t pool);

  // search_symmetry.cc: the search again, with interchangeable devices and no-goods left out.
  SearchOutcome run_pruned();
  SearchOutcome enter_pruned(std::uint32_t claim, std::uint32_t request);
  SearchOutcome next_pruned(Position at, std::size_t taken, std::size_t in_claim, std::uint32_t from);
  SearchOutcome try_place(Position at, std::size_t taken, std::size_t in_claim, std::uint32_t place);
  bool describe_state(std::uint32_t claim, std::uint32_t request, std::size_t in_claim,
                      std::string& key) const;

  // search_branch_and_bound.cc
  bool may_differ() const;
  void improve();
  void note_taken(const Pick& pick);
  void undo_noted(const Pick& pick);
  bool find_wanted();
  std::vector<DeviceRef> candidates(Position at, std::size_t taken) const;
  std::vector<BranchAndBound::Option> options(Position at, std::size_t taken,
                                              const std::vector<DeviceRef>& left_out);
  void compare(std::size_t request, std::size_t taken);

  // search_proof.cc
  Certificate search_proof(const Prover& prover);
  bool leaves_out(CertificateKind kind) const { return left_out_ == kind; }
  bool leaves_out(const ConstraintState& constraint) const {
    return leaves_out(constraint.is_match() ? CertificateKind::Match : CertificateKind::Distinct);
  }

  SearchOutcome fail(std::string error);
  std::string selector_error(const CompiledClaim& claim, const CompiledSubRequest& sub, DeviceRef place);
  void note(Position at, DeviceRef place, std::string why);
  std::string why_not(Position at) const;

  const CompiledSubRequest& sub(Position at) const {
    return compiled_->claims[at.claim].requests[at.request].alternatives[at.alternative];
  }
  Slice& slice_of(std::uint32_t device_run) const {
    const DeviceRun& found = devices_->order[device_run];
    return *devices_->pools[found.pool].slices[found.slice];
  }
  const api::Device& device_at(DeviceRef place) const {
    return slice_of(place.device_run).live->devices[place.device];
  }
  model::DeviceId id_at(DeviceRef place) const { return slice_of(place.device_run).devices[place.device]; }

  const model::Cluster& cluster_;
  Inventory& inventory_;
  const DeviceGates& gates_;

  const CompiledAllocationRequest* compiled_ = nullptr;
  NodeDevices* devices_ = nullptr;
  model::NodeId node_;
  std::size_t steps_ = 0, steps_max_ = 0;
  std::size_t plain_steps_ = kPlainStepsPerDevice;
  bool explains_ = false;
  std::string error_;
  std::size_t most_ = 0;                     // picks at once
  std::optional<CertificateKind> left_out_;  // a rule that a proof does without
  std::vector<Pick> picks_;
  std::vector<Mask> used_;  // by segment: whole devices taken in this run
  std::vector<RunPool> pools_;
  std::vector<CounterUndo> counter_journal_;
  std::vector<GroupUndo> group_journal_;
  std::vector<std::vector<ConstraintState>> constraints_;  // by claim
  std::vector<std::vector<const ValueTable*>> values_;     // of the constraints
  std::vector<std::vector<std::uint32_t>> chosen_;
  Collected collected_;  // of requests for all devices
  std::optional<Problem> problem_;
  std::optional<SymmetryPruning> symmetry_;
  DeviceScoring scoring_ = DeviceScoring::Reference;
  std::optional<BranchAndBound> branch_and_bound_;

  // The furthest request that was not satisfied, and why each device was refused there first.
  Position deepest_;
  std::uint64_t rest_noted_ = 0;  // by alternative
  std::map<std::pair<std::uint32_t, std::size_t>, std::string> notes_;
};

}  // namespace berth::dra
