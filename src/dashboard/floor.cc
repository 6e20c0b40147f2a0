#include "dashboard/floor.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace berth::dashboard {
namespace {

using client::object_of;

constexpr std::array<std::string_view, 4> kUses = {"Free", "Used", "Shared", "Reserved"};
constexpr std::array<std::string_view, 4> kConditions = {"Healthy", "Closed", "Ill", "Unknown"};
constexpr std::array<int, 4> kSeverity = {0, 2, 3, 1};  // by Condition

Condition worse(Condition a, Condition b) {
  return is_worse(b, a) ? b : a;
}

bool takes_work(Condition condition) {
  return condition == Condition::Healthy || condition == Condition::Unknown;
}

Condition condition_by_report(health::Health reported) {
  switch (reported) {
    case health::Health::Healthy:
      return Condition::Healthy;
    case health::Health::Unknown:
      return Condition::Unknown;
    default:
      return Condition::Ill;
  }
}

Condition condition_of_node(const api::Node& node) {
  if (!api::condition_is_true(node.conditions, "Ready")) return Condition::Ill;
  Condition worst = node.unschedulable ? Condition::Closed : Condition::Healthy;
  for (const api::Taint& taint : node.taints) worst = worse(worst, condition_of(taint));
  return worst;
}

// By the device's own taints and those of rules.
Condition condition_of_device(const client::View& view, const api::ResourceSlice& slice,
                              const api::Device& device) {
  Condition worst = Condition::Healthy;
  for (const api::Taint& taint : device.taints) worst = worse(worst, condition_of(taint));
  for (const auto& [key, rule] : view.taint_rules.all())
    if (!rule->nil_selector && rule->selects(slice.driver, slice.pool, device.name))
      worst = worse(worst, condition_of(rule->taint));
  return worst;
}

bool occupies(const api::Pod& pod) {
  return pod.bound() && !pod.finished();
}

// Units that the pod takes of the resource.
std::int64_t units_of(const api::ResourceMap& requests, const std::string& resource) {
  const auto amount = requests.find(resource);
  return amount == requests.end() ? 0 : amount->second.ceil_units();
}

// The pod that a claim is for: its first consumer, else the one that it was made for.
const api::Pod* consumer_of(const client::View& view, const api::ResourceClaim& claim) {
  for (const api::ClaimConsumer& consumer : claim.reserved_for)
    if (const api::Pod* pod = view.pods.find(claim.meta.ns, consumer.name);
        pod && pod->meta.uid == consumer.uid)
      return pod;
  const api::OwnerReference* controller = claim.meta.controller();
  return controller && controller->kind == "Pod" ? view.pods.find(claim.meta.ns, controller->name) : nullptr;
}

bool uses_the_same(const api::Pod& a, const api::Pod& b) {
  return a.node_name == b.node_name && a.finished() == b.finished() && a.group == b.group &&
         !api::counts_differently(a, b);
}

std::vector<CellRun> runs_of(const std::vector<Cell>& cells, const std::vector<CellId>& which) {
  std::vector<CellRun> runs;
  for (const CellId id : which) {
    if (!runs.empty() && runs.back().first + runs.back().count == id && runs.back().cell == cells[id])
      ++runs.back().count;
    else
      runs.push_back({id, 1, cells[id]});
  }
  return runs;
}

}  // namespace

std::string_view name_of(Use use) {
  return kUses[static_cast<std::size_t>(use)];
}

std::string_view name_of(Condition condition) {
  return kConditions[static_cast<std::size_t>(condition)];
}

bool is_worse(Condition a, Condition b) {
  return kSeverity[static_cast<std::size_t>(a)] > kSeverity[static_cast<std::size_t>(b)];
}

Condition condition_of(const api::Taint& taint) {
  if (taint.effect == api::kNoExecute) return Condition::Ill;
  return taint.effect == api::kNoSchedule ? Condition::Closed : Condition::Healthy;
}

