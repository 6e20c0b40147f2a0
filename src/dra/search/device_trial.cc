#include "dra/search/device_trial.h"

#include <algorithm>

#include "base/known_defects.h"
#include "dra/search/refusal_texts.h"

namespace berth::dra {

TrialResult DeviceTrial::check_capacity(RequestRef at, DeviceRef place, Pick& pick) {
  if (context_.devices->is_shareable(place)) return check_share(at, place, pick);
  const CapacityMap& requested = context_.sub(at).spec->capacity;
  if (requested.empty()) return TrialResult::Passed;
  const Result<bool> enough = large_enough(context_.devices->device_at(place), requested);
  if (!enough) return fail(capacity_error(context_, at, place, enough.error()));
  if (*enough) return TrialResult::Passed;
  return refuse(at, place,
                [&] { return small_capacity_text(context_.devices->device_at(place), false, requested); });
}

TrialResult DeviceTrial::check_share(RequestRef at, DeviceRef place, Pick& pick) {
  const api::Device& device = context_.devices->device_at(place);
  const CapacityMap& requested = context_.sub(at).spec->capacity;
  Result<std::optional<CapacityMap>> amounts = share_amounts(device, requested);
  if (!amounts) return fail(capacity_error(context_, at, place, amounts.error()));
  if (!*amounts) return refuse(at, place, [&] { return small_capacity_text(device, true, requested); });
  const model::DeviceUse& use = context_.cluster.ledger().device(context_.devices->id_at(place));
  for (const auto& [name, amount] : **amounts) {
    Quantity total = amount + consumed_of(use, context_.cluster.capacities().find(name));
    for (const Pick& other : state_.picks()) {
      if (other.place != place) continue;
      const auto taken = other.consumed.find(name);
      if (taken != other.consumed.end()) total += taken->second;
    }
    const api::DeviceCapacity& whole = device.capacity.at(name);
    if (total > whole.value && !context_.leaves_out(CertificateKind::Capacity))
      return refuse(at, place, [&] {
        return short_capacity_text(name, whole, whole.value - (total - amount), amount, requested);
      });
  }
  pick.share = true;
  pick.consumed = std::move(**amounts);
  return TrialResult::Passed;
}

// Groups and counters of the pool; a further share of the same device draws nothing of them.
TrialResult DeviceTrial::check_draws(RequestRef at, DeviceRef place) {
  const std::uint32_t index = context_.devices->order[place.device_run].pool;
  const NodePool& pool = context_.devices->pools[index];
  if (pool.draws.empty() || state_.carries_share(place)) return TrialResult::Passed;
  const CounterDraws& draws = context_.devices->draws_at(place);
  const std::string& node = context_.cluster.node(context_.node).name;
  if (!context_.leaves_out(CertificateKind::Group)) {
    const std::vector<GroupState>& groups = state_.counters().groups(index);
    for (const CounterDraw& draw : draws)
      if (!groups[draw.set].admits(draw.groups))
        return refuse(at, place, [&] { return group_text(pool, node, draw, groups[draw.set]); });
  }
  if (context_.leaves_out(CertificateKind::Counter)) return TrialResult::Passed;
  const std::vector<Quantity>& available = state_.counters().available(index);
  for (const CounterDraw& draw : draws)
    for (const auto& [counter, amount] : draw.counters) {
      const Quantity& left = available[counter];
      if (amount > left)
        return refuse(at, place, [&] { return short_counter_text(pool, node, counter, left, amount); });
      if (pool.overdrawn) return refuse(at, place, [&] { return overdrawn_text(pool, node); });
    }
  return TrialResult::Passed;
}

// A failed derivation is reported only now, as in Kubernetes.
TrialResult DeviceTrial::check_constraints(RequestRef at, DeviceRef place) {
  const std::vector<Covering>& coverings = context_.sub(at).constraints;
  const std::uint32_t flat = context_.devices->flat_at(place);
  for (std::size_t k = 0; k < coverings.size(); ++k) {
    const auto [index, variant] = coverings[k];
    ConstraintState& constraint = state_.constraint(at.claim, index);
    if (leaves_out(context_, constraint)) continue;
    const ValueTable& values = *context_.values[at.claim][index];
    const std::string* error = variant == 0 ? nullptr : values.error(variant, flat);
    if (!error && constraint.add(values.ids(variant, flat))) continue;
    state_.undo_constraints(at, k);
    const std::string& name = context_.compiled->claims[at.claim].compiled_spec->constraints[index].attribute;
    if (error) return fail(derivation_error(context_, place, name, *error));
    if (!context_.error.empty()) return TrialResult::Fatal;  // in a proof's try without an earlier rule
    const auto why = [&] {
      return constraint_text(constraint.is_match(), name, context_.devices->slice_at(place),
                             context_.devices->device_at(place), !values.ids(variant, flat).empty());
    };
    // Its refusal ends the attempt, with a sentence that does not name the constraint.
    if (context_.sub(at).spec->mode == api::AllocationMode::All)
      return fail(constraint_error(context_, at, place),
                  context_.devices->device_at(place).name + ": " + why());
    return refuse(at, place, why);
  }
  return TrialResult::Passed;
}

TrialResult DeviceTrial::take(RequestRef at, DeviceRef place) {
  const CompiledSubRequest& sub = context_.sub(at);
  const Slice& slice = context_.devices->slice_at(place);
  const api::Device& device = slice.live->devices[place.device];
  if (state_.in_use(at, place)) return refuse(at, place, [] { return std::string(kTaken); });
  Pick pick{at, place};
  // For a device that must be allocated Kubernetes checks the remaining capacity only after the constraints,
  // whose refusal ends the attempt.
  const bool must = sub.spec->mode == api::AllocationMode::All;
  if (!must)
    if (const TrialResult result = check_capacity(at, place, pick); result != TrialResult::Passed)
      return result;
  if (const std::string_view refusal =
          refusal_of(slice, device, context_.gates, context_.cluster.node(context_.node));
      !refusal.empty())
    return refuse(at, place, [&] { return std::string(refusal); });
  if (check_draws(at, place) != TrialResult::Passed) return TrialResult::Refused;
  const bool taints = context_.gates.device_taints && !context_.leaves_out(CertificateKind::Taint);
  if (const api::Taint* taint = taints ? untolerated(device, sub.spec->tolerations) : nullptr) {
    if (has(KnownDefect::RefusedCandidateKeepsCounters)) state_.charge(place);
    return refuse(at, place, [&] { return taint_text(*taint); });
  }
  if (const TrialResult result = check_constraints(at, place); result != TrialResult::Passed) return result;
  if (must)
    if (const TrialResult result = check_capacity(at, place, pick); result != TrialResult::Passed) {
      state_.undo_constraints(at, sub.constraints.size());
      return result;
    }
  state_.take(std::move(pick));
  return TrialResult::Passed;
}

}  // namespace berth::dra
