#include "simulate/questions.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "simulate/started_cluster.h"
#include "simulate/workload_copies.h"

namespace berth::simulate {
namespace {

using client::NamedKey;
using planning::Document;
using planning::OfflineCluster;
using planning::PlanOptions;

bool has_node(const OfflineCluster& offline, const NamedKey& key) {
  const api::Pod* pod = offline.view().pods.find(key.ns, key.name);
  return pod && pod->bound();
}

std::vector<NamedKey> pods_of(const std::vector<StoredObject>& objects) {
  std::vector<NamedKey> pods;
  for (const StoredObject& one : objects)
    if (one.key.kind == api::Kind::Pod) pods.push_back({one.key.ns, one.key.name});
  return pods;
}

std::size_t victims_in(const planning::Plan& plan) {
  std::size_t victims = 0;
  for (const planning::Decision& decision : plan.decisions) victims += decision.victims.size();
  return victims;
}

// Places copies until one does not fit.
class CopyCounter {
 public:
  CopyCounter(StartedCluster& started, const WorkloadCopies& copies, const PlanOptions& options)
      : started_(started), copies_(copies), planner_(started.offline(), options, started.selectors()) {
    answer_.pods_per_copy = copies_.pods();
  }

  FitAnswer count() {
    for (std::size_t number = 1; place(number); ++number) {
      ++answer_.copies;
      answer_.bounded = number == kFitCopiesMax || (number + 1) * answer_.pods_per_copy > kFitPodsMax;
      if (answer_.bounded) break;
    }
    return std::move(answer_);
  }

 private:
  bool place(std::size_t number) {
    const std::vector<StoredObject> copy = copies_.make(number);
    for (const StoredObject& stored : copy) started_.put(stored);
    planning::Plan plan = decide_entities(started_.offline(), planner_, started_.entities_of(pods_of(copy)));
    if (!std::ranges::all_of(plan.decisions, [](const planning::Decision& decision) {
          return decision.result == planning::ResultKind::Placed;
        })) {
      answer_.next = std::move(plan);
      return false;
    }
    for (const NamedKey& key : pods_of(copy))
      if (const api::Pod* pod = started_.offline().view().pods.find(key.ns, key.name); pod->bound())
        ++answer_.nodes[pod->node_name];
    return true;
  }

  StartedCluster& started_;
  const WorkloadCopies& copies_;
  planning::Planner planner_;
  FitAnswer answer_;
};

}  // namespace

Result<FailAnswer> nodes_fail(const Script& script, const std::vector<std::string>& nodes,
                              const PlanOptions& options) {
  const auto started = TRY(StartedCluster::make({script.objects, {}, script.lost_nodes}, options));
  started->settle();
  FailAnswer answer{nodes, lose_nodes(started->offline(), nodes), {}};
  std::vector<NamedKey> waiting;
  for (const LostPod& pod : answer.pods)
    if (pod.returns) waiting.push_back(pod.key);
  answer.gone = answer.pods.size() - waiting.size();
  answer.plan = decide_entities(started->offline(), started->planner(), started->entities_of(waiting));
  answer.placed = static_cast<std::size_t>(
      std::ranges::count_if(waiting, [&](const NamedKey& key) { return has_node(started->offline(), key); }));
  answer.waiting = waiting.size() - answer.placed;
  answer.evicted = victims_in(answer.plan);
  return answer;
}

Result<AddAnswer> objects_come(const Script& script, const StartChanges& changes,
                               const PlanOptions& options) {
  AddAnswer answer;
  for (const Document& document : changes.added)
    ++answer.objects[std::string(document.object.string_at("kind"))];
  std::vector<std::string> lost = script.lost_nodes;
  lost.insert(lost.end(), changes.lost_nodes.begin(), changes.lost_nodes.end());
  const auto started = TRY(StartedCluster::make({script.objects, changes.added, lost}, options));
  started->settle();
  const std::vector<NamedKey> waited = started->waiting_pods();
  for (const StoredObject& stored : started->later()) started->put(stored);
  std::vector<NamedKey> added;
  std::ranges::set_difference(started->waiting_pods(), waited, std::back_inserter(added));
  answer.plan = started->planner().run();
  const auto placed = [&](const std::vector<NamedKey>& pods) {
    return static_cast<std::size_t>(
        std::ranges::count_if(pods, [&](const NamedKey& key) { return has_node(started->offline(), key); }));
  };
  answer.waited = waited.size();
  answer.placed = placed(waited);
  answer.added = added.size();
  answer.added_placed = placed(added);
  return answer;
}

Result<FitAnswer> copies_fit(const Script& script, const StartChanges& changes,
                             std::vector<Document> workload, const PlanOptions& options) {
  const Script start = changed(script, changes);
  const auto started = TRY(StartedCluster::make(
      {start.objects, first_copy(std::move(workload), start.objects), start.lost_nodes}, options));
  const WorkloadCopies copies(started->later());
  if (copies.pods() == 0)
    return Error(ErrorCode::Invalid, "has no pod: give a pod, or a group with its pods");
  for (const StoredObject& stored : copies.once()) started->put(stored);
  started->settle();
  PlanOptions without_victims = started->options();
  without_victims.preempts = false;
  return CopyCounter(*started, copies, without_victims).count();
}

}  // namespace berth::simulate
