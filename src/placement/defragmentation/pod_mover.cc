#include "placement/defragmentation/pod_mover.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/types/gpu_share.h"
#include "base/overloaded.h"
#include "client/group_tree.h"
#include "placement/groups/group_members.h"
#include "placement/preemption/victims.h"
#include "placement/replacement/lost_places.h"
#include "placement/replacement/replacement.h"

namespace berth::placement {
namespace {

// From here on priorities belong to Kubernetes' own classes.
constexpr std::int32_t kSystemPriorityMin = 2'000'000'000;

struct StayAnnotation {
  std::string_view key, value;
};
// Of cluster-autoscaler and Karpenter.
constexpr std::array<StayAnnotation, 2> kStayAnnotations = {
    {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}, {"karpenter.sh/do-not-disrupt", "true"}}};

bool asks_to_stay(const api::Pod& pod) {
  return std::ranges::any_of(
      kStayAnnotations, [&](const StayAnnotation& one) { return pod.meta.annotation(one.key) == one.value; });
}

GroupQuestions any_scheduler() {
  return {[](const api::Pod&) { return true; }, [](const std::string&) { return false; },
          [](const std::string&) { return false; }};
}

}  // namespace

PodMover::PodMover(DecisionCore& core, const DefragmentationQuestion& question, const DeviceCounts& counts,
                   model::Ledger::Transaction& transaction)
    : core_(core),
      question_(question),
      context_(question.context),
      cluster_(question.context.cluster),
      counts_(counts),
      transaction_(transaction),
      disruptions_(question.context.view) {
  for (const auto& [name, node] : cluster_.live_nodes())
    if (is_failing(*cluster_.node(node).live)) failing_.push_back(node);
}

std::optional<StayReason> PodMover::why_it_stays(PodId id) const {
  const api::Pod* pod = cluster_.pod(id).live.get();
  if (!pod || !pod->bound() || question_.stay.contains(id)) return StayReason::NotBound;
  if (moved_.contains(id)) return StayReason::MovedBefore;
  if (is_tied_to_node(context_.view, *pod)) return StayReason::TiedToNode;
  const Evictability kind = evictability(cluster_, id, context_.now);
  if (kind != Evictability::Evictable)
    return pod->meta.deleting() || kind == Evictability::EndsSoon ? StayReason::NotBound
                                                                  : StayReason::TiedToNode;
  if (!pod->meta.controller()) return StayReason::NoController;
  if (pod->priority >= kSystemPriorityMin) return StayReason::SystemCritical;
  if (asks_to_stay(*pod)) return StayReason::AskedToStay;
  for (const model::ClaimId claim : cluster_.ledger().charge(id).claims) {
    const auto& live = cluster_.claim(claim).live;
    const bool of_others =
        live && std::ranges::any_of(live->reserved_for, [&](const api::ClaimConsumer& consumer) {
          return consumer.uid != pod->meta.uid;
        });
    if (of_others || cluster_.ledger().users(claim) > 1) return StayReason::SharesClaim;
  }
  return std::nullopt;
}

std::variant<std::optional<MoveUnit>, StayReason> PodMover::group_unit(const api::Pod& pod) const {
  const api::PodGroup* group = context_.view.pod_groups.find(pod.meta.ns, pod.group);
  if (!group) return std::nullopt;
  const auto as_one = [](const auto* one) { return one->disruption_mode == "all"; };
  if (std::ranges::any_of(client::groups_above(context_.view, *group), as_one))
    return StayReason::GroupGoesAsOne;
  if (!as_one(group)) return std::nullopt;
  if (!question_.limits.whole_groups) return StayReason::GroupGoesAsOne;
  MoveUnit unit{{}, group, true, 0};
  for (const api::Pod* member : context_.view.pods_of_group(group->meta.ns, group->meta.name)) {
    if (member->finished()) continue;
    const PodId id = cluster_.find_pod(member->meta.ns, member->meta.name);
    if (!id.valid() || !cluster_.ledger().node_of(id).valid()) continue;
    if (why_it_stays(id)) return StayReason::GroupGoesAsOne;
    unit.pods.push_back(id);
    unit.devices += counts_.held(id);
  }
  return unit;
}

