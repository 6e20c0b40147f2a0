// The part of Scheduler that turns the outcome of a tree of groups into writes: one decision for all of it.
#include <algorithm>
#include <functional>

#include "api/types/gang_decision.h"
#include "placement/refusal/berth_words.h"
#include "placement/refusal/kubernetes_words.h"
#include "placement/replacement/tree_domains.h"
#include "scheduling/scheduler.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

using placement::MemberOutcome;
using placement::TreeNode;
using placement::TreeNodeOutcome;

bool has_place(const TreeOutcome& outcome, std::size_t node, std::size_t member) {
  const TreeNodeOutcome& own = outcome.nodes[node];
  return outcome.kind == GroupOutcome::Kind::Placed && own.placed && own.members[member].node.valid();
}

struct ChosenMember {
  std::size_t node = 0;  // of the tree
  std::size_t member = 0;
};

std::vector<ChosenMember> chosen_members(const TreeInput& input, const TreeOutcome& outcome) {
  std::vector<ChosenMember> chosen;
  for (std::size_t i = 0; i < input.nodes.size(); ++i)
    for (std::size_t j = 0; j < input.nodes[i].group.waiting.size(); ++j)
      if (has_place(outcome, i, j)) chosen.push_back({i, j});
  return chosen;
}

std::vector<const api::Pod*> waiting_members(const TreeInput& input) {
  std::vector<const api::Pod*> all;
  for (const TreeNode& node : input.nodes)
    all.insert(all.end(), node.group.waiting.begin(), node.group.waiting.end());
  return all;
}

// Which nodes have their minimum; `has`: of a PodGroup.
std::vector<bool> with_minimum(const TreeInput& input, const std::function<bool(const GroupInput&)>& has) {
  std::vector<bool> found(input.nodes.size());
  for (std::size_t i = input.nodes.size(); i-- > 0;) {
    const TreeNode& node = input.nodes[i];
    const auto complete = std::count_if(node.children.begin(), node.children.end(),
                                        [&](std::size_t child) { return found[child]; });
    found[i] = node.is_group() ? has(node.group) : complete >= node.minimum();
  }
  return found;
}

// Members wait for each other until each group that they are in has its minimum; with a minimum of one they
// never do.
bool wait_for_each_other(const TreeInput& input, const std::vector<ChosenMember>& chosen) {
  const std::vector<bool> complete = with_minimum(
      input, [](const GroupInput& group) { return group.scheduled >= std::max(1, group.group->minimum()); });
  return std::any_of(chosen.begin(), chosen.end(), [&](const ChosenMember& one) {
    for (std::optional<std::size_t> at = one.node; at; at = input.nodes[*at].parent)
      if (!complete[*at] && input.nodes[*at].minimum() > 1) return true;
    return false;
  });
}

const std::string& joined_decision(const TreeInput& input) {
  static const std::string kNone;
  for (const TreeNode& node : input.nodes)
    if (!node.group.joins.empty()) return node.group.joins;
  return kNone;
}

api::GangRegister register_of(const TreeNode& node) {
  return node.is_group() ? api::GangRegister(*node.group.group) : api::GangRegister(*node.composite);
}

api::ObjectKey key_of(const TreeNode& node) {
  return client::key_of(node.is_group() ? api::Kind::PodGroup : api::Kind::CompositePodGroup, node.meta());
}

// Why members of the node have no place: its own refusal, or that of all.
const placement::Refusal* refusal_of(const TreeOutcome& outcome, std::size_t node) {
  const TreeNodeOutcome& own = outcome.nodes[node];
  return own.refusal ? own.refusal.get() : outcome.refusal.get();
}

}  // namespace

std::optional<TreeInput> Scheduler::input_of_tree(const SchedulingContext& context, const EntityKey& root,
                                                  Time now) const {
  TreeInput input = placement::tree_input(gate_.tree_of(context.view, root),
                                          [&](const api::Pod& pod) { return avoid_set(pod, now); });
  if (!placement::add_wishes(context.view, loop_.owners.questions(), input)) return std::nullopt;
  placement::avoid_failing_nodes(loop_.cluster, input);
  return input;
}

