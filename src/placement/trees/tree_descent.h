// The domains for a tree's minima: depth first over groups and their domains, with return to earlier
// siblings.
//
// Groups that ask for more come first, and try the domain that fits most tightly, or where siblings are
// spread the one with the fewest of them. A search by counts decides where alone, and places the members at
// its end. It counts how many members of a kind a domain takes, and how many with equal demands for devices.
// Kinds that share nodes, and devices that must match, mislead it. Then each group is placed as it is
// reached, and last all members at once, with all their choices. Where that fails often, the groups that
// share a domain are searched there first, once for each set of them and domain. Equal domains are tried once
// in a search by counts, and a state that counts refuted is remembered. Owner: one TreeCycle::run, on one
// thread. Cost: steps of the budget; each unit is a level of the recursion.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/groups/group_devices.h"
#include "placement/search/budget.h"
#include "placement/trees/tree_grounds.h"

namespace berth::placement {

// Groups and groups of groups that are placed at once; of more nothing is proved.
inline constexpr std::size_t kTreeUnitsMax = 4'096;
// Bytes of remembered failures, and of what is known of groups that share a domain.
inline constexpr std::size_t kTreeFailuresBytesMax = std::size_t{32} << 20;
// Steps of one decision, over all its domains.
inline constexpr std::size_t kTreeDescentStepsMax = 65'536;
// Steps that one search of all choices on given domains costs a member at least.
inline constexpr std::size_t kTreeStepsOfAChoice = 1;
// It has such a part of the steps that are left.
inline constexpr std::size_t kTreeSharesOfChoices = 8;
// Members that are placed and taken back in one decision.
inline constexpr std::size_t kTreePlacingsMax = 4'096;
// The same of one check of a search for victims, which makes many.
inline constexpr std::size_t kTreeCheckStepsMax = 8'192, kTreeCheckPlacingsMax = 1'024;
// Searches of all choices for a whole tree that fail before groups that share a domain are searched apart.
inline constexpr std::size_t kTreeMisledMin = 8;
// Kinds of members that are counted, and demands for devices; groups of further ones are only tried.
inline constexpr std::size_t kTreeKindsMax = 16;

// A group that must find a place now.
struct TreeUnit {
  std::size_t node = 0;
  std::optional<std::size_t> parent;  // a unit
  std::size_t end = 0;                // behind the last unit below it
  std::int64_t needed = 0;            // members, or children
  std::int64_t left = 0;              // later siblings
  std::optional<std::size_t> kind;    // of the members, not counted from kTreeKindsMax on; none: a composite
  std::optional<std::size_t> devices = std::nullopt;  // the demand of each member; none: it is not counted
};

// How many members with one demand for devices domains take, by the devices that are free before members of
// the search are placed.
class TreeDevices {
 public:
  explicit TreeDevices(GroupDevices devices) : devices_(std::move(devices)) {}

  const std::string& demand() const { return devices_.demand(); }
  // Not while members of the search have places.
  std::int64_t count(const Placement& placement);
  // What was counted; kFitCountMax: nothing was.
  std::int64_t known(const Placement& placement) const;
  // Devices were taken or given back before the next search.
  void forget();

 private:
  GroupDevices devices_;
  std::map<const Placement*, std::int64_t> counted_;  // only looked up
};

// What is counted of members.
struct TreeCounts {
  std::span<GroupFit* const> kinds;       // how many of a kind a domain takes
  std::span<TreeDevices* const> devices;  // how many with a demand
};

enum class TreeEffort : std::uint8_t { ByCounts, ByPlacing, Together };

class TreeDescent {
 public:
  struct Moves {
    // Places the minimum of the unit's group; false: the transaction is as before.
    std::function<bool(const TreeUnit&, const Ground&)> place;
    // Places the minima of all units that are groups, at once; false: the transaction is as before.
    std::function<bool(std::span<const std::size_t>)> place_together;
    // Whether all choices prove that these units, groups with one ground, do not fit there at once.
    std::function<bool(std::span<const std::size_t>)> refute_together;
    // Takes back what place() did.
    std::function<void(const TreeUnit&)> take_back;
    // Siblings of the unit that have this ground from before. Null: siblings are not spread.
    std::function<std::int64_t(const TreeUnit&, const Ground&)> siblings_before = nullptr;
  };

  // All outlive it. The first unit has all others below it.
  TreeDescent(TreeGrounds& grounds, std::span<const TreeUnit> units, const TreeCounts& counts, Budget& budget,
              const Moves& moves);

