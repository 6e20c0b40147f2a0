#include "planning/planner.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/fnv.h"
#include "planning/judgement.h"
#include "planning/objects.h"
#include "scheduling/explain.h"

namespace berth::planning {
namespace {

using model::NodeId;

constexpr std::array<std::string_view, 6> kResultNames = {"Placed", "Preempting", "Unschedulable",
                                                          "Error",  "Gated",      "Unknown"};

bool goes_first(const Turn& a, const Turn& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.created != b.created) return a.created < b.created;
  return std::tie(a.ns, a.name, a.of_group) < std::tie(b.ns, b.name, b.of_group);
}

bool is_pending(const model::Cluster& cluster, const api::Pod& pod) {
  return !pod.bound() && !pod.finished() && !pod.meta.deleting() &&
         !cluster.ledger().node_of(cluster.find_pod(pod.meta.ns, pod.meta.name)).valid();
}

// Share ids depend on the pod or group of the turn and on the seed alone.
std::uint64_t seed_of(const Turn& turn, std::uint64_t seed) {
  return fnv1a(turn.ns + "/" + turn.name, kFnvStart ^ seed);
}

std::string id_of(const Decision& decision) {
  return (decision.group ? "group/" : "pod/") + decision.ns + "/" + decision.name;
}

}  // namespace

std::string_view name_of(ResultKind kind) {
  return kResultNames[static_cast<std::size_t>(kind)];
}

bool Plan::complete() const {
  return std::all_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
    return decision.result == ResultKind::Placed || decision.result == ResultKind::Gated;
  });
}

std::vector<Turn> turns_of(const client::View& view, const model::Cluster& cluster) {
  std::map<client::NamedKey, Turn> groups;
  std::vector<Turn> turns;
  for (const auto& [key, pod] : view.pods.all()) {
    if (!is_pending(cluster, *pod)) continue;
    if (pod->group.empty()) {
      turns.push_back({pod->priority, pod->meta.created, key.ns, key.name, {pod}, false, nullptr});
      continue;
    }
    Turn& turn = groups[{key.ns, pod->group}];
    turn.pods.push_back(pod);
    if (turn.of_group) continue;
    const api::PodGroup* group = view.pod_groups.find(key.ns, pod->group);
    turn.of_group = true;
    turn.ns = key.ns;
    turn.name = pod->group;
    turn.group = group;
    turn.priority = group ? group->priority : pod->priority;
    turn.created = group ? group->meta.created : pod->meta.created;
  }
  for (auto& [key, turn] : groups) turns.push_back(std::move(turn));
  std::sort(turns.begin(), turns.end(), goes_first);
  return turns;
}

Planner::Planner(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors)
    : offline_(offline),
      options_(options),
      allocator_(offline.cluster(), selectors, random_, options.device_gates),
      context_{offline.view(), offline.cluster(), allocator_, offline.now()},
      plugins_(scheduling::default_plugins()),
      cycle_(plugins_),
      signature_cache_(cycle_, domains_),
      groups_(plugins_, domains_, signature_cache_) {
  allocator_.set_scoring(options.device_scoring);
}

Plan Planner::run() {
  const std::vector<Turn> turns = turns_of(offline_.view(), offline_.cluster());
  for (const Turn& turn : turns) {
    random_ = SeededRandom(seed_of(turn, options_.seed));
    Decision decision;
    decision.ns = turn.ns;
    decision.name = turn.name;
    decision.group = turn.of_group;
    if (turn.of_group) {
      decide_group(turn, decision);
    } else {
      decide_pod(*turn.pods.front(), decision);
    }
    plan_.decisions.push_back(std::move(decision));
  }
  if (options_.objects) plan_.objects = objects();
  return std::move(plan_);
}

bool Planner::may_be_tried(const api::Pod& pod, Decision& decision) const {
  if (const std::string& trouble = offline_.trouble_of({pod.meta.ns, pod.meta.name}); !trouble.empty()) {
    decision.result = ResultKind::Error;
    decision.reason = "Invalid";
    decision.message = trouble;
    return false;
  }
  for (const auto& plugin : plugins_.gates) {
    const scheduling::PreEnqueueResult gate = plugin->check(offline_.view(), pod);
    if (gate.kind == scheduling::PreEnqueueResult::Kind::Open) continue;
    const bool gated = !pod.scheduling_gates.empty();
    decision.result = gated ? ResultKind::Gated : ResultKind::Unschedulable;
    decision.reason = gated ? "SchedulingGated" : "Unschedulable";
    decision.message = gate.kind == scheduling::PreEnqueueResult::Kind::Reported
                           ? gate.message
                           : "pod " + pod.meta.name + " " + gate.message;
    return false;
  }
  return true;
}

