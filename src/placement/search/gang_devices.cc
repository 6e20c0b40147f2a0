#include "placement/search/gang_devices.h"

#include <algorithm>
#include <map>

namespace berth::placement {

GangDevices::GangDevices(const SchedulingContext& context, model::Ledger::Transaction& transaction,
                         std::span<const api::Pod* const> waiting, Budget& budget, Judge judge)
    : context_(context),
      transaction_(transaction),
      choices_(context, transaction, budget),
      judge_(std::move(judge)),
      taking_(context.cluster.devices_take_of_nodes()) {
  const model::Cluster& cluster = context.cluster;
  std::map<model::ClaimId, std::size_t> users;
  for (const api::Pod* pod : waiting) {
    std::vector<model::ClaimId>& own = claims_.emplace_back();
    for (const api::PodClaim& claim : pod->claims) {
      const model::ClaimId id = cluster.find_claim(pod->meta.ns, api::claim_object_name(*pod, claim));
      if (!id.valid() || !cluster.claim(id).live || cluster.ledger().reservation(id)) continue;
      if (std::find(own.begin(), own.end(), id) != own.end()) continue;
      own.push_back(id);
      if (++users[id] == 2) shared_.push_back(id);
    }
    coupled_ |= !own.empty() && !cluster.shared_pools().empty();
  }
  coupled_ |= !shared_.empty();
}

bool GangDevices::is_shared(model::ClaimId claim) const {
  return std::find(shared_.begin(), shared_.end(), claim) != shared_.end();
}

std::vector<model::ClaimId> GangDevices::shared_claims_of(std::size_t member) const {
  std::vector<model::ClaimId> shared;
  for (const model::ClaimId claim : claims_[member])
    if (is_shared(claim)) shared.push_back(claim);
  return shared;
}

bool GangDevices::serves(NodeId node, std::span<const std::size_t> members, DeviceChoice* choice) {
  std::vector<model::ClaimId> claims;
  for (const std::size_t member : members)
    for (const model::ClaimId claim : claims_[member])
      if (std::find(claims.begin(), claims.end(), claim) == claims.end()) claims.push_back(claim);
  const auto vary = taking_ ? DeviceChoices::Vary::Everything : DeviceChoices::Vary::Nothing;
  return choices_.each(claims, node, vary, [&](const DeviceChoice& found) {
    if (taking_ && !judge_(node, members, found)) return false;
    if (choice) *choice = found;
    return true;
  });
}

bool GangDevices::serves_all(const std::vector<Seat>& seats, DeviceChoice& choice) {
  if (!taking_) {
    const auto before = transaction_.savepoint();
    choices_.charge(choice);
    const bool simply = serves_last(seats.back(), choice);
    transaction_.roll_back_to(before);
    if (simply) return true;
  }
  DeviceChoice all;
  if (!serve_from(items_for(seats), 0, all)) return false;
  choice = std::move(all);
  return true;
}

// With the devices of the others as they are.
bool GangDevices::serves_last(const Seat& seat, DeviceChoice& choice) {
  std::vector<model::ClaimId> open;
  for (const model::ClaimId claim : claims_[seat.member]) {
    const auto known = std::find_if(choice.begin(), choice.end(),
                                    [&](const ClaimDevices& one) { return one.claim == claim; });
    if (known == choice.end())
      open.push_back(claim);
    else if (!is_reached(*known->allocation, seat.node))
      return false;
  }
  return choices_.each(open, seat.node, DeviceChoices::Vary::Nothing, [&](const DeviceChoice& found) {
    choice.insert(choice.end(), found.begin(), found.end());
    return true;
  });
}

std::vector<GangDevices::Item> GangDevices::items_for(const std::vector<Seat>& seats) const {
  std::vector<Item> items;
  for (const model::ClaimId claim : shared_) {
    Item item{NodeId::none(), {claim}, {}, {}};
    for (const Seat& seat : seats) {
      const std::vector<model::ClaimId>& own = claims_[seat.member];
      if (std::find(own.begin(), own.end(), claim) == own.end()) continue;
      if (!item.node.valid())
        item.node = seat.node;
      else if (seat.node != item.node)
        item.also.push_back(seat.node);
    }
    if (item.node.valid()) items.push_back(std::move(item));
  }
  std::map<NodeId, std::vector<model::ClaimId>> by_node;
  for (const Seat& seat : seats)
    for (const model::ClaimId claim : claims_[seat.member])
      if (!is_shared(claim)) by_node[seat.node].push_back(claim);
  for (auto& [node, claims] : by_node) {
    Item& item = items.emplace_back(Item{node, std::move(claims), {}, {}});
    for (const Seat& seat : seats)
      if (seat.node == node) item.members.push_back(seat.member);
  }
  return items;
}

bool GangDevices::serve_from(const std::vector<Item>& items, std::size_t next, DeviceChoice& choice) {
  if (next == items.size()) return true;
  const Item& item = items[next];
  const bool last = next + 1 == items.size();
  const bool shared = is_shared(item.claims.front());
  const auto vary = shared || taking_
                        ? DeviceChoices::Vary::Everything
                        : (last ? DeviceChoices::Vary::Nothing : DeviceChoices::Vary::SharedPools);
  return choices_.each(item.claims, item.node, vary, [&](const DeviceChoice& found) {
    for (const ClaimDevices& one : found)
      for (const NodeId node : item.also)
        if (!is_reached(*one.allocation, node)) return false;
    if (taking_ && !item.members.empty() && !judge_(item.node, item.members, found)) return false;
    const auto before = transaction_.savepoint();
    const std::size_t size = choice.size();
    choices_.charge(found);
    choice.insert(choice.end(), found.begin(), found.end());
    const bool served = serve_from(items, next + 1, choice);
    transaction_.roll_back_to(before);
    if (!served) choice.resize(size);
    return served;
  });
}

bool GangDevices::is_reached(const api::Allocation& allocation, NodeId node) const {
  const model::NodeRow& row = context_.cluster.node(node);
  return !allocation.node_selector ||
         api::matches(*allocation.node_selector, row.live->meta.labels, row.name);
}

}  // namespace berth::placement
