#include "dashboard/reservations_page.h"

#include <algorithm>

#include "dashboard/owners.h"

namespace berth::dashboard {
namespace {

std::vector<CellId> cells_of(const scheduling::HeldRoom& room, const FloorLayout& layout) {
  std::vector<CellId> cells;
  for (const scheduling::RoomDevice& device : room.devices)
    if (const auto cell = layout.cell_of(device.driver, device.pool, device.device)) cells.push_back(*cell);
  for (const std::string& name : room.nodes)
    if (const FloorNode* node = layout.node(name); node && node->parts.front().source == CellSource::Node)
      cells.push_back(node->first);
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  return cells;
}

Json ranges_json(const std::vector<CellId>& cells) {
  JsonArray ranges;
  for (std::size_t first = 0; first < cells.size();) {
    std::size_t end = first + 1;
    while (end < cells.size() && cells[end] == cells[end - 1] + 1) ++end;
    ranges.push_back(
        Json::array({static_cast<std::int64_t>(cells[first]), static_cast<std::int64_t>(end - first)}));
    first = end;
  }
  return ranges;
}

Json room_row(const scheduling::HeldRoom& room, const FloorLayout& layout) {
  const auto named = static_cast<std::ptrdiff_t>(std::min(room.nodes.size(), kReservedNodesNamedMax));
  return Json::object({{"purpose", name_of(room.purpose)},
                       {"kind", name_of(kind_of(room.owner.kind))},
                       {"namespace", room.owner.ns},
                       {"name", room.owner.name},
                       {"until", format_time(room.until)},
                       {"nodeCount", static_cast<std::int64_t>(room.node_count)},
                       {"nodes", JsonArray(room.nodes.begin(), room.nodes.begin() + named)},
                       {"devices", static_cast<std::int64_t>(room.device_count)},
                       {"cells", ranges_json(cells_of(room, layout))}});
}

}  // namespace

Json reservations_page(const scheduling::HeldRooms& held, const FloorLayout& layout) {
  JsonArray rooms;
  for (const scheduling::HeldRoom& room : held.rooms) rooms.push_back(room_row(room, layout));
  return Json::object({{"total", static_cast<std::int64_t>(held.total)}, {"rooms", std::move(rooms)}});
}

}  // namespace berth::dashboard
