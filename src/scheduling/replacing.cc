// The part of Scheduler that moves members of groups off failed nodes: docs/topology.md#failed-nodes.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/name_list.h"
#include "client/group_tree.h"
#include "placement/replacement/tree_domains.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

using placement::LostPlace;
using placement::LostPlaces;
using placement::ReplacementPlan;
using placement::ReplacementScope;

// Members that have a node, also those that are being deleted.
std::vector<const api::Pod*> bound_members(const client::View& view, const GroupKey& key) {
  std::vector<const api::Pod*> bound;
  for (const api::Pod* pod : view.pods_of_group(key.ns, key.name))
    if (pod->bound() && !pod->finished()) bound.push_back(pod);
  return bound;
}

GroupKey key_of(const GroupInput& input) {
  return {input.group->meta.ns, input.group->meta.name, EntityKind::Group};
}

std::set<std::string> uids_of(std::span<const LostPlace> lost) {
  std::set<std::string> uids;
  for (const LostPlace& place : lost) uids.insert(place.pod->meta.uid);
  return uids;
}

bool leaves(const Replacement* replacement, const api::ObjectMeta& pod) {
  if (!replacement) return false;
  const auto leaving = replacement->leaving.find(pod.name);
  return leaving != replacement->leaving.end() && leaving->second.uid == pod.uid;
}

// Those that need room. A member that is being deleted has left, and a waiting or younger member is its
// successor. Members that leave already have rooms. `under_way`: null: none do.
std::vector<LostPlace> needing_room(const GroupInput& input, std::vector<LostPlace> lost,
                                    const Replacement* under_way) {
  const auto has_room = [&](const LostPlace& place) { return leaves(under_way, place.pod->meta); };
  std::ranges::stable_partition(lost, has_room);
  const std::set<std::string> lost_uids = uids_of(lost);
  Time newest_left;
  for (const LostPlace& place : lost)
    if (place.pod->meta.deleting()) newest_left = std::max(newest_left, place.pod->meta.created);
  const auto succeeds = [&](const api::Pod* pod) {
    return !pod->meta.deleting() && !lost_uids.contains(pod->meta.uid) && pod->meta.created > newest_left;
  };
  std::int64_t successors =
      static_cast<std::int64_t>(input.waiting.size()) + std::ranges::count_if(input.placed, succeeds);
  std::vector<LostPlace> needing;
  for (const LostPlace& place : lost) {
    const bool is_succeeded = place.pod->meta.deleting() && successors-- > 0;
    if (!is_succeeded && !has_room(place)) needing.push_back(place);
  }
  return needing;
}

// "node-7 is not ready, node-9 is deleted and 3 more"
std::string list_of(const std::set<std::string>& causes) {
  return first_names(std::vector<std::string>(causes.begin(), causes.end()), kNodesInReportMax);
}

std::string list_of(std::span<const LostPlace> lost) {
  std::set<std::string> causes;
  for (const LostPlace& place : lost) causes.insert(words_of(place));
  return list_of(causes);
}

std::string share_of(std::size_t pods, std::size_t all) {
  return std::to_string(pods) + " of " + std::to_string(all) + " pods";
}

// "2 of 4 pods move in rack r1: node-7 is not ready; room is kept on node-3 and 1 more"
std::string words_of(const Replacement& replacement, std::span<const LostPlace> lost) {
  std::set<std::string> nodes;
  for (const SuccessorRoom& room : replacement.rooms) nodes.insert(room.node);
  // Of a group that leaves as a whole, also members leave that nothing happened to.
  std::set<std::string> causes;
  if (replacement.scope != ReplacementScope::Group)
    for (const auto& [name, pod] : replacement.leaving) causes.insert(pod.why);
  std::string message = share_of(replacement.leaving.size(), replacement.size) + " move" + replacement.where +
                        ": " + (causes.empty() ? list_of(lost) : list_of(causes));
  if (!nodes.empty()) message += "; room is kept on " + *nodes.begin();
  if (nodes.size() > 1) message += " and " + std::to_string(nodes.size() - 1) + " more";
  return message;
}

