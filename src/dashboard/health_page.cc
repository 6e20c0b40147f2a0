#include "dashboard/health_page.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/evictions.h"
#include "api/serialized.h"
#include "api/types/node_device_health.h"
#include "health/node_report.h"

namespace berth::dashboard {
namespace {

// Of DisruptionTarget, where illness is the cause and no preemption or drain.
constexpr std::array<std::string_view, 3> kReasonsOfIllness = {
    "DeletionByDeviceTaintManager", "DeletionByTaintManager", api::kDeletionByPodGc};

// Null: it need not leave for illness.
const api::Condition* must_leave(const api::Pod& pod) {
  const api::Condition* target = api::find_condition(pod.conditions, api::kDisruptionTarget);
  if (!target || target->status != "True") return nullptr;
  return std::find(kReasonsOfIllness.begin(), kReasonsOfIllness.end(), target->reason) ==
                 kReasonsOfIllness.end()
             ? nullptr
             : target;
}

std::string text_of(const api::Taint& taint) {
  return "taint " + api::to_text(taint);
}

struct Why {
  std::string reason;
  Time since;
  Condition condition = Condition::Healthy;
};

Why why(const api::Node& node) {
  const api::Condition* ready = api::find_condition(node.conditions, "Ready");
  if (!ready) return {"it does not report whether it is ready", node.meta.created};
  if (ready->status != "True")
    return {"not ready: " + (ready->message.empty() ? ready->reason : ready->message),
            ready->last_transition};
  for (const api::Taint& taint : node.taints)
    if (taint.effect != "PreferNoSchedule") return {text_of(taint), taint.added};
  return {"cordoned", Time()};
}

// The worst taint of the device, its own or a rule's.
Why why_tainted(const client::View& view, const FloorPart& part, const std::string& name) {
  Why worst;
  const auto look = [&](const api::Taint& taint, const std::string& of) {
    if (const Condition condition = condition_of(taint); is_worse(condition, worst.condition))
      worst = {text_of(taint) + of, taint.added, condition};
  };
  for (const api::ResourceSlice* slice : view.slices_of_pool(part.driver, part.pool))
    for (const api::Device& device : slice->devices)
      if (device.name == name)
        for (const api::Taint& taint : device.taints) look(taint, "");
  for (const auto& [key, rule] : view.taint_rules.all())
    if (!rule->nil_selector && rule->selects(part.driver, part.pool, name))
      look(rule->taint, " of DeviceTaintRule " + rule->meta.name);
  return worst;
}

// Words and times of the nodes' reports. Keeps the latest node's object, as devices are asked for by node.
class ReportedReasons {
 public:
  ReportedReasons(const client::View& view, const Floor& floor) : view_(view), floor_(floor) {}

  // Healthy: no report says anything else.
  Why why(const std::string& node, const FloorPart& part, const std::string& device) {
    const auto report = floor_.reports().find(node);
    if (report == floor_.reports().end()) return {};
    const auto driver = report->second->drivers.find(part.driver);
    if (driver == report->second->drivers.end()) return {};
    const auto known = driver->second.devices.find({part.pool, device});
    if (known == driver->second.devices.end() || known->second.health == health::Health::Healthy) return {};
    const health::DeviceHealth& reported = known->second;
    const bool unhealthy = reported.health == health::Health::Unhealthy;
    std::string reason = "reported " + std::string(name_of(reported.health));
    if (!reported.message.empty()) reason += ": " + reported.message;
    return {std::move(reason), since(node, part.driver, known->first, reported.health),
            unhealthy ? Condition::Ill : Condition::Unknown};
  }

 private:
  // Not set: the object says another health, since its agent has fallen silent.
  Time since(const std::string& node, const std::string& driver, const health::DeviceName& name,
             health::Health wanted) {
    if (read_ != node) {
      read_ = node;
      const auto reports = view_.others.find(api::node_device_health_resource());
      const api::AnyObject* found = reports == view_.others.end() ? nullptr : reports->second.find("", node);
      const Result<Json> object = found ? api::parse_object(*found->raw) : Result<Json>(Json());
      devices_ = object ? health::read_report(*object) : health::ReportedDevices();
    }
    const auto devices = devices_.find(driver);
    if (devices == devices_.end()) return Time();
    const auto known = devices->second.find(name);
    return known == devices->second.end() || known->second.health.health != wanted ? Time()
                                                                                   : known->second.since;
  }

