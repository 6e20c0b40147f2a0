// The part of Scheduler that turns a group's outcome into writes.
#include <algorithm>

#include "api/types/gang_decision.h"
#include "api/types/group_domain.h"
#include "base/known_defects.h"
#include "placement/refusal/kubernetes_words.h"
#include "scheduling/scheduler.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

// Whether the condition that the group is scheduled is written, or will be: enough members have a place.
bool is_scheduled(const GroupInput& input) {
  return has_minimum(input) || api::is_scheduled(*input.group);
}

}  // namespace

std::optional<GroupInput> Scheduler::input_of(const SchedulingContext& context, const api::PodGroup& group,
                                              Time now) const {
  placement::WishAnswer answer = placement::wish_of(context.view, loop_.owners.questions(), group);
  if (answer.fault) return std::nullopt;
  GroupInput input = placement::group_input(
      group, gate_.members_of(context.view, {group.meta.ns, group.meta.name, EntityKind::Group}),
      [&](const api::Pod& pod) { return avoid_set(pod, now); });
  placement::set_wish(input, std::move(answer.wish));
  if (input.wish && input.wish->replaces_failed_nodes) placement::avoid_failing_nodes(loop_.cluster, input);
  return input;
}

// What was known of the policies of an entry is forgotten (OwnerReads): its gate asks again. Or the writes of
// its decision are in flight, and members that these leave out were woken: its gate closes.
client::Effects Scheduler::gate_again(const client::View& view, const EntityKey& key, Time now) {
  loop_.dirty.insert(key);
  gate_.reconsider(view, now);
  return {};
}

client::Effects Scheduler::decide_group(const SchedulingContext& given, QueuedEntity entry,
                                        const api::PodGroup& group, Time now) {
  const std::optional<GroupInput> found = input_of(given, group, now);
  if (!found || EntryGate::is_unsettled(*found)) return gate_again(given.view, entry.key, now);
  const GroupInput& input = *found;
  if (input.waiting.empty()) return {};
  const SuccessorRooms::Passed rooms = loop_.rooms.passed_by(input.waiting);
  const SchedulingContext context = rooms.shown_in(given);
  std::string id = next_decision(entry.key, now);
  if (!input.joins.empty()) id = input.joins;
  const Preempting preempting = this->preempting(context, entry.key, group.meta);
  const PreemptionUnderWay* own = loop_.evictions.find(entry.key);
  model::Ledger::Transaction transaction(loop_.cluster.ledger());
  transaction.lift_holds(
      group.priority, {own ? std::optional(own->hold.id()) : loop_.held_for(entry.key),
                       loop_.overtaking.open_to(entry), backfilled_by(context, input.waiting), rooms.holds});
  const GroupOutcome outcome = core_.decide_group(context, input, transaction, preempting);
  if (outcome.kind == GroupOutcome::Kind::Placed)
    return bind_group(context, std::move(entry), input, outcome, transaction, id, now);
  transaction.end();
  return refuse_group(context, std::move(entry), input, outcome, id, now);
}

client::Effects Scheduler::bind_group(const SchedulingContext& context, QueuedEntity entry,
                                      const GroupInput& input, const GroupOutcome& outcome,
                                      model::Ledger::Transaction& transaction, const std::string& id,
                                      Time now) {
  const api::PodGroup& group = *input.group;
  loop_.cluster.commit(transaction, id);
  InFlight flight;
  DecisionRecord record{id, now, DecisionKind::Group, group.meta.ns, group.meta.name};
  record.uid = group.meta.uid;
  record.attempts = entry.attempts;
  record.swept = entry.swept;
  record.refusal = outcome.refusal;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const placement::MemberOutcome& member = outcome.members[i];
    const api::Pod& pod = *input.waiting[i];
    if (!member.node.valid()) {
      if (!member.refusal) continue;  // the sizes of its segments leave it out
      const SchedulingFailure failure = failure_of(*member.refusal, id, kMemberRewordAfter);
      loop_.conditions.want(context.view, refused_pod(pod, failure, now), now);
      continue;
    }
    chosen.push_back(i);
    flight.member_uids.push_back(pod.meta.uid);
    record.placed.push_back({pod.meta.name, loop_.cluster.node(member.node).name});
    loop_.conditions.drop(client::key_of(api::Kind::Pod, pod.meta));
    loop_.forget_successor_room(pod, member.node, now);
  }
  // Members wait for each other until the group has its minimum; with a minimum of one they never do.
  const std::int32_t minimum = group.minimum();
  flight.barrier = !input.joins.empty() || (input.scheduled < minimum && minimum > 1) ||
                   (has(KnownDefect::BasicGroupAllOrNothing) && chosen.size() > 1);
  client::Effects effects;
  effects.decision_id = id;
  effects.stop_on_failure = flight.barrier;
  const std::size_t joined =
      input.joins.empty() ? 0 : context.view.bind_request_count_of_decision(input.joins);
  const auto size = static_cast<std::int32_t>(chosen.size() + joined);
  const bool holds = has(KnownDefect::GangsHoldEachOther);
  api::BindGroup bind_group{group.meta.name, group.meta.uid,
                            flight.barrier ? (holds ? std::max(size, minimum) : size) : 1};
  std::set<std::string> renewed;
  for (const std::size_t i : chosen) {
    const placement::MemberOutcome& member = outcome.members[i];
    const BindRequestDraft binding{
        input.waiting[i], loop_.cluster.node(member.node).name,
        loop_.cluster.named(*input.waiting[i], model::value_of(member.reservation)),
        loop_.options.backoff_limit};
    bind_group.domain = domain_of(input, member.node);
    effects.chains.push_back(bind_chain(context.view, binding, bind_group, id, loop_));
    renew_reservations(context.view, binding, id, renewed, effects.chains.back());
  }
  log(std::move(record));
  loop_.overtaking.placed(entry, now);
  loop_.forget_room(entry.key, now);
  flight.entry = entry;
  if (chosen.size() < outcome.members.size()) {
    flight.rest_evicts = core_.may_evict(context, input);
    put_back(context, std::move(entry), input, nullptr, now);
  }
  loop_.in_flight[id] = std::move(flight);
  return effects;
}