  // `of_parent`: of the first unit's parent. `own`: of the first unit, if it is chosen already.
  bool run(TreeEffort effort, const Ground& of_parent, const Ground* own);
  // Of each unit that found a place.
  const std::vector<std::optional<Ground>>& found() const { return grounds_of_; }
  // Counts ruled everything out, or the search of all choices did.
  bool refuted() const {
    return effort_ != TreeEffort::ByPlacing && misled_ <= misled_max() && !budget_.ended();
  }
  // The deepest unit that found no domain, and the domain with most room for it: its placement may be null.
  std::optional<std::size_t> stuck() const { return stuck_; }
  const Ground& nearest() const { return nearest_; }
  // Members that it takes beyond those that are asked for; 0: counts see room for them, and nothing else
  // does.
  std::int64_t nearest_spare() const { return nearest_spare_; }

 private:
  struct Candidate {
    Ground ground;
    std::int64_t spare = 0;     // members that still fit beyond those that are asked for
    std::int64_t of_kinds = 0;  // the same, whatever their devices
    std::int64_t siblings = 0;  // of the unit that are there, if they are spread
  };
  // Kinds, then demands for devices.
  using Column = std::size_t;
  using Needs = std::map<Column, std::int64_t>;  // members
  void find_strict();
  bool go_on(std::size_t at);
  bool skip(std::size_t at);
  bool enter(std::size_t at, const Ground& ground);
  bool finish();
  bool finish_one_by_one();
  std::size_t misled_max() const { return effort_ == TreeEffort::Together ? SIZE_MAX : 0; }
  std::vector<Candidate> candidates(std::size_t at);
  void put_fewest_siblings_first(std::size_t at, std::vector<Candidate>& all) const;
  Needs needs_of(std::size_t at) const;
  void find_spare(const Needs& needs, Candidate& candidate);
  std::int64_t free(Column column, const Ground& ground);
  const topology::FitCounts& counts(std::size_t kind, std::size_t chain);
  std::int64_t device_room(std::size_t devices, const Placement& placement) const;
  void use(const TreeUnit& unit, const Ground& ground, std::int64_t sign);
  bool is_counted(const TreeUnit& unit) const { return unit.kind && *unit.kind < kinds_.size(); }
  std::size_t column_count() const { return kinds_.size() + devices_.size(); }
  bool is_counted_in(const TreeUnit& unit, Column column) const {
    return column < kinds_.size() ? unit.kind == column : unit.devices == column - kinds_.size();
  }
  template <class Visit>
  void visit_columns(const TreeUnit& unit, const Visit& visit) const {
    if (is_counted(unit)) visit(*unit.kind);
    if (unit.devices) visit(kinds_.size() + *unit.devices);
  }
  void remember_failure(std::string key);
  bool may_remember(const std::string& key);
  void keep_one_of_equals(std::vector<Candidate>& all);
  bool is_refuted(std::size_t at);
  bool is_refuted_on_its_ground(std::size_t at);
  bool is_short_of(Column column, std::size_t at);
  std::string state_key(std::size_t at) const;
  const Ground& ground_above(std::size_t at) const;
  void note_stuck(std::size_t at, std::span<const Candidate> candidates);

  TreeGrounds& grounds_;
  const std::span<const TreeUnit> units_;
  const std::span<GroupFit* const> kinds_;
  const std::span<TreeDevices* const> devices_;
  Budget& budget_;
  const Moves& moves_;

  TreeEffort effort_ = TreeEffort::ByCounts;
  Ground of_parent_;
  const Ground* own_ = nullptr;
  std::vector<std::uint8_t> strict_;                             // by unit: nothing below it may be left out
  std::vector<std::optional<Ground>> grounds_of_;                // by unit
  std::vector<std::int64_t> placed_;                             // by unit: children
  std::vector<std::vector<std::int64_t>> used_;                  // by chain; by domain and column
  std::vector<std::size_t> touched_;                             // units with a ground, in their order
  std::vector<std::vector<const topology::FitCounts*>> counts_;  // by kind and chain
  std::unordered_set<std::string> failed_;
  std::unordered_map<std::string, bool> refuted_on_ground_;  // by placement and units
  std::size_t remembered_bytes_ = 0;                         // in both
  std::size_t failures_ = 0, misled_ = 0;
  std::optional<std::size_t> stuck_;
  Ground nearest_;
  std::int64_t nearest_spare_ = 0;
};

}  // namespace berth::placement
