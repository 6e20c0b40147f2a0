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
    domains_ = domains_of(input_);
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
  bool fits_as(const GroupInput& input) {
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    return core.place_group(context, input, transaction).kind == GroupOutcome::Kind::Placed;
  }
  bool fits() override { return fits_as(input_); }

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
        placement::remove_victim(offline.cluster(), victim.pod, model::GroupClaims::Freed, transaction);
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