void Planner::decide_pod(const api::Pod& pod, Decision& decision) {
  decision.pods.push_back({pod.meta.ns, pod.meta.name, "", {}});
  if (!may_be_tried(pod, decision)) return;
  model::Cluster& cluster = offline_.cluster();
  const std::vector<NodeId>& nodes = domains_.nodes(cluster);
  if (options_.verdicts != Verdicts::None) decision.verdicts = judge_nodes(cycle_, context_, pod, nodes);
  cycle_.begin(state_, context_, pod);
  const NodeId node = signature_cache_.choose(state_, {});
  if (!node.valid()) return refuse_pod(pod, nodes, decision);
  cycle_.judge(state_, {&node, 1});
  decision.score = state_.scores.front();
  {
    model::Ledger::Transaction transaction(cluster.ledger());
    if (!cycle_.reserve(state_, node, transaction)) return refuse_pod(pod, nodes, decision);
  }
  const scheduling::Reservation& reserved = state_.reservation;
  place({pod, node, reserved.claims, reserved.node_allocatable}, {}, id_of(decision), decision.pods.front());
  decision.result = ResultKind::Placed;
  decision.reason = "Scheduled";
  decision.message = pod.meta.ns + "/" + pod.meta.name + " goes to " + decision.pods.front().node;
}

void Planner::refuse_pod(const api::Pod& pod, std::span<const NodeId> nodes, Decision& decision) {
  const scheduling::FitError fit_error = signature_cache_.fit_error(state_);
  if (!fit_error.error.empty()) {
    decision.result = ResultKind::Error;
    decision.reason = "SchedulerError";
    decision.message = fit_error.error;
    return;
  }
  const bool unknown =
      std::any_of(fit_error.reasons.begin(), fit_error.reasons.end(),
                  [](const auto& refused) { return *refused.row == scheduling::reason_row("SearchEnded"); });
  decision.result = unknown ? ResultKind::Unknown : ResultKind::Unschedulable;
  decision.reason = unknown ? "SearchBudgetEnded" : "Unschedulable";
  decision.message = fit_error.fit_sentence(nodes.size());
  if (!nodes.empty())
    decision.message += " " + fit_error.preemption_sentence(nodes.size(), pod.preemption_policy);
  decision.explanation = scheduling::explain_pod(state_, fit_error, nodes.size());
  decision.message += " " + decision.explanation;
  if (!unknown) decision.certificate = prove(cycle_, state_, fit_error, nodes);
}

void Planner::place(const Chosen& chosen, const api::BindGroup& group, const std::string& id,
                    PlannedPod& planned) {
  const api::Pod& pod = chosen.pod;
  planned.node = offline_.cluster().node(chosen.node).name;
  for (const scheduling::ClaimChoice& choice : chosen.claims) {
    const model::ClaimRow& row = offline_.cluster().claim(choice.claim);
    planned.claims.push_back({row.key.name, choice.allocation});
  }
  offline_.bind(pod, planned.node, chosen.claims, chosen.node_allocatable);
  domains_.use_changed(chosen.node);
  if (!options_.objects) return;
  placed_.push_back({pod.meta.ns, pod.meta.name});
  bind_requests_.push_back(
      bind_request({pod, planned.node, chosen.claims, chosen.node_allocatable, group, id}, context_));
}

// Each once, as everything was decided: pods in their order, their claims, the bind requests.
std::vector<Json> Planner::objects() const {
  std::vector<Json> pods, claims;
  std::set<std::string> seen;
  for (const client::NamedKey& key : placed_) {
    const api::Pod& pod = *offline_.view().pods.find(key.ns, key.name);
    pods.push_back(bound_pod(pod));
    std::vector<std::string> names = {pod.extended_claim};
    for (const api::PodClaim& named : pod.claims) names.push_back(api::claim_object_name(pod, named));
    for (const std::string& name : names) {
      const api::ResourceClaim* claim = offline_.view().claims.find(key.ns, name);
      if (claim && seen.insert(key.ns + "/" + name).second) claims.push_back(allocated_claim(*claim));
    }
  }
  std::move(claims.begin(), claims.end(), std::back_inserter(pods));
  pods.insert(pods.end(), bind_requests_.begin(), bind_requests_.end());
  return pods;
}

Result<Plan> make_plan(std::vector<Document> documents, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors) {
  const std::unique_ptr<OfflineCluster> offline = TRY(OfflineCluster::make(std::move(documents), options));
  return Planner(*offline, options, selectors).run();
}

}  // namespace berth::planning
