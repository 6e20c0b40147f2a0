// Places a group by what its PlacementPolicy wishes.
//
// The number of members that fit counts first: all of them if possible. Then the wishes count in their order:
// one domain for all, by the scores of placements. Else come the parts of choose_parts() inside the next
// wished level, the required level, or the cluster. How many members a domain takes is counted (FitCounts,
// free devices). Where placing shows that a count was too high, it is corrected and the parts are chosen
// again. Members that are not alike are counted by the least that any of them asks; which of them go where is
// tried. Owner: one GroupCycle::run, on one thread. Cost: steps of the budgets below. Source: PlacementPolicy
// (docs/topology.md).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "placement/groups/group_devices.h"
#include "placement/wishes/parts.h"
#include "placement/wishes/reached.h"
#include "placement/wishes/same_devices.h"
#include "placement/wishes/wish_levels.h"

namespace berth::placement {

// Choices of parts in one decision.
inline constexpr std::size_t kWishChoicesMax = 1'024;
// Members that are placed and taken back in one decision.
inline constexpr std::size_t kWishPlacingsMax = 65'536;
// Numbers of members that are tried, of groups with segments or same devices.
inline constexpr std::size_t kWishCountsMax = 64;
// Members that are not alike, of which is tried who goes where.
inline constexpr std::size_t kMembersAssignedMax = 64;
// Nodes that are judged to correct counts.
inline constexpr std::size_t kWishNodesCountedMax = 16'384;
// One search of all choices has such a part of the steps that are left.
inline constexpr std::size_t kWishSharesOfChoices = 8;

struct WishQuestion {
  GroupCycle& groups;
  DomainIndex& domains;
  Placements placements;
  const SchedulingContext& context;
  const GroupInput& input;  // with a wish
  model::Ledger::Transaction& transaction;
  const Placement* inside = nullptr;  // the members go there, whatever is required; null: anywhere
};

// Members of the group that have a place, with this decision's. `members`: as GroupInput::waiting.
std::vector<WishMember> placed_members(const model::Cluster& cluster, const GroupInput& input,
                                       std::span<const MemberOutcome> members);

class WishSearch {
 public:
  explicit WishSearch(const WishQuestion& question);

  GroupOutcome run();
  // As many members as fit, and at least `needed`. The outcome is else Unschedulable without a refusal; none:
  // the members' own order may place some.
  std::optional<GroupOutcome> place(std::int64_t needed, std::int64_t most, GroupEffort effort);

 private:
  // One domain of a rung's level, and the domains of its parts.
  struct Region {
    const Placement* placement = nullptr;
    std::vector<topology::DomainId> leaves = {};  // by path
    std::vector<PartDomain> domains = {};         // the same
    std::optional<Parts> parts = std::nullopt;
  };
  bool try_counts(std::int64_t members, std::int64_t needed);
  bool try_rungs(std::int64_t members);
  bool try_rung(const WishRung& rung, std::int64_t members);
  bool counts_suffice(const WishRung& rung, std::int64_t members);
  bool try_values(const WishRung& rung, const SameDevices::Values& values, std::int64_t members);
  bool try_domains(const WishRung& rung, std::int64_t members);
  bool try_whole(const WishRung& rung, std::span<const Placement> placements, std::int64_t members);
  bool try_parts(const WishRung& rung, std::span<const Placement> placements, std::int64_t members);
  // wish_assignments.cc: of members that are not alike.
  bool try_assignments(const WishRung& rung, std::span<const Placement> placements);
  struct Assigning;
  Assigning start_assigning(const WishRung& rung, const Region& region);
  bool choose_domains(Assigning& run, std::size_t next, std::size_t count, std::int64_t room);
  bool assign(Assigning& run, std::size_t at);
  bool share_out(Assigning& run, std::size_t at, std::size_t kind, std::int64_t size);
  bool place_part(Assigning& run, std::size_t at);
  bool place_parts(const WishRung& rung, Region& region);
  void correct(const WishRung& rung, Region& region, std::size_t at);
  std::vector<Region> regions(const WishRung& rung, std::span<const Placement> placements);
  void choose(Region& region, std::int64_t members) const;
  Region* best_of(std::vector<Region>& regions) const;
  std::vector<Placement> placements_at(std::size_t depth);
  std::vector<Placement> inside_required(std::vector<Placement> placements, std::size_t depth);
  Placement placement_of(std::size_t depth, topology::DomainId domain);
  bool suits_segments(const WishRung& rung, const Placement& placement, std::int64_t members);
  std::int64_t room(std::size_t depth, topology::DomainId domain);
  // `topology`: of this depth.
  std::int64_t room(std::size_t depth, topology::DomainId domain, Topology& topology);
  void forget_rooms();
  std::int64_t most_members();
  std::int64_t fewer_than(std::int64_t members);
  bool run_among(std::span<const Placement> placements, std::size_t depth,
                 std::span<const std::size_t> members);
  GroupInput some_members(std::span<const std::size_t> members) const;
  void start();
  std::span<const std::size_t> first_members(std::int64_t from, std::int64_t size) const;
  bool are_alike();
  bool tries_assignments(std::int64_t members);
  GroupOutcome finish();
  GroupOutcome as_required();
  GroupOutcome refuse(const GroupInput& all);
  WishShortage shortage();
  GroupOutcome in_their_order(GroupOutcome outcome) const;
  void refuse_the_rest(GroupOutcome& outcome);

  const WishQuestion question_;
  const GroupInput& input_;
  const GroupWish& wish_;
  const WishSegments segments_;  // without a wish for them, of any size
  const SchedulingContext& context_;
  model::Ledger::Transaction& transaction_;
  WishLevels levels_;
  std::vector<WishRung> rungs_;
  std::vector<bool> inside_;              // by node id; empty: everywhere
  std::vector<std::size_t> all_;          // members: 0, 1, …
  std::vector<std::size_t> order_;        // of the waiting members: by rank, if that is wished
  std::vector<const api::Pod*> waiting_;  // in this order
  const std::int64_t needed_;
  GroupFit fit_;
  GroupBound bound_;
  GroupDevices devices_;
  // By depth and domain: of groups that ask for devices, and where placing has shown that there is less room.
  std::map<std::pair<std::size_t, topology::DomainId>, std::int64_t> rooms_;
  std::optional<SameDevices> same_;
  Budget choices_{kWishChoicesMax}, placings_{kWishPlacingsMax}, steps_{kGroupStepsMax};
  GroupEffort effort_ = GroupEffort::AllChoices;
  std::string_view unproved_;
  GroupOutcome outcome_;  // in this order
};

}  // namespace berth::placement