PodMover::Units PodMover::units_on(std::span<const NodeId> nodes) const {
  Units units;
  std::set<PodId> seen;
  const auto name_of_pod = [&](PodId pod) -> const client::NamedKey& { return cluster_.pod(pod).key; };
  for (const NodeId node : nodes)
    for (const PodId id : cluster_.ledger().node(node).pods) {
      const api::Pod* pod = cluster_.pod(id).live.get();
      // A GPU's reservation pod ends with the last share.
      if (!seen.insert(id).second || (pod && api::is_gpu_reservation(*pod))) continue;
      const std::int64_t devices = counts_.held(id);
      if (devices == 0) continue;
      if (pod && evictability(cluster_, id, context_.now) == Evictability::EndsSoon) {
        units.ending.push_back(id);
        continue;
      }
      std::optional<StayReason> reason = why_it_stays(id);
      MoveUnit unit{{id}, nullptr, false, devices};
      if (!reason) {
        auto group = group_unit(*pod);
        if (const auto* stays = std::get_if<StayReason>(&group)) {
          reason = *stays;
        } else if (auto& together = std::get<std::optional<MoveUnit>>(group)) {
          seen.insert(together->pods.begin(), together->pods.end());
          unit = *std::move(together);
        } else {
          unit.group = context_.view.pod_groups.find(pod->meta.ns, pod->group);
        }
      }
      if (reason)
        units.staying.push_back({id, *reason});
      else
        units.movable.push_back(std::move(unit));
    }
  std::ranges::sort(units.movable, [&](const MoveUnit& a, const MoveUnit& b) {
    if (a.devices != b.devices) return a.devices > b.devices;
    return name_of_pod(a.pods.front()) < name_of_pod(b.pods.front());
  });
  std::ranges::sort(units.staying, {}, [&](const StayingPod& one) { return name_of_pod(one.pod); });
  return units;
}

// Of its gang's minimum and of budgets.
std::optional<StayReason> PodMover::charge(const MoveUnit& unit) {
  if (unit.group && unit.group->gang_min && !unit.as_one) {
    const GroupMembers members =
        members_of_one(context_.view, cluster_, any_scheduler(), unit.group->meta.ns, unit.group->meta.name);
    std::int32_t& taken = taken_[{unit.group->meta.ns, unit.group->meta.name}];
    ++taken;
    if (static_cast<std::int32_t>(members.placed.size()) - taken < unit.group->minimum())
      return StayReason::GangMinimum;
  }
  for (const PodId pod : unit.pods)
    if (!disruptions_.count(*cluster_.pod(pod).live)) return StayReason::DisruptionBudget;
  return std::nullopt;
}

model::Plan PodMover::steps_since(model::Ledger::Transaction::Savepoint from) const {
  return {
      {transaction_.steps().begin() + static_cast<std::ptrdiff_t>(from.steps), transaction_.steps().end()}};
}

