#include "client/device_evictions.h"

#include <algorithm>

namespace berth::client {
namespace {

// A hundred years: a longer toleration has no end.
constexpr std::int64_t kTolerationSecondsMax = 3'153'600'000;

const api::Device* published(const View& view, const api::DeviceResult& result) {
  const auto slices = view.slices_of_pool(result.driver, result.pool);
  std::int64_t newest = -1;
  for (const api::ResourceSlice* slice : slices) newest = std::max(newest, slice->generation);
  for (const api::ResourceSlice* slice : slices) {
    if (slice->generation != newest) continue;
    for (const api::Device& device : slice->devices)
      if (device.name == result.device) return &device;
  }
  return nullptr;
}

// When this taint ends the use of the device; nothing when it never does.
std::optional<Time> end_of(const api::Taint& taint, const std::vector<api::Toleration>& tolerations) {
  std::optional<std::int64_t> seconds;
  for (const api::Toleration& toleration : tolerations) {
    if (!api::tolerates(toleration, taint)) continue;
    if (!toleration.seconds || *toleration.seconds > kTolerationSecondsMax) return std::nullopt;
    const std::int64_t own = std::max<std::int64_t>(0, *toleration.seconds);
    seconds = seconds ? std::min(*seconds, own) : own;
  }
  return taint.added.is_set() ? taint.added + Duration::seconds(seconds.value_or(0)) : taint.added;
}

void add(std::optional<DeviceEviction>& eviction, Time when, const std::string& rule) {
  if (!eviction) eviction = DeviceEviction{when, {}};
  eviction->when = std::min(eviction->when, when);
  if (!rule.empty()) eviction->rules.insert(rule);
}

void add_evictions(std::optional<DeviceEviction>& eviction, const View& view, const api::Pod& pod,
                   const TaintRuleList& rules) {
  for (const api::ResourceClaim* claim : claims_held(view, pod))
    for (const api::DeviceResult& result : claim->allocation->results) {
      if (const api::Device* device = published(view, result))
        for (const api::Taint& taint : device->taints)
          if (taint.effect == api::kNoExecute)
            if (const auto when = end_of(taint, result.tolerations)) add(eviction, *when, "");
      for (const api::DeviceTaintRule* rule : rules)
        if (may_evict(*rule, result))
          if (const auto when = end_of(rule->taint, result.tolerations))
            add(eviction, *when, rule->meta.name);
    }
}

}  // namespace

TaintRuleList evicting_rules(const View& view) {
  TaintRuleList rules;
  for (const auto& [key, rule] : view.taint_rules.all())
    if (rule->taint.effect == api::kNoExecute) rules.push_back(rule.get());
  return rules;
}

bool may_evict(const api::DeviceTaintRule& rule, const api::DeviceResult& result) {
  return !rule.nil_selector && rule.selects(result.driver, result.pool, result.device);
}

bool may_evict(const api::DeviceTaintRule& rule, const api::ResourceClaim& claim) {
  return claim.allocation &&
         std::any_of(claim.allocation->results.begin(), claim.allocation->results.end(),
                     [&](const api::DeviceResult& result) { return may_evict(rule, result); });
}

std::vector<const api::ResourceClaim*> claims_held(const View& view, const api::Pod& pod) {
  std::vector<const api::ResourceClaim*> held;
  for (const api::ResourceClaim* claim : view.claims_reserved_by(pod.meta.uid))
    if (claim->allocation && claim->meta.ns == pod.meta.ns) held.push_back(claim);
  // A claim of a pod group is reserved for the group.
  for (const api::PodClaim& named : pod.claims) {
    const api::ResourceClaim* claim = view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
    if (!claim || !claim->allocation || pod.group.empty() || claim->reserved_by(pod.meta.uid)) continue;
    const api::PodGroup* group = view.pod_groups.find(pod.meta.ns, pod.group);
    if (group && claim->reserved_by(group->meta.uid)) held.push_back(claim);
  }
  return held;
}

std::vector<const api::Pod*> disrupted_with(const View& view, const api::Pod& pod) {
  const api::PodGroup* group = pod.group.empty() ? nullptr : view.pod_groups.find(pod.meta.ns, pod.group);
  if (!group || group->disruption_mode != "all") return {&pod};
  return view.pods_of_group(pod.meta.ns, pod.group);
}

std::optional<DeviceEviction> device_eviction(const View& view, const api::Pod& pod,
                                              const TaintRuleList& rules) {
  std::optional<DeviceEviction> eviction;
  if (!pod.bound() || pod.meta.deleting() || pod.finished()) return eviction;
  // A member that terminates counts too: the others follow it.
  for (const api::Pod* member : disrupted_with(view, pod))
    if (member->bound() && !member->finished()) add_evictions(eviction, view, *member, rules);
  return eviction;
}

std::optional<DeviceEviction> own_device_eviction(const View& view, const api::Pod& pod,
                                                  const TaintRuleList& rules) {
  std::optional<DeviceEviction> eviction;
  if (pod.bound() && !pod.finished()) add_evictions(eviction, view, pod, rules);
  return eviction;
}

}  // namespace berth::client
