#include "planning/planner.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/fnv.h"
#include "base/nearest_names.h"
#include "placement/refusal/berth_words.h"
#include "placement/refusal/kubernetes_words.h"
#include "planning/judgement.h"
#include "planning/objects.h"
#include "planning/workload_pods.h"

namespace berth::planning {
namespace {

using model::NodeId;
using placement::DecisionResult;
using placement::EntityKind;

constexpr std::array<std::string_view, kResultKindCount> kResultNames = {
    "Placed", "Preempting", "Unschedulable", "Error", "Gated", "Unknown"};

// Share ids depend only on the pod or group of the turn and on the seed.
std::uint64_t seed_of(const Turn& turn, std::uint64_t seed) {
  return fnv1a(turn.entry.key.ns + "/" + turn.entry.key.name, kFnvStart ^ seed);
}

std::string id_of(const Decision& decision) {
  return (decision.group ? "group/" : "pod/") + decision.ns + "/" + decision.name;
}

}  // namespace

std::string_view name_of(ResultKind kind) {
  return kResultNames[static_cast<std::size_t>(kind)];
}

std::string Decision::sentence() const {
  return refusal ? placement::kubernetes_sentence(*refusal) : told;
}

std::string Decision::explanation() const {
  return refusal ? placement::explanation_of(*refusal) : "";
}

std::string Decision::message() const {
  return placement::joined(sentence(), explanation());
}

std::optional<Proof> Decision::certificate() const {
  return result == ResultKind::Unschedulable && refusal ? placement::proof_text(*refusal) : std::nullopt;
}

bool Plan::complete() const {
  return std::all_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
    return decision.result == ResultKind::Placed || decision.result == ResultKind::Gated;
  });
}

Trees trees_of(const PlanOptions& options) {
  return options.gates->enabled("CompositePodGroup") ? Trees::Decided : Trees::Held;
}

placement::EntityKey entity_of(const client::View& view, const api::Pod& pod, Trees trees) {
  if (pod.group.empty()) return {pod.meta.ns, pod.meta.name, EntityKind::Pod};
  const api::PodGroup* group =
      trees == Trees::Decided ? view.pod_groups.find(pod.meta.ns, pod.group) : nullptr;
  const std::string root = group ? client::tree_top(view, *group).name : std::string();
  if (root.empty()) return {pod.meta.ns, pod.group, EntityKind::Group};
  return {pod.meta.ns, root, EntityKind::CompositeGroup};
}

Turn turn_of(const client::View& view, const model::Cluster& cluster, const placement::EntityKey& key) {
  switch (key.kind) {
    case EntityKind::Pod: {
      const auto pod = view.pods.find_shared(key.ns, key.name);
      return {placement::queue_entry(*pod), pod, nullptr};
    }
    case EntityKind::Group: {
      const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
      const placement::GroupMembers members =
          group ? placement::GroupMembers{} : members_of(view, cluster, key);
      return {placement::queue_entry(key, group, members), nullptr, group};
    }
    case EntityKind::CompositeGroup:
      return {placement::queue_entry(tree_of(view, cluster, key)), nullptr, nullptr};
  }
  return {};
}

std::vector<Turn> turns_of(const client::View& view, const model::Cluster& cluster, Trees trees) {
  std::set<placement::EntityKey> groups;
  std::vector<Turn> turns;
  for (const auto& [name, pod] : view.pods.all()) {
    if (!placement::wants_place(view, cluster, *pod)) continue;
    if (pod->group.empty())
      turns.push_back({placement::queue_entry(*pod), pod, nullptr});
    else
      groups.insert(entity_of(view, *pod, trees));
  }
  for (const placement::EntityKey& key : groups) turns.push_back(turn_of(view, cluster, key));
  std::ranges::sort(turns, placement::queue_sort_less, &Turn::entry);
  return turns;
}

