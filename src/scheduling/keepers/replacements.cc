#include "scheduling/keepers/replacements.h"

#include <algorithm>
#include <array>
#include <utility>

#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

constexpr std::array<std::string_view, 4> kReportNames = {"Replacing", "Postponed", "BudgetRefuses",
                                                          "NoSpareRoom"};

api::ObjectKey pod_key(const GroupKey& group, const std::string& pod) {
  return {api::Kind::Pod, group.ns, pod, {}};
}

// The pod that was to leave, while it is there; null: it is gone, or has ended.
const api::Pod* still_there(const client::View& view, const GroupKey& group, const std::string& name,
                            const LeavingPod& leaving) {
  const api::Pod* pod = view.pods.find(group.ns, name);
  return pod && pod->meta.uid == leaving.uid && !pod->finished() ? pod : nullptr;
}

client::EventNote left(const api::ObjectKey& key, const LeavingPod& pod) {
  client::EventNote event;
  event.regarding = key;
  event.regarding_uid = pod.uid;
  event.reason = "NodeReplaced";
  event.action = "Evicting";
  event.message = "Evicted: " + pod.why;
  if (!pod.room.empty()) event.message += "; room for its successor is kept on " + pod.room;
  event.component = pod.scheduler_name;
  return event;
}

}  // namespace

std::string_view name_of(ReplacementReport::State state) {
  return kReportNames[static_cast<std::size_t>(state)];
}

void Replacements::want_look(const GroupKey& group, Time at) {
  const auto [known, added] = look_at_.emplace(group, at);
  if (!added) {
    if (known->second <= at) return;
    looks_.erase({known->second, group});
    known->second = at;
  }
  looks_.emplace(at, group);
}

std::optional<GroupKey> Replacements::next_look(Time now) {
  if (looks_.empty() || looks_.begin()->first > now) return std::nullopt;
  const GroupKey group = looks_.begin()->second;
  looks_.erase(looks_.begin());
  look_at_.erase(group);
  return group;
}

const Replacement* Replacements::find(const GroupKey& group) const {
  const auto found = replacements_.find(group);
  return found == replacements_.end() ? nullptr : &found->second;
}

std::optional<model::Ledger::HoldId> Replacements::hold_of(const GroupKey& group) const {
  const Replacement* replacement = find(group);
  if (!replacement || replacement->rooms.empty()) return std::nullopt;
  return replacement->rooms.front().hold.id();
}

void Replacements::add_holds(const GroupKey& group, std::vector<model::HoldId>& holds) const {
  if (const Replacement* replacement = find(group))
    for (const SuccessorRoom& room : replacement->rooms) holds.push_back(room.hold.id());
}

void Replacements::add(const GroupKey& group, Replacement more, Time now) {
  for (const auto& [name, pod] : more.leaving) {
    leaving_[pod_key(group, name)] = {group};
    writes_.want(pod_key(group, name), now);
  }
  want_look(group, more.until);
  const auto found = replacements_.find(group);
  if (found == replacements_.end()) return void(replacements_.emplace(group, std::move(more)));
  Replacement& known = found->second;
  for (auto& [name, pod] : more.leaving) known.leaving.insert_or_assign(name, std::move(pod));
  known.rooms.splice(known.rooms.end(), more.rooms);
  if (known.where != more.where) known.where.clear();
  known.until = more.until;
}

bool Replacements::keep_rooms(const GroupKey& group, std::size_t count, std::span<const std::string> nodes) {
  const auto found = replacements_.find(group);
  if (found == replacements_.end()) return false;
  std::list<SuccessorRoom>& rooms = found->second.rooms;
  const std::size_t before = rooms.size();
  std::map<std::string_view, std::size_t> members;
  for (const std::string& node : nodes) ++members[node];
  rooms.remove_if([&](const SuccessorRoom& room) {
    const auto there = members.find(room.node);
    if (there == members.end() || there->second <= room.members_there) return false;
    --there->second;
    return true;
  });
  for (const std::string& node : nodes) {
    if (rooms.size() <= count) break;
    if (const auto room = std::ranges::find(rooms, node, &SuccessorRoom::node); room != rooms.end())
      rooms.erase(room);
  }
  while (rooms.size() > count) rooms.pop_back();
  return rooms.size() < before;
}

