#include "planning/remedies.h"

#include <algorithm>

#include "api/node_names.h"
#include "placement/preemption/victims.h"
#include "planning/offline_core.h"

namespace berth::planning {
namespace {

using placement::RefusedFor;
using placement::Remedy;
using placement::RemedyKind;

// Taints that Kubernetes sets while a condition holds: nobody removes them.
constexpr std::string_view kConditionTaints = "node.kubernetes.io/";

// Changes the node; false: the kind of remedy does not apply to it.
using ChangeNode = bool (*)(const api::Pod& pod, const RefusedFor& why, api::Node& node, Remedy& remedy);

bool uncordon(const api::Pod&, const RefusedFor&, api::Node& node, Remedy&) {
  node.unschedulable = false;
  std::erase_if(node.taints, [](const api::Taint& taint) { return taint.key == api::kUnschedulableTaint; });
  return true;
}

bool remove_taints(const api::Pod& pod, const RefusedFor&, api::Node& node, Remedy& remedy) {
  bool possible = true;
  std::erase_if(node.taints, [&](const api::Taint& taint) {
    if (taint.effect == "PreferNoSchedule" || api::tolerates(pod.tolerations, taint)) return false;
    possible = possible && !taint.key.starts_with(kConditionTaints);
    remedy.subjects.push_back(taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" +
                              taint.effect);
    return true;
  });
  return possible && !remedy.subjects.empty();
}

// Of a plain node selector.
bool add_labels(const api::Pod& pod, const RefusedFor&, api::Node& node, Remedy& remedy) {
  if (pod.node_selector.contains(std::string(api::kHostnameLabel))) return false;
  for (const auto& [key, value] : pod.node_selector)
    if (std::string& label = node.meta.labels[key]; label != value) {
      label = value;
      remedy.subjects.push_back(key + "=" + value);
    }
  return !remedy.subjects.empty();
}

bool add_resource(const api::Pod&, const RefusedFor& why, api::Node& node, Remedy& remedy) {
  const bool slots = why.row->id == "TooManyPods";
  if (!slots && (!why.lacks || !why.lacks->asked)) return false;
  const std::string resource = slots ? "pods" : why.subject;
  remedy.more = slots ? Quantity::of(1) : *why.lacks->asked - why.lacks->free;
  remedy.subjects = {resource};
  Quantity& amount = node.allocatable[resource];
  amount = amount + remedy.more;
  return true;
}

struct NodeRemedy {
  std::string_view reason;
  RemedyKind kind;
  ChangeNode change;
};
constexpr NodeRemedy kNodeRemedies[] = {
    {"NodeUnschedulable", RemedyKind::Uncordon, uncordon},
    {"UntoleratedTaint", RemedyKind::RemoveTaints, remove_taints},
    {"NodeAffinityMismatch", RemedyKind::AddLabels, add_labels},
    {"InsufficientResource", RemedyKind::AddResource, add_resource},
    {"InsufficientAllocatable", RemedyKind::AddResource, add_resource},
    {"TooManyPods", RemedyKind::AddResource, add_resource},
};

class RemedySearch {
 public:
  RemedySearch(OfflineCluster& offline, const api::Pod& pod, const PlanOptions& options,
               dra::SelectorEvaluator& selectors)
      : offline_(offline),
        pod_(pod),
        offline_core_(offline, options, selectors),
        core_(offline_core_.core),
        context_(offline_core_.context) {}

  std::vector<Remedy> run() {
    const placement::RefusalPtr refusal = decide(pod_).refusal;
    if (!refusal || refusal->result == placement::DecisionResult::Error) return {};
    evict();
    for (const RefusedFor& why : refusal->nodes.reasons)
      for (const NodeRemedy& row : kNodeRemedies)
        if (row.reason == why.row->id) change_a_node(why, row);
    for (const RefusedFor& why : refusal->nodes.reasons)
      if (add_node(why)) break;
    return std::move(found_);
  }

 private:
  placement::PodDecision decide(const api::Pod& pod, const placement::Preempting& preempting = {}) {
    ++tries_;
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    return core_.decide_pod(context_, pod, {}, transaction, preempting);
  }
  bool is_over() const { return found_.size() >= kRemediesMax || tries_ >= kRemedyTriesMax; }

