// The ways to serve claims on one node: each choice of devices once, equal devices being a number.
//
// A choice that takes more devices of some class and fewer of none than another one is left out: it fits
// nowhere where that one does not. Complete except for devices that several claims share (KEP-5075), where a
// later alternative may consume less of the same devices. Owner: one search of a group, on one thread; what
// it charges and excludes is undone. Cost: one search for devices a choice.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "placement/cycle_state.h"
#include "placement/search/budget.h"

namespace berth::placement {

// Steps of a search for devices.
inline constexpr std::size_t kStepsOfDevices = 16;

struct ClaimDevices {
  model::ClaimId claim;
  std::shared_ptr<const api::Allocation> allocation;
};
using DeviceChoice = std::vector<ClaimDevices>;

class DeviceChoices {
 public:
  // Devices of which a choice takes other numbers than another one. Nothing: the first choice represents all.
  enum class Vary : std::uint8_t { Nothing, SharedPools, Everything };
  using Visit = std::function<bool(const DeviceChoice&)>;

  // All outlive it.
  DeviceChoices(const SchedulingContext& context, model::Ledger::Transaction& transaction, Budget& budget)
      : context_(context), transaction_(transaction), budget_(budget) {}

  // Until `visit` returns true; whether it did. `claims` have no devices.
  bool each(std::span<const model::ClaimId> claims, NodeId node, Vary vary, const Visit& visit);
  // Charges the devices of the choice.
  void charge(const DeviceChoice& choice);
  // Excludes the free devices that the node's pools have, except those of the choice.
  void exclude_others(NodeId node, const DeviceChoice& choice);
  // A choice may have been left out: that none was accepted proves nothing.
  bool incomplete() const { return incomplete_; }
  // Equal for nodes that offer equal free devices of their own, and reach the same shared ones.
  std::string offer_of(NodeId node) const;

 private:
  using Class = const std::string*;
  using Limits = std::map<Class, std::size_t>;
  struct Run;
  bool visit_within(Run& run, const Limits& limits);
  bool leave_out_one(Run& run, const Limits& limits, const DeviceChoice& choice);
  DeviceChoice find(const Run& run, const Limits& limits);
  void exclude_beyond(const Limits& limits);
  Class class_of(model::DeviceId device);
  void sort_out(model::PoolId pool);

  const SchedulingContext& context_;
  model::Ledger::Transaction& transaction_;
  Budget& budget_;
  bool incomplete_ = false;
  std::map<std::string, std::vector<model::DeviceId>> classes_;
  std::vector<Class> class_of_;  // by device id; null: not sorted out yet
};

}  // namespace berth::placement
