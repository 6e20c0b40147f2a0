#include "scheduling/entry_gate.h"

#include <algorithm>
#include <set>

#include "api/types/gang_decision.h"
#include "base/known_defects.h"
#include "placement/claims.h"
#include "placement/refusal/berth_words.h"
#include "placement/refusal/kubernetes_words.h"
#include "placement/wishes/policy_wishes.h"
#include "scheduling/writes.h"

namespace berth::scheduling {

std::optional<placement::PodGate> EntryGate::gate(const client::View& view, const api::Pod& pod, Time now) {
  std::optional<placement::PodGate> gate = core_.gate(view, pod);
  if (!gate && loop_.sealing && placement::asks_for_devices(pod))
    gate = placement::PodGate{placement::PodGate::Kind::DevicesSealed};
  const std::string_view reason = gate ? placement::condition_reason(*gate) : "";
  if (!reason.empty()) {
    const std::string sentence(placement::gate_sentence(*gate));
    loop_.conditions.want(view,
                          {client::key_of(api::Kind::Pod, pod.meta), pod.meta.uid,
                           pod_unscheduled(pod, std::string(reason), sentence, now), sentence},
                          now);
  }
  return gate;
}

void EntryGate::enqueue(const QueuedEntity& entry, Time now) {
  if (const std::uint32_t failures = loop_.failures.repeated(entry.key, now); failures > 0)
    loop_.queue.add_after_failures(entry.key, entry.priority, entry.since, failures, now);
  else
    loop_.queue.add(entry.key, entry.priority, entry.since);
}

bool EntryGate::follow_nomination(const client::View& view, const EntityKey& key, const api::Pod& pod,
                                  Time now) {
  if (loop_.evictions.find(key)) return loop_.nominations.forget(key);
  const auto find_room = [&]() -> std::optional<model::Hold> {
    const SchedulingContext context{view, loop_.cluster, core_.allocator(), now,
                                    loop_.options.binding_timeout};
    model::Ledger::Transaction transaction(loop_.cluster.ledger());
    transaction.lift_holds(pod.priority, {.own = loop_.nominations.hold_of(key)});
    const auto before = transaction.savepoint();
    if (!core_.place_nominated(context, pod, transaction)) return std::nullopt;
    return loop_.cluster.hold_for(transaction.take_since(before), pod.priority);
  };
  return loop_.nominations.follow(
      loop_.cluster, key, pod, placement::asks_for_devices(pod) ? Nominations::FindRoom(find_room) : nullptr);
}

void EntryGate::reconsider_pod(const client::View& view, const EntityKey& key, Time now) {
  const api::Pod* pod = view.pods.find(key.ns, key.name);
  if (pod && loop_.wants_to_grow(*pod)) return loop_.queue.add(key, pod->priority, pod->meta.created);
  if (!pod || !pod->group.empty() || !loop_.wants_place(view, *pod)) {
    if (loop_.nominations.forget(key)) loop_.queue.wake(kEventRoomFreed, now);
    loop_.forget_room(key, now);
    return loop_.queue.erase(key);
  }
  if (follow_nomination(view, key, *pod, now)) loop_.queue.wake(kEventRoomFreed, now);
  const std::optional<placement::PodGate> closed = gate(view, *pod, now);
  if (!closed) return enqueue(placement::queue_entry(*pod), now);
  loop_.forget_room(key, now);
  loop_.queue.gate(key, pod->priority, pod->meta.created);
  log_gate(key, *closed, now);
}

void EntryGate::log_gate(const EntityKey& key, placement::GateReason gate, Time now) {
  if (decisions_) decisions_->gated({now, kind_of(key), key.ns, key.name, std::move(gate)});
}

placement::GroupQuestions EntryGate::questions() const {
  return {[this](const api::Pod& pod) { return loop_.ours(pod); },
          [this](const std::string& decision) {
            const auto found = loop_.in_flight.find(decision);
            return found != loop_.in_flight.end() && found->second.barrier;
          },
          [this](const std::string& decision) { return loop_.written_gangs.contains(decision); }};
}

bool EntryGate::is_unsettled(const GroupInput& input) {
  return input.unsettled && !has(KnownDefect::UnsettledGangDecidedAgain);
}

bool EntryGate::is_unsettled(const TreeInput& input) {
  return std::ranges::any_of(input.nodes,
                             [](const placement::TreeNode& node) { return is_unsettled(node.group); });
}

GroupMembers EntryGate::members_of(const client::View& view, const EntityKey& key) const {
  return group_members(view, loop_.cluster, questions(), key.ns, key.name);
}

void EntryGate::tell_scheduled(const client::View& view, const api::ObjectKey& key,
                               const api::GangRegister& group, Duration grace, Time now) {
  if (api::is_scheduled(group)) return loop_.conditions.drop(key);
  WantedCondition scheduled{key, group.meta->uid, api::scheduled_condition(group, true, "Scheduled", "", now),
                            ""};
  scheduled.grace = grace;
  loop_.conditions.want(view, std::move(scheduled), now);
}

void EntryGate::tell_held(const client::View& view, const api::ObjectKey& key, const api::GangRegister& group,
                          const placement::GroupGate& held, Time now) {
  if (api::is_scheduled(group)) return loop_.conditions.drop(key);  // once told, for ever
  const std::string why = placement::gate_words(held);
  loop_.conditions.want(
      view,
      {key, group.meta->uid,
       api::scheduled_condition(group, false, "Unschedulable", "pod group waits: " + why, now), why},
      now);
}

// Sets the condition once minCount members (without a minimum: one) are bound or committed. The commit of a
// gang sets it too, but members may be seen bound before the group is seen committed.
void EntryGate::tell_group_scheduled(const client::View& view, const api::PodGroup& group,
                                     const GroupMembers& members, Time now) {
  const std::int32_t early = has(KnownDefect::GroupScheduledBeforeItIs) ? members.at_barrier : 0;
  const std::int32_t minimum = std::max(1, group.minimum());
  if (std::max(members.scheduled + early, members.ever_bound) < minimum) return;
  tell_scheduled(view, client::key_of(api::Kind::PodGroup, group.meta), group,
                 minimum > 1 ? kCommitTellsWithin : Duration(), now);
}

void EntryGate::reconsider_group(const client::View& view, const EntityKey& key, Time now) {
  counts_.forget(key);
  if (loop_.entry_of_group(view, key.ns, key.name) != key) return leave_queue(key, now);
  const GroupMembers members = members_of(view, key);
  for (const api::BindRequest* request : members.broken) loop_.withdrawals.want(*request, now);
  const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
  if (group) tell_group_scheduled(view, *group, members, now);
  const bool begun = has(KnownDefect::BegunGangNotCompleted) && members.ever_bound > 0;
  if (members.waiting.empty() || begun) return leave_queue(key, now);
  std::optional<placement::GateReason> closed = gate(view, key, group, members, now);
  if (group) {
    std::optional<placement::GroupGate> held = placement::held_by_parent(*group);
    if (held) tell_held(view, client::key_of(api::Kind::PodGroup, group->meta), *group, *held, now);
    if (!held) held = policy_gate(view, *group, now);
    if (held && !closed) closed = *std::move(held);
  }
  const QueuedEntity entry = placement::queue_entry(key, group, members);
  if (group) note_counts(key, *group, members, closed);
  if (!closed) return enqueue(entry, now);
  loop_.forget_room(key, now);  // a gated entry gets no reservation
  loop_.queue.gate(key, entry.priority, entry.since);
  log_gate(key, *closed, now);
}

bool EntryGate::join(const client::View& view, const EntityKey& key, const std::vector<std::string>& pods,
                     Time now) {
  const MemberCounts::CountedEntity* entry = counts_.find(key);
  if (!entry || (!entry->held && !loop_.queue.contains(key))) return false;
  std::set<std::string_view> joined;
  const std::optional<placement::GroupGate> before = entry->held;
  for (const std::string& name : pods) {
    const api::Pod* pod = view.pods.find(key.ns, name);
    const bool waits = pod && !pod->group.empty() && loop_.wants_place(view, *pod) && !gate(view, *pod, now);
    if (!waits || !counts_.join(key, pod->group)) return false;
    joined.insert(pod->group);
  }
  if (!entry->held) return true;
  log_gate(key, *entry->held, now);
  if (key.kind == EntityKind::Group) return true;
  // The gate may name the group: then the other groups say the same.
  for (const auto& [group, members] : entry->groups)
    if (members.waits && (joined.contains(group) || entry->held != before))
      log_gate(EntityKey{key.ns, group, EntityKind::Group}, *entry->held, now);
  if (const api::CompositePodGroup* root = view.composite_groups.find(key.ns, key.name))
    tell_held(view, client::key_of(api::Kind::CompositePodGroup, root->meta), *root, *entry->held, now);
  return true;
}

void EntryGate::note_counts(const EntityKey& key, const api::PodGroup& group, const GroupMembers& members,
                            const std::optional<placement::GateReason>& closed) {
  const auto* held = closed ? std::get_if<placement::GroupGate>(&*closed) : nullptr;
  const bool is_short = held && held->kind == placement::GroupGate::Kind::TooFewMembers;
  if (!members.joinable.empty() || (closed && !is_short)) return;
  counts_.note(key, {held ? std::optional(*held) : std::nullopt,
                     {{key.name, {.alive = members.alive, .wanted = group.minimum()}}}});
}

// A fault is told, but not that owners are being read: that takes a moment.
template <class Group>
std::optional<placement::GroupGate> EntryGate::policy_gate(const client::View& view, const Group& group,
                                                           Time now) {
  constexpr bool kIsGroup = std::is_same_v<Group, api::PodGroup>;
  const GroupKey asking{group.meta.ns, group.meta.name,
                        kIsGroup ? EntityKind::Group : EntityKind::CompositeGroup};
  const auto owners = [&](const std::string& ns, const api::OwnerReference& object) {
    return loop_.owners.ask(ns, object, asking, now);
  };
  const std::optional<placement::WishFault> fault = placement::wish_of(view, owners, group).fault;
  if (!fault) return std::nullopt;
  placement::GroupGate gate = placement::gate_of(*fault);
  const api::Kind kind = kIsGroup ? api::Kind::PodGroup : api::Kind::CompositePodGroup;
  if (fault->kind != placement::WishFault::Kind::OwnersUnread)
    tell_held(view, client::key_of(kind, group.meta), group, gate, now);
  return gate;
}
template std::optional<placement::GroupGate> EntryGate::policy_gate(const client::View&, const api::PodGroup&,
                                                                    Time);
template std::optional<placement::GroupGate> EntryGate::policy_gate(const client::View&,
                                                                    const api::CompositePodGroup&, Time);

void EntryGate::leave_queue(const EntityKey& key, Time now) {
  loop_.forget_room(key, now);
  loop_.queue.erase(key);
}

void EntryGate::gate_members(const client::View& view, const GroupMembers& members,
                             std::optional<placement::GateReason>& closed, Time now) {
  if (members.unsettled && !closed && !has(KnownDefect::UnsettledGangDecidedAgain))
    closed = *members.unsettled;
  for (const api::Pod* pod : members.waiting)
    if (auto held = gate(view, *pod, now)) closed = placement::MemberGate{pod->meta.name, *std::move(held)};
}

// The group itself counts last.
std::optional<placement::GateReason> EntryGate::gate(const client::View& view, const EntityKey& key,
                                                     const api::PodGroup* group, const GroupMembers& members,
                                                     Time now) {
  std::optional<placement::GateReason> closed;
  gate_members(view, members, closed, now);
  if (auto held = placement::group_gate(key, group, members); held && (!closed || !group))
    closed = *std::move(held);
  if (const std::size_t left = loop_.replacements.left_of_whole(view, key); left > 0 && !closed)
    closed = placement::GroupGate{placement::GroupGate::Kind::BeingMoved, key.name, 0,
                                  static_cast<std::int32_t>(left)};
  return closed;
}

void EntryGate::reconsider(const client::View& view, Time now) {
  for (const auto& [key, joined] : loop_.dirty.take()) {
    if (!joined.empty() && join(view, key, joined, now)) continue;
    if (key.kind == EntityKind::Pod)
      reconsider_pod(view, key, now);
    else if (key.kind == EntityKind::CompositeGroup)
      reconsider_tree(view, key, now);
    else
      reconsider_group(view, key, now);
  }
}

}  // namespace berth::scheduling