void Replacements::keep_member(const GroupKey& group, const std::string& pod) {
  const auto found = replacements_.find(group);
  if (found == replacements_.end()) return;
  Replacement& replacement = found->second;
  const auto leaving = replacement.leaving.find(pod);
  if (leaving == replacement.leaving.end()) return;
  const auto is_its_own = [&](const SuccessorRoom& room) {
    return room.leaves && room.leaves->meta.uid == leaving->second.uid;
  };
  std::list<SuccessorRoom>& rooms = replacement.rooms;
  if (const auto room = std::ranges::find_if(rooms, is_its_own); room != rooms.end()) rooms.erase(room);
  replacement.leaving.erase(leaving);
  leaving_.erase(pod_key(group, pod));
  writes_.erase(pod_key(group, pod));
}

void Replacements::set_message(const GroupKey& group, std::string message) {
  if (const auto found = replacements_.find(group); found != replacements_.end())
    found->second.message = std::move(message);
}

bool Replacements::end(const GroupKey& group) {
  const auto found = replacements_.find(group);
  if (found == replacements_.end()) return false;
  for (const auto& [name, pod] : found->second.leaving) {
    leaving_.erase(pod_key(group, name));
    writes_.erase(pod_key(group, name));
  }
  replacements_.erase(found);
  return true;
}

std::size_t Replacements::left_of_whole(const client::View& view, const GroupKey& group) const {
  const Replacement* replacement = find(group);
  if (!replacement || replacement->scope != placement::ReplacementScope::Group) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(replacement->leaving, [&](const auto& one) {
    return still_there(view, group, one.first, one.second) != nullptr;
  }));
}

bool Replacements::report(const GroupKey& group, std::optional<ReplacementReport> report) {
  const auto known = reports_.find(group);
  if (!report) return known != reports_.end() && reports_.erase(group) > 0;
  if (known != reports_.end() && known->second == *report) return false;
  reports_[group] = *std::move(report);
  return true;
}

bool Replacements::is_refused(const GroupKey& group) const {
  const Replacement* replacement = find(group);
  return replacement && std::ranges::any_of(replacement->leaving, [&](const auto& one) {
           const auto leaving = leaving_.find(pod_key(group, one.first));
           return leaving != leaving_.end() && leaving->second.refused;
         });
}

client::Effects Replacements::due(const client::View& view, Time now) {
  client::Effects effects;
  effects.events = std::exchange(events_, {});
  while (in_flight_ < kReplacementsInFlightMax) {
    const std::optional<api::ObjectKey> key = writes_.next(now);
    if (!key) break;
    const GroupKey& group = leaving_.at(*key).group;
    const LeavingPod& leaving = replacements_.at(group).leaving.at(key->name);
    const api::Pod* pod = still_there(view, group, key->name, leaving);
    if (!pod || pod->meta.deleting()) {
      writes_.erase(*key);
      continue;
    }
    effects.chains.push_back({*key, {client::evict(*key, leaving.uid)}});
    ++in_flight_;
  }
  if (!effects.chains.empty()) effects.decision_id = kReplacementWrites;
  return effects;
}

std::optional<GroupKey> Replacements::write_done(const client::ChainOutcome& outcome, Time now) {
  if (in_flight_ > 0) --in_flight_;
  const auto found = leaving_.find(outcome.key);
  if (found == leaving_.end()) return std::nullopt;
  Leaving& leaving = found->second;
  leaving.refused = !outcome.ok && refused_by_budget(outcome.last);
  if (!writes_.write_done(outcome.key, outcome.ok, now) || !outcome.ok) return leaving.group;
  writes_.erase(outcome.key);
  events_.push_back(left(outcome.key, replacements_.at(leaving.group).leaving.at(outcome.key.name)));
  return leaving.group;
}

std::optional<Time> Replacements::next_time() const {
  std::optional<Time> next;
  if (!looks_.empty()) next = looks_.begin()->first;
  if (in_flight_ < kReplacementsInFlightMax)
    if (const auto write = writes_.next_time(); write && (!next || *write < *next)) next = write;
  return next;
}

}  // namespace berth::scheduling
