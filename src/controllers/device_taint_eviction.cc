#include <algorithm>
#include <map>

#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "controllers/taint_rule_status.h"

namespace berth::controllers {

namespace {

// A rule's condition is written at most once per period while its spec is unchanged.
constexpr Duration kRuleStatusPeriod = Duration::seconds(10);
constexpr std::string_view kEventReason = "DeviceTaintManagerEviction";
constexpr std::string_view kComponent = "device-taint-eviction-controller";  // in events

bool evicts(const api::DeviceTaintRule& rule) {
  return rule.taint.effect == api::kNoExecute;
}

// With the pods that are evicted with them.
void users_of(const View& view, const api::ResourceClaim& claim, Keys& keys) {
  for (const api::Pod* pod : view.pods_using_claim(claim.meta.ns, claim.meta.name))
    for (const api::Pod* member : disrupted_with(view, *pod))
      keys.push_back(client::key_of(Kind::Pod, member->meta));
}

void rules_of(const View& view, const api::ResourceClaim& claim, Keys& keys) {
  for (const auto& [key, rule] : view.taint_rules.all())
    if (evicts(*rule) && may_evict(*rule, claim)) keys.push_back({Kind::DeviceTaintRule, "", key.name, {}});
}

bool has_evicting_taint(const api::ResourceSlice* slice) {
  return slice && std::any_of(slice->devices.begin(), slice->devices.end(), [](const api::Device& device) {
           return std::any_of(device.taints.begin(), device.taints.end(),
                              [](const api::Taint& taint) { return taint.effect == api::kNoExecute; });
         });
}

// A bound pod's eviction time depends on changes of its claims only.
void on_pod(const View& view, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  const api::Pod& pod = after ? *after : *before;
  if (pod.claims.empty() && pod.extended_claim.empty()) return;
  keys.push_back(delta.key);
  const bool placed = after && after->bound() && (!before || !before->bound());
  if (!placed) return;
  for (const api::ResourceClaim* claim : claims_held(view, pod)) rules_of(view, *claim, keys);
}

void on_claim(const View& view, const Delta& delta, Keys& keys) {
  for (const auto* claim : {client::object_of<api::ResourceClaim>(delta.before),
                            client::object_of<api::ResourceClaim>(delta.after)}) {
    if (!claim || !claim->allocation) continue;
    users_of(view, *claim, keys);
    if (delta.after) rules_of(view, *claim, keys);
  }
}

void on_slice(const View& view, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::ResourceSlice>(delta.before);
  const auto* after = client::object_of<api::ResourceSlice>(delta.after);
  if (!has_evicting_taint(before) && !has_evicting_taint(after)) return;
  const api::ResourceSlice& slice = after ? *after : *before;
  for (const auto& [key, claim] : view.claims.all())
    if (claim->allocation && std::any_of(claim->allocation->results.begin(), claim->allocation->results.end(),
                                         [&](const api::DeviceResult& result) {
                                           return result.driver == slice.driver && result.pool == slice.pool;
                                         }))
      users_of(view, *claim, keys);
}

void on_rule(const View& view, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::DeviceTaintRule>(delta.before);
  const auto* after = client::object_of<api::DeviceTaintRule>(delta.after);
  keys.push_back(delta.key);
  if (before && after && before->meta.generation == after->meta.generation) return;
  for (const auto& [key, claim] : view.claims.all())
    if ((before && may_evict(*before, *claim)) || (after && may_evict(*after, *claim)))
      users_of(view, *claim, keys);
}

class DeviceTaintEviction final : public client::Reconciler {
 public:
  std::string_view name() const override { return "device-taint-eviction"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Pod, {}, on_pod},
            {Kind::ResourceClaim, {}, on_claim},
            {Kind::ResourceSlice, {}, on_slice},
            {Kind::DeviceTaintRule, {}, on_rule},
            {Kind::PodGroup, {}, [](const View&, const Delta&, Keys&) {}}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    if (key.kind == Kind::Pod) return look_after_pod(view, key, now);
    const api::DeviceTaintRule* rule = view.taint_rules.find("", key.name);
    if (rule) return report(view, key, *rule, now);
    evicted_.erase(key.name);
    return Effects::nothing();
  }

