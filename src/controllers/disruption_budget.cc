#include "controllers/disruption_budget.h"

#include <algorithm>

#include "api/serialized.h"
#include "api/type_table.h"

namespace berth::controllers {
namespace {

const api::ResourceRef& resource_of(std::string_view plural) {
  const auto& scaled = scaled_resources();
  const auto found = std::find_if(scaled.begin(), scaled.end(), [&](const api::ResourceRef& resource) {
    return resource.resource == plural;
  });
  BERTH_ASSERT(found != scaled.end(), "the served resources with a scale are those of scaled_resources()");
  return *found;
}

struct ScaledOwner {
  std::string uid;
  std::int64_t replicas = 0;
  const api::OwnerReference* owner = nullptr;  // its own controller
};

// The owner of this name and UID; nothing when it is not in the view.
std::optional<ScaledOwner> find_scaled(const client::View& view, std::string_view plural,
                                       const std::string& ns, const api::OwnerReference& ref) {
  const auto resource = view.others.find(resource_of(plural));
  const api::AnyObject* object =
      resource == view.others.end() ? nullptr : resource->second.find(ns, ref.name);
  if (!object || object->meta.uid != ref.uid) return std::nullopt;
  const Json document = api::parse_object(*object->raw).value_or(Json::object());
  return ScaledOwner{ref.uid, document.part("spec").int_at("replicas", 1), object->meta.controller()};
}

// A ReplicaSet counts as its Deployment, whose scale holds during a rollout.
std::optional<ScaledOwner> with_deployment(const client::View& view, const std::string& ns,
                                           std::optional<ScaledOwner> set) {
  if (!set || !set->owner || set->owner->kind != "Deployment") return set;
  std::optional<ScaledOwner> deployment = find_scaled(view, "deployments", ns, *set->owner);
  return deployment ? deployment : set;
}

Result<ScaledOwner> owner_of(const client::View& view, const api::Pod& pod, const api::OwnerReference& ref) {
  const api::ResourceInfo* info = api::find_resource_of_kind(ref.api_version, ref.kind);
  if (!info)
    return Error(ErrorCode::Invalid,
                 "no matches for kind \"" + ref.kind + "\" in version \"" + ref.api_version + "\"");
  if (!info->has_subresource("scale")) {
    std::string name(info->plural);
    if (!info->group.empty()) name.append(".").append(info->group);
    return Error(ErrorCode::Invalid, name + " does not implement the scale subresource");
  }
  std::optional<ScaledOwner> owner = find_scaled(view, info->plural, pod.meta.ns, ref);
  if (info->plural == "replicasets") owner = with_deployment(view, pod.meta.ns, std::move(owner));
  if (!owner) return Error(ErrorCode::Invalid, "found no controllers for pod \"" + pod.meta.name + "\"");
  return *std::move(owner);
}

// The sum of the scales of the pods' controllers, each once.
Result<std::int64_t> expected_scale(const client::View& view, const std::vector<const api::Pod*>& pods,
                                    BudgetStatus& status) {
  std::set<std::string> refs;                 // of pods, by UID
  std::map<std::string, std::int64_t> scale;  // by UID of the owner that counts
  for (const api::Pod* pod : pods) {
    const api::OwnerReference* ref = pod->meta.controller();
    if (!ref) {
      status.unmanaged.push_back(pod);
      continue;
    }
    if (!refs.insert(ref->uid).second) continue;
    const ScaledOwner owner = TRY(owner_of(view, *pod, *ref));
    scale[owner.uid] = owner.replicas;
  }
  std::int64_t sum = 0;
  for (const auto& [uid, replicas] : scale) sum += replicas;
  return sum;
}

// A percentage is rounded up.
Result<std::int64_t> scaled_amount(const Json& amount, std::int64_t total) {
  if (amount.is_int()) return amount.as_int();
  const auto refuse = [](const std::string& why) {
    return Error(ErrorCode::Invalid, "invalid value for IntOrString: " + why);
  };
  if (!amount.is_string() || !amount.as_string().ends_with('%'))
    return refuse("invalid type: string is not a percentage");
  std::string_view digits = amount.as_string();
  digits.remove_suffix(1);
  constexpr std::int64_t kPercentMax = 1'000'000;  // far above what validation permits; no product overflows
  const std::optional<std::int64_t> percent = api::to_int(digits);
  if (!percent || *percent < 0 || *percent > kPercentMax)
    return refuse("invalid value \"" + amount.as_string() + "\"");
  return (*percent * total + 99) / 100;
}

Status expect_pods(const client::View& view, const DisruptionBudget& budget,
                   const std::vector<const api::Pod*>& pods, BudgetStatus& status) {
  if (!budget.max_unavailable.is_null()) {
    status.expected_pods = TRY(expected_scale(view, pods, status));
    const std::int64_t away = TRY(scaled_amount(budget.max_unavailable, status.expected_pods));
    status.desired_healthy = std::max<std::int64_t>(0, status.expected_pods - away);
  } else if (budget.min_available.is_int()) {
    status.expected_pods = static_cast<std::int64_t>(pods.size());
    status.desired_healthy = budget.min_available.as_int();
  } else if (!budget.min_available.is_null()) {
    status.expected_pods = TRY(expected_scale(view, pods, status));
    status.desired_healthy = TRY(scaled_amount(budget.min_available, status.expected_pods));
  }
  return {};
}

// Entries of pods that are gone or being deleted have done their work.
void keep_disrupted(const DisruptionBudget& budget, const std::vector<const api::Pod*>& pods, Time now,
                    BudgetStatus& status) {
  for (const api::Pod* pod : pods) {
    const auto entry = budget.disrupted.find(pod->meta.name);
    if (pod->meta.deleting() || entry == budget.disrupted.end()) continue;
    const Time end = entry->second.is_set() ? entry->second + kDeletionTimeout : now;
    if (now >= end) {
      status.not_deleted.push_back(pod);
      continue;
    }
    status.disrupted.insert(*entry);
    status.recheck = status.recheck ? std::min(*status.recheck, end) : end;
  }
}

}  // namespace

const std::vector<api::ResourceRef>& scaled_resources() {
  static const std::vector<api::ResourceRef> kScaled = {{"", "v1", "replicationcontrollers"},
                                                        {"apps", "v1", "deployments"},
                                                        {"apps", "v1", "replicasets"},
                                                        {"apps", "v1", "statefulsets"}};
  return kScaled;
}

Result<std::vector<const api::Pod*>> pods_of_budget(const client::View& view,
                                                    const DisruptionBudget& budget) {
  const api::LabelSelector selector = TRY(api::LabelSelector::of(budget.selector));
  std::vector<const api::Pod*> found;
  const auto& pods = view.pods.all();
  for (auto at = pods.lower_bound({budget.meta.ns, ""}); at != pods.end() && at->first.ns == budget.meta.ns;
       ++at)
    if (selector.matches(at->second->meta.labels)) found.push_back(at->second.get());
  return found;
}

Result<BudgetStatus> budget_status(const client::View& view, const DisruptionBudget& budget, Time now) {
  const std::vector<const api::Pod*> pods = TRY(pods_of_budget(view, budget));
  BudgetStatus status;
  status.pods = pods.size();
  TRY(expect_pods(view, budget, pods, status));
  keep_disrupted(budget, pods, now, status);
  for (const api::Pod* pod : pods)
    if (!pod->meta.deleting() && !status.disrupted.contains(pod->meta.name) &&
        api::condition_is_true(pod->conditions, "Ready"))
      ++status.current_healthy;
  // A budget that selects nothing yet allows nothing: its first pods come before its next status.
  if (status.expected_pods > 0)
    status.disruptions_allowed = std::max<std::int64_t>(0, status.current_healthy - status.desired_healthy);
  return status;
}

std::string go_text(const Json& selector) {
  std::string text = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [key, value] : api::decode_string_map(selector.find("matchLabels")))
    text.append(key).append(": ").append(value).append(",");
  text += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const Json& expression : selector.items_at("matchExpressions")) {
    text.append("LabelSelectorRequirement{Key:").append(expression.string_at("key"));
    text.append(",Operator:").append(expression.string_at("operator")).append(",Values:[");
    std::string_view gap;
    for (const std::string& value : api::decode_strings(expression.items_at("values"))) {
      text.append(gap).append(value);
      gap = " ";
    }
    text += "],},";
  }
  return text + "},}";
}

}  // namespace berth::controllers