Planner::Planner(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors,
                 ProofBounds proofs, Alike alike)
    : offline_(offline),
      options_(options),
      offline_core_(offline, options, selectors, proofs),
      core_(offline_core_.core),
      context_(offline_core_.context),
      alike_(alike) {}

Plan Planner::run() {
  refused_.clear();
  turns_ = turns_of(offline_.view(), offline_.cluster(), trees_of(options_));
  return take_turns();
}

Plan Planner::decide(const Turn& turn) {
  turns_ = {turn};
  return take_turns();
}

Plan Planner::take_turns() {
  for (turn_ = 0; turn_ < turns_.size(); ++turn_) take_turn(Turn(turns_[turn_]));
  if (options_.objects) plan_.objects = objects();
  return std::exchange(plan_, {});
}

void Planner::take_turn(const Turn& turn) {
  core_.begin(seed_of(turn, options_.seed));
  if (turn.entry.key.kind == EntityKind::CompositeGroup) return decide_tree(turn);
  Decision decision;
  decision.ns = turn.entry.key.ns;
  decision.name = turn.entry.key.name;
  decision.group = turn.entry.key.kind == EntityKind::Group;
  if (decision.group) {
    if (!decide_group(turn, decision)) return;
  } else {
    std::string likeness = likeness_of(*turn.pod);
    if (refused_.contains(likeness)) return;
    decide_pod(*turn.pod, decision);
    if (decision.result == ResultKind::Unschedulable && !likeness.empty())
      refused_.insert(std::move(likeness));
  }
  plan_.decisions.push_back(std::move(decision));
}

std::string Planner::hint_about(api::Kind kind, const std::string& ns, const std::string& missing) const {
  const std::vector<api::ObjectKey> keys = offline_.view().keys_in(kind, ns);
  std::vector<std::string> names;
  for (const api::ObjectKey& key : keys)
    if (names.size() < kNamesComparedMax) names.push_back(key.name);
  return names_hint(missing, names, keys.size());
}

std::string Planner::hint_about(const api::Pod& pod, const placement::PodGate& gate) const {
  if (gate.kind == placement::PodGate::Kind::ClaimMissing)
    return hint_about(api::Kind::ResourceClaim, pod.meta.ns, gate.claim);
  const auto named = std::ranges::find(pod.claims, gate.claim, &api::PodClaim::name);
  if (gate.kind != placement::PodGate::Kind::ClaimNotMade || named == pod.claims.end() ||
      offline_.view().claim_templates.find(pod.meta.ns, named->template_name))
    return "";
  const std::string text = "ResourceClaimTemplate " + named->template_name + " does not exist";
  const std::string hint = hint_about(api::Kind::ResourceClaimTemplate, pod.meta.ns, named->template_name);
  return hint.empty() ? text : text + ", " + hint;
}

// A delay of its own begins when it is created.
std::string Planner::likeness_of(const api::Pod& pod) const {
  if (alike_ == Alike::DecideEach || !pod.meta.annotation(placement::kPreemptionDelayAnnotation).empty())
    return "";
  const model::PodId id = offline_.cluster().find_pod(pod.meta.ns, pod.meta.name);
  const model::PodTemplateId of = offline_.cluster().pod(id).of_template;
  return of.valid() ? "template " + std::to_string(of.index()) : "";
}

bool Planner::may_be_tried(const api::Pod& pod, Decision& decision) const {
  if (const std::string& trouble = offline_.trouble_of({pod.meta.ns, pod.meta.name}); !trouble.empty()) {
    decision.result = ResultKind::Error;
    decision.reason = "Invalid";
    decision.told = trouble;
    return false;
  }
  std::optional<placement::PodGate> gate = core_.gate(offline_.view(), pod);
  if (!gate) return true;
  gate->hint = hint_about(pod, *gate);
  const std::string_view reason = placement::condition_reason(*gate);
  decision.result = reason.empty() ? ResultKind::Unschedulable : ResultKind::Gated;
  decision.reason = reason.empty() ? "Unschedulable" : reason;
  decision.told = (reason.empty() ? "pod " + pod.meta.name + " " : "") + placement::gate_words(*gate);
  return false;
}

