#include "placement/preemption/group_victim_search.h"

#include <algorithm>

#include "placement/refusal/kubernetes_words.h"

namespace berth::placement {
namespace {

// A search through all choices counts as so many members.
constexpr std::size_t kAllChoicesSteps = 512;
constexpr GroupEffort kEfforts[] = {GroupEffort::InOrder, GroupEffort::AllChoices};

class OneGroup final : public GroupPreemptor {
 public:
  OneGroup(GroupCycle& groups, const SchedulingContext& context, const GroupInput& input,
           model::Ledger::Transaction& transaction)
      : groups_(groups),
        context_(context),
        input_(input),
        transaction_(transaction),
        all_(groups.placements(context, input, transaction)) {
    for (const Placement& one : all_) placements_.push_back(&one);
  }

  const GroupInput& members() const override { return input_; }
  std::span<const Placement* const> placements() const override { return placements_; }
  std::size_t needed() const override {
    return static_cast<std::size_t>(std::max(1, input_.group->minimum() - input_.scheduled));
  }
  std::size_t wanted() const override { return input_.waiting.size(); }

  std::span<const GroupEffort> efforts() const override { return kEfforts; }
  Placed place(std::size_t placement, std::size_t members, GroupEffort effort) override {
    latest_ = groups_.run_on(context_, input_, {*placements_[placement], members, effort}, transaction_);
    const std::size_t steps = wanted() + (effort == GroupEffort::AllChoices ? kAllChoicesSteps : 0);
    return {latest_.placed(), steps};
  }
  std::vector<NodeId> nodes() const override {
    std::vector<NodeId> nodes;
    for (const MemberOutcome& member : latest_.members) nodes.push_back(member.node);
    return nodes;
  }
  std::vector<std::map<NodeId, std::size_t>> turns(const DomainRooms&) override { return {}; }
  std::string lacks() override {
    const GroupOutcome outcome = groups_.run(context_, input_, transaction_);
    return outcome.refusal && outcome.kind != GroupOutcome::Kind::Placed ? group_words(*outcome.refusal) : "";
  }

 private:
  GroupCycle& groups_;
  const SchedulingContext& context_;
  const GroupInput& input_;
  model::Ledger::Transaction& transaction_;
  const std::vector<Placement> all_;
  std::vector<const Placement*> placements_;
  GroupOutcome latest_;
};

}  // namespace

std::optional<GroupPreemptionPlan> GroupVictimSearch::find(const SchedulingContext& context,
                                                           const GroupInput& input,
                                                           model::Ledger::Transaction& transaction,
                                                           NoVictimsFound& why_not) {
  OneGroup group(groups_, context, input, transaction);
  return find_cheapest_victims(groups_, single_, context, group, transaction, why_not);
}

}  // namespace berth::placement