CellSums sums_of(std::span<const Cell> cells) {
  CellSums sums;
  for (const Cell& cell : cells) {
    if (cell.use == Use::Reserved)
      ++sums.reserved;
    else if (cell.use != Use::Free)
      ++sums.used;
    else
      ++(takes_work(cell.condition) ? sums.free : sums.out);
  }
  return sums;
}

CellSums& CellSums::operator+=(const CellSums& more) {
  used += more.used;
  reserved += more.reserved;
  free += more.free;
  out += more.out;
  return *this;
}

std::vector<CellRun> runs_of(const std::vector<Cell>& cells) {
  std::vector<CellRun> runs;
  for (CellId id = 0; id < cells.size(); ++id) {
    if (!runs.empty() && runs.back().cell == cells[id])
      ++runs.back().count;
    else
      runs.push_back({id, 1, cells[id]});
  }
  return runs;
}

void Floor::apply(const client::View& view, const client::Delta& delta) {
  if (layout_.changes_with(delta)) layout_is_stale_ = true;
  if (layout_is_stale_) return;  // the rebuild reads all objects
  switch (delta.key.kind) {
    case api::Kind::ResourceClaim:
      return put_claim(view, delta.key.ns, delta.key.name);
    case api::Kind::Pod:
      return refresh_pod(view, delta);
    case api::Kind::PodGroup:
    case api::Kind::CompositePodGroup:
      return refresh_group(view, delta);
    case api::Kind::Node:
      return refresh_node(view, delta.key.name);
    case api::Kind::ResourceSlice:
      return refresh_slice(view, *object_of<api::ResourceSlice>(delta.after));
    case api::Kind::DeviceTaintRule:
      conditions_are_stale_ = true;
      return;
    default:
      return;
  }
}

bool Floor::refresh(const client::View& view) {
  if (layout_is_stale_) {
    rebuild(view);
    return true;
  }
  if (std::exchange(conditions_are_stale_, false)) refresh_conditions(view);
  return false;
}

void Floor::rebuild(const client::View& view) {
  layout_ = FloorLayout(view);
  ++layout_version_;
  layout_is_stale_ = conditions_are_stale_ = false;
  owners_ = Owners();
  claims_.clear();
  node_condition_.clear();
  const std::size_t count = layout_.cell_count();
  claims_of_cell_.assign(count, {});
  unit_.assign(count, {});
  device_condition_.assign(count, Condition::Healthy);
  reported_condition_.assign(count, Condition::Healthy);
  cells_.assign(count, {});
  changed_.clear();
  is_changed_.assign(count, false);
  for (const FloorNode& node : layout_.nodes())
    if (!node.shared_pool) refresh_node(view, node.name);
  refresh_conditions(view);
  for (const auto& [node, report] : reports_) show_report(node);
  for (const auto& [key, claim] : view.claims.all()) put_claim(view, key.ns, key.name);
  take_changes();
}

void Floor::put_claim(const client::View& view, const std::string& ns, const std::string& name) {
  const std::string key = ns + "/" + name;
  std::set<CellId> touched;
  if (const auto known = claims_.find(key); known != claims_.end()) {
    for (const auto& [cell, whole] : known->second.cells) {
      std::erase(claims_of_cell_[cell], &*known);
      touched.insert(cell);
    }
    owners_.release(known->second.owner);
    claims_.erase(known);
  }
  const api::ResourceClaim* claim = view.claims.find(ns, name);
  if (claim && claim->allocation) {
    ClaimRow row;
    for (const api::DeviceResult& result : claim->allocation->results) {
      const auto cell = layout_.cell_of(result.driver, result.pool, result.device);
      if (cell && !result.admin_access) row.cells.emplace_back(*cell, client::takes_whole(result));
    }
    if (!row.cells.empty()) {
      const api::Pod* pod = consumer_of(view, *claim);
      row.reserved = !pod || !pod->bound();
      row.owner = owners_.acquire(pod ? owner_of(view, *pod) : Owner{OwnerKind::ResourceClaim, ns, name});
      const auto added = claims_.emplace(key, std::move(row)).first;
      for (const auto& [cell, whole] : added->second.cells) {
        claims_of_cell_[cell].push_back(&*added);
        touched.insert(cell);
      }
    }
  }
  for (const CellId cell : touched) show(cell);
}

