#include <algorithm>

#include "api/evictions.h"
#include "controllers/controllers.h"
#include "controllers/disruption_budget.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

constexpr std::string_view kDisruptionComponent = "controllermanager";  // in events

// How long a pod may be said to be disrupted without being deleted.
constexpr Duration kStaleDisruptionAfter = Duration::minutes(2);

// The condition of a pod that lives on though it was to be deleted. A kubelet that ends a pod needs no
// deletion.
const api::Condition* unfulfilled_disruption(const api::Pod& pod) {
  const api::Condition* target = api::find_condition(pod.conditions, api::kDisruptionTarget);
  const bool unfulfilled = target && target->status == "True" && target->reason != "TerminationByKubelet" &&
                           !pod.meta.deleting() && !pod.finished();
  return unfulfilled ? target : nullptr;
}

api::ObjectKey key_of_budget(const client::NamedKey& budget) {
  return {Kind::PodDisruptionBudget, budget.ns, budget.name, {}};
}

// What a budget reads of a pod.
bool counts_alike(const api::Pod& before, const api::Pod& after) {
  const api::OwnerReference* old_owner = before.meta.controller();
  const api::OwnerReference* owner = after.meta.controller();
  const bool same_owner = old_owner && owner ? *old_owner == *owner : old_owner == owner;
  return same_owner && before.meta.uid == after.meta.uid && before.meta.labels == after.meta.labels &&
         before.meta.deleting() == after.meta.deleting() &&
         api::condition_is_true(before.conditions, "Ready") ==
             api::condition_is_true(after.conditions, "Ready");
}

void budgets_in(const View& view, const std::string& ns, Keys& keys) {
  for (api::ObjectKey& key : view.keys_in(Kind::PodDisruptionBudget, ns)) keys.push_back(std::move(key));
}

void on_pod_of_budget(const View& view, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  if (after && unfulfilled_disruption(*after)) keys.push_back(delta.key);
  if (before && after && counts_alike(*before, *after)) return;
  const auto& all = view.disruption_budgets.all();
  for (auto at = all.lower_bound({delta.key.ns, ""}); at != all.end() && at->first.ns == delta.key.ns; ++at) {
    const std::optional<api::LabelSelector>& selector = at->second->pods;
    if (selector && ((before && selector->matches(before->meta.labels)) ||
                     (after && selector->matches(after->meta.labels))))
      keys.push_back(key_of_budget(at->first));
  }
}

void on_owner(const View& view, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::AnyObject>(delta.before);
  const auto* after = client::object_of<api::AnyObject>(delta.after);
  if (before && after && before->meta.generation == after->meta.generation) return;
  budgets_in(view, delta.key.ns, keys);
}

Json entries(const DisruptionBudget& budget, const BudgetStatus& wanted) {
  Json patch = Json::object();
  for (const auto& [pod, since] : budget.disrupted)
    if (!wanted.disrupted.contains(pod)) patch[pod] = Json();
  for (const auto& [pod, since] : wanted.disrupted) patch[pod] = format_time(since);
  return wanted.disrupted.empty() ? Json() : patch;
}

// All conditions, this one replaced. The API wants their messages, also empty ones.
JsonArray conditions_with(std::vector<api::Condition> all, api::Condition wanted) {
  api::set_condition(all, std::move(wanted));
  JsonArray list;
  for (const api::Condition& condition : all)
    list.emplace_back(api::to_json(condition))["message"] = condition.message;
  return list;
}

bool stands(const DisruptionBudget& budget, const api::Condition& wanted) {
  const api::Condition* standing = api::find_condition(budget.conditions, wanted.type);
  return standing && api::says_the_same(*standing, wanted);
}

class Disruption final : public client::Reconciler {
 public:
  std::string_view name() const override { return "disruption"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests = {
        {Kind::Pod, {}, on_pod_of_budget},
        {Kind::PodDisruptionBudget, {}, [](const View&, const Delta& delta, Keys& keys) {
           if (delta.after) keys.push_back(delta.key);
         }}};
    for (const api::ResourceRef& resource : scaled_resources())
      interests.push_back({Kind::Other, resource, on_owner});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    if (key.kind == Kind::Pod) return look_after_pod(view, key, now);
    const DisruptionBudget* budget = view.disruption_budgets.find(key.ns, key.name);
    if (!budget) return Effects::nothing();
    const Result<BudgetStatus> wanted = budget_status(view, *budget, now);
    if (!wanted) return fail_safe(key, *budget, wanted.error(), now);
    Effects effects = report(key, *budget, *wanted, now);
    tell(key, *budget, *wanted, effects);
    effects.wake_at = wanted->recheck;
    return effects;
  }