// Nobody makes the others again.
bool has_pods_without_owner(const GroupInput& input) {
  return std::ranges::any_of(input.placed, [](const api::Pod* pod) { return !pod->meta.controller(); });
}

std::vector<ReplacementScope> scopes_of(const GroupInput& input) {
  if (!input.group->parent.empty()) return {ReplacementScope::Domain};
  switch (input.wish->when_no_spare) {
    case placement::WhenNoSpare::Wait:
      break;
    case placement::WhenNoSpare::Widen:
      return {ReplacementScope::Domain, ReplacementScope::Wider};
    case placement::WhenNoSpare::ReplaceGroup:
      if (has_pods_without_owner(input)) break;
      return {ReplacementScope::Domain, ReplacementScope::Group};
  }
  return {ReplacementScope::Domain};
}

// Policies about the group, and about those above it, say it.
void report_replacement(LoopState& loop, const SchedulingContext& context, const GroupKey& group,
                        std::optional<ReplacementReport> answer) {
  if (loop.replacements.report(group, std::move(answer)))
    loop.statuses_changed(context.view, group, context.now);
}

// Members whose nodes and devices are good again before they were evicted stay. A group that leaves as a
// whole leaves.
void keep_recovered(LoopState& loop, Time now, const GroupInput& input, const LostPlaces& lost) {
  const GroupKey key = key_of(input);
  const Replacement& replacement = *loop.replacements.find(key);
  if (replacement.scope == ReplacementScope::Group) return;
  const std::set<std::string> lost_uids = uids_of(lost.lost);
  bool any = false;
  for (const api::Pod* pod : input.placed) {
    if (!leaves(&replacement, pod->meta) || pod->meta.deleting() || lost_uids.contains(pod->meta.uid))
      continue;
    loop.replacements.keep_member(key, pod->meta.name);
    any = true;
  }
  if (!any) return;
  loop.queue.wake(kEventRoomFreed, now);
  if (!lost.lost.empty()) loop.replacements.set_message(key, words_of(replacement, lost.lost));
}

}  // namespace

void Scheduler::end_replacement(const client::View& view, const GroupKey& key, Time now) {
  if (!loop_.replacements.end(key)) return;
  loop_.queue.wake(kEventRoomFreed, now);
  loop_.dirty.insert(loop_.entry_of_group(view, key.ns, key.name));
}

// A group whose policy, or that of a group above it, replaces failed nodes; none: it has none, or is not
// decided.
std::optional<GroupInput> Scheduler::replaced_group(const SchedulingContext& context,
                                                    const GroupKey& key) const {
  const api::PodGroup* group = context.view.pod_groups.find(key.ns, key.name);
  if (!group || (!group->parent.empty() && !loop_.options.composite_groups)) return std::nullopt;
  std::optional<GroupInput> input = input_of(context, *group, context.now);
  if (!input) return std::nullopt;
  const bool replaces = (input->wish && input->wish->replaces_failed_nodes) ||
                        placement::is_replaced_by_tree(context.view, loop_.owners.questions(), *group);
  if (!replaces) return std::nullopt;
  if (!input->wish) set_wish(*input, std::make_shared<const placement::GroupWish>());
  return input;
}

client::Effects Scheduler::replace_failed(const client::View& view, Time now) {
  if (client::Effects effects = loop_.replacements.due(view, now); !effects.empty()) return effects;
  for (std::size_t looks = 0; looks < kPlacesLooksMax; ++looks) {
    const std::optional<GroupKey> key = loop_.replacements.next_look(now);
    if (!key) break;
    look_at_places(context_at(view, now), *key);
  }
  return loop_.replacements.due(view, now);
}