std::vector<NodeId> PodMover::avoided_for(const api::Pod& pod, std::span<const NodeId> avoid) const {
  std::vector<NodeId> nodes(avoid.begin(), avoid.end());
  for (const NodeId node : failing_)
    if (is_failing_for(*cluster_.node(node).live, pod)) nodes.push_back(node);
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

bool PodMover::place_alone(PodMove& move, std::span<const NodeId> avoid) {
  const api::Pod& pod = *cluster_.pod(move.pod).live;
  remove_victim(cluster_, move.pod, model::GroupClaims::Kept, transaction_);
  const auto before = transaction_.savepoint();
  if (!core_.place_pod(context_, pod, avoided_for(pod, avoid), transaction_)) return false;
  move.room = steps_since(before);
  return true;
}

// Members are placed as those of failed nodes are: in the domain that their group requires, or shares.
std::optional<StayReason> PodMover::place_members(const MoveUnit& unit, std::span<const NodeId> avoid,
                                                  std::vector<PodMove>& moves) {
  const api::PodGroup& group = *unit.group;
  WishAnswer answer = wish_of(context_.view, question_.owners, group);
  if (answer.fault) return StayReason::PolicyFault;
  GroupInput input = group_input(
      group, group_members(context_.view, cluster_, any_scheduler(), group.meta.ns, group.meta.name),
      [](const api::Pod&) { return AvoidSet{}; });
  input.waiting.clear();
  set_wish(input, answer.wish ? std::move(answer.wish) : std::make_shared<const GroupWish>());
  std::vector<const api::Pod*> leaving;
  const AvoidedNodes avoided({avoid.begin(), avoid.end()});
  for (const PodId pod : unit.pods) {
    leaving.push_back(cluster_.pod(pod).live.get());
    input.avoid[leaving.back()->meta.uid] = avoided;
  }
  const ReplacementScope scope = unit.as_one ? ReplacementScope::Group : ReplacementScope::Domain;
  const ReplacementAnswer found =
      find_replacement(core_.group_cycle(), {context_, input, leaving}, scope, transaction_);
  if (!found.plan || found.plan->rooms.size() != unit.pods.size()) return StayReason::NoRoom;
  for (const PodId pod : unit.pods) remove_victim(cluster_, pod, model::GroupClaims::Kept, transaction_);
  for (const ReplacementRoom& room : found.plan->rooms) {
    cluster_.redo(room.plan, transaction_);
    const PodId pod = cluster_.find_pod(group.meta.ns, room.pod->meta.name);
    std::ranges::find(moves, pod, &PodMove::pod)->room = room.plan;
  }
  return std::nullopt;
}

std::variant<std::vector<PodMove>, StayingPod> PodMover::move(const MoveUnit& unit,
                                                              std::span<const NodeId> avoid) {
  const Mark before = mark();
  std::vector<PodMove> moves;
  for (const PodId pod : unit.pods)
    moves.push_back(
        {pod, cluster_.ledger().node_of(pod), NodeId::none(), counts_.held(pod), unit.as_one, {}});
  std::optional<StayReason> refused = charge(unit);
  if (!refused && unit.group)
    refused = place_members(unit, avoid, moves);
  else if (!refused && !place_alone(moves.front(), avoid))
    refused = StayReason::NoRoom;
  if (refused) {
    undo(before);
    return StayingPod{unit.pods.front(), *refused};
  }
  for (PodMove& one : moves) one.to = cluster_.ledger().node_of(one.pod);
  moved_.insert(unit.pods.begin(), unit.pods.end());
  return moves;
}

std::optional<PodMover::Placed> PodMover::place(const WaitingEntity& waiting) {
  const auto before = transaction_.savepoint();
  const Overloaded place{
      [&](const api::Pod* pod) { return core_.place_pod(context_, *pod, {}, transaction_).has_value(); },
      [&](const GroupInput& group) {
        return core_.place_group(context_, group, transaction_).kind == GroupOutcome::Kind::Placed;
      },
      [&](const TreeInput& tree) {
        return core_.place_tree(context_, tree, transaction_).kind == GroupOutcome::Kind::Placed;
      }};
  if (!std::visit(place, waiting.input)) {
    transaction_.roll_back_to(before);
    return std::nullopt;
  }
  Placed placed{0, steps_since(before)};
  for (const model::Step& step : placed.room.steps)
    if (const auto* place = std::get_if<model::Place>(&step)) placed.devices += counts_.held(place->pod);
  return placed;
}

void PodMover::remove(std::span<const PodId> pods) {
  for (const PodId pod : pods) remove_victim(cluster_, pod, model::GroupClaims::Kept, transaction_);
}

void PodMover::undo(const Mark& mark) {
  transaction_.roll_back_to(mark.savepoint);
  disruptions_ = mark.disruptions;
  taken_ = mark.taken;
  moved_ = mark.moved;
}

}  // namespace berth::placement
