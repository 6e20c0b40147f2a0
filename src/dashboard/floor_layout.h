// Where every device is: domains, nodes and their devices in a fixed order, one cell a device.
//
// Immutable once made. Cost: O(devices log devices) to make. Source: the Topology `default`, else the first
// by name; without one the label topology.kubernetes.io/zone where a node has it, else no level.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "client/view.h"

namespace berth::dashboard {

using CellId = std::uint32_t;

// Cells of one resource of a node without DRA devices; a node with more shows so many.
inline constexpr std::int64_t kResourceCellsMax = 64;

// Devices: of ResourceSlices. Resource: units of an extended resource. Node: the node itself, which has
// neither.
enum class CellSource : std::uint8_t { Devices, Resource, Node };

// Adjacent cells of a node: the devices of one pool, by name, or the units of one resource.
struct FloorPart {
  CellSource source = CellSource::Node;
  std::string driver;  // or the resource's name; empty for the node itself
  std::string pool;    // of devices
  std::vector<std::string> names;
};

struct FloorNode {
  std::string name;
  std::uint32_t domain = 0;
  CellId first = 0;
  std::uint32_t cells = 0;
  bool shared_pool = false;  // no node: a pool whose devices several nodes reach
  std::vector<FloorPart> parts;
};

struct FloorLevel {
  std::string name;
  std::string label;
};

struct FloorDomain {
  std::vector<std::string> path;  // values, outermost first; fewer than levels: a label is missing
};

class FloorLayout {
 public:
  FloorLayout() = default;
  explicit FloorLayout(const client::View& view);

  const std::string& topology() const { return topology_; }  // empty: no Topology object
  const std::vector<FloorLevel>& levels() const { return levels_; }
  const std::vector<FloorDomain>& domains() const { return domains_; }
  const std::vector<FloorNode>& nodes() const { return nodes_; }
  CellId cell_count() const { return cell_count_; }
  // Whether a change of this object may change the layout; others change only what is in the cells. Of a
  // node's labels those of the levels count, and of its resources those with cells.
  bool changes_with(const client::Delta& delta) const;
  // Null: unknown.
  const FloorNode* node(std::string_view name) const;
  // None: no cell for this device.
  std::optional<CellId> cell_of(std::string_view driver, std::string_view pool,
                                std::string_view device) const;
  const FloorNode& node_of(CellId cell) const { return nodes_[node_of_cell_[cell]]; }
  // The device's name.
  std::string_view name_of(CellId cell) const;

  // {"version","topology","levels":[{"name","label"}],"domains":[["b1","r1"]],"shapes":[[{"source","driver",
  // "names":[]}]],"nodes":[…],"nodeDomain":[…],"nodeShape":[…],"shared":[places in nodes]}. Nodes with equal
  // parts have one shape, so 100,000 devices are about 200 kB of text.
  Json to_json(std::uint64_t version) const;

 private:
  void choose_levels(const client::View& view);
  bool reads_the_same(const api::Node& a, const api::Node& b) const;
  std::uint32_t domain_of(const api::Node& node);
  void add_nodes(const client::View& view);
  void number_cells();

  std::string topology_;
  std::vector<FloorLevel> levels_;
  std::vector<FloorDomain> domains_;
  std::vector<FloorNode> nodes_;
  std::vector<std::uint32_t> node_of_cell_;
  CellId cell_count_ = 0;
  std::map<std::vector<std::string>, std::uint32_t> domain_ids_;
  std::unordered_map<std::string, std::uint32_t> nodes_by_name_;
  std::unordered_map<std::string, CellId> cells_by_device_;
};

// "gpu-2" before "gpu-10": digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace berth::dashboard
