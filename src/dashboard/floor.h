// The machine room: what is in use, by whom, and what is ill, one cell a device.
//
// Owner: the Board. A function of the live objects and of the latest reports of node agents: any history of
// changes gives the same cells as a rebuild. A report says something of its own node's devices alone.
// Cost: a claim, a pod or a node costs its own cells; a node or slice that comes or goes costs a rebuild,
// O(devices), at the next refresh(). Bind requests are not read: a device is Reserved from its claim's
// allocation until the pod is bound.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dashboard/floor_layout.h"
#include "dashboard/owners.h"
#include "health/health_feed.h"

namespace berth::dashboard {

// Shared: a share of it is in use, or several pods are. Reserved: it belongs to a pod that is not bound yet.
enum class Use : std::uint8_t { Free, Used, Shared, Reserved };
// Closed: it takes no new work (a NoSchedule taint, a cordoned node). Ill: a NoExecute taint, a driver that
// reports Unhealthy, a node that is not Ready. Unknown: its driver or node agent fell silent; it takes work.
// In the order of the frame's numbers, which is none of severity.
enum class Condition : std::uint8_t { Healthy, Closed, Ill, Unknown };

std::string_view name_of(Use use);
std::string_view name_of(Condition condition);
// From best to worst: Healthy, Unknown, Closed, Ill.
bool is_worse(Condition a, Condition b);
Condition condition_of(const api::Taint& taint);

struct Cell {
  Use use = Use::Free;
  Condition condition = Condition::Healthy;
  OwnerId owner = kNobody;
  friend bool operator==(const Cell&, const Cell&) = default;
};

// Equal neighbours in the order of the cells.
struct CellRun {
  CellId first = 0;
  std::uint32_t count = 0;
  Cell cell;
};

std::vector<CellRun> runs_of(const std::vector<Cell>& cells);

// Every cell is in one of these. Shared ones are used; `out` are in no use, and Closed or Ill.
struct CellSums {
  std::int64_t used = 0, reserved = 0, free = 0, out = 0;
  CellSums& operator+=(const CellSums& more);
  friend bool operator==(const CellSums&, const CellSums&) = default;
};
CellSums sums_of(std::span<const Cell> cells);

// What is Ill: devices, nodes, and innermost domains of levels that have one of either.
struct IllSums {
  std::int64_t devices = 0, nodes = 0, domains = 0;
  friend bool operator==(const IllSums&, const IllSums&) = default;
};

class Floor {
 public:
  // A change that is in the view.
  void apply(const client::View& view, const client::Delta& delta);
  // Makes the layout again if a change asked for it; then true, and every cell may have changed.
  bool refresh(const client::View& view);
  using Reports = std::map<std::string, health::HealthFeed::Snapshot>;  // by node
  // The latest reports, all of them; true if one is another than before. Cost: O(reports), and the cells of
  // nodes whose report changed.
  bool put_reports(const Reports& latest);

  const FloorLayout& layout() const { return layout_; }
  std::uint64_t layout_version() const { return layout_version_; }
  const std::vector<Cell>& cells() const { return cells_; }
  Condition node_condition(const FloorNode& node) const;
  const Reports& reports() const { return reports_; }
  const Owners& owners() const { return owners_; }

  // All cells, as runs.
  std::vector<CellRun> all_runs() const { return runs_of(cells_); }
  // Cost: O(devices).
  IllSums ill_sums() const;
  // Those that changed since the last call, or since the layout was made.
  struct Changes {
    std::vector<CellRun> runs;
    std::vector<OwnerId> owners;  // numbers that have a new meaning
  };
  Changes take_changes();

 private:
  struct ClaimRow {
    OwnerId owner = kNobody;
    bool reserved = false;
    std::vector<std::pair<CellId, bool>> cells;  // and whether it takes the device whole
  };
  using Claims = std::unordered_map<std::string, ClaimRow>;
  using ClaimAt = Claims::const_pointer;

  void rebuild(const client::View& view);
  void put_claim(const client::View& view, const std::string& ns, const std::string& name);
  void refresh_claims_of(const client::View& view, const api::Pod& pod);
  void refresh_node(const client::View& view, std::string_view name);
  void refresh_pod(const client::View& view, const client::Delta& delta);
  void refresh_group(const client::View& view, const client::Delta& delta);
  void refresh_conditions(const client::View& view);
  void refresh_slice(const client::View& view, const api::ResourceSlice& slice);
  void show_report(const std::string& node);
  void fill_resources(const client::View& view, const FloorNode& node);
  void show(CellId cell);
  void set(CellId cell, Cell shown);

  FloorLayout layout_;
  std::uint64_t layout_version_ = 0;
  bool layout_is_stale_ = true, conditions_are_stale_ = false;
  Owners owners_;
  Claims claims_;
  std::vector<std::vector<ClaimAt>> claims_of_cell_;  // of devices
  std::vector<Cell> unit_;                            // of resources and nodes, with a hold on the owner
  std::vector<Condition> device_condition_;           // by taints
  std::vector<Condition> reported_condition_;         // by reports
  Reports reports_;
  std::unordered_map<std::string, Condition> node_condition_;
  std::vector<Cell> cells_;
  std::vector<CellId> changed_;
  std::vector<bool> is_changed_;
};

}  // namespace berth::dashboard
