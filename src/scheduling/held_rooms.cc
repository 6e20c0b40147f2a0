#include "scheduling/held_rooms.h"

#include <array>
#include <set>
#include <span>
#include <utility>

#include "scheduling/loop_state.h"

namespace berth::scheduling {
namespace {

constexpr std::array<std::string_view, 6> kPurposes = {"Overtaken",   "Preemption", "Nomination",
                                                       "Replacement", "Relocation", "Successor"};

class RoomListing {
 public:
  explicit RoomListing(const model::Cluster& cluster) : cluster_(cluster) {}

  void add(RoomPurpose purpose, placement::EntityKey owner, Time until,
           std::span<const model::HoldId> holds) {
    if (found_.total++ >= kRoomsListedMax) return;
    HeldRoom room{purpose, std::move(owner), until};
    std::set<std::string_view> nodes;
    for (const model::HoldId id : holds) {
      const model::Hold& hold = cluster_.ledger().holds().at(id);
      for (const model::HeldPlace& place : hold.places)
        if (place.node.valid()) nodes.insert(cluster_.node(place.node).name);
      room.device_count += hold.devices.size();
      for (const model::ReservedDevice& held : hold.devices) add_device(held.device, room);
    }
    room.node_count = nodes.size();
    for (const std::string_view node : nodes) {
      if (nodes_listed_ == kRoomNodesListedMax) break;
      room.nodes.emplace_back(node);
      ++nodes_listed_;
    }
    found_.rooms.push_back(std::move(room));
  }
  HeldRooms take() { return std::move(found_); }

 private:
  void add_device(model::DeviceId id, HeldRoom& room) {
    if (devices_listed_ == kRoomDevicesListedMax) return;
    ++devices_listed_;
    const model::DeviceRow& device = cluster_.device(id);
    const model::PoolRow& pool = cluster_.pool(device.pool);
    room.devices.push_back({pool.driver, pool.pool, device.name});
  }

  const model::Cluster& cluster_;
  HeldRooms found_;
  std::size_t nodes_listed_ = 0, devices_listed_ = 0;
};

}  // namespace

std::string_view name_of(RoomPurpose purpose) {
  return kPurposes[static_cast<std::size_t>(purpose)];
}

HeldRooms held_rooms(const LoopState& loop) {
  RoomListing listing(loop.cluster);
  if (const auto kept = loop.overtaking.kept())
    listing.add(RoomPurpose::Overtaken, kept->key, kept->until, std::array{kept->hold});
  for (const auto& [key, plan] : loop.evictions.plans())
    listing.add(RoomPurpose::Preemption, key, plan.until, std::array{plan.hold.id()});
  loop.nominations.visit([&](const EntityKey& key, model::HoldId hold) {
    listing.add(RoomPurpose::Nomination, key, Time(), std::array{hold});
  });
  for (const auto& [group, replacement] : loop.replacements.all()) {
    std::vector<model::HoldId> holds;
    loop.replacements.add_holds(group, holds);
    if (!holds.empty()) listing.add(RoomPurpose::Replacement, group, replacement.until, holds);
  }
  if (const Relocation* moves = loop.relocations.under_way())
    for (const auto& [key, hold] : moves->served)
      listing.add(RoomPurpose::Relocation, key, moves->until, std::array{hold.id()});
  loop.rooms.visit([&](const PodMaker& maker, const std::string& leaving,
                       std::span<const model::HoldId> holds, Time until) {
    const bool of_group = !maker.group.empty();
    listing.add(RoomPurpose::Successor,
                {maker.ns, of_group ? maker.group : leaving, of_group ? EntityKind::Group : EntityKind::Pod},
                until, holds);
  });
  return listing.take();
}

}  // namespace berth::scheduling
