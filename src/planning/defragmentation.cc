#include "planning/defragmentation.h"

#include <algorithm>
#include <set>

#include "placement/claims.h"
#include "placement/defragmentation/domain_level.h"
#include "planning/planner.h"
#include "planning/waiting_input.h"
#include "planning/workload_pods.h"

namespace berth::planning {
namespace {

using placement::EntityKind;
using placement::WaitingEntity;

// What is refused without moves and asks for devices, in the order of the queue.
class StillWaiting {
 public:
  StillWaiting(OfflineCluster& offline, const placement::DecisionCore& core, std::vector<Turn> turns)
      : offline_(offline), core_(core), turns_(std::move(turns)) {
    for (const Turn& turn : turns_) add(turn);
  }
  const std::vector<WaitingEntity>& all() const { return found_; }

 private:
  void add(const Turn& turn) {
    const placement::EntityKey& key = turn.entry.key;
    if (key.kind == EntityKind::Pod) {
      const bool tried =
          offline_.trouble_of({key.ns, key.name}).empty() && !core_.gate(offline_.view(), *turn.pod);
      if (tried && placement::asks_for_devices(*turn.pod)) found_.push_back({key, turn.pod.get()});
    } else if (key.kind == EntityKind::Group) {
      WaitingGroup waiting = waiting_group(offline_, {key.ns, key.name});
      if (waiting.input && may_be_tried(*waiting.input)) found_.push_back({key, *std::move(waiting.input)});
    } else {
      WaitingTree waiting = waiting_tree(offline_, key);
      const auto tried = [&](const placement::TreeNode& node) {
        return node.group.waiting.empty() || may_be_tried(node.group);
      };
      if (waiting.input && std::ranges::all_of(waiting.input->nodes, tried))
        found_.push_back({key, *std::move(waiting.input)});
    }
  }
  bool may_be_tried(const placement::GroupInput& input) const {
    const auto is_tried = [&](const api::Pod* pod) {
      return offline_.trouble_of({pod->meta.ns, pod->meta.name}).empty() &&
             !core_.gate(offline_.view(), *pod);
    };
    const auto asks = [](const api::Pod* pod) { return placement::asks_for_devices(*pod); };
    return std::ranges::all_of(input.waiting, is_tried) && std::ranges::any_of(input.waiting, asks);
  }

  OfflineCluster& offline_;
  const placement::DecisionCore& core_;
  const std::vector<Turn> turns_;  // they have the pods
  std::vector<WaitingEntity> found_;
};

std::set<model::PodId> placed_by(const Plan& plan, const model::Cluster& cluster) {
  std::set<model::PodId> placed;
  for (const Decision& decision : plan.decisions)
    for (const PlannedPod& pod : decision.pods)
      if (!pod.node.empty()) placed.insert(cluster.find_pod(pod.ns, pod.name));
  return placed;
}

PlannedDomain planned(const placement::DefragmentedDomain& found, const model::Cluster& cluster,
                      const std::vector<WaitingEntity>& waiting) {
  PlannedDomain domain{
      found.path, {}, found.devices, found.moved, found.whole, {}, placement::gain_text(found, waiting)};
  for (const placement::PodMove& move : found.moves) {
    const api::Pod& pod = *cluster.pod(move.pod).live;
    domain.moves.push_back({pod.meta.ns, pod.meta.name, cluster.node(move.from).name,
                            cluster.node(move.to).name, move.with_group ? pod.group : "", move.devices});
  }
  for (const placement::FittingEntity& one : found.fits) {
    const WaitingEntity& entity = waiting[one.waiting];
    domain.fits.push_back({entity.key, placement::waiting_pods(entity)});
  }
  return domain;
}

}  // namespace

Result<PlannedDefragmentation> plan_defragmentation(std::vector<Document> documents,
                                                    const PlanOptions& options,
                                                    const DefragmentationOptions& asked,
                                                    dra::SelectorEvaluator& selectors) {
  PlanOptions gentle = options;
  gentle.now = now_of(documents, options);
  gentle.preempts = false;
  WorkloadPods input{std::move(documents), {}};
  if (options.workloads) input = TRY(with_workload_pods(std::move(input.documents), gentle.now));
  const std::unique_ptr<OfflineCluster> offline =
      TRY(OfflineCluster::make(std::move(input.documents), gentle));
  const placement::DomainLevel level =
      TRY(placement::domain_level(offline->view(), asked.level, asked.level_path));
  const Plan first = Planner(*offline, gentle, selectors, {0, 0}).run();

  OfflineCore core(*offline, gentle, selectors);
  const StillWaiting waiting(*offline, core.core,
                             turns_of(offline->view(), offline->cluster(), trees_of(gentle)));
  const std::set<model::PodId> stay = placed_by(first, offline->cluster());
  const placement::OwnersOf owners = offline->owners();
  model::Ledger::Transaction transaction(offline->cluster().ledger());
  const placement::DefragmentationPlan found = placement::find_defragmentation(
      core.core, {core.context, level.keys, waiting.all(), stay, owners, asked.limits}, transaction);

  PlannedDefragmentation plan{level.name,
                              level.keys,
                              {},
                              {},
                              found.whole_before,
                              found.whole_after,
                              waiting.all().size(),
                              found.ended,
                              std::move(input.notes)};
  for (const placement::DefragmentedDomain& domain : found.domains)
    plan.domains.push_back(planned(domain, offline->cluster(), waiting.all()));
  for (const placement::KeptDomain& kept : found.kept)
    plan.kept.push_back({kept.path, kept.reason,
                         kept.pod.valid() ? offline->cluster().pod(kept.pod).key.text() : std::string()});
  return plan;
}

}  // namespace berth::planning
