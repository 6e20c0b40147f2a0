#include "dra/search/unit_measure.h"

#include <algorithm>
#include <map>

namespace berth::dra {

UnitMeasure::UnitMeasure(const EligibilityCheck& check, NodeDevices& devices,
                         const CompiledAllocationRequest& kinds)
    : check_(check), devices_(devices), matches_(devices.order.size()) {
  counters_.reset(devices);
  for (const CompiledClaim& claim : kinds.claims) {
    if (kinds_.size() == kUnitKindsMax) break;
    Kind& kind = kinds_.emplace_back(Kind{&claim.requests.front().alternatives.front(), {}});
    for (std::size_t i = 0; i < devices.order.size(); ++i) {
      const DeviceRun& run = devices.order[i];
      kind.matches.push_back(run.here &
                             check.inventory.selected(devices.slice_of(run), kind.sub->selectors).match);
      matches_[i] = matches_[i] | kind.matches.back();
    }
  }
  for (std::uint32_t i = 0; i < matches_.size(); ++i)
    if (matches_[i].any() && !reads_plainly(i)) applies_ = false;
}

bool UnitMeasure::reads_plainly(std::uint32_t device_run) const {
  NodePool& pool = devices_.pools[devices_.order[device_run].pool];
  const model::PoolRow& row = check_.cluster.pool(pool.id);
  if (pool.has_binding_conditions || pool.negative_draws || row.wide || row.nodes.size() != 1) return false;
  if (!pool.sizes) pool.sizes = std::make_shared<const PoolSizes>(pool);
  return true;
}

bool UnitMeasure::is_taken(DeviceRef place) const {
  return std::ranges::any_of(taken_, [&](const Taken& one) { return one.place == place; });
}

bool UnitMeasure::carries_share(DeviceRef place) const {
  return devices_.is_shareable(place) &&
         (is_taken(place) || check_.cluster.ledger().device(devices_.id_at(place)).shares > 0);
}

void UnitMeasure::take(DeviceRef place, const CapacityMap& consumed) {
  if (!carries_share(place))
    counters_.charge(devices_.order[place.device_run].pool, devices_.draws_at(place));
  taken_.push_back({place, consumed});
}

Quantity UnitMeasure::left_of(DeviceRef place, const std::string& capacity, Quantity whole) const {
  const model::DeviceUse& use = check_.cluster.ledger().device(devices_.id_at(place));
  Quantity left = whole - consumed_of(use, check_.cluster.capacities().find(capacity));
  for (const Taken& one : taken_) {
    if (one.place != place) continue;
    const auto amount = one.consumed.find(capacity);
    if (amount != one.consumed.end()) left -= amount->second;
  }
  return left;
}

bool UnitMeasure::fits_capacity(const CompiledSubRequest& sub, DeviceRef place) const {
  const api::Device& device = devices_.device_at(place);
  if (!devices_.is_shareable(place)) {
    const Result<bool> enough = large_enough(device, sub.spec->capacity);
    return enough && *enough;
  }
  const Result<std::optional<CapacityMap>> amounts = share_amounts(device, sub.spec->capacity);
  return amounts && *amounts && std::ranges::all_of(**amounts, [&](const auto& amount) {
           return amount.second <= left_of(place, amount.first, device.capacity.at(amount.first).value);
         });
}

// Of a device that the kind's selectors match.
bool UnitMeasure::fits(const CompiledSubRequest& sub, DeviceRef place) const {
  const DeviceRun& run = devices_.order[place.device_run];
  const api::Device& device = devices_.device_at(place);
  if (run.blocked.test(place.device) || (!devices_.is_shareable(place) && is_taken(place))) return false;
  const CounterDraws& draws = devices_.draws_at(place);
  if (!draws.empty() && !carries_share(place) &&
      (devices_.pools[run.pool].overdrawn || !counters_.admits(run.pool, draws)))
    return false;
  if (!refusal_of(devices_.slice_of(run), device, check_.gates, check_.cluster.node(check_.node)).empty())
    return false;
  if (check_.gates.device_taints && untolerated(device, sub.spec->tolerations)) return false;
  return fits_capacity(sub, place);
}

Millionths UnitMeasure::size_of(DeviceRef place) const {
  const DeviceRun& run = devices_.order[place.device_run];
  const PoolSizes& sizes = *devices_.pools[run.pool].sizes;
  return sizes.sizes[sizes.first[run.slice] + place.device];
}

Millionths UnitMeasure::free_of_device(DeviceRef place) const {
  const bool shareable = devices_.is_shareable(place);
  if (devices_.order[place.device_run].blocked.test(place.device) || (!shareable && is_taken(place)))
    return 0;
  Millionths least = kWhole;
  if (shareable)
    for (const auto& [name, capacity] : devices_.device_at(place).capacity)
      if (capacity.value > Quantity())
        least = std::min(least, part_of(left_of(place, name, capacity.value), capacity.value));
  return size_of(place) * least / kWhole;
}

Millionths UnitMeasure::free_of_set(std::uint32_t index, std::uint32_t set) const {
  const NodePool& pool = devices_.pools[index];
  const PoolSizes::CounterRange range = pool.sizes->counters[set];
  if (pool.overdrawn || range.count == 0) return 0;
  Millionths sum = 0;
  for (std::uint32_t i = range.first; i < range.first + range.count; ++i)
    sum += part_of(counters_.available(index)[i], pool.declared[i]);
  return sum / range.count;
}

template <class Visit>
void UnitMeasure::visit_devices(const Visit& visit) const {
  for (std::uint32_t i = 0; i < matches_.size(); ++i)
    for (std::size_t d = matches_[i].next(0); d < kSliceDevicesMax; d = matches_[i].next(d + 1)) {
      std::uint32_t asked = 0;
      for (std::size_t k = 0; k < kinds_.size(); ++k)
        asked |= kinds_[k].matches[i].test(d) ? std::uint32_t{1} << k : 0;
      visit(DeviceRef{i, d}, asked);
    }
}

std::int64_t UnitMeasure::count_fitting(const Kind& kind) {
  const CounterLedger::Mark counters = counters_.mark();
  const std::size_t taken = taken_.size();
  std::int64_t count = 0;
  for (std::uint32_t i = 0; i < kind.matches.size() && count < kind.sub->spec->count; ++i)
    for (std::size_t d = kind.matches[i].next(0); d < kSliceDevicesMax; d = kind.matches[i].next(d + 1))
      while (count < kind.sub->spec->count && fits(*kind.sub, {i, d})) {
        CapacityMap consumed;
        if (devices_.is_shareable({i, d}))
          consumed = **share_amounts(devices_.device_at({i, d}), kind.sub->spec->capacity);
        take({i, d}, consumed);
        ++count;
      }
  counters_.undo_to(counters);
  taken_.resize(taken);
  return count;
}

DeviceUnits UnitMeasure::units() {
  DeviceUnits made;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> sets;  // by pool and set: its unit
  const auto serve = [&](DeviceUnit& unit, DeviceRef place, std::uint32_t asked) {
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if ((asked & ~unit.serves) >> k & 1)
        unit.serves |= fits(*kinds_[k].sub, place) ? std::uint32_t{1} << k : 0;
  };
  visit_devices([&](DeviceRef place, std::uint32_t asked) {
    const std::uint32_t pool = devices_.order[place.device_run].pool;
    const CounterDraws& draws = devices_.draws_at(place);
    const bool on_its_own = draws.empty() || carries_share(place);
    for (const CounterDraw& draw : draws) {
      const auto [set, is_new] = sets.emplace(std::pair(pool, draw.set), made.units.size());
      if (is_new) made.units.push_back({free_of_set(pool, draw.set)});
      if (!on_its_own) serve(made.units[set->second], place, asked);
    }
    if (!on_its_own) return;
    const Millionths free = free_of_device(place);
    if (free > 0) serve(made.units.emplace_back(DeviceUnit{free}), place, asked);
  });
  applies_ = applies_ && made.units.size() <= kUnitsMax;
  for (std::size_t k = 0; k < kinds_.size(); ++k) made.fitting[k] = count_fitting(kinds_[k]);
  return made;
}

UnitSizes UnitMeasure::sizes() {
  UnitSizes made;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> sets;
  visit_devices([&](DeviceRef place, std::uint32_t asked) {
    const CounterDraws& draws = devices_.draws_at(place);
    const api::Device& device = devices_.device_at(place);
    made.wholes += draws.empty() ? 1 : 0;
    for (const CounterDraw& draw : draws)
      made.wholes += sets.emplace(std::pair(devices_.order[place.device_run].pool, draw.set), true).second;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if ((asked >> k & 1) == 0) continue;
      Millionths part = kWhole;
      if (devices_.is_shareable(place)) {
        const auto amounts = share_amounts(device, kinds_[k].sub->spec->capacity);
        if (!amounts || !*amounts) continue;
        part = device.capacity.empty() ? kWhole : 0;
        for (const auto& [name, amount] : **amounts)
          part = std::max(part, part_of(amount, device.capacity.at(name).value));
      }
      const Millionths size = std::max<Millionths>(1, size_of(place) * part / kWhole);
      made.kinds[k] = made.kinds[k] == 0 ? size : std::min(made.kinds[k], size);
    }
  });
  return made;
}

}  // namespace berth::dra
