// How many members of a group a node takes at most, by cpu, memory and pod slots: the bound that rules
// placements out. It adds the filters' verdict if they read the same of every member, and free devices where
// they are asked for.
//
// Owner: one GroupCycle::run, on one thread. Cost: the first call signs every member; a node one pass over
// the members' requests, and the filters where they are alike.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/groups/group_devices.h"
#include "placement/index/domains.h"
#include "placement/pod_cycle.h"

namespace berth::placement {

// The most that is counted for one node: more than any group has members, and sums over nodes stay exact.
inline constexpr std::int64_t kFitCountMax = std::int64_t{1} << 40;

class GroupFit {
 public:
  // All outlive it. `waiting` is not empty.
  GroupFit(const PluginSet& plugins, const PodCycle& pods, const SchedulingContext& context,
           model::Ledger::Transaction& transaction, std::span<const api::Pod* const> waiting)
      : plugins_(plugins), pods_(pods), context_(context), transaction_(transaction), waiting_(waiting) {}

  std::int64_t room(NodeId node);
  // Equal for groups whose members every node counts alike; empty: it is like no other.
  std::string_view kind() {
    prepare();
    return alike_ ? signature_.bytes() : std::string_view();
  }
  // Of the domains of a topology, kept from attempt to attempt.
  const topology::FitCounts& counts(Topology& topology);
  // The same by free devices, too: how many of the members that `devices` is about, which are some of these.
  const topology::FitCounts& counts(Topology& topology, GroupDevices& devices);

 private:
  void prepare();
  std::int64_t count(NodeId node);
  bool sign_alike();

  const PluginSet& plugins_;
  const PodCycle& pods_;
  const SchedulingContext& context_;
  model::Ledger::Transaction& transaction_;
  const std::span<const api::Pod* const> waiting_;
  bool prepared_ = false;
  FitCounter::Demand demand_;
  PodSignature signature_;
  bool alike_ = false;
  CycleState state_;
  std::vector<std::optional<std::int64_t>> rooms_;  // by node id
};

}  // namespace berth::placement
