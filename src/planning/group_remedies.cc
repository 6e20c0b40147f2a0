#include "placement/preemption/victims.h"
#include "placement/refusal/berth_words.h"
#include "planning/remedy_search.h"
#include "planning/remedy_steps.h"

namespace berth::planning {
namespace {

using placement::GroupInput;
using placement::GroupOutcome;
using placement::RemedyKind;
using placement::RemedyStep;

constexpr std::size_t kDomainsChangedMax = 4;  // whose nodes are opened

class GroupRemedySearch final : public RemedySearch {
 public:
  GroupRemedySearch(OfflineCluster& offline, const GroupInput& input, const PlanOptions& options,
                    dra::SelectorEvaluator& selectors)
      : RemedySearch(offline, options, selectors), input_(input) {}

  Remedies run() {
    {
      model::Ledger::Transaction transaction(offline.cluster().ledger());
      out.refusal = core.decide_group(context, input_, transaction).refusal;
    }
    if (!out.refusal || out.refusal->result != placement::DecisionResult::Unschedulable ||
        !out.refusal->group || out.refusal->group->gate)
      return std::move(out);
    out.needed = out.refusal->group->needed;
    describe_domains();
    name_nearest();
    evict();
    const api::Pod& first = *input_.waiting.front();
    for (std::size_t i = 0; i < domains_.size() && i < kDomainsChangedMax; ++i)
      open_nodes(first, domains_[i].placement.nodes);
    if (!domains_.empty()) add_nodes(first, domains_.front().placement.nodes);
    drop_topology();
    ask_for_fewer();
    return std::move(out);
  }

 private:
  struct Domain {
    placement::Placement placement;
    DomainRoom room;
  };

  bool fits_as(const GroupInput& input) {
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    return core.place_group(context, input, transaction).kind == GroupOutcome::Kind::Placed;
  }
  bool fits() override { return fits_as(input_); }

  // Every domain, the one with room for most members first.
  void describe_domains() {
    std::vector<placement::Placement> placements;
    {
      model::Ledger::Transaction transaction(offline.cluster().ledger());
      placements = core.group_cycle().placements(context, input_, transaction);
    }
    for (placement::Placement& placement : placements) {
      if (tries >= kRemedyTriesMax) break;
      DomainRoom room = room_in(placement);
      domains_.push_back({std::move(placement), std::move(room)});
    }
    std::ranges::stable_sort(domains_, std::ranges::greater(),
                             [](const Domain& domain) { return domain.room.members; });
    for (std::size_t i = 0; i < domains_.size() && i < kDomainsShownMax; ++i)
      out.domains.push_back(domains_[i].room);
  }

  DomainRoom room_in(const placement::Placement& placement) {
    DomainRoom room{
        placement.name.empty() ? "the cluster" : placement.name, placement.nodes.size(), 0, "", {}};
    api::PodGroup any = *input_.group;
    any.gang_min = 1;
    GroupInput input = input_;
    input.group = &any;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    const auto before = transaction.savepoint();
    GroupOutcome most;
    for (std::size_t members = 1; members <= input.waiting.size(); ++members) {
      transaction.roll_back_to(before);
      ++tries;
      GroupOutcome outcome = core.group_cycle().run_on(context, input, {placement, members}, transaction);
      if (outcome.placed() < members) break;
      members = outcome.placed();
      most = std::move(outcome);
    }
    room.members = most.members.empty() ? 0 : most.placed();
    transaction.roll_back_to(before);
    put_next(placement, most, transaction, room);
    return room;
  }

