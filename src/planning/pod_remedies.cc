#include <set>

#include "placement/preemption/victims.h"
#include "placement/refusal/berth_words.h"
#include "planning/remedy_search.h"
#include "planning/remedy_steps.h"

namespace berth::planning {
namespace {

using placement::RefusedFor;
using placement::RemedyKind;
using placement::RemedyStep;

class PodRemedySearch final : public RemedySearch {
 public:
  PodRemedySearch(OfflineCluster& offline, const api::Pod& pod, const PlanOptions& options,
                  dra::SelectorEvaluator& selectors)
      : RemedySearch(offline, options, selectors), pod_(pod) {}

  Remedies run() {
    const placement::PodDecision decided = decide(pod_);
    out.refusal = decided.refusal;
    if (!out.refusal) out.node = node_name(decided.node);
    if (!out.refusal || out.refusal->result == placement::DecisionResult::Error) return std::move(out);
    note(RemedyKind::Evict);
    if (auto step = evict()) add(*std::move(step));
    if (out.refusal->nodes.everywhere.empty()) change_nodes();
    change_devices();
    if (out.found.empty())
      for (const Walk& walk : walks_)
        if (walk.fits && out.found.size() < kRemediesMax) out.found.push_back({walk.steps});
    return std::move(out);
  }

 private:
  // One node, changed for one reason after the other until it takes the pod.
  struct Walk {
    std::string node;
    std::vector<RemedyStep> steps;
    std::vector<std::string> still;  // lacks that no further step cures
    bool fits = false;
  };

  placement::PodDecision decide(const api::Pod& pod, const placement::Preempting& preempting = {}) {
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    return core.decide_pod(context, pod, {}, transaction, preempting);
  }
  bool fits() override { return !decide(pod_).refusal; }

  void change_nodes() {
    const auto& nodes = core.domains().nodes(offline.cluster());
    const std::vector<std::string> near = nearest_nodes(offline.cluster(), pod_, nodes);
    for (const std::string& name : near) {
      if (is_over()) break;
      walk(name);
      ++out.near_nodes;
    }
    name_nearest();
    std::set<std::pair<RemedyKind, std::string>> named;
    for (const Walk& walk : walks_) {
      if (!walk.fits || walk.steps.size() != 1) continue;
      const RemedyStep& step = walk.steps.front();
      const bool first =
          named.emplace(step.kind, step.kind == RemedyKind::AddResource ? step.subjects.front() : "").second;
      if (first && out.found.size() < kRemediesMax) out.found.push_back({walk.steps});
    }
    add_node(near);
  }

  placement::FitError refusal_on(const std::string& name) {
    ++tries;
    const model::NodeId node = offline.cluster().find_node(name);
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    placement::CycleState state;
    const placement::PodCycle& cycle = core.pod_cycle();
    cycle.begin(state, context, pod_, &transaction);
    if (cycle.prepare(state)) cycle.choose(state, {&node, 1}, {});
    return cycle.fit_error(state);
  }

  void walk(const std::string& name) {
    Changes changes(offline);
    Walk walk{name, {}, {}, false};
    std::optional<Walk> evicting;
    api::Node node = node_named(name);
    while (!is_over()) {
      const placement::FitError refused = refusal_on(name);
      if (refused.reasons.empty() || !refused.error.empty() || !refused.everywhere.empty()) {
        walk.fits = refused.error.empty() && refused.everywhere.empty() && fits();
        break;
      }
      if (!take_steps(refused, node, walk)) break;
      changes.put(node);
      if (!evicting) evicting = evict_as_well(walk);
    }
    walks_.push_back(std::move(walk));
    if (evicting) walks_.push_back(*std::move(evicting));
  }

  // A step for each reason; false: one has no cure, or they become too many.
  bool take_steps(const placement::FitError& refused, api::Node& node, Walk& walk) {
    for (const RefusedFor& why : refused.reasons) {
      auto step = walk.steps.size() < kRemedyStepsMax ? cure(pod_, why, node) : std::nullopt;
      if (step) {
        note(step->kind);
        walk.steps.push_back(*std::move(step));
      } else {
        walk.still.push_back(placement::lack_words(why));
      }
    }
    return walk.still.empty();
  }

  // A node that is open now may still be full.
  std::optional<Walk> evict_as_well(const Walk& so_far) {
    if (so_far.steps.size() != 1 || so_far.steps.front().kind == RemedyKind::AddResource) return {};
    std::optional<RemedyStep> step = evict();
    if (!step || step->node != so_far.node || fits()) return {};
    Walk both = so_far;
    both.steps.push_back(*std::move(step));
    both.fits = true;
    return both;
  }

  // The one with the fewest steps; else the first.
  void name_nearest() {
    const Walk* best = nullptr;
    for (const Walk& walk : walks_) {
      const bool better = !best || (walk.fits && (!best->fits || walk.steps.size() < best->steps.size()));
      if (better) best = &walk;
    }
    if (!best) return;
    out.nearest = {best->node, {}};
    for (const RemedyStep& step : best->steps)
      out.nearest->lacks.push_back(step.kind == RemedyKind::Evict
                                       ? "it is full, and it is not after " + placement::words_of({{step}})
                                       : placement::lack_words(step));
    for (const std::string& lack : best->still) out.nearest->lacks.push_back(lack);
    if (out.nearest->lacks.empty()) out.nearest.reset();
  }

