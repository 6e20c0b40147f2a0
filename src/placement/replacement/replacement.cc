#include "placement/replacement/replacement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/known_defects.h"
#include "placement/plugins/node_inclusion.h"
#include "placement/replacement/lost_places.h"
#include "placement/wishes/reached.h"
#include "placement/wishes/wish_search.h"

namespace berth::placement {
namespace {

// Ascending.
std::vector<NodeId> failing_nodes(const model::Cluster& cluster) {
  std::vector<NodeId> nodes;
  for (const auto& [name, node] : cluster.live_nodes())
    if (is_failing(*cluster.node(node).live)) nodes.push_back(node);
  std::ranges::sort(nodes);
  return nodes;
}

// With `level` as the required one; none: nothing is required beyond the group's own demand.
GroupWishPtr with_required(const GroupWish& wish, std::optional<std::size_t> level,
                           std::optional<std::size_t> first) {
  auto changed = std::make_shared<GroupWish>(wish);
  changed->required = level;
  if (first) {
    std::erase(changed->preferred, *first);
    changed->preferred.insert(changed->preferred.begin(), *first);
  }
  return changed;
}

std::optional<std::size_t> broader(std::optional<std::size_t> level) {
  return level.value_or(0) > 0 ? std::optional(*level - 1) : std::nullopt;
}

// The group without the members that leave.
GroupInput without(const GroupInput& input, const std::set<const api::Pod*>& gone) {
  GroupInput rest = input;
  rest.placed.clear();
  rest.occupied.clear();
  rest.recorded.clear();
  for (std::size_t i = 0; i < input.placed.size(); ++i) {
    if (gone.contains(input.placed[i])) {
      rest.scheduled -= input.placed[i]->bound() ? 1 : 0;
      continue;
    }
    rest.placed.push_back(input.placed[i]);
    rest.occupied.push_back(input.occupied[i]);
    rest.recorded.push_back(input.recorded[i]);
  }
  rest.joins.clear();
  return rest;
}

// The steps of one member: its place and the allocations of its claims.
model::Plan steps_of(const model::Plan& all, const model::Place& place) {
  std::set<model::ClaimId> claims;
  for (const ClaimChoice& choice : value_of(place.reservation).claims) claims.insert(choice.claim);
  model::Plan own;
  for (const model::Step& step : all.steps)
    if (const auto* allocate = std::get_if<model::Allocate>(&step);
        allocate && claims.contains(allocate->claim))
      own.steps.push_back(step);
  own.steps.push_back(place);
  return own;
}

std::string domain_text(const GroupWish& wish, const model::Cluster& cluster, NodeId node) {
  if (!wish.required || !node.valid()) return "";
  const WishLevel& level = wish.levels[*wish.required];
  return level.name + " " + domain_path(wish.levels, *wish.required, cluster.node(node).live->meta.labels);
}

using Pods = std::vector<const api::Pod*>;

class ReplacementSearch {
 public:
  ReplacementSearch(GroupCycle& groups, const ReplacementQuestion& question, ReplacementScope scope,
                    model::Ledger::Transaction& transaction)
      : groups_(groups),
        question_(question),
        cluster_(question.context.cluster),
        transaction_(transaction),
        scope_(scope),
        lost_(question.lost.begin(), question.lost.end()) {
    if (whole() || has(KnownDefect::WholeGroupReplaced))
      for (const api::Pod* pod : question.input.placed)
        if (pod->bound() && std::ranges::find(lost_, pod) == lost_.end()) lost_.push_back(pod);
    // So many of those that wait have rooms.
    const Pods& waiting = question.input.waiting;
    const std::size_t with_room = std::min(waiting.size(), question.rooms_kept);
    waiting_.assign(waiting.begin() + static_cast<std::ptrdiff_t>(with_room), waiting.end());
  }

