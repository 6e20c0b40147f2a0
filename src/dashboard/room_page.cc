#include "dashboard/room_page.h"

#include <algorithm>
#include <map>

namespace berth::dashboard {
namespace {

struct Sums {
  std::int64_t nodes = 0, devices = 0;
  CellSums cells;
  std::int64_t free_nodes = 0, free_on_free_nodes = 0, stranded = 0;
};

using Path = std::vector<std::string>;
struct PathLess {
  bool operator()(const Path& a, const Path& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), natural_less);
  }
};

Sums sums_of(const Floor& floor, const FloorNode& node) {
  Sums sums{.nodes = 1, .devices = node.cells};
  sums.cells = sums_of(std::span(floor.cells()).subspan(node.first, node.cells));
  if (sums.cells.used + sums.cells.reserved > 0) {
    sums.stranded = sums.cells.free;
  } else if (sums.cells.free == sums.devices && sums.devices > 0) {
    sums.free_nodes = 1;
    sums.free_on_free_nodes = sums.cells.free;
  }
  return sums;
}

void add(Sums& to, const Sums& more) {
  to.nodes += more.nodes;
  to.devices += more.devices;
  to.cells += more.cells;
  to.free_nodes += more.free_nodes;
  to.free_on_free_nodes += more.free_on_free_nodes;
  to.stranded += more.stranded;
}

Json path_json(const Path& path) {
  return JsonArray(path.begin(), path.end());
}

}  // namespace

Json room_page(const Floor& floor) {
  const FloorLayout& layout = floor.layout();
  std::vector<Sums> own(layout.domains().size());  // of nodes that are directly in the domain
  for (const FloorNode& node : layout.nodes())
    if (!node.shared_pool) add(own[node.domain], sums_of(floor, node));
  std::map<Path, Sums, PathLess> domains;
  domains[{}];
  for (std::size_t at = 0; at < own.size(); ++at) {
    if (own[at].nodes == 0) continue;  // it has shared pools alone
    const Path& path = layout.domains()[at].path;
    for (std::size_t depth = 0; depth <= path.size(); ++depth)
      add(domains[Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth))], own[at]);
  }
  struct Level {
    std::int64_t domains = 0, free = 0, whole = 0, free_nodes = 0;
  };
  std::vector<Level> levels(layout.levels().size() + 1);
  JsonArray rows;
  for (const auto& [path, sums] : domains) {
    Level& level = levels[path.size()];
    ++level.domains;
    level.free = std::max(level.free, sums.cells.free);
    level.whole = std::max(level.whole, sums.free_on_free_nodes);
    level.free_nodes = std::max(level.free_nodes, sums.free_nodes);
    if (rows.size() == kDomainsShownMax) continue;
    rows.push_back(Json::object({{"level", static_cast<std::int64_t>(path.size())},
                                 {"path", path_json(path)},
                                 {"nodes", sums.nodes},
                                 {"devices", sums.devices},
                                 {"free", sums.cells.free},
                                 {"used", sums.cells.used},
                                 {"reserved", sums.cells.reserved},
                                 {"out", sums.cells.out},
                                 {"freeNodes", sums.free_nodes},
                                 {"stranded", sums.stranded}}));
  }
  JsonArray names;
  for (std::size_t depth = 0; depth < levels.size(); ++depth)
    names.push_back(
        Json::object({{"name", depth == 0 ? std::string("floor") : layout.levels()[depth - 1].name},
                      {"domains", levels[depth].domains},
                      {"largestFree", levels[depth].free},
                      {"largestWhole", levels[depth].whole},
                      {"mostFreeNodes", levels[depth].free_nodes}}));
  return Json::object({{"levels", std::move(names)}, {"domains", std::move(rows)}});
}

}  // namespace berth::dashboard
