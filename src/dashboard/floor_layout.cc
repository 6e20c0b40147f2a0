#include "dashboard/floor_layout.h"

#include <algorithm>
#include <set>

#include "base/ascii.h"

namespace berth::dashboard {
namespace {

constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
constexpr std::array<std::string_view, 3> kSources = {"Devices", "Resource", "Node"};

std::string device_text(std::string_view driver, std::string_view pool, std::string_view device) {
  std::string text;
  text.reserve(driver.size() + pool.size() + device.size() + 2);
  text.append(driver).append("/").append(pool).append("/").append(device);
  return text;
}

// Devices by node (or by pool where no single node has them), driver and pool.
using PartsByPlace = std::map<std::string, std::map<std::pair<std::string, std::string>, FloorPart>>;
struct Placed {
  PartsByPlace of_nodes, of_pools;
};

// Only slices of a pool's latest generation count.
std::map<std::pair<std::string_view, std::string_view>, std::int64_t> generations(const client::View& view) {
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> latest;
  for (const auto& [key, slice] : view.slices.all()) {
    std::int64_t& known = latest[{slice->driver, slice->pool}];
    known = std::max(known, slice->generation);
  }
  return latest;
}

Placed placed_devices(const client::View& view) {
  Placed placed;
  const auto latest = generations(view);
  for (const auto& [key, slice] : view.slices.all()) {
    if (slice->generation < latest.at({slice->driver, slice->pool})) continue;
    for (const api::Device& device : slice->devices) {
      const std::string& node = device.node_name.empty() ? slice->node_name : device.node_name;
      PartsByPlace& places = node.empty() ? placed.of_pools : placed.of_nodes;
      FloorPart& part = places[node.empty() ? slice->pool : node][{slice->driver, slice->pool}];
      part.source = CellSource::Devices;
      part.driver = slice->driver;
      part.pool = slice->pool;
      part.names.push_back(device.name);
    }
  }
  return placed;
}

std::vector<FloorPart> parts_of(std::map<std::pair<std::string, std::string>, FloorPart> found) {
  std::vector<FloorPart> parts;
  for (auto& [key, part] : found) {
    std::sort(part.names.begin(), part.names.end(),
              [](const std::string& a, const std::string& b) { return natural_less(a, b); });
    parts.push_back(std::move(part));
  }
  return parts;
}

bool is_device_resource(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && !name.substr(0, slash).ends_with("kubernetes.io");
}

// Cells by resource.
std::map<std::string_view, std::int64_t> resource_cells(const api::Node& node) {
  std::map<std::string_view, std::int64_t> cells;
  for (const auto& [resource, amount] : node.allocatable)
    if (const std::int64_t count = std::min(amount.ceil_units(), kResourceCellsMax);
        count > 0 && is_device_resource(resource))
      cells.emplace(resource, count);
  return cells;
}

// Of a node without slices.
std::vector<FloorPart> resource_parts(const api::Node& node) {
  std::vector<FloorPart> parts;
  for (const auto& [resource, count] : resource_cells(node)) {
    FloorPart& part = parts.emplace_back(FloorPart{CellSource::Resource, std::string(resource), "", {}});
    for (std::int64_t unit = 0; unit < count; ++unit) part.names.push_back(std::to_string(unit));
  }
  if (parts.empty()) parts.push_back({CellSource::Node, "", "", {node.meta.name}});
  return parts;
}

bool same_devices(const api::ResourceSlice& a, const api::ResourceSlice& b) {
  return a.generation == b.generation && a.node_name == b.node_name && a.pool == b.pool &&
         std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    [](const api::Device& x, const api::Device& y) {
                      return x.name == y.name && x.node_name == y.node_name;
                    });
}

bool same_label(const api::Node& a, const api::Node& b, std::string_view label) {
  const auto of_a = a.meta.labels.find(label), of_b = b.meta.labels.find(label);
  const bool has_a = of_a != a.meta.labels.end(), has_b = of_b != b.meta.labels.end();
  return has_a == has_b && (!has_a || of_a->second == of_b->second);
}

Json shape_json(const std::vector<FloorPart>& parts) {
  JsonArray rows;
  for (const FloorPart& part : parts) {
    JsonArray names;
    if (part.source != CellSource::Node)
      for (const std::string& name : part.names) names.emplace_back(name);
    rows.push_back(Json::object({{"source", kSources[static_cast<std::size_t>(part.source)]},
                                 {"driver", part.driver},
                                 {"names", std::move(names)}}));
  }
  return rows;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    while (i + 1 < a.size() && a[i] == '0' && is_digit(a[i + 1])) ++i;
    while (j + 1 < b.size() && b[j] == '0' && is_digit(b[j + 1])) ++j;
    const std::size_t i_end = std::find_if_not(a.begin() + i, a.end(), is_digit) - a.begin();
    const std::size_t j_end = std::find_if_not(b.begin() + j, b.end(), is_digit) - b.begin();
    const std::string_view x = a.substr(i, i_end - i), y = b.substr(j, j_end - j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    i = i_end, j = j_end;
  }
  return a.size() - i < b.size() - j || (i == a.size() && j == b.size() && a < b);
}

FloorLayout::FloorLayout(const client::View& view) {
  choose_levels(view);
  add_nodes(view);
  number_cells();
}

void FloorLayout::choose_levels(const client::View& view) {
  const api::Topology* topology = view.topologies.find("", api::kDefaultTopology);
  if (!topology && view.topologies.size() > 0) topology = view.topologies.all().begin()->second.get();
  if (topology) {
    topology_ = topology->meta.name;
    for (const api::TopologyLevel& level : topology->levels)
      levels_.push_back({level.name, level.node_label});
    return;
  }
  for (const auto& [key, node] : view.nodes.all())
    if (node->meta.labels.contains(kZoneLabel)) {
      levels_.push_back({"zone", std::string(kZoneLabel)});
      return;
    }
}

std::uint32_t FloorLayout::domain_of(const api::Node& node) {
  std::vector<std::string> path;
  for (const FloorLevel& level : levels_) {
    const auto label = node.meta.labels.find(level.label);
    if (label == node.meta.labels.end()) break;
    path.push_back(label->second);
  }
  const auto [known, added] =
      domain_ids_.try_emplace(std::move(path), static_cast<std::uint32_t>(domains_.size()));
  if (added) domains_.push_back({known->first});
  return known->second;
}

void FloorLayout::add_nodes(const client::View& view) {
  Placed placed = placed_devices(view);
  for (const auto& [key, node] : view.nodes.all()) {
    FloorNode row{.name = node->meta.name, .domain = domain_of(*node)};
    const auto devices = placed.of_nodes.find(row.name);
    row.parts =
        devices == placed.of_nodes.end() ? resource_parts(*node) : parts_of(std::move(devices->second));
    nodes_.push_back(std::move(row));
  }
  if (!placed.of_pools.empty()) {
    const auto [none, added] = domain_ids_.try_emplace({}, static_cast<std::uint32_t>(domains_.size()));
    if (added) domains_.push_back({});
    for (auto& [pool, found] : placed.of_pools)
      nodes_.push_back(
          {.name = pool, .domain = none->second, .shared_pool = true, .parts = parts_of(std::move(found))});
  }
  const auto path_less = [&](const FloorNode& a, const FloorNode& b) {
    const auto &x = domains_[a.domain].path, &y = domains_[b.domain].path;
    if (a.domain != b.domain && x != y)
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), natural_less);
    if (a.shared_pool != b.shared_pool) return b.shared_pool;
    return natural_less(a.name, b.name);
  };
  std::sort(nodes_.begin(), nodes_.end(), path_less);
}

