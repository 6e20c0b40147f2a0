// Devices for several members of a group together.
//
// Members on one node are served by one search for all their claims. Where nodes share devices or members
// share claims, the choices of nodes are combined (DeviceChoices): first the claims that several members
// name, then the claims of each node. Owner: one search of a group, on one thread; leaves the transaction as
// it was. "No" is a proof unless incomplete() or the budget ended.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "placement/search/device_choices.h"

namespace berth::placement {

class GangDevices {
 public:
  struct Seat {
    std::size_t member;
    NodeId node;
  };

  // Whether the node takes these members with the devices of the choice.
  using Judge = std::function<bool(NodeId, std::span<const std::size_t>, const DeviceChoice&)>;

  // All outlive it. `judge`: asked where devices take of nodes.
  GangDevices(const SchedulingContext& context, model::Ledger::Transaction& transaction,
              std::span<const api::Pod* const> waiting, Budget& budget, Judge judge);

  DeviceChoices& choices() { return choices_; }
  // The member's claims without devices.
  const std::vector<model::ClaimId>& claims_of(std::size_t member) const { return claims_[member]; }
  // Of these, the ones that other members name too.
  std::vector<model::ClaimId> shared_claims_of(std::size_t member) const;
  // What one node takes may depend on what another one took.
  bool is_coupled() const { return coupled_; }
  // Devices take of nodes: the judge is asked for every choice.
  bool is_taking() const { return taking_; }
  // Whether the node serves these members at once, as if no other node did. `choice` may be null.
  bool serves(NodeId node, std::span<const std::size_t> members, DeviceChoice* choice);
  // Whether all seats are served at once. `choice` serves all but the last one, and then all.
  bool serves_all(const std::vector<Seat>& seats, DeviceChoice& choice);

 private:
  struct Item {
    NodeId node;
    std::vector<model::ClaimId> claims;
    std::vector<NodeId> also;          // nodes that must reach the devices
    std::vector<std::size_t> members;  // on the node; none for a claim that members share
  };
  bool serves_last(const Seat& seat, DeviceChoice& choice);
  std::vector<Item> items_for(const std::vector<Seat>& seats) const;
  bool serve_from(const std::vector<Item>& items, std::size_t next, DeviceChoice& choice);
  bool is_reached(const api::Allocation& allocation, NodeId node) const;
  bool is_shared(model::ClaimId claim) const;

  const SchedulingContext& context_;
  model::Ledger::Transaction& transaction_;
  DeviceChoices choices_;
  const Judge judge_;
  const bool taking_;                                // devices take of nodes
  std::vector<std::vector<model::ClaimId>> claims_;  // by member
  std::vector<model::ClaimId> shared_;
  bool coupled_ = false;
};

}  // namespace berth::placement
