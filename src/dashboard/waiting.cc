#include "dashboard/waiting.h"

#include <algorithm>
#include <map>

#include "placement/claims.h"

namespace berth::dashboard {
namespace {

constexpr std::string_view kRefusedBySchedulerReason = "Unschedulable";

struct Entry {
  Time since;
  std::int64_t pods = 0, devices = 0, gated = 0, binding = 0, refused = 0;
  std::int32_t priority = 0;
  std::set<std::string> groups;  // of the tree
  const api::Pod* first = nullptr;
};

std::int64_t devices_asked(const client::View& view, const api::Pod& pod) {
  std::int64_t devices = 0;
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim = view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim || claim->allocation) continue;
    for (const api::DeviceRequest& request : claim->requests)
      if (!request.alternatives.empty()) devices += request.alternatives.front().count;
  }
  for (const api::Container& container : pod.containers)
    for (const auto& [resource, amount] : container.requests)
      if (resource.find('/') != std::string::npos) devices += amount.ceil_units();
  return devices;
}

// The scheduler does not try it: its own gates, its claims, or a group that does not exist.
bool is_gated(const client::View& view, const api::Pod& pod) {
  const bool lacks_group = !pod.group.empty() && !view.pod_groups.find(pod.meta.ns, pod.group);
  return !pod.scheduling_gates.empty() || lacks_group || placement::claim_gate(view, pod);
}

std::map<Owner, Entry> entries_of(const client::View& view, const PendingPods& pending) {
  std::map<Owner, Entry> entries;
  for (const client::NamedKey& key : pending) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod) continue;
    Entry& entry = entries[owner_of(view, *pod)];
    if (!entry.first || pod->meta.created < entry.since) entry.since = pod->meta.created;
    if (!entry.first) entry.first = pod;
    entry.priority = std::max(entry.priority, pod->priority);
    ++entry.pods;
    entry.devices += devices_asked(view, *pod);
    if (!pod->group.empty()) entry.groups.insert(pod->group);
    if (is_gated(view, *pod)) ++entry.gated;
    if (!view.bind_requests_of_pod(key.ns, key.name).empty()) ++entry.binding;
    const api::Condition* scheduled = api::find_condition(pod->conditions, "PodScheduled");
    if (scheduled && scheduled->status == "False" && scheduled->reason == kRefusedBySchedulerReason)
      ++entry.refused;
  }
  return entries;
}

std::string_view state_of(const Entry& entry) {
  if (entry.gated == entry.pods) return "Gated";
  if (entry.binding > 0) return "Binding";
  return entry.refused > 0 ? "Unschedulable" : "Queued";
}

void put_minimum(const client::View& view, const Owner& of, Json& row) {
  if (of.kind == OwnerKind::PodGroup) {
    if (const api::PodGroup* group = view.pod_groups.find(of.ns, of.name))
      row["minimum"] = static_cast<std::int64_t>(group->minimum());
  } else if (of.kind == OwnerKind::CompositePodGroup) {
    if (const api::CompositePodGroup* group = view.composite_groups.find(of.ns, of.name))
      row["minimum"] = static_cast<std::int64_t>(group->minimum());
  }
}

std::int64_t bound_members(const client::View& view, const Owner& of, const Entry& entry) {
  std::int64_t bound = 0;
  for (const std::string& group : entry.groups)
    for (const api::Pod* pod : view.pods_of_group(of.ns, group)) bound += pod->bound() && !pod->finished();
  return bound;
}

// The decision about the tree or the group, else about one of its groups.
const Json* refusal_of(const DecisionNotes& notes, const Owner& of, const Entry& entry) {
  if (const Json* own = notes.refusal_of(of)) return own;
  for (const std::string& group : entry.groups)
    if (const Json* line = notes.refusal_of({OwnerKind::PodGroup, of.ns, group})) return line;
  return nullptr;
}

// The scheduler's condition where no decision of this process is known.
void put_condition(const api::Pod& pod, Json& row) {
  const api::Condition* scheduled = api::find_condition(pod.conditions, "PodScheduled");
  if (!scheduled || scheduled->status != "False") return;
  row["decided"] = format_time(scheduled->last_transition);
  row["reason"] = scheduled->reason;
  row["sentence"] = scheduled->message;
}

Json entry_json(const client::View& view, const DecisionNotes& notes, const Owner& of, const Entry& entry) {
  Json row = Json::object({{"kind", name_of(of.kind)},
                           {"namespace", of.ns},
                           {"name", of.name},
                           {"since", format_time(entry.since)},
                           {"priority", static_cast<std::int64_t>(entry.priority)},
                           {"pods", entry.pods},
                           {"bound", bound_members(view, of, entry)},
                           {"devices", entry.devices},
                           {"state", state_of(entry)}});
  put_minimum(view, of, row);
  if (const Json* line = refusal_of(notes, of, entry))
    for (const auto& [field, value] : line->as_object()) row[field] = value;
  else
    put_condition(*entry.first, row);
  return row;
}

}  // namespace

bool waits(const api::Pod& pod, const std::vector<std::string>& schedulers) {
  if (pod.bound() || pod.finished() || pod.meta.deleting()) return false;
  return schedulers.empty() ||
         std::find(schedulers.begin(), schedulers.end(), pod.scheduler_name) != schedulers.end();
}

Json waiting_page(const client::View& view, const PendingPods& pending, const DecisionNotes& notes,
                  Time now) {
  const std::map<Owner, Entry> entries = entries_of(view, pending);
  std::vector<std::map<Owner, Entry>::const_pointer> order;
  for (const auto& entry : entries) order.push_back(&entry);
  const auto weight = [&](const Entry& entry) {
    const std::int64_t age_s = std::max<std::int64_t>((now - entry.since).whole_seconds(), 1);
    return age_s * std::max(entry.devices, entry.pods);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return weight(a->second) > weight(b->second); });
  if (order.size() > kWaitingShownMax) order.resize(kWaitingShownMax);
  JsonArray rows;
  for (const auto* entry : order) rows.push_back(entry_json(view, notes, entry->first, entry->second));
  return Json::object({{"asOf", format_time(now)},
                       {"total", static_cast<std::int64_t>(entries.size())},
                       {"entries", std::move(rows)}});
}

}  // namespace berth::dashboard