void FloorLayout::number_cells() {
  for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
    FloorNode& node = nodes_[at];
    if (!node.shared_pool) nodes_by_name_.emplace(node.name, at);
    node.first = cell_count_;
    for (const FloorPart& part : node.parts)
      for (const std::string& name : part.names) {
        if (part.source == CellSource::Devices)
          cells_by_device_.emplace(device_text(part.driver, part.pool, name), cell_count_);
        node_of_cell_.push_back(at);
        ++cell_count_;
      }
    node.cells = cell_count_ - node.first;
  }
}

const FloorNode* FloorLayout::node(std::string_view name) const {
  const auto found = nodes_by_name_.find(std::string(name));
  return found == nodes_by_name_.end() ? nullptr : &nodes_[found->second];
}

std::optional<CellId> FloorLayout::cell_of(std::string_view driver, std::string_view pool,
                                           std::string_view device) const {
  const auto found = cells_by_device_.find(device_text(driver, pool, device));
  return found == cells_by_device_.end() ? std::nullopt : std::optional(found->second);
}

std::string_view FloorLayout::name_of(CellId cell) const {
  const FloorNode& node = node_of(cell);
  std::size_t left = cell - node.first;
  for (const FloorPart& part : node.parts) {
    if (left < part.names.size()) return part.names[left];
    left -= part.names.size();
  }
  return {};
}