  // Whoever could be evicted for a pod of the highest priority, and is enough for this one.
  std::optional<RemedyStep> evict() {
    api::Pod urgent = pod_;
    urgent.priority = INT32_MAX;
    urgent.preemption_policy.clear();
    placement::Preempting preempting;
    preempting.searches = true;
    const auto plan = decide(urgent, preempting).preemption;
    if (!plan || plan->victims.empty()) return std::nullopt;
    ++tries;
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    for (const auto* pods : {&plan->victims, &plan->awaited})
      for (const placement::PreemptionVictim& victim : *pods)
        placement::remove_victim(offline.cluster(), victim.pod, model::GroupClaims::Freed, transaction);
    if (core.decide_pod(context, pod_, {}, transaction).refusal) return std::nullopt;
    return evict_step(plan->victims, node_name(plan->node));
  }

  void add_node(const std::vector<std::string>& near) {
    for (const std::string& like : near) {
      if (is_over()) return;
      Changes changes(offline);
      if (!copy_node(like, 1, changes)) continue;
      note(RemedyKind::AddNodes);
      if (fits()) return add({.kind = RemedyKind::AddNodes, .node = like, .count = 1});
    }
  }

  void change_devices() {
    for (const api::PodClaim& named : pod_.claims) {
      const auto claim = offline.view().claims.find_shared(pod_.meta.ns, api::claim_object_name(pod_, named));
      if (!claim || claim->allocation) continue;
      for (std::size_t i = 0; i < claim->requests.size(); ++i)
        for (std::size_t j = 0; j < claim->requests[i].alternatives.size(); ++j)
          if (!is_over() && !change_class(*claim, i, j)) break;
    }
    if (pod_.claims.empty()) return;
    remove_device_taints();
    delete_rules();
  }

  // False: a class was found, so the request's other alternatives need none.
  bool change_class(const api::ResourceClaim& claim, std::size_t request, std::size_t alternative) {
    std::size_t tried = 0;
    const api::DeviceRequest& asked = claim.requests[request];
    const api::DeviceSubRequest& own = asked.alternatives[alternative];
    for (const auto& [name, unused] : offline.cluster().classes()) {
      const bool is_asked = std::ranges::any_of(
          asked.alternatives, [&](const api::DeviceSubRequest& one) { return one.device_class == name; });
      if (is_asked) continue;
      if (is_over() || ++tried > kDeviceChangesMax) return true;
      note(RemedyKind::OtherClass);
      api::ResourceClaim other = claim;
      other.requests[request].alternatives[alternative].device_class = name;
      Changes changes(offline);
      changes.put(api::Kind::ResourceClaim, &claim, std::move(other));
      if (!fits()) continue;
      add({.kind = RemedyKind::OtherClass,
           .subjects = {name},
           .request = "request " + asked.name + (asked.prioritized ? "/" + own.name : "") + " of claim " +
                      claim.meta.name});
      return false;
    }
    return true;
  }

  // The pod with the tolerations of its claims.
  api::Pod tolerating() const {
    api::Pod pod;
    for (const api::PodClaim& named : pod_.claims)
      if (const auto* claim = offline.view().claims.find(pod_.meta.ns, api::claim_object_name(pod_, named)))
        for (const api::DeviceRequest& request : claim->requests)
          for (const api::DeviceSubRequest& one : request.alternatives)
            pod.tolerations.insert(pod.tolerations.end(), one.tolerations.begin(), one.tolerations.end());
    return pod;
  }

  void remove_device_taints() {
    std::size_t tried = 0;
    const api::Pod asking = tolerating();
    std::vector<std::shared_ptr<const api::ResourceSlice>> slices;
    for (const auto& [key, slice] : offline.view().slices.all()) slices.push_back(slice);
    for (const auto& slice : slices)
      for (std::size_t i = 0; i < slice->devices.size(); ++i) {
        const api::Device& device = slice->devices[i];
        RemedyStep step{.kind = RemedyKind::RemoveDeviceTaint,
                        .subjects = untolerated_taints(asking, device.taints),
                        .request = device.name + " of pool " + slice->pool};
        if (step.subjects.empty()) continue;
        if (is_over() || ++tried > kDeviceChangesMax) return;
        note(step.kind);
        api::ResourceSlice other = *slice;
        other.devices[i].taints.clear();
        Changes changes(offline);
        changes.put(api::Kind::ResourceSlice, slice.get(), std::move(other));
        if (fits()) return add(std::move(step));
      }
  }

  void delete_rules() {
    std::size_t tried = 0;
    std::vector<std::shared_ptr<const api::DeviceTaintRule>> rules;
    for (const auto& [key, rule] : offline.view().taint_rules.all()) rules.push_back(rule);
    for (const auto& rule : rules) {
      if (is_over() || ++tried > kDeviceChangesMax) return;
      note(RemedyKind::DeleteTaintRule);
      Changes changes(offline);
      changes.erase(*rule);
      if (fits()) return add({.kind = RemedyKind::DeleteTaintRule, .subjects = {rule->meta.name}});
    }
  }

  const api::Pod& pod_;
  std::vector<Walk> walks_;
};

}  // namespace

Remedies pod_remedies(OfflineCluster& offline, const api::Pod& pod, const PlanOptions& options,
                      dra::SelectorEvaluator& selectors) {
  return PodRemedySearch(offline, pod, options, selectors).run();
}

}  // namespace berth::planning
