// The scheduler's half that turns a group's outcome into writes.
#include <algorithm>

#include "scheduling/scheduler.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

constexpr std::uint32_t kGroupHints = kWakeNodeAdded | kWakeNodeChanged | kWakePodGone | kWakeSliceChanged |
                                      kWakeClassChanged | kWakeClaimChanged | kWakeGroupChanged |
                                      kWakeMemberAdded;
std::string preemption_sentence(const api::PodGroup& group) {
  return group.preemption_policy == "Never"
             ? ", pod group preemption: not eligible due to preemptionPolicy=Never."
             : ", pod group preemption: No preemption victims found for incoming preemptor";
}

// Members may share a claim.
void add_once(client::Effects& effects, const client::Chain& chain) {
  for (const client::Chain& one : effects.chains)
    if (one.key == chain.key) return;
  effects.chains.push_back(chain);
}

void tell(client::Effects& effects, const api::Pod& pod, const std::string& reason,
          const std::string& message, const std::string& id, Time now) {
  add(effects, pod_condition(pod, reason, message, now));
  effects.events.push_back(failed_scheduling(pod, message, id));
}

// Enough members are placed, and some of them not bound yet: that the group is scheduled is about to be
// written.
bool is_being_bound(const GroupInput& input) {
  const auto minimum = static_cast<std::size_t>(input.group->gang_min.value_or(1));
  return input.placed.size() >= minimum && std::any_of(input.placed.begin(), input.placed.end(),
                                                       [](const api::Pod* pod) { return !pod->bound(); });
}

}  // namespace

GroupInput Scheduler::group_input(const World& world, const api::PodGroup& group, Time now) const {
  GroupInput input;
  input.group = &group;
  for (const api::Pod* pod : world.view.pods_of_group(group.meta.ns, group.meta.name)) {
    if (pod->finished() || pod->meta.deleting()) continue;
    const PodId id = cluster_.find_pod(pod->meta.ns, pod->meta.name);
    if (const NodeId node = cluster_.ledger().node_of(id); node.valid()) {
      input.placed.push_back(pod);
      input.occupied.push_back(node);
    } else if (wants_place(world.view, *pod)) {
      input.waiting.push_back(pod);
      if (auto nodes = avoidance_.nodes(pod->meta.uid, now); !nodes.empty())
        input.avoid[pod->meta.uid] = std::move(nodes);
      for (const model::DeviceId device : avoidance_.devices(cluster_, *pod, now))
        input.hidden.push_back(device);
    }
  }
  std::sort(input.waiting.begin(), input.waiting.end(), goes_before);
  return input;
}

client::Effects Scheduler::decide_group(const World& world, Entry entry, const api::PodGroup& group,
                                        Time now) {
  const GroupInput input = group_input(world, group, now);
  if (input.waiting.empty()) return {};
  const std::string id = next_decision(entry.key, now);
  model::Ledger::Transaction transaction(cluster_.ledger());
  for (const model::DeviceId device : input.hidden) transaction.hide(device);
  const GroupOutcome outcome = group_cycle_.run(world, input, transaction);
  if (outcome.kind == GroupOutcome::Kind::Placed)
    return bind_group(world, std::move(entry), input, outcome, transaction, id, now);
  return refuse_group(std::move(entry), input, outcome, id, now);
}

client::Effects Scheduler::bind_group(const World& world, Entry entry, const GroupInput& input,
                                      const GroupOutcome& outcome, model::Ledger::Transaction& transaction,
                                      const std::string& id, Time now) {
  const api::PodGroup& group = *input.group;
  cluster_.commit(transaction, id);
  InFlight flight;
  DecisionRecord record{id, now, DecisionKind::Group, group.meta.ns, group.meta.name};
  record.reason = "Scheduled";
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const MemberOutcome& member = outcome.members[i];
    if (member.node.valid()) {
      flight.nodes.push_back(member.node);
      domains_.use_changed(member.node);
      record.placed.push_back({input.waiting[i]->meta.name, cluster_.node(member.node).name});
    } else {
      tell(flight.afterwards, *input.waiting[i], "Unschedulable", member.sentence + " " + member.explanation,
           id, now);
    }
  }
  const api::BindGroup bind_group{group.meta.name, group.meta.uid,
                                  static_cast<std::int32_t>(flight.nodes.size())};
  client::Effects effects;
  effects.decision_id = id;
  effects.all_or_undo = true;
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const MemberOutcome& member = outcome.members[i];
    if (!member.node.valid()) continue;
    const Binding binding{input.waiting[i], cluster_.node(member.node).name,
                          claim_allocations(world, member.claims), member.node_allocatable,
                          options_.backoff_limit};
    effects.chains.push_back(bind_chain(binding, bind_group, id));
  }
  add(flight.afterwards, group_condition(group, true, "Scheduled", "", now));
  log(std::move(record));
  flight.entry = entry;
  if (flight.nodes.size() < outcome.members.size())
    queue_.put_unschedulable(std::move(entry), kGroupHints, now);
  in_flight_[id] = std::move(flight);
  return effects;
}

client::Effects Scheduler::refuse_group(Entry entry, const GroupInput& input, const GroupOutcome& outcome,
                                        const std::string& id, Time now) {
  const bool failed = outcome.kind == GroupOutcome::Kind::Error;
  const std::string reason = failed ? "SchedulerError" : "Unschedulable";
  const std::string own = failed ? "" : " " + outcome.explanation;
  const std::string group_message =
      failed ? outcome.message : outcome.message + preemption_sentence(*input.group) + own;
  // Members that would have had a node, or were not asked, hear what became of the group.
  const bool nowhere = outcome.message == "no feasible placements found";
  const std::string shared =
      failed || nowhere ? outcome.message + own : "pod group is unschedulable, " + group_message;
  client::Effects effects;
  effects.decision_id = id;
  DecisionRecord record{id, now, DecisionKind::Group, input.group->meta.ns, input.group->meta.name};
  for (std::size_t i = 0; i < input.waiting.size(); ++i) {
    const MemberOutcome& member = outcome.members[i];
    tell(effects, *input.waiting[i], reason,
         member.sentence.empty() ? shared : member.sentence + " " + member.explanation, id, now);
    for (const client::Chain& chain : member.deallocations) add_once(effects, chain);
    if (record.refused.empty()) record.refused = member.refused;
  }
  if (!is_being_bound(input)) add(effects, group_condition(*input.group, false, reason, group_message, now));
  record.result = failed ? DecisionResult::Error : DecisionResult::Unschedulable;
  record.reason = reason;
  record.message = group_message;
  record.explanation = failed ? "" : outcome.explanation;
  log(std::move(record));
  if (failed || !input.avoid.empty() || !input.hidden.empty()) {
    queue_.put_after_error(std::move(entry), now);
  } else {
    queue_.put_unschedulable(std::move(entry), kGroupHints, now);
  }
  return effects;
}

}  // namespace berth::scheduling