  // The members that fit are placed, and the first other one is tried on the rest.
  void put_next(const placement::Placement& placement, const GroupOutcome& most,
                model::Ledger::Transaction& transaction, DomainRoom& room) {
    const api::Pod* next = nullptr;
    for (std::size_t i = 0; i < input_.waiting.size(); ++i) {
      const api::Pod& pod = *input_.waiting[i];
      const bool placed = i < most.members.size() && most.members[i].node.valid();
      if (placed) {
        const model::PodId id = offline.cluster().find_pod(pod.meta.ns, pod.meta.name);
        transaction.place(
            id, most.members[i].node,
            offline.cluster().charges(id, model::value_of(most.members[i].reservation).node_allocatable),
            most.members[i].reservation);
      } else if (!next) {
        next = &pod;
      }
    }
    if (!next) return;
    room.next = next->meta.name;
    placement::CycleState state;
    const placement::PodCycle& cycle = core.pod_cycle();
    cycle.begin(state, context, *next, &transaction);
    if (cycle.prepare(state)) cycle.choose(state, placement.nodes, {});
    const placement::FitError refused = cycle.fit_error(state);
    for (const placement::RefusedFor& why : refused.reasons) {
      const bool amount = why.lacks && why.lacks->asked;
      room.lacks.push_back(amount ? why.lacks->nearest + ": " + why.lacks->missing.text() + " of " +
                                        why.subject + " short"
                                  : std::to_string(why.count) + (why.count == 1 ? " node: " : " nodes: ") +
                                        placement::lack_words(why));
    }
    if (!refused.everywhere.empty()) room.lacks.push_back(refused.everywhere);
  }

  void name_nearest() {
    if (out.domains.empty()) return;
    const DomainRoom& room = out.domains.front();
    out.nearest = {room.domain,
                   {"it has room for " + std::to_string(room.members) + " of the " +
                    std::to_string(out.needed) + " members that are needed"}};
  }

  void evict() {
    note(RemedyKind::Evict);
    api::PodGroup urgent = *input_.group;
    urgent.priority = INT32_MAX;
    urgent.preemption_policy = "PreemptLowerPriority";
    std::vector<api::Pod> pods;
    for (const api::Pod* pod : input_.waiting) {
      pods.push_back(*pod);
      pods.back().priority = INT32_MAX;
      pods.back().preemption_policy.clear();
    }
    GroupInput input = input_;
    input.group = &urgent;
    for (std::size_t i = 0; i < pods.size(); ++i) input.waiting[i] = &pods[i];
    placement::Preempting preempting;
    preempting.searches = true;
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    const auto before = transaction.savepoint();
    const auto plan = core.decide_group(context, input, transaction, preempting).preemption;
    transaction.roll_back_to(before);
    if (!plan || plan->victims.empty()) return;
    for (const auto* victims : {&plan->victims, &plan->awaited})
      for (const placement::PreemptionVictim& victim : *victims)
        placement::remove_victim(offline.cluster(), victim.pod, transaction);
    ++tries;
    if (core.place_group(context, input_, transaction).kind != GroupOutcome::Kind::Placed) return;
    add(evict_step(plan->victims, plan->placement));
  }

  void drop_topology() {
    if (input_.group->topology_keys.empty() || is_over()) return;
    note(RemedyKind::DropTopology);
    api::PodGroup free = *input_.group;
    free.topology_keys.clear();
    GroupInput input = input_;
    input.group = &free;
    if (fits_as(input)) add({.kind = RemedyKind::DropTopology, .subjects = input_.group->topology_keys});
  }

  // The largest minimum that fits.
  void ask_for_fewer() {
    if (!input_.group->gang_min || is_over()) return;
    note(RemedyKind::FewerMembers);
    api::PodGroup smaller = *input_.group;
    GroupInput input = input_;
    input.group = &smaller;
    std::int32_t fitting = 0, refused = *input_.group->gang_min;
    while (fitting + 1 < refused && !is_over()) {
      const std::int32_t middle = fitting + (refused - fitting) / 2;
      smaller.gang_min = middle;
      (fits_as(input) ? fitting : refused) = middle;
    }
    if (fitting > 0) add({.kind = RemedyKind::FewerMembers, .count = fitting});
  }

  const GroupInput& input_;
  std::vector<Domain> domains_;
};

}  // namespace

Remedies group_remedies(OfflineCluster& offline, const GroupInput& input, const PlanOptions& options,
                        dra::SelectorEvaluator& selectors) {
  return GroupRemedySearch(offline, input, options, selectors).run();
}

}  // namespace berth::planning