// What later members of the group keep to.
std::string Scheduler::domain_of(const GroupInput& input, model::NodeId node) const {
  if (loop_.options.placements != placement::Placements::ByTopology) return "";
  return api::record_domain(input.levels, loop_.cluster.node(node).live->meta.labels);
}

// No event wakes the group when nodes or devices stop being avoided, so it backs off instead.
void Scheduler::put_back(const SchedulingContext& context, QueuedEntity entry,
                         std::span<const GroupInput* const> inputs, const placement::Refusal* refusal,
                         Time now) {
  std::vector<const api::Pod*> waiting;
  for (const GroupInput* input : inputs) {
    const bool avoids = !input->avoid.empty() || !input->hidden.empty();
    if (avoids && !has(KnownDefect::AvoidedNodesWaitForSweep))
      return loop_.queue.put_after_error(std::move(entry), now);
    waiting.insert(waiting.end(), input->waiting.begin(), input->waiting.end());
  }
  placement::WaitsFor wait{core_.interests_of(context, waiting)};
  if (refusal) DecisionCore::add_bindings(*refusal, entry.priority, wait.hints);
  // Of those that evict others each has nodes of its own.
  const bool has_answer = refusal && refusal->result == placement::DecisionResult::Unschedulable &&
                          refusal->preemption != placement::Preemption::Found &&
                          refusal->preemption != placement::Preemption::Waiting;
  if (has_answer && inputs.size() == 1) wait.alike = core_.likeness_of(context, *inputs.front());
  loop_.queue.put_unschedulable(std::move(entry), std::move(wait), now);
}

void Scheduler::put_back(const SchedulingContext& context, QueuedEntity entry, const GroupInput& input,
                         const placement::Refusal* refusal, Time now) {
  const GroupInput* const alone[] = {&input};
  put_back(context, std::move(entry), alone, refusal, now);
}

client::Effects Scheduler::refuse_group(const SchedulingContext& context, QueuedEntity entry,
                                        const GroupInput& input, const GroupOutcome& outcome,
                                        const std::string& id, Time now) {
  const placement::Refusal& refusal = *outcome.refusal;
  const bool failed = refusal.result == DecisionResult::Error;
  client::Effects effects;
  effects.decision_id = id;
  DecisionRecord record{id, now, DecisionKind::Group, input.group->meta.ns, input.group->meta.name};
  record.uid = input.group->meta.uid;
  preempt(context, entry.key, input, outcome, id, effects);
  for (std::size_t i = 0; i < input.waiting.size(); ++i) {
    const placement::MemberOutcome& member = outcome.members[i];
    const SchedulingFailure failure = failure_of_member(member, refusal, id);
    loop_.conditions.want(context.view,
                          refused_pod(*input.waiting[i], failure, now,
                                      loop_.evictions.place_of(entry.key, input.waiting[i]->meta.name)),
                          now);
    for (const client::Chain& chain : member.deallocations) add_once(effects, chain);
  }
  if (!effects.chains.empty()) deallocating_[id] = entry.key;
  if (!is_scheduled(input)) {
    const std::string sentence = placement::kubernetes_sentence(refusal);
    const std::string reason(placement::condition_reason(refusal.result));
    loop_.conditions.want(
        context.view,
        {client::key_of(api::Kind::PodGroup, input.group->meta), input.group->meta.uid,
         api::scheduled_condition(*input.group, false, reason, sentence, now), wording_class(sentence)},
        now);
  }
  record.result = refusal.result;
  record.refusal = outcome.refusal;
  log(std::move(record));
  if (!failed && !is_scheduled(input)) loop_.overtaking.refused(entry);
  if (failed)
    loop_.queue.put_after_error(std::move(entry), now);
  else
    put_back(context, std::move(entry), input, &refusal, now);
  return effects;
}

}  // namespace berth::scheduling