void Floor::refresh_claims_of(const client::View& view, const api::Pod& pod) {
  for (const auto& claims : {view.claims_reserved_by(pod.meta.uid), view.claims_owned_by(pod.meta.uid)})
    for (const api::ResourceClaim* claim : claims) put_claim(view, claim->meta.ns, claim->meta.name);
}

void Floor::refresh_pod(const client::View& view, const client::Delta& delta) {
  const auto *before = object_of<api::Pod>(delta.before), *after = object_of<api::Pod>(delta.after);
  if (before && after && before->meta.uid == after->meta.uid && uses_the_same(*before, *after)) return;
  for (const api::Pod* pod : {before, after})
    if (pod) refresh_claims_of(view, *pod);
  for (const api::Pod* pod : {before, after})
    if (pod && pod->bound())
      if (const FloorNode* node = layout_.node(pod->node_name)) fill_resources(view, *node);
}

// Its pods may belong to another tree now.
void Floor::refresh_group(const client::View& view, const client::Delta& delta) {
  const auto refresh = [&](const std::string& group) {
    for (const api::Pod* pod : view.pods_of_group(delta.key.ns, group)) {
      refresh_claims_of(view, *pod);
      const FloorNode* node = pod->bound() ? layout_.node(pod->node_name) : nullptr;
      if (node) fill_resources(view, *node);
    }
  };
  if (delta.key.kind == api::Kind::PodGroup) {
    const auto *before = object_of<api::PodGroup>(delta.before),
               *after = object_of<api::PodGroup>(delta.after);
    if (!before || !after || before->parent != after->parent) refresh(delta.key.name);
    return;
  }
  const auto *before = object_of<api::CompositePodGroup>(delta.before),
             *after = object_of<api::CompositePodGroup>(delta.after);
  if (before && after && before->parent == after->parent) return;
  layout_is_stale_ = true;  // trees change seldom; all pods below are looked at again
}

void Floor::refresh_node(const client::View& view, std::string_view name) {
  const FloorNode* row = layout_.node(name);
  const api::Node* node = view.nodes.find("", name);
  if (!row || !node) return;
  Condition& known = node_condition_[row->name];
  const Condition now = condition_of_node(*node);
  const bool changed = known != now;
  known = now;
  fill_resources(view, *row);
  if (!changed) return;
  for (CellId cell = row->first; cell < row->first + row->cells; ++cell) show(cell);
}

IllSums Floor::ill_sums() const {
  IllSums sums;
  std::vector<bool> is_ill(layout_.domains().size());
  for (const FloorNode& node : layout_.nodes()) {
    bool any = !node.shared_pool && node_condition(node) == Condition::Ill;
    sums.nodes += any;
    CellId id = node.first;
    for (const FloorPart& part : node.parts)
      for (std::size_t i = 0; i < part.names.size(); ++i) {
        if (cells_[id++].condition != Condition::Ill || part.source == CellSource::Node) continue;
        ++sums.devices;
        any = true;
      }
    if (any && !layout_.domains()[node.domain].path.empty()) is_ill[node.domain] = true;
  }
  sums.domains = std::count(is_ill.begin(), is_ill.end(), true);
  return sums;
}

Condition Floor::node_condition(const FloorNode& node) const {
  const auto known = node_condition_.find(node.name);
  return known == node_condition_.end() || node.shared_pool ? Condition::Healthy : known->second;
}

void Floor::refresh_conditions(const client::View& view) {
  for (const auto& [key, slice] : view.slices.all()) refresh_slice(view, *slice);
}

void Floor::refresh_slice(const client::View& view, const api::ResourceSlice& slice) {
  for (const api::Device& device : slice.devices) {
    const auto cell = layout_.cell_of(slice.driver, slice.pool, device.name);
    if (!cell) continue;
    device_condition_[*cell] = condition_of_device(view, slice, device);
    show(*cell);
  }
}

