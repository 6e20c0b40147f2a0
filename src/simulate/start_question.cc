// The question when a pod or a group of a script starts.
#include <algorithm>

#include "base/name_list.h"
#include "placement/expected_duration.h"
#include "placement/plugins/gpu_fragmentation.h"
#include "simulate/simulation_run.h"

namespace berth::simulate {

// Pods that run at the start end as they are expected to; what waits there is decided whenever something
// ends.
void Simulation::adopt_start() {
  const client::View& view = offline_->view();
  for (const auto& [key, pod] : view.pods.all()) {
    if (!pod->bound() || pod->finished()) continue;
    const std::optional<Duration> runs = placement::expected_duration(view, *pod);
    if (!runs) continue;
    const Time began = pod->started.is_set() ? pod->started : start_;
    events_.push({std::max(Duration(), began + *runs - start_), EventKind::FirstEnd, first_ends_.size()});
    first_ends_.push_back(key);
  }
  for (const planning::Turn& turn :
       planning::turns_of(view, offline_->cluster(), planning::trees_of(options_)))
    adopt(turn.entry.key);
}

void Simulation::adopt(const EntityKey& key) {
  Unit unit{&at_start_, key};
  for (const NamedKey& pod : waiting_of(key)) {
    const model::PodRow& row = offline_->cluster().pod(offline_->cluster().find_pod(pod.ns, pod.name));
    unit.pods.push_back(pods_.size());
    pod_index_[pod] = pods_.size();
    pods_.push_back({pod, units_.size(), stored_of(*offline_, {api::Kind::Pod, pod.ns, pod.name, {}}),
                     placement::gpu_demand_of(row).gpus()});
  }
  unit.waiting = unit.pods.size();
  unit.queued = turn_of(key).entry;
  units_.push_back(std::move(unit));
  waiting_.insert(units_.size() - 1);
  due_.insert(units_.size() - 1);
}

std::vector<NamedKey> Simulation::waiting_of(const EntityKey& key) {
  const client::View& view = offline_->view();
  std::vector<NamedKey> pods;
  const auto add = [&pods](const placement::GroupMembers& members) {
    for (const api::Pod* pod : members.waiting) pods.push_back({pod->meta.ns, pod->meta.name});
  };
  if (key.kind == EntityKind::Pod) pods.push_back({key.ns, key.name});
  if (key.kind == EntityKind::Group) add(planning::members_of(view, offline_->cluster(), key));
  if (key.kind == EntityKind::CompositeGroup) {
    const placement::TreeMembers tree = planning::tree_of(view, offline_->cluster(), key);
    for (const placement::TreeMember& node : tree.nodes) add(node.members);
  }
  std::ranges::sort(pods);
  return pods;
}

// By its own name, else by that of one of its pods or of their groups.
Result<std::size_t> Simulation::unit_named(const std::string& name) const {
  const std::size_t slash = name.find('/');
  const std::string ns = slash == std::string::npos ? "" : name.substr(0, slash);
  const std::string bare = slash == std::string::npos ? name : name.substr(slash + 1);
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < units_.size(); ++i)
    if (units_[i].key.name == bare && (ns.empty() || units_[i].key.ns == ns)) found.insert(i);
  if (found.empty())
    for (const SimulatedPod& pod : pods_) {
      const auto& object = *std::get<std::shared_ptr<const api::Pod>>(pod.objects.front().object);
      if ((pod.key.name == bare || object.group == bare) && (ns.empty() || pod.key.ns == ns))
        found.insert(pod.unit);
    }
  if (found.size() == 1) return *found.begin();
  const std::string flag = "--eta " + name;
  if (found.empty())
    return Error(ErrorCode::Invalid, flag,
                 "the input has no pod or group of this name that waits or arrives");
  std::vector<std::string> names;
  for (const std::size_t unit : found) names.push_back(units_[unit].key.ns + "/" + units_[unit].key.name);
  std::ranges::sort(names);
  return Error(ErrorCode::Invalid, flag,
               "means several: " + first_names(names, kEndingsNamedMax) + "; write NAMESPACE/NAME");
}

bool Simulation::has_started(const Unit& unit) const {
  return std::ranges::any_of(unit.pods, [this](std::size_t pod) { return pods_[pod].starts > 0; });
}

Result<StartAnswer> Simulation::start_of(const std::string& name) {
  keeps_ends_ = true;
  adopt_start();
  const std::size_t asked = TRY(unit_named(name));
  StartAnswer answer{.key = units_[asked].key, .arrives = units_[asked].arrival->at};
  decide_due();
  while (!has_started(units_[asked]) && !events_.empty() && decisions_ < kStartQuestionDecisionsMax) step();
  if (has_started(units_[asked]))
    explain_start(units_[asked], answer);
  else if (events_.empty())
    explain_wait(units_[asked], answer);
  else
    answer.result = StartResult::OutOfBudget;
  return answer;
}

// The ends on its nodes count; if there are none, all of them.
void Simulation::explain_start(const Unit& unit, StartAnswer& answer) const {
  answer.result = StartResult::Starts;
  answer.at = now_;
  std::set<std::string> nodes;
  for (const std::size_t pod : unit.pods)
    if (!pods_[pod].node.empty()) nodes.insert(pods_[pod].node);
  answer.nodes.assign(nodes.begin(), nodes.end());
  answer.ended = ended_.size();
  const auto is_there = [&nodes](const EndedPod& one) { return nodes.contains(one.node); };
  const bool any_there = std::ranges::any_of(ended_, is_there);
  for (auto one = ended_.rbegin(); one != ended_.rend() && answer.after.size() < kEndingsNamedMax; ++one)
    if (!any_there || is_there(*one)) answer.after.push_back(*one);
}

// Nothing happens any more. What still runs has no end: would it fit if all of that ended?
void Simulation::explain_wait(const Unit& unit, StartAnswer& answer) {
  std::map<NamedKey, std::string> endless;
  for (const auto& [key, pod] : offline_->view().pods.all())
    if (pod->bound() && !pod->finished()) endless[key] = pod->node_name;
  for (const auto& [key, node] : endless) offline_->end(key);
  answer.plan = planner_->decide(turn_of(unit.key));
  std::set<std::string> nodes;
  for (const planning::Decision& decision : answer.plan.decisions)
    for (const planning::PlannedPod& pod : decision.pods)
      if (!pod.node.empty()) nodes.insert(pod.node);
  if (nodes.empty()) return;
  answer.result = StartResult::Unknown;
  answer.nodes.assign(nodes.begin(), nodes.end());
  answer.plan = {};
  for (const auto& [key, node] : endless) {
    if (!nodes.contains(node)) continue;
    ++answer.endless;
    if (answer.endless_pods.size() < kEndingsNamedMax) answer.endless_pods.push_back(key.text());
  }
  answer.on_nodes =
      answer.endless + static_cast<std::size_t>(std::ranges::count_if(
                           ended_, [&](const EndedPod& one) { return nodes.contains(one.node); }));
}

Result<StartAnswer> expected_start(const Script& script, const std::string& name,
                                   const planning::PlanOptions& options) {
  Simulation simulation(script, options);
  if (Status loaded = simulation.load(); !loaded) return loaded.error();
  return simulation.start_of(name);
}

}  // namespace berth::simulate