 private:
  static Effects look_after_pod(const View& view, const api::ObjectKey& key, Time now) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    const api::Condition* target = pod ? unfulfilled_disruption(*pod) : nullptr;
    if (!target) return Effects::nothing();
    Effects effects;
    const Time due = target->last_transition.is_set() ? target->last_transition + kStaleDisruptionAfter : now;
    if (now < due) {
      effects.wake_at = due;
      return effects;
    }
    return Effects::write(
        key, client::condition_patch(key, pod->meta,
                                     {std::string(api::kDisruptionTarget), "False", "", "", now, 0}));
  }

  // On the version that was read: the API server may have let a pod go since.
  static void write(const api::ObjectKey& key, const DisruptionBudget& budget, Json status,
                    Effects& effects) {
    effects.chains.push_back(
        {key,
         {client::merge_patch(key, Json::object({{"status", std::move(status)}}), budget.meta.uid,
                              budget.meta.resource_version, "status")}});
  }

  static Effects report(const api::ObjectKey& key, const DisruptionBudget& budget, const BudgetStatus& wanted,
                        Time now) {
    Effects effects;
    const bool allowed = wanted.disruptions_allowed > 0;
    const api::Condition condition{std::string(kDisruptionAllowed),
                                   allowed ? "True" : "False",
                                   allowed ? "SufficientPods" : "InsufficientPods",
                                   "",
                                   now,
                                   budget.meta.generation};
    if (budget.disruptions_allowed == wanted.disruptions_allowed &&
        budget.current_healthy == wanted.current_healthy &&
        budget.desired_healthy == wanted.desired_healthy && budget.expected_pods == wanted.expected_pods &&
        budget.disrupted == wanted.disrupted && budget.observed_generation == budget.meta.generation &&
        stands(budget, condition))
      return effects;
    write(key, budget,
          Json::object({{"disruptionsAllowed", wanted.disruptions_allowed},
                        {"currentHealthy", wanted.current_healthy},
                        {"desiredHealthy", wanted.desired_healthy},
                        {"expectedPods", wanted.expected_pods},
                        {"disruptedPods", entries(budget, wanted)},
                        {"observedGeneration", budget.meta.generation},
                        {"conditions", conditions_with(budget.conditions, condition)}}),
          effects);
    return effects;
  }

  // A budget that cannot be computed allows nothing.
  static Effects fail_safe(const api::ObjectKey& key, const DisruptionBudget& budget, const Error& error,
                           Time now) {
    Effects effects;
    const std::string why = error.text();
    effects.events.push_back(event(key, budget.meta.uid, true, "CalculateExpectedPodCountFailed",
                                   "Failed to calculate the number of expected pods: " + why));
    const api::Condition condition{std::string(kDisruptionAllowed), "False", "SyncFailed", why, now,
                                   budget.observed_generation};
    if (budget.disruptions_allowed == 0 && stands(budget, condition)) return effects;
    write(key, budget,
          Json::object(
              {{"disruptionsAllowed", 0}, {"conditions", conditions_with(budget.conditions, condition)}}),
          effects);
    return effects;
  }

  static void tell(const api::ObjectKey& key, const DisruptionBudget& budget, const BudgetStatus& status,
                   Effects& effects) {
    if (status.pods == 0)
      effects.events.push_back(event(key, budget.meta.uid, false, "NoPods", "No matching pods found"));
    if (!status.unmanaged.empty())
      effects.events.push_back(
          event(key, budget.meta.uid, true, "UnmanagedPods",
                "Pods selected by this PodDisruptionBudget (selector: " + go_text(budget.selector) +
                    ") were found to be unmanaged. As a result, the status of the PDB cannot be calculated "
                    "correctly, which may result in undefined behavior. To account for these pods please "
                    "set \".spec.minAvailable\" field of the PDB to an integer value."));
    for (const api::Pod* pod : status.not_deleted)
      effects.events.push_back(
          event(client::key_of(Kind::Pod, pod->meta), pod->meta.uid, true, "NotDeleted",
                "Pod was expected by PDB " + key.ns + "/" + key.name + " to be deleted but it wasn't"));
  }

  static client::EventNote event(const api::ObjectKey& about, const std::string& uid, bool warning,
                                 const char* reason, std::string message) {
    client::EventNote note{about, uid, warning, reason, "", std::move(message)};
    note.component = kDisruptionComponent;
    return note;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_disruption() {
  return std::make_unique<Disruption>();
}

}  // namespace berth::controllers
