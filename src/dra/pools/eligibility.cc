#include "dra/pools/eligibility.h"

#include <algorithm>

#include "dra/pools/capacity.h"

namespace berth::dra {

const api::Taint* untolerated(const api::Device& device, const std::vector<api::Toleration>& tolerations) {
  for (const api::Taint& taint : device.taints)
    if ((taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !api::tolerates(tolerations, taint))
      return &taint;
  return nullptr;
}

Quantity consumed_of(const model::DeviceUse& use, model::CapacityId capacity) {
  for (const model::CapacityAmount& entry : use.consumed)
    if (entry.capacity == capacity) return entry.amount;
  return {};
}

NodeScope node_scope_of(const Slice& slice, const api::Device& device, const DeviceGates& gates) {
  const bool own = slice.live->per_device_node_selection;
  const std::string& name = own ? device.node_name : slice.live->node_name;
  if (!name.empty() || (device.binds_to_node && gates.binding_conditions)) return {true, nullptr};
  const std::optional<api::NodeSelector>& selector = own ? device.node_selector : slice.live->node_selector;
  return {false, selector ? &*selector : nullptr};
}

std::string_view refusal_of(const Slice& slice, const api::Device& device, const DeviceGates& gates,
                            const model::NodeRow& node) {
  constexpr std::string_view kFeature = "it needs a feature that the node or the scheduler lacks";
  if (!gates.partitionable_devices && !device.consumes.empty()) return kFeature;
  // An allocation has one term: alternatives (several terms, any of which suffices) cannot be written in it.
  const api::NodeSelector* selector = node_scope_of(slice, device, gates).selector;
  if (selector && selector->terms.size() != 1) return "its node selector has not exactly one term";
  if (slice.live->skip_node_operations.empty()) return {};
  return gates.optional_node_operations && can_skip_operations(node) ? std::string_view() : kFeature;
}

Eligibility EligibilityCheck::of_capacity(const CompiledSubRequest& sub, DeviceRef place) const {
  const Slice& slice = devices.slice_at(place);
  const api::Device& device = devices.device_at(place);
  if (!slice.shareable.test(place.device)) {
    if (sub.spec->capacity.empty()) return Eligibility::Fits;
    const Result<bool> enough = large_enough(device, sub.spec->capacity);
    if (!enough) return Eligibility::Error;
    return *enough ? Eligibility::Fits : Eligibility::Capacity;
  }
  const Result<std::optional<CapacityMap>> amounts = share_amounts(device, sub.spec->capacity);
  if (!amounts) return Eligibility::Error;
  if (!*amounts) return Eligibility::Capacity;
  const model::DeviceUse& use = cluster.ledger().device(slice.devices[place.device]);
  for (const auto& [name, amount] : **amounts)
    if (amount + consumed_of(use, cluster.capacities().find(name)) > device.capacity.at(name).value)
      return Eligibility::Capacity;
  return Eligibility::Fits;
}

Eligibility EligibilityCheck::of(const CompiledSubRequest& sub, DeviceRef place) const {
  const DeviceRun& device_run = devices.order[place.device_run];
  const NodePool& pool = devices.pools[device_run.pool];
  const Slice& slice = devices.slice_at(place);
  const bool blocked = !sub.spec->admin_access && device_run.blocked.test(place.device);
  const Selected& selected = inventory.selected(*pool.slices[device_run.slice], sub.selectors);
  if (selected.error.test(place.device)) return blocked ? Eligibility::InUse : Eligibility::Error;
  if (!selected.match.test(place.device) || !device_run.here.test(place.device)) return Eligibility::Selector;
  const api::Device& device = devices.device_at(place);
  if (!refusal_of(slice, device, gates, cluster.node(node)).empty()) return Eligibility::Feature;
  if (blocked) return Eligibility::InUse;
  // Kubernetes checks amounts before taints, which only an error makes visible.
  const Eligibility capacity = of_capacity(sub, place);
  if (capacity == Eligibility::Error) return Eligibility::Error;
  if (gates.device_taints && untolerated(device, sub.spec->tolerations)) return Eligibility::Taint;
  if (capacity != Eligibility::Fits) return capacity;
  if (pool.draws.empty() || pool.negative_draws) return Eligibility::Fits;
  if (slice.shareable.test(place.device) && cluster.ledger().device(slice.devices[place.device]).shares > 0)
    return Eligibility::Fits;
  const std::vector<CounterDraw>& draws = pool.draws[device_run.slice][place.device];
  for (const CounterDraw& draw : draws)
    for (const auto& [slot, amount] : draw.counters)
      if (pool.overdrawn || amount > pool.available[slot]) return Eligibility::Counter;
  for (const CounterDraw& draw : draws)
    if (!pool.groups[draw.set].admits(draw.groups)) return Eligibility::Group;
  return Eligibility::Fits;
}

}  // namespace berth::dra
