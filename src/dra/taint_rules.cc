#include "dra/taint_rules.h"

#include <algorithm>

namespace berth::dra {
namespace {

bool blocks(const api::DeviceTaintRule& rule) {
  return rule.taint.effect == api::kNoSchedule || rule.taint.effect == api::kNoExecute;
}

bool selects_any(const api::DeviceTaintRule& rule, const api::ResourceSlice& slice) {
  return rule.selects(slice.driver, slice.pool) &&
         std::any_of(slice.devices.begin(), slice.devices.end(), [&](const api::Device& device) {
           return rule.device.empty() || rule.device == device.name;
         });
}

// Placement depends on the spec only: a changed status is ignored.
bool same_spec(const api::DeviceTaintRule& a, const api::DeviceTaintRule& b) {
  return a.meta.uid == b.meta.uid && a.meta.generation == b.meta.generation;
}

client::Delta slice_delta(const api::ObjectKey& key, const std::shared_ptr<const api::ResourceSlice>& before,
                          const std::shared_ptr<const api::ResourceSlice>& after) {
  client::Delta delta{key, std::nullopt, std::nullopt};
  if (before) delta.before = before;
  if (after) delta.after = after;
  return delta;
}

}  // namespace

void TaintRules::apply(const client::Delta& delta, model::Cluster& cluster) {
  if (delta.key.kind == api::Kind::ResourceSlice)
    return slice_changed(delta.key, client::shared_object_of<api::ResourceSlice>(delta.after), cluster);
  if (delta.key.kind == api::Kind::DeviceTaintRule)
    return rule_changed(delta.key.name, client::shared_object_of<api::DeviceTaintRule>(delta.after), cluster);
  cluster.apply(delta);
}

void TaintRules::slice_changed(const api::ObjectKey& key, SlicePtr after, model::Cluster& cluster) {
  const auto found = slices_.find(key.name);
  const SlicePtr before = found == slices_.end() ? nullptr : found->second.merged;
  if (!after) {
    if (before) slices_.erase(found);
    return cluster.apply(slice_delta(key, before, nullptr));
  }
  Known& known = slices_[key.name];
  known.merged = merged(after);
  known.live = std::move(after);
  cluster.apply(slice_delta(key, before, known.merged));
}

void TaintRules::rule_changed(const std::string& name, const RulePtr& after, model::Cluster& cluster) {
  const auto found = rules_.find(name);
  const RulePtr before = found == rules_.end() ? nullptr : found->second;
  const RulePtr now = after && blocks(*after) ? after : nullptr;
  if (before == now || (before && now && same_spec(*before, *now))) return;
  if (now)
    rules_[name] = now;
  else
    rules_.erase(found);
  for (auto& [slice_name, known] : slices_) {
    const bool affected =
        (before && selects_any(*before, *known.live)) || (now && selects_any(*now, *known.live));
    if (!affected) continue;
    const SlicePtr old = std::move(known.merged);
    known.merged = merged(known.live);
    cluster.apply(slice_delta({api::Kind::ResourceSlice, "", slice_name, {}}, old, known.merged));
  }
}

TaintRules::SlicePtr TaintRules::merged(const SlicePtr& slice) const {
  std::shared_ptr<api::ResourceSlice> changed;
  for (const auto& [name, rule] : rules_) {
    if (!selects_any(*rule, *slice)) continue;
    if (!changed) changed = std::make_shared<api::ResourceSlice>(*slice);
    for (api::Device& device : changed->devices)
      if (rule->device.empty() || rule->device == device.name) device.taints.push_back(rule->taint);
  }
  return changed ? SlicePtr(std::move(changed)) : slice;
}

}  // namespace berth::dra