client::Effects Scheduler::decide_tree(const SchedulingContext& given, QueuedEntity entry, Time now) {
  const std::optional<TreeInput> found = input_of_tree(given, entry.key, now);
  if (!found || EntryGate::is_unsettled(*found)) return gate_again(given.view, entry.key, now);
  const TreeInput& input = *found;
  const std::vector<const api::Pod*> waiting = waiting_members(input);
  if (waiting.empty()) return {};
  SuccessorRooms::Passed rooms = loop_.rooms.passed_by(waiting);
  for (const TreeNode& node : input.nodes)
    if (node.is_group())
      loop_.replacements.add_holds({node.meta().ns, node.meta().name, EntityKind::Group}, rooms.holds);
  const SchedulingContext context = rooms.shown_in(given);
  std::string id = next_decision(entry.key, now);
  if (const std::string& joined = joined_decision(input); !joined.empty()) id = joined;
  const Preempting preempting = this->preempting(context, entry.key, input.nodes.front().meta());
  const PreemptionUnderWay* own = loop_.evictions.find(entry.key);
  model::Ledger::Transaction transaction(loop_.cluster.ledger());
  transaction.lift_holds(entry.priority,
                         {own ? std::optional(own->hold.id()) : loop_.held_for(entry.key),
                          loop_.overtaking.open_to(entry), backfilled_by(context, waiting), rooms.holds});
  const TreeOutcome outcome = core_.decide_tree(context, input, transaction, preempting);
  if (outcome.kind == GroupOutcome::Kind::Placed && !chosen_members(input, outcome).empty())
    return bind_tree(context, std::move(entry), input, outcome, transaction, id, now);
  transaction.end();
  return refuse_tree(context, std::move(entry), input, outcome, id, now);
}

client::Effects Scheduler::bind_tree(const SchedulingContext& context, QueuedEntity entry,
                                     const TreeInput& input, const TreeOutcome& outcome,
                                     model::Ledger::Transaction& transaction, const std::string& id,
                                     Time now) {
  loop_.cluster.commit(transaction, id);
  const std::vector<ChosenMember> chosen = chosen_members(input, outcome);
  const std::string& joins = joined_decision(input);
  InFlight flight;
  flight.barrier = !joins.empty() || wait_for_each_other(input, chosen);
  client::Effects effects;
  effects.decision_id = id;
  effects.stop_on_failure = flight.barrier;
  const std::size_t joined = joins.empty() ? 0 : context.view.bind_request_count_of_decision(joins);
  const auto size = static_cast<std::int32_t>(chosen.size() + joined);
  const api::ObjectMeta& root = input.nodes.front().meta();
  std::set<std::string> renewed;
  std::size_t waiting = 0;
  for (const TreeNode& node : input.nodes) waiting += node.group.waiting.size();
  for (const ChosenMember& one : chosen) {
    const GroupInput& group = input.nodes[one.node].group;
    const api::Pod& pod = *group.waiting[one.member];
    const MemberOutcome& member = outcome.nodes[one.node].members[one.member];
    const BindRequestDraft binding{&pod, loop_.cluster.node(member.node).name,
                                   loop_.cluster.named(pod, model::value_of(member.reservation)),
                                   loop_.options.backoff_limit};
    api::BindGroup bind_group{group.group->meta.name, group.group->meta.uid, flight.barrier ? size : 1};
    if (flight.barrier) bind_group.root = {root.name, root.uid};
    bind_group.domain = domain_of(group, member.node);
    effects.chains.push_back(bind_chain(context.view, binding, bind_group, id, loop_));
    renew_reservations(context.view, binding, id, renewed, effects.chains.back());
    flight.member_uids.push_back(pod.meta.uid);
    loop_.conditions.drop(client::key_of(api::Kind::Pod, pod.meta));
    loop_.forget_successor_room(pod, member.node, now);
  }
  loop_.overtaking.placed(entry, now);
  loop_.forget_room(entry.key, now);
  tell_refused(context, entry.key, input, outcome, id, now);
  log_tree(entry, input, outcome, id, now);
  flight.entry = entry;
  if (chosen.size() < waiting) {
    api::PodGroup as_group;
    flight.rest_evicts = core_.may_evict(context, placement::as_one_group(input, as_group));
    put_back(context, std::move(entry), input, nullptr, now);
  }
  loop_.in_flight[id] = std::move(flight);
  return effects;
}

void Scheduler::put_back(const SchedulingContext& context, QueuedEntity entry, const TreeInput& input,
                         const placement::Refusal* refusal, Time now) {
  std::vector<const GroupInput*> groups;
  for (const TreeNode& node : input.nodes)
    if (node.is_group()) groups.push_back(&node.group);
  put_back(context, std::move(entry), groups, refusal, now);
}

