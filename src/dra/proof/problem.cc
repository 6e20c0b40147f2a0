#include "dra/proof/problem.h"

#include <algorithm>

#include "base/key_bytes.h"
#include "dra/pools/capacity.h"

namespace berth::dra {
namespace {

template <class Visit>
void for_each_sub(const CompiledAllocationRequest& compiled, const Visit& visit) {
  for (const CompiledClaim& claim : compiled.claims)
    for (const CompiledRequest& request : claim.requests)
      for (const CompiledSubRequest& sub : request.alternatives) visit(sub);
}

void append(std::uint32_t number, std::string& key) {
  append_plain(key, number);
}
void append(Quantity amount, std::string& key) {
  append_plain<__int128>(key, amount.nanos());
  if (amount.is_beyond_nanos()) key.append(amount.text()).append(1, '\0');
}

}  // namespace

Problem::Problem(const CompiledAllocationRequest& compiled, const EligibilityCheck& eligibility_check,
                 const ConstraintValues& values, const Collected& collected)
    : eligibility_check_(eligibility_check) {
  find_places(compiled);
  find_groups(compiled, collected);
  count_multiplicity(compiled);
  find_bottlenecks(compiled);
  find_classes(compiled, values);
  find_matches(compiled, values);
  for (const auto& of_claim : values)
    for (const ValueTable* table : of_claim) may_err = may_err || table->has_errors();
}

void Problem::find_places(const CompiledAllocationRequest& compiled) {
  const NodeDevices& devices = eligibility_check_.devices;
  std::vector<std::vector<std::uint32_t>> accepted;  // by kind, flat numbers
  for_each_sub(compiled, [&](const CompiledSubRequest& sub) {
    may_err = may_err || (sub.spec->mode == api::AllocationMode::All && !sub.constraints.empty());
    if (!kinds_.try_emplace(sub.kind, static_cast<std::uint32_t>(accepted.size())).second) return;
    std::vector<std::uint32_t>& of_kind = accepted.emplace_back();
    for (std::uint32_t s = 0; s < devices.order.size(); ++s) {
      const DeviceRun& device_run = devices.order[s];
      const Selected& selected = eligibility_check_.inventory.selected(
          *devices.pools[device_run.pool].slices[device_run.slice], sub.selectors);
      const Mask look = (selected.match | selected.error) & device_run.mask;
      for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) {
        const Eligibility eligibility = eligibility_check_.of(sub, {s, i});
        may_err = may_err || eligibility == Eligibility::Error;
        if (eligibility == Eligibility::Fits)
          of_kind.push_back(device_run.base + static_cast<std::uint32_t>(i));
      }
    }
  });
  place_of_.assign(devices.device_count, Matching::kNone);
  std::vector<std::uint8_t> wanted(devices.device_count);
  for (const auto& of_kind : accepted)
    for (const std::uint32_t flat : of_kind) wanted[flat] = 1;
  for (std::uint32_t s = 0; s < devices.order.size(); ++s) {
    const DeviceRun& device_run = devices.order[s];
    for (std::size_t i = device_run.here.next(0); i < kSliceDevicesMax; i = device_run.here.next(i + 1)) {
      if (!wanted[device_run.base + i]) continue;
      place_of_[device_run.base + i] = static_cast<std::uint32_t>(places.size());
      places.push_back({s, i});
    }
  }
  for (const auto& of_kind : accepted) {
    Bits& bits = accepted_.emplace_back(places.size());
    for (const std::uint32_t flat : of_kind) bits.set(place_of_[flat]);
  }
}