void Scheduler::look_at_places(const SchedulingContext& context, const GroupKey& key) {
  const std::optional<GroupInput> found = replaced_group(context, key);
  if (!found) {
    end_replacement(context.view, key, context.now);
    return report_replacement(loop_, context, key, std::nullopt);
  }
  const GroupInput& input = *found;
  const std::vector<const api::Pod*> bound = bound_members(context.view, key);
  const LostPlaces lost = placement::lost_places(context.view, bound, context.now);
  if (lost.next) loop_.replacements.want_look(key, *lost.next);
  const Replacement* under_way = loop_.replacements.find(key);
  const bool in_vain = under_way && context.now >= under_way->until;
  const bool goes_on = follow_replacement(context, input, lost);
  if (!goes_on) end_replacement(context.view, key, context.now);
  const std::vector<LostPlace> needing = needing_room(input, lost.lost, loop_.replacements.find(key));
  // Until then others may take the room that was empty in vain.
  if (in_vain && !needing.empty()) return loop_.replacements.want_look(key, context.now + kSpareSearchEvery);
  if (!needing.empty()) return find_spare(context, input, needing);
  if (!goes_on) report_replacement(loop_, context, key, std::nullopt);
}

// False: there is none, it is over, or it does not suit any more. Lost members without room hold up nobody.
bool Scheduler::follow_replacement(const SchedulingContext& context, const GroupInput& input,
                                   const LostPlaces& lost) {
  const GroupKey key = key_of(input);
  const Replacement* replacement = loop_.replacements.find(key);
  if (!replacement || replacement->uid != input.group->meta.uid || context.now >= replacement->until)
    return false;
  loop_.replacements.want_look(key, replacement->until);
  const auto stays = [&](const LostPlace& place) { return !leaves(replacement, place.pod->meta); };
  if (replacement->scope == ReplacementScope::Group && std::ranges::any_of(lost.lost, stays)) return false;
  const auto is_kept = [&](const SuccessorRoom& room) {
    const api::Node* node = context.view.nodes.find("", room.node);
    return node && room.leaves && !placement::is_failing_for(*node, *room.leaves);
  };
  if (!std::ranges::all_of(replacement->rooms, is_kept)) return false;
  keep_recovered(loop_, context.now, input, lost);
  const std::set<std::string> lost_uids = uids_of(lost.lost);
  std::size_t staying = 0, leaving = 0;
  std::vector<std::pair<Time, std::string>> healthy;  // when the member was created, and its node
  for (std::size_t i = 0; i < input.placed.size(); ++i) {
    const api::ObjectMeta& pod = input.placed[i]->meta;
    if (leaves(replacement, pod))
      ++leaving;
    else if (lost_uids.contains(pod.uid))
      ++staying;
    else
      healthy.emplace_back(pod.created, loop_.cluster.node(input.occupied[i]).name);
  }
  if (healthy.size() + staying >= replacement->size) return false;
  // Successors are the youngest.
  std::ranges::sort(healthy, std::greater());
  std::vector<std::string> filled;
  for (auto& [created, node] : healthy) filled.push_back(std::move(node));
  if (loop_.replacements.keep_rooms(key, replacement->size - filled.size() - staying, filled))
    loop_.queue.wake(kEventRoomFreed, context.now);
  if (leaving == 0 && replacement->rooms.empty()) return false;
  ReplacementReport answer{ReplacementReport::State::Replacing, replacement->message};
  if (loop_.replacements.is_refused(key))
    answer = {ReplacementReport::State::BudgetRefuses,
              "a disruption budget refuses the eviction of pods: " + list_of(lost.lost)};
  report_replacement(loop_, context, key, std::move(answer));
  return true;
}

