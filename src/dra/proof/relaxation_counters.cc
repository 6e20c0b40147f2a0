// The least that the slots draw from scarce counters: from each alone, and from several combined.
#include <algorithm>

#include "dra/pools/pool_sizes.h"
#include "dra/proof/relaxation.h"

namespace berth::dra {
namespace {

constexpr std::int64_t kLeastWeight = kWhole / 1000, kMostWeight = kWhole * 1000;

// A place with its draw; a shareable device, which may draw for others already, counts as zero.
struct Weighed {
  std::int64_t weight = 0;
  std::uint32_t place = 0;
};

// The smallest places that `count` slots can have, each place up to its multiplicity.
std::vector<Weighed> smallest(const Bits& set, std::size_t count, const std::vector<std::int64_t>& weights,
                              const std::vector<std::uint32_t>& multiplicity) {
  std::vector<Weighed> sorted, chosen;
  for (std::size_t p = set.next(0); p < set.end(); p = set.next(p + 1))
    sorted.push_back({weights[p], static_cast<std::uint32_t>(p)});
  std::sort(sorted.begin(), sorted.end(), [](const Weighed& a, const Weighed& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.place < b.place;
  });
  for (const Weighed& one : sorted)
    for (std::uint32_t i = 0; i < multiplicity[one.place] && chosen.size() < count; ++i)
      chosen.push_back(one);
  return chosen;
}

}  // namespace

// Slots that accept the same places use different ones.
std::vector<Relaxation::Alike> Relaxation::alike() const {
  std::vector<Alike> sets;
  for (std::uint32_t g = 0; g < problem_.groups.size(); ++g) {
    const SlotGroup& group = problem_.groups[g];
    if (!group.each.empty()) {
      for (const Bits& one : group.each) sets.push_back({&one, 1});
      continue;
    }
    const Bits& mine = accepts(g);
    const auto same =
        std::find_if(sets.begin(), sets.end(), [&](const Alike& set) { return *set.places == mine; });
    if (same == sets.end())
      sets.push_back({&mine, group.count});
    else
      same->count += group.count;
  }
  return sets;
}

// The least that all slots together draw from one counter: the sum over as many of the smallest as there are
// slots.
std::optional<Refutation> Relaxation::refute_counters() const {
  const std::vector<Alike> sets = problem_.scarce.empty() ? std::vector<Alike>() : alike();
  for (const CounterBottleneck& bottleneck : problem_.scarce) {
    Bits drawing(problem_.places.size());
    for (const auto& [amount, place] : bottleneck.draws) drawing.set(place);
    Quantity need;
    for (const auto& [set, count] : sets) {
      std::size_t others = 0;  // that the rest can serve
      for (std::size_t p = set->next(0); p < set->end(); p = set->next(p + 1))
        others += drawing.test(p) ? 0 : problem_.multiplicity[p];
      std::size_t left = count > others ? count - others : 0;
      for (const auto& [amount, place] : bottleneck.draws) {
        if (left == 0) break;
        if (!set->test(place)) continue;
        need += amount;
        --left;
      }
    }
    const Quantity have =
        problem_.eligibility_check().devices.pools[bottleneck.pool].available[bottleneck.counter];
    if (need.is_zero() || need <= have) continue;  // an overdrawn counter blocks only devices that draw on it
    Refutation no;
    no.kind = CertificateKind::Counter;
    no.pool = bottleneck.pool;
    no.counter = bottleneck.counter;
    no.need_amount = need;
    no.have_amount = have;
    no.places = drawing;
    return no;
  }
  return refute_mixture(sets);
}

// Every valid choice respects every counter, so also every weighted sum of counters. Draws are in millionths
// of what is left, rounded down, so an excess is real. The weights rise where the least choice draws too much
// (multiplicative weights), and fall elsewhere.
std::optional<Refutation> Relaxation::refute_mixture(const std::vector<Alike>& sets) const {
  struct Counter {
    const CounterBottleneck* bottleneck;
    std::vector<Millionths> draws;  // by place
    std::int64_t weight = kWhole;
    Millionths usage = 0;
  };
  std::vector<Counter> counters;
  for (const CounterBottleneck& bottleneck : problem_.scarce) {
    const Quantity left =
        problem_.eligibility_check().devices.pools[bottleneck.pool].available[bottleneck.counter];
    if (left <= Quantity() || counters.size() == kMixedCountersMax) continue;
    Counter& counter =
        counters.emplace_back(Counter{&bottleneck, std::vector<Millionths>(problem_.places.size())});
    for (const auto& [amount, place] : bottleneck.draws) counter.draws[place] = part_of(amount, left);
  }
  if (counters.size() < 2) return std::nullopt;
  std::vector<std::int64_t> weights(problem_.places.size());
  for (std::size_t round = 0; round < kMixtureRoundsMax; ++round) {
    std::fill(weights.begin(), weights.end(), 0);
    std::int64_t have = 0;
    for (Counter& counter : counters) {
      for (std::size_t p = 0; p < weights.size(); ++p)
        weights[p] += counter.weight * counter.draws[p] / kWhole;
      have += counter.weight;
      counter.usage = 0;
    }
    std::vector<Weighed> chosen;
    for (const auto& [set, count] : sets)
      for (const Weighed& one : smallest(*set, count, weights, problem_.multiplicity)) chosen.push_back(one);
    std::int64_t need = 0;
    for (const Weighed& one : chosen) {
      need += one.weight;
      for (Counter& counter : counters) counter.usage += counter.draws[one.place];
    }
    if (need > have) {
      std::sort(chosen.begin(), chosen.end(),
                [](const Weighed& a, const Weighed& b) { return a.weight < b.weight; });
      const auto worst = std::max_element(counters.begin(), counters.end(),
                                          [](const auto& a, const auto& b) { return a.usage < b.usage; });
      Refutation no;
      no.kind = CertificateKind::Counter;
      no.by_numbers = false;
      no.pool = worst->bottleneck->pool;
      no.counter = worst->bottleneck->counter;
      no.need = chosen.size();
      for (std::int64_t sum = 0; (sum += chosen[no.have].weight) <= have;) ++no.have;
      no.places = Bits(problem_.places.size());
      for (const auto& [amount, place] : worst->bottleneck->draws) no.places.set(place);
      return no;
    }
    for (Counter& counter : counters)
      counter.weight = std::clamp(counter.weight + counter.weight * (counter.usage - kWhole) / (4 * kWhole),
                                  kLeastWeight, kMostWeight);
  }
  return std::nullopt;
}

}  // namespace berth::dra