Json FloorLayout::to_json(std::uint64_t version) const {
  JsonArray levels, domains, shapes, names, domain_of_nodes, shape_of_nodes, shared;
  for (const FloorLevel& level : levels_)
    levels.push_back(Json::object({{"name", level.name}, {"label", level.label}}));
  for (const FloorDomain& domain : domains_) {
    JsonArray path(domain.path.begin(), domain.path.end());
    domains.emplace_back(std::move(path));
  }
  std::map<std::string, std::int64_t> shape_ids;
  for (const FloorNode& node : nodes_) {
    Json shape = shape_json(node.parts);
    const auto [known, added] =
        shape_ids.try_emplace(to_string(shape), static_cast<std::int64_t>(shape_ids.size()));
    if (added) shapes.push_back(std::move(shape));
    if (node.shared_pool) shared.emplace_back(static_cast<std::int64_t>(names.size()));
    names.emplace_back(node.name);
    domain_of_nodes.emplace_back(static_cast<std::int64_t>(node.domain));
    shape_of_nodes.emplace_back(known->second);
  }
  return Json::object({{"version", static_cast<std::int64_t>(version)},
                       {"topology", topology_},
                       {"levels", std::move(levels)},
                       {"domains", std::move(domains)},
                       {"shapes", std::move(shapes)},
                       {"nodes", std::move(names)},
                       {"nodeDomain", std::move(domain_of_nodes)},
                       {"nodeShape", std::move(shape_of_nodes)},
                       {"shared", std::move(shared)}});
}

bool FloorLayout::reads_the_same(const api::Node& a, const api::Node& b) const {
  return resource_cells(a) == resource_cells(b) && (!topology_.empty() || same_label(a, b, kZoneLabel)) &&
         std::all_of(levels_.begin(), levels_.end(),
                     [&](const FloorLevel& level) { return same_label(a, b, level.label); });
}

bool FloorLayout::changes_with(const client::Delta& delta) const {
  const bool replaced = delta.before && delta.after;
  switch (delta.key.kind) {
    case api::Kind::Node:
      return !replaced || !reads_the_same(*client::object_of<api::Node>(delta.before),
                                          *client::object_of<api::Node>(delta.after));
    case api::Kind::ResourceSlice:
      return !replaced || !same_devices(*client::object_of<api::ResourceSlice>(delta.before),
                                        *client::object_of<api::ResourceSlice>(delta.after));
    case api::Kind::Topology:
      return !replaced || client::object_of<api::Topology>(delta.before)->levels !=
                              client::object_of<api::Topology>(delta.after)->levels;
    default:
      return false;
  }
}

}  // namespace berth::dashboard