  ReplacementAnswer run() {
    const Tried together = place(lost_, waiting_);
    if (together.all_placed) return together.answer;
    const bool some_stay = together.answer.plan && together.answer.plan->rooms.size() < lost_.size();
    if (whole()) return some_stay ? ReplacementAnswer() : together.answer;
    const auto before = transaction_.savepoint();
    ReplacementAnswer answer = together.answer;
    if (!waiting_.empty()) {
      place_waiting();
      answer = place_those_that_fit(lost_);
    } else if (some_stay) {
      answer = place_those_that_fit(pods_of(*answer.plan));
    }
    transaction_.roll_back_to(before);
    return answer;
  }

 private:
  struct Tried {
    ReplacementAnswer answer;
    bool all_placed = false;  // waiting ones, too
  };

  bool whole() const { return scope_ == ReplacementScope::Group; }
  static Pods pods_of(const ReplacementPlan& plan) {
    Pods pods;
    for (const ReplacementRoom& room : plan.rooms) pods.push_back(room.pod);
    return pods;
  }

  // The group once these have left. They wait, and so do those of `waiting`. None: it has no such domain.
  std::optional<GroupInput> rest_of(const Pods& leaving, const Pods& waiting) const {
    std::set<const api::Pod*> gone(leaving.begin(), leaving.end());
    gone.insert(question_.leaving.begin(), question_.leaving.end());
    GroupInput rest = without(question_.input, gone);
    for (const auto& [pod, node] : late_) add_placed(pod, node, rest);
    rest.scheduled += static_cast<std::int32_t>(question_.rooms_kept + late_.size());
    // A group that leaves as a whole needs room for all.
    if (whole()) rest.scheduled = rest.group->minimum() - static_cast<std::int32_t>(leaving.size());
    rest.waiting = waiting;
    rest.waiting.insert(rest.waiting.end(), leaving.begin(), leaving.end());
    std::ranges::sort(rest.waiting, before_in_queue);
    avoid_failing_nodes(cluster_, rest);
    const std::vector<WishMember> staying = placed_members(cluster_, rest, {});
    if (whole() || staying.empty()) return rest;
    const std::optional<std::size_t> kept = reached_level(*rest.wish, staying);
    if (scope_ == ReplacementScope::Wider && !kept) return std::nullopt;
    rest.wish = scope_ == ReplacementScope::Domain ? with_required(*rest.wish, kept, std::nullopt)
                                                   : with_required(*rest.wish, broader(kept), kept);
    return rest;
  }
  static void add_placed(const api::Pod* pod, NodeId node, GroupInput& input) {
    input.placed.push_back(pod);
    input.occupied.push_back(node);
    input.recorded.emplace_back();
  }

  // The transaction is left as it was.
  Tried place(const Pods& leaving, const Pods& waiting) {
    const std::optional<GroupInput> rest = rest_of(leaving, waiting);
    if (!rest) return {};
    const auto before = transaction_.savepoint();
    for (const api::Pod* pod : leaving)
      cluster_.remove(cluster_.find_pod(pod->meta.ns, pod->meta.name), model::GroupClaims::Kept,
                      transaction_);
    const auto removed = transaction_.savepoint();
    const GroupOutcome outcome = groups_.run(question_.context, *rest, transaction_);
    const bool placed = outcome.kind == GroupOutcome::Kind::Placed;
    const model::Plan plan = placed ? transaction_.take_since(removed) : model::Plan();
    transaction_.roll_back_to(before);
    if (placed) return {rooms_in(plan, leaving, *rest->wish), outcome.placed() == rest->waiting.size()};
    const bool searched_all =
        outcome.refusal && outcome.refusal->group && outcome.refusal->group->unproved.empty();
    return {{std::nullopt, searched_all}};
  }

  ReplacementAnswer rooms_in(const model::Plan& plan, const Pods& leaving, const GroupWish& wish) const {
    ReplacementPlan found;
    for (const model::Step& step : plan.steps) {
      const auto* place = std::get_if<model::Place>(&step);
      const api::Pod* pod = place ? cluster_.pod(place->pod).live.get() : nullptr;
      if (pod && std::ranges::find(leaving, pod) != leaving.end())
        found.rooms.push_back({pod, place->node, steps_of(plan, *place)});
    }
    if (found.rooms.empty()) return {};
    std::ranges::sort(found.rooms, {}, [](const ReplacementRoom& room) { return room.pod->meta.name; });
    found.domain = domain_text(wish, cluster_, found.rooms.front().node);
    return {std::move(found)};
  }