void Problem::find_groups(const CompiledAllocationRequest& compiled, const Collected& collected) {
  std::uint32_t first = 0;
  for (std::uint32_t c = 0; c < compiled.claims.size(); ++c)
    for (std::uint32_t r = 0; r < compiled.claims[c].requests.size(); ++r) {
      const CompiledRequest& request = compiled.claims[c].requests[r];
      SlotGroup group{c, r, first, Matching::kNone, Bits(places.size()), {}, {}};
      for (const CompiledSubRequest& sub : request.alternatives) {
        const bool all = sub.spec->mode == api::AllocationMode::All;
        std::size_t count = all ? collected.at(&sub).size() : static_cast<std::size_t>(sub.spec->count);
        if (sub.spec->admin_access) count = 0;  // reserves nothing
        group.count = std::min(group.count, static_cast<std::uint32_t>(count));
        group.accepts |= accepted(sub);
        if (!all || request.alternatives.size() > 1 || sub.spec->admin_access) continue;
        for (const DeviceRef& place : collected.at(&sub)) {
          const std::uint32_t flat = eligibility_check_.devices.order[place.device_run].base +
                                     static_cast<std::uint32_t>(place.device);
          Bits& only = group.each.emplace_back(places.size());
          if (place_of_[flat] != Matching::kNone && accepted(sub).test(place_of_[flat]))
            only.set(place_of_[flat]);
        }
      }
      first += group.count;
      groups.push_back(std::move(group));
    }
}

// A shareable device serves as often as its scarcest capacity allows the smallest requested amounts.
void Problem::count_multiplicity(const CompiledAllocationRequest& compiled) {
  constexpr std::uint32_t kUnlimited = 1u << 30;
  multiplicity.assign(places.size(), 1);
  for (std::uint32_t place = 0; place < places.size(); ++place) {
    const Slice& slice = eligibility_check_.devices.slice_at(places[place]);
    if (!slice.shareable.test(places[place].device)) continue;
    const api::Device& device = eligibility_check_.devices.device_at(places[place]);
    CapacityMap least;
    for_each_sub(compiled, [&](const CompiledSubRequest& sub) {
      if (!accepted(sub).test(place)) return;
      const Result<std::optional<CapacityMap>> amounts = share_amounts(device, sub.spec->capacity);
      if (!amounts || !*amounts) return;
      for (const auto& [name, amount] : **amounts) {
        may_err = may_err || amount.is_negative();
        const auto [at, added] = least.emplace(name, amount);
        if (!added) at->second = std::min(at->second, amount);
      }
    });
    const model::DeviceUse& use =
        eligibility_check_.cluster.ledger().device(slice.devices[places[place].device]);
    multiplicity[place] = kUnlimited;
    for (const auto& [name, amount] : least) {
      if (amount <= Quantity()) continue;
      const Quantity left = device.capacity.at(name).value -
                            consumed_of(use, eligibility_check_.cluster.capacities().find(name));
      if (left.is_beyond_nanos()) continue;
      const __int128 times = left.nanos() / amount.nanos();
      if (times < multiplicity[place])
        multiplicity[place] = static_cast<std::uint32_t>(std::max<__int128>(times, 0));
    }
  }
}

std::uint32_t Problem::fed(const CounterBottleneck& bottleneck, Quantity left, const Bits* used) {
  std::uint32_t count = 0;
  for (const auto& [amount, place] : bottleneck.draws) {
    if (used && used->test(place)) continue;
    if (amount > left) break;
    left -= amount;
    ++count;
  }
  return count;
}

bool Problem::counts_shares(std::uint32_t place) const {
  return eligibility_check_.devices.slice_at(places[place]).shareable.test(places[place].device);
}

