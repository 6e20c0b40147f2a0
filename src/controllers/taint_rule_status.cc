#include "controllers/taint_rule_status.h"

#include <algorithm>

#include "base/count_text.h"

namespace berth::controllers {
namespace {

bool newest(const client::View& view, const api::ResourceSlice& slice) {
  const auto slices = view.slices_of_pool(slice.driver, slice.pool);
  return std::none_of(slices.begin(), slices.end(),
                      [&](const api::ResourceSlice* other) { return other->generation > slice.generation; });
}

std::size_t devices_published(const client::View& view, const api::DeviceTaintRule& rule) {
  std::size_t count = 0;
  for (const auto& [key, slice] : view.slices.all())
    if (rule.selects(slice->driver, slice->pool) && newest(view, *slice))
      for (const api::Device& device : slice->devices)
        count += rule.selects(slice->driver, slice->pool, device.name) ? 1 : 0;
  return count;
}

void count_pods(const client::View& view, const api::DeviceTaintRule& rule, TaintRuleProgress& progress) {
  api::DeviceTaintRule evicting = rule;
  evicting.taint.effect = api::kNoExecute;
  std::set<client::NamedKey> pods;
  std::set<std::string> namespaces;
  for (const auto& [key, claim] : view.claims.all()) {
    if (!may_evict(rule, *claim)) continue;
    for (const api::Pod* pod : view.pods_using_claim(key.ns, key.name)) {
      const auto eviction = device_eviction(view, *pod, {&evicting});
      if (!eviction || eviction->rules.empty()) continue;
      pods.insert({pod->meta.ns, pod->meta.name});
      namespaces.insert(pod->meta.ns);
    }
  }
  progress.pods_pending = pods.size();
  progress.namespaces_pending = namespaces.size();
}

void say_running(const TaintRuleProgress& progress, api::Condition& condition) {
  condition.reason = progress.pods_evicted > 0 ? "Completed" : "NotStarted";
  if (progress.pods_pending == 0) return;
  condition.reason = "PodsPendingEviction";
  condition.status = "True";
  condition.message = count_text(progress.pods_pending, "pod needs", "pods need") + " to be evicted in " +
                      count_text(progress.namespaces_pending, "namespace", "different namespaces") + ".";
}

void say_dry_run(const TaintRuleProgress& progress, api::Condition& condition) {
  condition.reason = "NoEffect";
  condition.message =
      count_text(progress.devices_published, "published device", "published devices") + " selected. " +
      count_text(progress.devices_allocated, "allocated device", "allocated devices") + " selected. " +
      count_text(progress.pods_pending, "pod", "pods") + " would be evicted in " +
      count_text(progress.namespaces_pending, "namespace", "different namespaces") +
      " if the effect was NoExecute. This information will not be updated again. Recreate the "
      "DeviceTaintRule to trigger an update.";
}

}  // namespace

TaintRuleProgress progress_of(const client::View& view, const api::DeviceTaintRule& rule) {
  TaintRuleProgress progress;
  const bool dry_run = rule.taint.effect == "None";
  if (rule.nil_selector || (!dry_run && rule.taint.effect != api::kNoExecute)) return progress;
  count_pods(view, rule, progress);
  if (!dry_run) return progress;
  progress.devices_published = devices_published(view, rule);
  for (const auto& [key, claim] : view.claims.all())
    if (claim->allocation)
      progress.devices_allocated +=
          std::count_if(claim->allocation->results.begin(), claim->allocation->results.end(),
                        [&](const api::DeviceResult& result) { return may_evict(rule, result); });
  return progress;
}

api::Condition eviction_condition(const api::DeviceTaintRule& rule, const TaintRuleProgress& progress,
                                  Time now) {
  api::Condition condition{
      std::string(kEvictionInProgress), "False", "OtherEffect", "", now, rule.meta.generation};
  if (rule.taint.effect == api::kNoExecute)
    say_running(progress, condition);
  else if (rule.taint.effect == "None")
    say_dry_run(progress, condition);
  else
    condition.message = "Eviction only happens for the NoExecute effect.";
  if (progress.pods_evicted == 0) return condition;
  if (!condition.message.empty()) condition.message += ' ';
  condition.message +=
      count_text(progress.pods_evicted, "pod", "pods") + " evicted since starting the controller.";
  return condition;
}

}  // namespace berth::controllers