 private:
  // The decision of this process about a pod.
  struct Decided {
    std::string uid;
    std::set<std::string> rules;
    bool deleted = false;  // the delete was sent
  };
  struct Evicted {
    std::string rule_uid;
    std::size_t pods = 0;
  };

  Effects look_after_pod(const View& view, const api::ObjectKey& key, Time now) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    count_if_gone(view, key, pod);
    const auto eviction = pod ? device_eviction(view, *pod, evicting_rules(view)) : std::nullopt;
    if (!eviction) return called_off(key, pod);
    Decided& decided = decided_[key];
    decided = {pod->meta.uid, eviction->rules, now >= eviction->when};
    if (decided.deleted) return evict(key, *pod, now);
    Effects effects;
    effects.wake_at = eviction->when;
    return effects;
  }

  static client::EventNote event(const api::ObjectKey& key, const api::Pod& pod, std::string message) {
    client::EventNote note{key, pod.meta.uid, false, std::string(kEventReason), "", std::move(message)};
    note.component = kComponent;
    return note;
  }

  static Effects evict(const api::ObjectKey& key, const api::Pod& pod, Time now) {
    Effects effects = delete_disrupted(key, pod, "DeletionByDeviceTaintManager",
                                       "Device Taint manager: deleting due to NoExecute taint", now);
    effects.events.push_back(event(key, pod, "Marking for deletion"));
    return effects;
  }

  Effects called_off(const api::ObjectKey& key, const api::Pod* pod) {
    const auto found = decided_.find(key);
    if (found == decided_.end()) return Effects::nothing();
    const bool waits = pod && pod->meta.uid == found->second.uid && !pod->meta.deleting() && !pod->finished();
    decided_.erase(found);
    Effects effects;
    if (waits) effects.events.push_back(event(key, *pod, "Cancelling deletion"));
    return effects;
  }

  void count_if_gone(const View& view, const api::ObjectKey& key, const api::Pod* pod) {
    const auto found = decided_.find(key);
    if (found == decided_.end() || !found->second.deleted) return;
    if (pod && pod->meta.uid == found->second.uid && !pod->meta.deleting()) return;
    for (const std::string& name : found->second.rules) {
      const api::DeviceTaintRule* rule = view.taint_rules.find("", name);
      if (!rule) continue;
      Evicted& evicted = evicted_[name];
      if (evicted.rule_uid != rule->meta.uid) evicted = {rule->meta.uid, 0};
      ++evicted.pods;
    }
    decided_.erase(found);
  }

  Effects report(const View& view, const api::ObjectKey& key, const api::DeviceTaintRule& rule, Time now) {
    Effects effects;
    const api::Condition* standing = api::find_condition(rule.conditions, kEvictionInProgress);
    if (standing && standing->observed_generation == rule.meta.generation) {
      if (rule.taint.effect == "None") return effects;  // a dry run is reported once
      const Time due = standing->last_transition + kRuleStatusPeriod;
      effects.wake_at = due;
      if (standing->last_transition.is_set() && now < due) return effects;
    }
    TaintRuleProgress progress = progress_of(view, rule);
    const auto evicted = evicted_.find(rule.meta.name);
    if (evicted != evicted_.end() && evicted->second.rule_uid == rule.meta.uid)
      progress.pods_evicted = evicted->second.pods;
    effects.wake_at.reset();
    if (progress.pods_pending > 0) effects.wake_at = now + kRuleStatusPeriod;
    const api::Condition wanted = eviction_condition(rule, progress, now);
    if (standing && api::says_the_same(*standing, wanted)) return effects;
    effects.chains.push_back(
        {key,
         {patch_status(key, Json::object({{"conditions", Json::array({api::to_json(wanted)})}}),
                       rule.meta.uid)}});
    return effects;
  }

  std::map<api::ObjectKey, Decided> decided_;
  std::map<std::string, Evicted> evicted_;  // by rule
};

}  // namespace

std::unique_ptr<client::Reconciler> make_device_taint_eviction() {
  return std::make_unique<DeviceTaintEviction>();
}

}  // namespace berth::controllers