bool Floor::put_reports(const Reports& latest) {
  std::set<std::string> changed;
  const auto note_others = [&](const Reports& reports, const Reports& than) {
    for (const auto& [node, report] : reports)
      if (const auto same = than.find(node); same == than.end() || same->second != report)
        changed.insert(node);
  };
  note_others(latest, reports_);
  note_others(reports_, latest);
  if (changed.empty()) return false;
  reports_ = latest;
  for (const std::string& node : changed) show_report(node);
  return true;
}

void Floor::show_report(const std::string& node) {
  const FloorNode* row = layout_.node(node);
  if (!row) return;
  const auto first = reported_condition_.begin() + row->first;
  std::fill(first, first + row->cells, Condition::Healthy);
  if (const auto report = reports_.find(node); report != reports_.end())
    for (const auto& [driver, known] : report->second->drivers)
      for (const auto& [name, reported] : known.devices) {
        const auto cell = layout_.cell_of(driver, name.pool, name.device);
        if (cell && &layout_.node_of(*cell) == row)
          reported_condition_[*cell] = condition_by_report(reported.health);
      }
  for (CellId cell = row->first; cell < row->first + row->cells; ++cell) show(cell);
}

// Units are given to the node's pods in their order: nothing says which unit a pod has.
void Floor::fill_resources(const client::View& view, const FloorNode& node) {
  if (node.parts.empty() || node.parts.front().source == CellSource::Devices) return;
  std::vector<Cell> units(node.cells);
  std::size_t first = 0;
  const std::vector<const api::Pod*> pods = view.pods_on_node(node.name);
  for (const FloorPart& part : node.parts) {
    std::size_t next = first;
    const std::size_t end = first + part.names.size();
    for (const api::Pod* pod : pods) {
      if (!occupies(*pod)) continue;
      const std::int64_t taken =
          part.source == CellSource::Node ? 1 : units_of(api::effective_requests(*pod), part.driver);
      for (std::int64_t unit = 0; unit < taken; ++unit) {
        if (next == end) {
          if (part.source == CellSource::Node) units[first].use = Use::Shared;
          break;
        }
        units[next++] = {Use::Used, Condition::Healthy, owners_.acquire(owner_of(view, *pod))};
      }
    }
    first = end;
  }
  for (std::size_t at = 0; at < units.size(); ++at) {
    const CellId cell = node.first + static_cast<CellId>(at);
    owners_.release(std::exchange(unit_[cell], units[at]).owner);
    show(cell);
  }
}

void Floor::show(CellId cell) {
  const FloorNode& node = layout_.node_of(cell);
  Cell shown = unit_[cell];
  const std::vector<ClaimAt>& claims = claims_of_cell_[cell];
  if (!claims.empty()) {
    const ClaimAt first = *std::min_element(claims.begin(), claims.end(),
                                            [](ClaimAt a, ClaimAt b) { return a->first < b->first; });
    const auto whole = [&](ClaimAt claim) {
      return std::any_of(claim->second.cells.begin(), claim->second.cells.end(),
                         [&](const auto& taken) { return taken.first == cell && taken.second; });
    };
    const bool reserved =
        std::all_of(claims.begin(), claims.end(), [](ClaimAt a) { return a->second.reserved; });
    shown.owner = first->second.owner;
    shown.use = reserved ? Use::Reserved : claims.size() == 1 && whole(first) ? Use::Used : Use::Shared;
  }
  shown.condition = worse(worse(device_condition_[cell], reported_condition_[cell]), node_condition(node));
  set(cell, shown);
}

void Floor::set(CellId cell, Cell shown) {
  if (cells_[cell] == shown) return;
  cells_[cell] = shown;
  if (is_changed_[cell]) return;
  is_changed_[cell] = true;
  changed_.push_back(cell);
}

Floor::Changes Floor::take_changes() {
  std::sort(changed_.begin(), changed_.end());
  Changes changes{runs_of(cells_, changed_), owners_.take_new()};
  for (const CellId cell : changed_) is_changed_[cell] = false;
  changed_.clear();
  return changes;
}

}  // namespace berth::dashboard
