#include "placement/preemption/tree_victim_search.h"

#include <algorithm>

#include "placement/refusal/kubernetes_words.h"
#include "placement/trees/tree_placer.h"

namespace berth::placement {
namespace {

// Counts refute most checks before all choices are tried.
constexpr GroupEffort kEffort[] = {GroupEffort::AllChoices};

class OneTree final : public GroupPreemptor {
 public:
  OneTree(TreeCycle& trees, const SchedulingContext& context, const TreeInput& input,
          model::Ledger::Transaction& transaction)
      : trees_(trees),
        context_(context),
        input_(input),
        transaction_(transaction),
        all_(as_one_group(input, group_)),
        grounds_(trees.grounds_of(context, input)),
        placer_(trees.groups(), trees.plugins_of(input), grounds_, context, input, transaction),
        grows_(placer_.has_minimum(0)),
        needed_(static_cast<std::size_t>(std::max<std::int64_t>(1, grows_ ? 1 : placer_.asks(0)))) {
    const Ground whole = grounds_.whole_cluster();
    if (!grounds_.error().empty() || !whole.placement) return;
    placements_ = {whole.placement};
    if (!grounds_.chooses(0)) return;
    const std::span<const Placement* const> own = grounds_.candidates(0, whole);
    chain_ = grounds_.chain_of(0);
    placements_.assign(own.begin(), own.end());
    if (grows_ && placements_.size() > 1) grows_anywhere();
  }

  const GroupInput& members() const override { return all_; }
  std::span<const Placement* const> placements() const override { return placements_; }
  std::size_t needed() const override { return needed_; }
  std::size_t wanted() const override { return grows_ ? all_.waiting.size() : needed_; }

  std::span<const GroupEffort> efforts() const override { return kEffort; }
  Placed place(std::size_t placement, std::size_t members, GroupEffort) override {
    placer_.begin_check();
    bool found = true;
    if (grows_)
      placer_.grow();
    else
      found = placer_.place_root({chain_, placements_[placement]}, 1);
    const std::size_t placed = static_cast<std::size_t>(placer_.placed());
    Placed result{0, placer_.steps(), placer_.unproved() == kSearchBudgetEnded};
    if (!found || !placer_.error().empty() || placed < members) return result;
    result.members = grows_ ? placed : needed_;
    return result;
  }

  std::vector<NodeId> nodes() const override {
    std::vector<NodeId> nodes;
    for (const TreeNodeOutcome& node : placer_.outcome().nodes)
      for (const MemberOutcome& member : node.members)
        nodes.push_back(node.placed ? member.node : NodeId::none());
    return nodes;
  }

  // The domains of each level below the root's, by what its smallest group costs there.
  std::vector<std::map<NodeId, std::size_t>> turns(const DomainRooms& rooms) override {
    std::map<std::size_t, std::size_t> smallest;  // by chain
    for (std::size_t node = 1; node < input_.nodes.size(); ++node) {
      const auto asks = static_cast<std::size_t>(placer_.asks(node));
      if (!grounds_.chooses(node) || grounds_.chain_of(node) == chain_ || asks == 0) continue;
      std::size_t& least = smallest.try_emplace(grounds_.chain_of(node), asks).first->second;
      least = std::min(least, asks);
    }
    std::vector<std::map<NodeId, std::size_t>> turns;
    for (const auto& [chain, asks] : smallest) turns.push_back(turns_of(chain, asks, rooms));
    return turns;
  }

  std::string lacks() override {
    const TreeOutcome outcome = trees_.run(context_, input_, transaction_);
    return outcome.refusal && outcome.kind != GroupOutcome::Kind::Placed ? group_words(*outcome.refusal) : "";
  }

 private:
  void grows_anywhere() {
    chain_ = 0;
    placements_ = {grounds_.whole_cluster().placement};
  }

  std::map<NodeId, std::size_t> turns_of(std::size_t chain, std::size_t members, const DomainRooms& rooms) {
    std::vector<std::pair<PreemptionCost, const Placement*>> domains;
    for (const Placement* outer : placements_)
      for (const Placement* one : grounds_.inside(chain, {chain_, outer}))
        if (const auto bound = rooms.bound(*one, members, members)) domains.emplace_back(bound->cost, one);
    std::ranges::stable_sort(domains, {}, [](const auto& domain) { return domain.first; });
    std::map<NodeId, std::size_t> turns;
    for (std::size_t i = 0; i < domains.size(); ++i)
      for (const NodeId node : domains[i].second->nodes) turns.emplace(node, i);
    return turns;
  }

  TreeCycle& trees_;
  const SchedulingContext& context_;
  const TreeInput& input_;
  model::Ledger::Transaction& transaction_;
  api::PodGroup group_;
  const GroupInput all_;
  TreeGrounds grounds_;
  TreePlacer placer_;
  const bool grows_;          // it has its minima
  const std::size_t needed_;  // members
  std::size_t chain_ = 0;     // of placements_
  std::vector<const Placement*> placements_;
};

}  // namespace

std::optional<GroupPreemptionPlan> TreeVictimSearch::find(const SchedulingContext& context,
                                                          const TreeInput& input,
                                                          model::Ledger::Transaction& transaction,
                                                          NoVictimsFound& why_not) {
  OneTree tree(trees_, context, input, transaction);
  return find_cheapest_victims(trees_.groups(), single_, context, tree, transaction, why_not);
}

}  // namespace berth::placement