// Each device that is allocated as a whole joins the bottleneck of its scarcest counter.
void Problem::find_bottlenecks(const CompiledAllocationRequest& compiled) {
  for_each_sub(compiled,
               [&](const CompiledSubRequest& sub) { any_admin = any_admin || sub.spec->admin_access; });
  bottleneck_of.assign(places.size(), Matching::kNone);
  std::map<std::pair<std::uint32_t, std::uint32_t>, CounterBottleneck> by_counter;
  for (std::uint32_t place = 0; place < places.size(); ++place) {
    const DeviceRun& device_run = eligibility_check_.devices.order[places[place].device_run];
    const NodePool& pool = eligibility_check_.devices.pools[device_run.pool];
    may_err = may_err || pool.negative_draws;
    if (pool.draws.empty() || pool.negative_draws) continue;
    for (const CounterDraw& draw : pool.draws[device_run.slice][places[place].device])
      for (const auto& [counter, amount] : draw.counters) {
        CounterBottleneck& bottleneck = by_counter[{device_run.pool, counter}];
        bottleneck.pool = device_run.pool;
        bottleneck.counter = counter;
        bottleneck.draws.emplace_back(amount, place);
      }
  }
  slack_.resize(eligibility_check_.devices.pools.size());
  for (std::size_t p = 0; p < slack_.size(); ++p)
    slack_[p].assign(eligibility_check_.devices.pools[p].declared.size(),
                     eligibility_check_.devices.pools[p].negative_draws || any_admin ? 0 : 1);
  std::vector<std::pair<std::uint32_t, CounterBottleneck*>> by_size;  // by how many it feeds
  for (auto& [key, bottleneck] : by_counter) {
    std::sort(bottleneck.draws.begin(), bottleneck.draws.end());
    const std::uint32_t count = fed(
        bottleneck, eligibility_check_.devices.pools[bottleneck.pool].available[bottleneck.counter], nullptr);
    if (count == bottleneck.draws.size()) continue;
    slack_[bottleneck.pool][bottleneck.counter] = 0;
    by_size.emplace_back(count, &bottleneck);
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [count, bottleneck] : by_size) {
    std::erase_if(bottleneck->draws, [&](const auto& draw) { return counts_shares(draw.second); });
    scarce.push_back(*bottleneck);
    std::erase_if(bottleneck->draws,
                  [&](const auto& draw) { return bottleneck_of[draw.second] != Matching::kNone; });
    if (bottleneck->draws.empty()) continue;
    for (const auto& [amount, place] : bottleneck->draws)
      bottleneck_of[place] = static_cast<std::uint32_t>(bottlenecks.size());
    bottlenecks.push_back(std::move(*bottleneck));
  }
}

void Problem::write_draws(std::uint32_t place, std::string& key) const {
  const DeviceRun& device_run = eligibility_check_.devices.order[places[place].device_run];
  const NodePool& pool = eligibility_check_.devices.pools[device_run.pool];
  append(device_run.pool, key);
  for (const CounterDraw& draw : pool.draws[device_run.slice][places[place].device]) {
    append(draw.set, key);
    for (const auto& [counter, amount] : draw.counters) {
      if (slack_[device_run.pool][counter]) continue;
      append(counter, key);
      append(amount, key);
    }
    append(Matching::kNone, key);
    for (const std::uint32_t group : draw.groups) append(group, key);
    append(Matching::kNone, key);
  }
}

void Problem::write_shares(const CompiledAllocationRequest& compiled, std::uint32_t place,
                           std::string& key) const {
  const Slice& slice = eligibility_check_.devices.slice_at(places[place]);
  const model::DeviceUse& use =
      eligibility_check_.cluster.ledger().device(slice.devices[places[place].device]);
  const api::Device& device = eligibility_check_.devices.device_at(places[place]);
  append(use.shares > 0 ? 1 : 0, key);
  for (const auto& [name, capacity] : device.capacity) {
    key += name;
    key += '\0';
    append(capacity.value - consumed_of(use, eligibility_check_.cluster.capacities().find(name)), key);
  }
  for_each_sub(compiled, [&](const CompiledSubRequest& sub) {
    const Result<std::optional<CapacityMap>> amounts = share_amounts(device, sub.spec->capacity);
    if (!amounts || !*amounts) return;
    for (const auto& [name, amount] : **amounts) append(amount, key);
  });
}

void Problem::find_classes(const CompiledAllocationRequest& compiled, const ConstraintValues& values) {
  std::vector<const ValueTable*> tables;
  std::vector<std::vector<std::uint32_t>> holders;  // by table and value: the places with it
  std::vector<std::uint32_t> variants;
  for (std::size_t c = 0; c < values.size(); ++c)
    for (std::size_t k = 0; k < values[c].size(); ++k) {
      const ValueTable* table = values[c][k];
      if (std::find(tables.begin(), tables.end(), table) != tables.end()) continue;
      tables.push_back(table);
      variants.push_back(
          1 + static_cast<std::uint32_t>(compiled.claims[c].compiled_spec->constraints[k].derived.size()));
      std::vector<std::uint32_t>& counts = holders.emplace_back(table->value_count());
      for (std::uint32_t v = 0; v < variants.back(); ++v)
        for (std::uint32_t place = 0; place < places.size(); ++place)
          for (const std::uint32_t value : table->ids(v, flat_of(place))) ++counts[value];
    }
  std::unordered_map<std::string, std::uint32_t> known;
  std::string key;
  for (std::uint32_t place = 0; place < places.size(); ++place) {
    key.clear();
    for (const Bits& bits : accepted_) key += bits.test(place) ? '1' : '0';
    const DeviceRun& device_run = eligibility_check_.devices.order[places[place].device_run];
    const NodePool& pool = eligibility_check_.devices.pools[device_run.pool];
    // Devices of a pool with counters that look equal are interchangeable only when their draws are equal.
    if (!pool.draws.empty() && !pool.draws[device_run.slice][places[place].device].empty())
      write_draws(place, key);
    append(Matching::kNone, key);
    if (counts_shares(place)) write_shares(compiled, place, key);
    for (std::size_t t = 0; t < tables.size(); ++t)
      for (std::uint32_t v = 0; v < variants[t]; ++v) {
        const auto ids = tables[t]->ids(v, flat_of(place));
        append(ids.empty() ? 0 : 1, key);
        // A value that no other place has can neither match nor clash.
        for (const std::uint32_t id : ids)
          if (holders[t][id] > 1) append(id + 2, key);
      }
    class_of.push_back(known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second);
  }
  classes = static_cast<std::uint32_t>(known.size());
}

