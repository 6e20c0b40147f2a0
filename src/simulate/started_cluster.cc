#include "simulate/started_cluster.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "simulate/lost_nodes.h"

namespace berth::simulate {

Result<std::unique_ptr<StartedCluster>> StartedCluster::make(StartInput input,
                                                             const planning::PlanOptions& options) {
  auto started = std::unique_ptr<StartedCluster>(new StartedCluster(options));
  started->options_.objects = false;
  started->options_.verdicts = planning::Verdicts::None;
  std::vector<api::ObjectKey> later;
  for (const planning::Document& document : input.later) later.push_back(key_of_document(document));
  std::vector<planning::Document> documents = std::move(input.objects);
  std::ranges::move(input.later, std::back_inserter(documents));
  started->options_.now = planning::now_of(documents, options);
  started->offline_ = TRY(planning::OfflineCluster::make(std::move(documents), started->options_));
  for (const api::ObjectKey& key : later)
    if (key.kind != api::Kind::Other)
      std::ranges::move(take_stored(*started->offline_, key), std::back_inserter(started->later_));
  std::ranges::sort(started->later_, {}, &StoredObject::key);
  lose_nodes(*started->offline_, input.lost_nodes);
  started->planner_ =
      std::make_unique<planning::Planner>(*started->offline_, started->options_, started->selectors_);
  return started;
}

planning::Plan StartedCluster::settle() {
  planning::Plan plan;
  for (std::size_t pass = 0; pass < kSettlePassesMax; ++pass) {
    plan = planner_->run();
    const auto placed = std::ranges::count_if(plan.decisions, [](const planning::Decision& decision) {
      return std::ranges::any_of(decision.pods,
                                 [](const planning::PlannedPod& pod) { return !pod.node.empty(); });
    });
    if (placed == 0 || placed == std::ssize(plan.decisions)) break;
  }
  return plan;
}

std::vector<client::NamedKey> StartedCluster::waiting_pods() const {
  std::vector<client::NamedKey> waiting;
  for (const auto& [key, pod] : offline_->view().pods.all())
    if (placement::wants_place(offline_->view(), offline_->cluster(), *pod)) waiting.push_back(key);
  return waiting;
}

std::vector<placement::EntityKey> StartedCluster::entities_of(
    const std::vector<client::NamedKey>& pods) const {
  std::set<placement::EntityKey> entities;
  for (const client::NamedKey& key : pods)
    if (const api::Pod* pod = offline_->view().pods.find(key.ns, key.name))
      entities.insert(planning::entity_of(offline_->view(), *pod, planning::trees_of(options_)));
  return {entities.begin(), entities.end()};
}

}  // namespace berth::simulate
