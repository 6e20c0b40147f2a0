// Places a group on a set of nodes: depth first, with undo, until every choice was tried or the budget ends.
//
// It takes kinds in the order of the problem, and places the members of one kind on nodes in non-decreasing
// order, best scores first. Of nodes that are equal in every respect it tries only the first. A state in
// which the rest failed is remembered (equal nodes in any order), and so are devices for the same members on
// the same nodes. A state that sums of amounts or devices refute is left at once. Owner: one search of a
// group, on one thread. Cost: steps of the budget. "No" is a proof unless it says why not.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/search/gang_problem.h"

namespace berth::placement {

// Members of a group that is searched: the depth of the recursion.
inline constexpr std::size_t kTreeMembersMax = 1'024;
// Bytes of remembered failures, and of verdicts on members together on one node or on all.
inline constexpr std::size_t kTreeBytesMax = std::size_t{32} << 20;
// Nodes up to which it is counted how many members of each kind they serve alone.
inline constexpr std::size_t kTreeNodesCountedMax = 64;

class TreeSearch {
 public:
  using Seats = std::vector<GangDevices::Seat>;
  struct Moves {
    // Whether the node takes these members with the devices of the choice.
    GangDevices::Judge fits;
    // Places all; false: it could not.
    std::function<bool(const Seats&, const DeviceChoice&)> accept;
  };

  // All outlive it.
  TreeSearch(const GangProblem& problem, GangDevices& devices, Budget& budget, const Moves& moves);
  // Whether accept() did.
  bool run();
  // accept() refused what should fit.
  bool surprised() const { return surprised_; }

 private:
  struct Load {
    std::vector<std::uint16_t> counts;  // by kind; empty: nothing was placed
    std::uint32_t members = 0;
  };
  bool place_kinds(std::size_t kind);
  bool place_copies(std::size_t kind, std::size_t left, std::size_t first,
                    const std::vector<std::int64_t>& room_from);
  bool place_one(std::size_t kind, std::size_t left, std::size_t position,
                 const std::vector<std::int64_t>& room_from);
  bool takes(std::size_t kind, std::uint32_t node);
  bool takes_together(std::size_t kind, std::uint32_t node);
  bool judge_together(NodeId node, const std::vector<std::uint16_t>& counts);
  bool serves(NodeId node, std::span<const std::size_t> members, DeviceChoice& choice);
  bool serves_all();
  bool finish();
  void put(std::size_t kind, std::uint32_t node, int sign);

  bool is_promising(std::size_t kind);
  bool sums_suffice(std::size_t kind) const;
  std::int64_t fit_count(std::size_t kind, std::uint32_t node);
  std::int64_t served_alone(std::size_t kind, std::uint32_t node);
  bool may_remember(std::size_t bytes);
  void put_counts(const std::vector<std::uint16_t>& counts, std::size_t end, std::string& key) const;
  enum class NodesBy : std::uint8_t { Index, Class };
  std::string seated_key(NodesBy by) const;
  std::string state_key(std::size_t kind) const;
  std::size_t left_from(std::size_t kind) const { return left_from_[kind]; }
  // Members of the part beyond those that it needs, if `left` of this kind wait and all later ones.
  std::size_t spare(std::size_t kind, std::size_t left) const {
    const std::size_t part = problem_.kinds[kind].part;
    const std::size_t all = placed_[part] + left + left_of_part_[part][kind + 1];
    return all - std::min(all, problem_.needed[part]);
  }
  bool is_sticky(std::size_t kind) const { return problem_.by_placing || problem_.kinds[kind].has_claims; }

  const GangProblem& problem_;
  GangDevices& devices_;
  Budget& budget_;
  const std::size_t needed_;  // members, of all parts
  const Moves& moves_;
  std::size_t resources_ = 0;

  std::vector<std::int64_t> free_;      // by node and resource
  std::vector<Load> loads_;             // by node
  std::vector<std::uint32_t> touched_;  // nodes with a load, in the order in which they got it
  Seats seats_;
  DeviceChoice choice_;                                        // of a coupled problem: serves all seats
  std::vector<std::size_t> left_from_;                         // by kind: members of it and later ones
  std::vector<std::vector<std::size_t>> left_of_part_;         // by part and kind: the same
  std::vector<std::size_t> placed_;                            // by part
  std::vector<std::vector<__int128>> asked_from_, most_from_;  // by kind and resource
  std::vector<std::vector<std::int64_t>> least_from_;
  std::vector<std::int64_t> devices_from_, most_devices_from_;  // by kind
  std::int64_t devices_left_ = 0;
  std::size_t sticky_end_ = 0;        // kinds from here on choose by amounts alone
  std::vector<std::uint8_t> usable_;  // by node: some member that is left fits
  std::unordered_set<std::string> failed_;
  std::unordered_set<std::string> unserved_;                            // by seated_key(Class)
  std::unordered_map<std::string, DeviceChoice> served_;                // by seated_key(Index)
  std::unordered_map<std::string, bool> together_;                      // by class and counts
  std::size_t bytes_kept_ = 0;                                          // in these four
  std::vector<std::unordered_map<std::uint32_t, std::int64_t>> alone_;  // by kind, class
  bool surprised_ = false;
};

}  // namespace berth::placement
