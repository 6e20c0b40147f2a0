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

// The group without the members that leave; these wait.
GroupInput without(const GroupInput& input, std::span<const api::Pod* const> leaving) {
  const std::set<const api::Pod*> gone(leaving.begin(), leaving.end());
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
  rest.waiting.insert(rest.waiting.end(), leaving.begin(), leaving.end());
  std::sort(rest.waiting.begin(), rest.waiting.end(), before_in_queue);
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
  const model::Cluster& cluster = question.context.cluster;
  std::vector<const api::Pod*> leaving(question.lost.begin(), question.lost.end());
  if (scope == ReplacementScope::Group || has(KnownDefect::WholeGroupReplaced))
    for (const api::Pod* pod : question.input.placed)
      if (pod->bound() && std::ranges::find(leaving, pod) == leaving.end()) leaving.push_back(pod);
  GroupInput rest = without(question.input, leaving);
  avoid_failing_nodes(cluster, rest);
  const std::vector<WishMember> staying = placed_members(cluster, rest, {});
  if (scope != ReplacementScope::Group && !staying.empty()) {
    const std::optional<std::size_t> kept = reached_level(*rest.wish, staying);
    if (scope == ReplacementScope::Wider && !kept) return {};
    rest.wish = scope == ReplacementScope::Domain ? with_required(*rest.wish, kept, std::nullopt)
                                                  : with_required(*rest.wish, broader(kept), kept);
  }
  const auto before = transaction.savepoint();
  for (const api::Pod* pod : leaving)
    cluster.remove(cluster.find_pod(pod->meta.ns, pod->meta.name), model::GroupClaims::Kept, transaction);
  const auto removed = transaction.savepoint();
  const GroupOutcome outcome = groups.run(question.context, rest, transaction);
  if (outcome.kind != GroupOutcome::Kind::Placed) {
    transaction.roll_back_to(before);
    const bool searched_all =
        outcome.refusal && outcome.refusal->group && outcome.refusal->group->unproved.empty();
    return {std::nullopt, searched_all};
  }
  const model::Plan plan = transaction.take_since(removed);
  transaction.roll_back_to(before);
  ReplacementPlan found;
  for (const model::Step& step : plan.steps) {
    const auto* place = std::get_if<model::Place>(&step);
    const api::Pod* pod = place ? cluster.pod(place->pod).live.get() : nullptr;
    if (pod && std::ranges::find(leaving, pod) != leaving.end())
      found.rooms.push_back({pod, place->node, steps_of(plan, *place)});
  }
  if (found.rooms.empty()) return {};
  std::ranges::sort(found.rooms, {}, [](const ReplacementRoom& room) { return room.pod->meta.name; });
  found.domain = domain_text(*rest.wish, cluster, found.rooms.front().node);
  return {std::move(found)};
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