  const client::View& view_;
  const Floor& floor_;
  std::string read_;
  health::ReportedDevices devices_;  // of the node `read_`
};

// Both causes where there are two.
Why why(Why tainted, Why reported) {
  if (reported.condition == Condition::Healthy) return tainted;
  if (tainted.condition == Condition::Healthy) {
    reported.reason += "; it still takes pods, since no taint keeps them away";
    return reported;
  }
  tainted.reason += "; " + reported.reason;
  return tainted;
}

Json owner_json(const Floor& floor, OwnerId id) {
  return id == kNobody ? Json() : to_json(floor.owners().at(id));
}

Time set_or(Time time, Time other) {
  return time.is_set() ? time : other;
}

std::string text_of(const FloorNode& node) {
  return "node " + node.name;
}
std::string text_of(const FloorNode& node, const std::string& device) {
  return "device " + node.name + "/" + device;
}

Json node_row(const Floor& floor, const FloorNode& row, const Why& cause) {
  std::int64_t in_use = 0;
  for (CellId id = row.first; id < row.first + row.cells; ++id) in_use += floor.cells()[id].use != Use::Free;
  return Json::object({{"node", row.name},
                       {"condition", name_of(floor.node_condition(row))},
                       {"reason", cause.reason},
                       {"since", format_time(cause.since)},
                       {"devices", static_cast<std::int64_t>(row.cells)},
                       {"inUse", in_use}});
}

Json device_row(const Floor& floor, const FloorNode& row, const FloorPart& part, const std::string& name,
                CellId id, const Why& why) {
  const Cell& cell = floor.cells()[id];
  return Json::object({{"node", row.name},
                       {"driver", part.driver},
                       {"device", name},
                       {"condition", name_of(cell.condition)},
                       {"reason", why.reason},
                       {"since", format_time(why.since)},
                       {"owner", owner_json(floor, cell.owner)}});
}

// Calls on_node(row) for nodes that are not healthy, and on_device(row, part, name, cell) for devices that
// are worse than their node.
template <class OnNode, class OnDevice>
void visit_ill(const Floor& floor, const OnNode& on_node, const OnDevice& on_device) {
  for (const FloorNode& row : floor.layout().nodes()) {
    const Condition of_node = floor.node_condition(row);
    if (of_node != Condition::Healthy) on_node(row);
    CellId id = row.first;
    for (const FloorPart& part : row.parts)
      for (const std::string& name : part.names) {
        if (part.source == CellSource::Devices && is_worse(floor.cells()[id].condition, of_node))
          on_device(row, part, name, id);
        ++id;
      }
  }
}

}  // namespace

Json HealthPage::page(const client::View& view, const Floor& floor) const {
  std::int64_t total = 0;
  JsonArray nodes, devices;
  ReportedReasons reports(view, floor);
  visit_ill(
      floor,
      [&](const FloorNode& row) {
        const api::Node* node = view.nodes.find("", row.name);
        if (!node) return;
        ++total;
        if (nodes.size() == kIllShownMax) return;
        Why cause = why(*node);
        cause.since = set_or(cause.since, since_noted(text_of(row)));
        nodes.push_back(node_row(floor, row, cause));
      },
      [&](const FloorNode& row, const FloorPart& part, const std::string& name, CellId id) {
        ++total;
        if (devices.size() == kIllShownMax) return;
        Why cause = why(why_tainted(view, part, name), reports.why(row.name, part, name));
        cause.since = set_or(cause.since, since_noted(text_of(row, name)));
        devices.push_back(device_row(floor, row, part, name, id, cause));
      });
  return Json::object({{"total", total},
                       {"reportingNodes", static_cast<std::int64_t>(floor.reports().size())},
                       {"nodes", std::move(nodes)},
                       {"devices", std::move(devices)},
                       {"changes", JsonArray(changes_.begin(), changes_.end())},
                       {"moved", JsonArray(moved_.begin(), moved_.end())}});
}

void HealthPage::note_pod(const api::Pod* before, const api::Pod& after, Time now) {
  const api::Condition* target = must_leave(after);
  if (!target || !before || (before->meta.uid == after.meta.uid && must_leave(*before))) return;
  if (moved_.size() == kMovedShownMax) moved_.pop_back();
  moved_.push_front(Json::object({{"time", format_time(now)},
                                  {"namespace", after.meta.ns},
                                  {"name", after.meta.name},
                                  {"group", after.group},
                                  {"node", after.node_name},
                                  {"reason", target->reason},
                                  {"message", target->message}}));
}

Time HealthPage::since_noted(const std::string& what) const {
  const auto known = known_.find(what);
  return known == known_.end() ? Time() : known->second.since;
}

void HealthPage::date(IllThings& ill, Time now) const {
  for (auto& [what, thing] : ill)
    if (const auto known = known_.find(what);
        known != known_.end() && known->second.condition == thing.condition)
      thing.since = known->second.since;
    else if (nodes_seen_.contains(thing.node))
      thing.since = now;
}

void HealthPage::note(const Floor& floor, Time now) {
  IllThings ill;
  visit_ill(
      floor, [&](const FloorNode& row) { ill[text_of(row)] = {floor.node_condition(row), row.name, {}}; },
      [&](const FloorNode& row, const FloorPart&, const std::string& name, CellId id) {
        ill[text_of(row, name)] = {floor.cells()[id].condition, row.name, {}};
      });
  date(ill, now);
  const auto add = [&](const std::string& what, Condition condition) {
    if (changes_.size() == kHealthChangesMax) changes_.pop_back();
    changes_.push_front(
        Json::object({{"time", format_time(now)}, {"what", what}, {"condition", name_of(condition)}}));
  };
  for (const auto& [what, thing] : ill) {
    const auto known = known_.find(what);
    if (!nodes_seen_.contains(thing.node)) continue;
    if (known != known_.end() && (known->second.condition == thing.condition || !noted_.contains(what)))
      continue;
    add(what, thing.condition);
    noted_.insert(what);
  }
  for (const auto& [what, thing] : known_)
    if (!ill.contains(what) && noted_.erase(what) > 0) add(what, Condition::Healthy);
  known_ = std::move(ill);
  if (std::exchange(layout_seen_, floor.layout_version()) == floor.layout_version()) return;
  nodes_seen_.clear();
  for (const FloorNode& node : floor.layout().nodes()) nodes_seen_.insert(node.name);
}

}  // namespace berth::dashboard