  // As the next decision does it, so that nobody leaves for a room that these get.
  void place_waiting() {
    GroupInput next = question_.input;
    next.waiting = waiting_;
    avoid_failing_nodes(cluster_, next);
    const auto before = transaction_.savepoint();
    const GroupOutcome outcome = groups_.run(question_.context, next, transaction_);
    if (outcome.kind != GroupOutcome::Kind::Placed) return transaction_.roll_back_to(before);
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      if (outcome.members[i].node.valid()) late_.emplace_back(waiting_[i], outcome.members[i].node);
  }

  // Members without room stay: they keep what they have, and count where the others may go.
  ReplacementAnswer place_those_that_fit(Pods leaving) {
    for (std::size_t i = 0; i < kReplacementTriesMax; ++i) {
      ReplacementAnswer answer = place(leaving, {}).answer;
      if (!answer.plan || answer.plan->rooms.size() == leaving.size()) return answer;
      leaving = pods_of(*answer.plan);
    }
    return {std::nullopt, false};
  }

  GroupCycle& groups_;
  const ReplacementQuestion& question_;
  const model::Cluster& cluster_;
  model::Ledger::Transaction& transaction_;
  const ReplacementScope scope_;
  Pods lost_;                                             // or all, that leave as a whole
  Pods waiting_;                                          // besides, and without rooms
  std::vector<std::pair<const api::Pod*, NodeId>> late_;  // those of them that got places first
};

}  // namespace

// From other nodes the filter of taints keeps the pod away.
void avoid_failing_nodes(const model::Cluster& cluster, std::span<GroupInput* const> groups) {
  const auto waits = [](const GroupInput* input) { return !input->waiting.empty(); };
  if (std::ranges::none_of(groups, waits)) return;
  const std::vector<NodeId> failing = failing_nodes(cluster);
  if (failing.empty()) return;
  std::map<std::pair<AvoidedNodes, std::vector<NodeId>>, AvoidedNodes> known;
  const auto avoid = [&](GroupInput& input, const api::Pod& pod) {
    std::vector<NodeId> tolerated;
    for (const NodeId node : failing)
      if (const api::Node& live = *cluster.node(node).live;
          is_failing_for(live, pod) && plugins::tolerates_taints(pod, live))
        tolerated.push_back(node);
    if (tolerated.empty()) return;
    AvoidedNodes& avoided = input.avoid[pod.meta.uid];
    const auto [at, is_new] = known.try_emplace({avoided, tolerated});
    if (is_new) at->second = avoided.with(AvoidedNodes(std::move(tolerated)));
    avoided = at->second;
  };
  for (GroupInput* const input : groups)
    for (const api::Pod* pod : input->waiting) avoid(*input, *pod);
}

void avoid_failing_nodes(const model::Cluster& cluster, GroupInput& input) {
  GroupInput* const alone[] = {&input};
  avoid_failing_nodes(cluster, alone);
}

ReplacementAnswer find_replacement(GroupCycle& groups, const ReplacementQuestion& question,
                                   ReplacementScope scope, model::Ledger::Transaction& transaction) {
  return ReplacementSearch(groups, question, scope, transaction).run();
}

GroupWishPtr wish_of_late_members(const model::Cluster& cluster, const GroupInput& input) {
  if (!input.wish || !input.wish->required || input.wish->when_no_spare != WhenNoSpare::Widen)
    return input.wish;
  const std::vector<WishMember> placed = placed_members(cluster, input, {});
  std::optional<std::size_t> level = input.wish->required;
  while (level && !placed.empty() && !share_domain(*input.wish, *level, placed)) level = broader(level);
  return level == input.wish->required ? input.wish : with_required(*input.wish, level, input.wish->required);
}

GroupWishPtr widened_wish(const GroupInput& input, const GroupWishPtr& now) {
  const bool widens =
      now && now->required && !input.placed.empty() && now->when_no_spare == WhenNoSpare::Widen;
  return widens ? with_required(*now, broader(now->required), now->required) : nullptr;
}

}  // namespace berth::placement