// The conditions of what has no place: members, and groups without their minimum.
void Scheduler::tell_refused(const SchedulingContext& context, const EntityKey& key, const TreeInput& input,
                             const TreeOutcome& outcome, const std::string& id, Time now) {
  const std::vector<bool> complete = with_minimum(input, has_minimum);
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    const TreeNode& node = input.nodes[i];
    const TreeNodeOutcome& own = outcome.nodes[i];
    const bool placed = outcome.kind == GroupOutcome::Kind::Placed && own.placed;
    const placement::Refusal* why = refusal_of(outcome, i);
    for (std::size_t j = 0; j < node.group.waiting.size(); ++j) {
      const MemberOutcome& member = own.members[j];
      if (has_place(outcome, i, j) || (!why && !member.refusal)) continue;
      // A group that is placed says nothing about the members that it leaves out.
      const bool alone = !why || (placed && member.refusal);
      const SchedulingFailure failure =
          alone ? failure_of(*member.refusal, id, kMemberRewordAfter) : failure_of_member(member, *why, id);
      const api::Pod& pod = *node.group.waiting[j];
      loop_.conditions.want(
          context.view, refused_pod(pod, failure, now, loop_.evictions.place_of(key, pod.meta.name)), now);
    }
    const api::GangRegister group = register_of(node);
    if (placed || !why || complete[i] || api::is_scheduled(group)) continue;
    const std::string sentence = placement::kubernetes_sentence(*why);
    // Kubernetes has no sentence for a composite group, so nobody matches it.
    const std::string told = node.is_group() ? sentence : placement::message_of(*why);
    const std::string reason(placement::condition_reason(why->result));
    loop_.conditions.want(
        context.view,
        {key_of(node), group.meta->uid, api::scheduled_condition(group, false, reason, told, now),
         wording_class(sentence)},
        now);
  }
}

// One record for the tree, and one for each group that had members to place.
void Scheduler::log_tree(const QueuedEntity& entry, const TreeInput& input, const TreeOutcome& outcome,
                         const std::string& id, Time now) {
  const api::ObjectMeta& root = input.nodes.front().meta();
  DecisionRecord all{id, now, DecisionKind::CompositeGroup, root.ns, root.name};
  all.uid = root.uid;
  all.refusal = outcome.refusal;
  all.attempts = entry.attempts;
  all.swept = entry.swept;
  const bool refused = outcome.kind != GroupOutcome::Kind::Placed;
  if (refused && outcome.refusal) all.result = outcome.refusal->result;
  std::vector<DecisionRecord> groups;
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    const TreeNode& node = input.nodes[i];
    if (node.group.waiting.empty()) continue;
    DecisionRecord own{id, now, DecisionKind::Group, node.meta().ns, node.meta().name};
    own.uid = node.meta().uid;
    own.parent = node.group.group->parent;
    own.refusal = outcome.nodes[i].refusal;
    if (!own.refusal && (refused || !outcome.nodes[i].placed)) own.refusal = outcome.refusal;
    for (std::size_t j = 0; j < node.group.waiting.size(); ++j)
      if (has_place(outcome, i, j)) {
        const model::NodeId at = outcome.nodes[i].members[j].node;
        own.placed.push_back({node.group.waiting[j]->meta.name, loop_.cluster.node(at).name});
      }
    if (own.placed.empty() && own.refusal) own.result = own.refusal->result;
    all.placed.insert(all.placed.end(), own.placed.begin(), own.placed.end());
    groups.push_back(std::move(own));
  }
  log(std::move(all));
  for (DecisionRecord& group : groups) log(std::move(group));
}

client::Effects Scheduler::refuse_tree(const SchedulingContext& context, QueuedEntity entry,
                                       const TreeInput& input, const TreeOutcome& outcome,
                                       const std::string& id, Time now) {
  client::Effects effects;
  effects.decision_id = id;
  for (const TreeNodeOutcome& node : outcome.nodes)
    for (const MemberOutcome& member : node.members)
      for (const client::Chain& chain : member.deallocations) add_once(effects, chain);
  if (!effects.chains.empty()) deallocating_[id] = entry.key;
  preempt(context, entry.key, input, outcome, id, effects);
  tell_refused(context, entry.key, input, outcome, id, now);
  log_tree(entry, input, outcome, id, now);
  const bool failed = outcome.kind == GroupOutcome::Kind::Error;
  if (!failed && !with_minimum(input, has_minimum).front()) loop_.overtaking.refused(entry);
  if (failed)
    loop_.queue.put_after_error(std::move(entry), now);
  else
    put_back(context, std::move(entry), input, outcome.refusal.get(), now);
  return effects;
}

}  // namespace berth::scheduling