void Scheduler::find_spare(const SchedulingContext& context, const GroupInput& input,
                           std::span<const LostPlace> lost) {
  const GroupKey key = key_of(input);
  const Replacement* under_way = loop_.replacements.find(key);
  GroupInput within = input;
  const placement::AvoidedNodes outside(
      input.group->parent.empty()
          ? std::vector<model::NodeId>()
          : placement::outside_of_tree(context.view, loop_.cluster, loop_.owners.questions(), *input.group));
  std::vector<const api::Pod*> pods;
  for (const LostPlace& place : lost) {
    pods.push_back(place.pod);
    if (!outside.empty()) within.avoid[place.pod->meta.uid] = outside;
  }
  std::vector<const api::Pod*> leaving;
  std::ranges::copy_if(input.placed, std::back_inserter(leaving),
                       [&](const api::Pod* pod) { return leaves(under_way, pod->meta); });
  const std::size_t rooms = under_way ? under_way->rooms.size() : 0;
  bool proved = true;
  if (!loop_.replacements.full()) {
    for (const ReplacementScope scope : scopes_of(input)) {
      if (under_way && scope == ReplacementScope::Group) continue;
      model::Ledger::Transaction transaction(loop_.cluster.ledger());
      transaction.lift_holds(input.group->priority, {});
      const placement::ReplacementAnswer answer = placement::find_replacement(
          core_.group_cycle(), {context, within, pods, leaving, rooms}, scope, transaction);
      transaction.end();
      if (answer.plan) return begin_replacement(context, input, lost, scope, *answer.plan);
      proved &= answer.proved;
    }
  }
  loop_.replacements.want_look(key, context.now + kSpareSearchEvery);
  if (under_way) return;  // others move: that is the report
  const bool full = loop_.replacements.full();
  const std::string_view why = full     ? "and too many pods move already: "
                               : proved ? "and there is no spare room: "
                                        : "and the search for spare room ended early: ";
  report_replacement(
      loop_, context, key,
      ReplacementReport{full ? ReplacementReport::State::Postponed : ReplacementReport::State::NoSpare,
                        share_of(lost.size(), input.placed.size()) + " have failed nodes, " +
                            std::string(why) + list_of(lost)});
}

void Scheduler::begin_replacement(const SchedulingContext& context, const GroupInput& input,
                                  std::span<const LostPlace> lost, ReplacementScope scope,
                                  const ReplacementPlan& plan) {
  const GroupKey key = key_of(input);
  const std::int32_t bound = model::binding_equals(input.group->priority);
  const auto deleting = static_cast<std::size_t>(
      std::ranges::count_if(lost, [](const LostPlace& place) { return place.pod->meta.deleting(); }));
  Replacement replacement;
  replacement.uid = input.group->meta.uid;
  replacement.scope = scope;
  replacement.size = input.placed.size() + input.waiting.size() + deleting;
  replacement.until = context.now + kReplacementMax;
  const std::set<std::string> lost_uids = uids_of(lost);
  std::map<model::NodeId, std::size_t> members;
  for (std::size_t i = 0; i < input.placed.size(); ++i)
    if (!lost_uids.contains(input.placed[i]->meta.uid)) ++members[input.occupied[i]];
  for (const placement::ReplacementRoom& room : plan.rooms) {
    const std::string& node = loop_.cluster.node(room.node).name;
    model::Hold hold = loop_.cluster.hold_for(room.plan, bound);
    const model::PodId leaves = loop_.cluster.find_pod(key.ns, room.pod->meta.name);
    hold.leaving.push_back(leaves);
    replacement.rooms.push_back({node, model::ScopedHold(loop_.cluster.ledger(), std::move(hold)),
                                 loop_.cluster.pod(leaves).live, members[room.node]});
    const auto cause = std::ranges::find(lost, room.pod, &LostPlace::pod);
    replacement.leaving[room.pod->meta.name] = {
        room.pod->meta.uid, cause == lost.end() ? "its group leaves failed nodes" : words_of(*cause), node,
        room.pod->scheduler_name};
  }
  replacement.where = plan.domain.empty() ? "" : " in " + plan.domain;
  loop_.replacements.add(key, std::move(replacement), context.now);
  std::string message = words_of(*loop_.replacements.find(key), lost);
  loop_.replacements.set_message(key, message);
  loop_.dirty.insert(loop_.entry_of_group(context.view, key.ns, key.name));
  report_replacement(loop_, context, key,
                     ReplacementReport{ReplacementReport::State::Replacing, std::move(message)});
}

}  // namespace berth::scheduling