void Planner::decide_pod(const api::Pod& pod, Decision& decision) {
  decision.pods.push_back({pod.meta.ns, pod.meta.name, "", {}});
  if (!may_be_tried(pod, decision)) return;
  model::Cluster& cluster = offline_.cluster();
  placement::PodDecision decided;
  {
    // Undone at its end: the objects carry what was placed.
    model::Ledger::Transaction transaction(cluster.ledger());
    if (options_.verdicts != Verdicts::None)
      decision.verdicts =
          judge_nodes(core_.pod_cycle(), context_, pod, core_.domains().nodes(cluster), transaction);
    decided = core_.decide_pod(context_, pod, {}, transaction, preempting(pod));
  }
  if (decided.preemption) {
    decision.refusal = std::move(decided.refusal);
    return preempt(*decided.preemption, pods_of(decision), decision);
  }
  if (decided.refusal) return refuse(std::move(decided.refusal), decision);
  core_.pod_cycle().judge(core_.state(), {&decided.node, 1});
  decision.score = core_.state().scores.front();
  place({pod, decided.node, decided.reservation}, {}, id_of(decision), decision.pods.front());
  decision.result = ResultKind::Placed;
  decision.reason = placement::condition_reason(DecisionResult::Placed);
  decision.told = pod.meta.ns + "/" + pod.meta.name + " goes to " + decision.pods.front().node;
}

// What proves nothing is Unknown.
void Planner::refuse(placement::RefusalPtr refusal, Decision& decision) {
  const std::string_view unproved = refusal->unproved();
  decision.result = !unproved.empty()                          ? ResultKind::Unknown
                    : refusal->result == DecisionResult::Error ? ResultKind::Error
                                                               : ResultKind::Unschedulable;
  decision.reason = unproved.empty() ? placement::condition_reason(refusal->result) : unproved;
  decision.refusal = std::move(refusal);
}

void Planner::place(const Chosen& chosen, const api::BindGroup& group, const std::string& id,
                    PlannedPod& planned) {
  const api::Pod pod = chosen.pod;  // bind() replaces the view's
  take_place({pod, chosen.node, chosen.reservation}, planned);
  if (!options_.objects) return;
  placed_.push_back({pod.meta.ns, pod.meta.name});
  bind_requests_.push_back(bind_request({pod, planned.node, chosen.reservation, group, id}, context_));
}

void Planner::take_place(const Chosen& chosen, PlannedPod& planned) {
  const api::Pod& pod = chosen.pod;
  refused_.clear();
  planned.node = offline_.cluster().node(chosen.node).name;
  const model::Reservation& reservation = model::value_of(chosen.reservation);
  for (const model::ClaimChoice& choice : reservation.claims)
    planned.claims.push_back({offline_.cluster().claim_name(pod, choice), choice.allocation});
  planned.gpu_share = reservation.gpu_share;
  offline_.bind(pod, planned.node, reservation);
}

// Each object once, in its final state: pods in their order, their claims, the bind requests.
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
  pods.insert(pods.end(), nominated_.begin(), nominated_.end());
  std::move(claims.begin(), claims.end(), std::back_inserter(pods));
  pods.insert(pods.end(), bind_requests_.begin(), bind_requests_.end());
  return pods;
}

Result<Plan> make_plan(std::vector<Document> documents, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors) {
  PlanOptions dated = options;
  dated.now = now_of(documents, options);
  WorkloadPods input{std::move(documents), {}};
  if (options.workloads) input = TRY(with_workload_pods(std::move(input.documents), dated.now));
  const std::unique_ptr<OfflineCluster> offline =
      TRY(OfflineCluster::make(std::move(input.documents), dated));
  Plan plan = Planner(*offline, dated, selectors).run();
  plan.notes = std::move(input.notes);
  return plan;
}

}  // namespace berth::planning