// The slot groups that a constraint covers under every choice of alternatives, all with the same variant.
// Empty when variants differ (derived attributes): then only the search can decide.
std::vector<SlotGroup*> Problem::covered_by(const CompiledAllocationRequest& compiled, std::uint32_t claim,
                                            std::uint32_t constraint, std::uint32_t& variant) {
  std::vector<SlotGroup*> covered;
  for (SlotGroup& group : groups) {
    if (group.claim != claim || group.count == 0) continue;
    const std::vector<CompiledSubRequest>& alternatives =
        compiled.claims[claim].requests[group.request].alternatives;
    std::size_t covering = 0;
    for (const CompiledSubRequest& sub : alternatives)
      for (const Covering& by : sub.constraints) {
        if (by.constraint != constraint) continue;
        if (covered.empty() && covering == 0) variant = by.variant;
        if (by.variant != variant) return {};
        ++covering;
      }
    if (covering == alternatives.size()) covered.push_back(&group);
  }
  return covered;
}

void Problem::find_matches(const CompiledAllocationRequest& compiled, const ConstraintValues& values) {
  for (std::uint32_t c = 0; c < values.size(); ++c)
    for (std::uint32_t k = 0; k < values[c].size(); ++k) {
      if (!compiled.claims[c].compiled_spec->constraints[k].is_match) continue;
      MatchGroup match{c, k, 0, {}, Bits(places.size()), 0, Matching::kNone, Bits(places.size())};
      std::uint32_t variant = 0;
      const std::vector<SlotGroup*> covered = covered_by(compiled, c, k, variant);
      for (const SlotGroup* group : covered) match.covered += group->count;
      if (match.covered < 2) continue;
      for (const SlotGroup* group : covered) match.open |= group->accepts;
      for (SlotGroup* group : covered) group->matches.push_back(static_cast<std::uint32_t>(matches.size()));
      count_values(*values[c][k], variant, match);
      matches.push_back(std::move(match));
    }
}

void Problem::count_values(const ValueTable& table, std::uint32_t variant, MatchGroup& match) const {
  std::vector<std::uint64_t> count(table.value_count());
  const auto for_each_value = [&](const auto& visit) {
    for (std::size_t p = match.open.next(0); p < match.open.end(); p = match.open.next(p + 1))
      for (const std::uint32_t id : table.ids(variant, flat_of(static_cast<std::uint32_t>(p))))
        visit(static_cast<std::uint32_t>(p), id);
  };
  for_each_value([&](std::uint32_t place, std::uint32_t id) { count[id] += multiplicity[place]; });
  std::vector<std::uint32_t> index(count.size(), Matching::kNone);
  for (std::uint32_t id = 0; id < count.size(); ++id) {
    if (count[id] > match.best) {
      match.best = count[id];
      match.best_value = id;
    }
    if (count[id] < match.covered) continue;
    index[id] = static_cast<std::uint32_t>(match.values.size());
    match.values.emplace_back(id, Bits(places.size()));
  }
  for_each_value([&](std::uint32_t place, std::uint32_t id) {
    if (index[id] == Matching::kNone) return;
    match.values[index[id]].second.set(place);
    match.places.set(place);
  });
}

}  // namespace berth::dra