  // The nearest node first; one remedy for a reason.
  void change_a_node(const RefusedFor& why, const NodeRemedy& row) {
    std::vector<std::string> names;
    if (why.lacks) names.push_back(why.lacks->nearest);
    if (!why.lacks)
      for (const placement::RefusedNode& node : why.first) names.push_back(node.name);
    for (const std::string& name : names) {
      if (is_over()) return;
      const api::Node before = *offline_.view().nodes.find("", name);
      api::Node changed = before;
      Remedy remedy{row.kind, name, {}, {}, {}};
      if (!row.change(pod_, why, changed, remedy)) continue;
      changed.meta.resource_version = version();
      offline_.put_node(std::move(changed));
      const bool placed = !decide(pod_).refusal;
      put_back(before);
      if (!placed) continue;
      found_.push_back(std::move(remedy));
      return;
    }
  }

  // Whoever could be evicted for a pod of the highest priority, and is enough for this one.
  void evict() {
    api::Pod urgent = pod_;
    urgent.priority = INT32_MAX;
    urgent.preemption_policy.clear();
    placement::Preempting preempting;
    preempting.searches = true;
    const auto plan = decide(urgent, preempting).preemption;
    if (!plan || plan->victims.empty()) return;
    Remedy remedy{RemedyKind::Evict, offline_.cluster().node(plan->node).name, {}, {}, {}};
    ++tries_;
    model::Ledger::Transaction transaction(offline_.cluster().ledger());
    for (const auto* pods : {&plan->victims, &plan->awaited})
      for (const placement::PreemptionVictim& victim : *pods) {
        placement::remove_victim(offline_.cluster(), victim.pod, transaction);
        const api::Pod& live = *offline_.cluster().pod(victim.pod).live;
        if (pods == &plan->victims)
          remedy.victims.emplace_back(live.meta.ns + "/" + live.meta.name,
                                      placement::priority_of(offline_.view(), live));
      }
    if (!core_.decide_pod(context_, pod_, {}, transaction).refusal) found_.push_back(std::move(remedy));
  }

  bool add_node(const RefusedFor& why) {
    if (is_over() || why.first.empty()) return false;
    const std::string like = why.lacks ? why.lacks->nearest : why.first.front().name;
    api::Node copy = *offline_.view().nodes.find("", like);
    copy.meta.name = like + "-copy";
    copy.meta.uid = "copy of " + copy.meta.uid;
    if (copy.unschedulable || offline_.view().nodes.find("", copy.meta.name)) return false;
    const std::string copied = copy.meta.name;
    if (const auto label = copy.meta.labels.find(std::string(api::kHostnameLabel));
        label != copy.meta.labels.end())
      label->second = copied;
    offline_.put_node(std::move(copy));
    const bool placed = !decide(pod_).refusal;
    offline_.erase_node(copied);
    if (placed) found_.push_back({RemedyKind::AddNode, like, {}, {}, {}});
    return placed;
  }

  void put_back(api::Node before) {
    before.meta.resource_version = version();
    offline_.put_node(std::move(before));
  }
  // Above those of a cluster: a view keeps the newest.
  std::uint64_t version() { return ++version_ + (std::uint64_t{1} << 62); }

  OfflineCluster& offline_;
  const api::Pod& pod_;
  OfflineCore offline_core_;
  placement::DecisionCore& core_;
  const placement::SchedulingContext& context_;
  std::vector<Remedy> found_;
  std::size_t tries_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace

Result<std::vector<Remedy>> find_remedies(std::vector<Document> documents, const client::NamedKey& pod,
                                          const PlanOptions& options, dra::SelectorEvaluator& selectors) {
  const std::unique_ptr<OfflineCluster> offline = TRY(OfflineCluster::make(std::move(documents), options));
  const auto asked = offline->view().pods.find_shared(pod.ns, pod.name);
  const bool waits =
      asked && asked->group.empty() && placement::wants_place(offline->view(), offline->cluster(), *asked);
  if (!waits || !offline->trouble_of(pod).empty()) return std::vector<Remedy>();
  return RemedySearch(*offline, *asked, options, selectors).run();
}

}  // namespace berth::planning
