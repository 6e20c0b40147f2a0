#include "dra/proof/relaxation.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::dra {

Relaxation::Relaxation(const CompiledAllocationRequest& compiled, const Problem& problem,
                       const ConstraintValues& values)
    : compiled_(compiled), problem_(problem), values_(values) {
  matching_.reset(problem.multiplicity, problem.bottleneck_of, problem.bottlenecks.size());
  for (std::uint32_t b = 0; b < problem.bottlenecks.size(); ++b) {
    const CounterBottleneck& bottleneck = problem.bottlenecks[b];
    const Quantity left =
        problem.eligibility_check().devices.pools[bottleneck.pool].available[bottleneck.counter];
    matching_.set_bottleneck(b, Problem::fed(bottleneck, left, nullptr));
  }
  now_.resize(problem.groups.size());
  for (const MatchGroup& match : problem.matches) mask_.push_back(match.places);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const SlotGroup& group = problem.groups[g];
    now_[g] = group.accepts;
    for (std::uint32_t i = 0; i < group.count; ++i)
      matching_.add_slot(!group.each.empty()     ? &group.each[i]
                         : group.matches.empty() ? &group.accepts
                                                 : &now_[g]);
  }
}

const SlotGroup& Relaxation::group_of_slot(std::uint32_t slot) const {
  const auto after =
      std::upper_bound(problem_.groups.begin(), problem_.groups.end(), slot,
                       [](std::uint32_t at, const SlotGroup& group) { return at < group.first; });
  auto found = after - 1;
  while (found->count == 0) --found;
  return *found;
}

// The places that every group with a match constraint accepts under `mask_`.
void Relaxation::restrict_all(std::uint32_t match, const Bits* only) {
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) {
    const SlotGroup& group = problem_.groups[g];
    if (group.matches.empty()) continue;
    now_[g] = group.accepts;
    for (const std::uint32_t m : group.matches) now_[g] &= m == match ? *only : mask_[m];
  }
}

void Relaxation::restrict_to(const std::vector<std::vector<ConstraintState>>& constraints) {
  if (problem_.matches.empty()) return;
  for (std::size_t m = 0; m < problem_.matches.size(); ++m) {
    const MatchGroup& match = problem_.matches[m];
    const ConstraintState& state = constraints[match.claim][match.constraint];
    if (state.empty()) {
      mask_[m] = match.places;
      continue;
    }
    mask_[m].clear();
    auto value = match.values.begin();
    for (const std::uint32_t id : state.values()) {
      while (value != match.values.end() && value->first < id) ++value;
      if (value == match.values.end()) break;
      if (value->first == id) mask_[m] |= value->second;
    }
  }
  restrict_all(Matching::kNone, nullptr);
}

Refutation Relaxation::blocked() const {
  Refutation no;
  no.slots = matching_.blocked_slots();
  std::sort(no.slots.begin(), no.slots.end());
  no.places = matching_.blocked_places();
  no.need = no.slots.size();
  no.have = matching_.blocked_capacity();
  const std::vector<std::uint8_t>& bottlenecks = matching_.blocked_bottlenecks();
  const auto first = std::find(bottlenecks.begin(), bottlenecks.end(), 1);
  if (first == bottlenecks.end()) return no;
  // The counters feed fewer places than there are. A single one that feeds all of them is named with its
  // amounts.
  const CounterBottleneck& bottleneck =
      problem_.bottlenecks[static_cast<std::size_t>(first - bottlenecks.begin())];
  no.kind = CertificateKind::Counter;
  no.pool = bottleneck.pool;
  no.counter = bottleneck.counter;
  no.by_numbers = no.places.count() == bottleneck.draws.size() && no.need <= bottleneck.draws.size();
  for (std::size_t i = 0; no.by_numbers && i < no.need; ++i) no.need_amount += bottleneck.draws[i].first;
  no.have_amount = problem_.eligibility_check().devices.pools[bottleneck.pool].available[bottleneck.counter];
  return no;
}

std::optional<Refutation> Relaxation::refute_counts() {
  for (std::size_t g = 0; g < problem_.groups.size(); ++g) now_[g] = problem_.groups[g].accepts;
  if (!matching_.repair()) return blocked();
  return refute_counters();
}

std::optional<Refutation> Relaxation::refute() {
  if (std::optional<Refutation> no = refute_counts()) return no;
  for (std::uint32_t m = 0; m < problem_.matches.size(); ++m)
    if (std::optional<Refutation> no = refute_match(m)) return no;
  restrict_all(Matching::kNone, nullptr);
  return refute_distincts();
}

std::optional<Refutation> Relaxation::refute_distincts() const {
  for (std::uint32_t c = 0; c < compiled_.claims.size(); ++c)
    for (std::uint32_t k = 0; k < compiled_.claims[c].compiled_spec->constraints.size(); ++k)
      if (!compiled_.claims[c].compiled_spec->constraints[k].is_match)
        if (std::optional<Refutation> no = refute_distinct(c, k)) return no;
  return std::nullopt;
}

// No value has enough places for all slots, where each slot also needs distinct values if that is requested.
std::optional<Refutation> Relaxation::refute_match(std::uint32_t m) {
  const MatchGroup& match = problem_.matches[m];
  std::size_t had = 0;  // the most slots that one value could serve
  for (const auto& [value, places] : match.values) {
    restrict_all(m, &places);
    std::size_t missing = 1;
    if (!matching_.repair()) {
      missing = matching_.blocked_slots().size() - matching_.blocked_capacity();
    } else if (!refute_counters()) {
      const std::optional<Refutation> same = refute_distincts();
      if (!same) return std::nullopt;
      missing = same->need - same->have;
    }
    had = std::max(had, match.covered - std::min(match.covered, missing));
  }
  Refutation no;
  no.by_numbers = match.values.empty();
  no.kind = CertificateKind::Match;
  no.claim = match.claim;
  no.constraint = match.constraint;
  no.need = match.covered;
  no.have = no.by_numbers ? match.best : had;
  no.value = match.best_value;
  no.places = match.open;
  return no;
}

// Each slot needs a value that no other slot has: a matching of slots and values.
std::optional<Refutation> Relaxation::refute_distinct(std::uint32_t claim, std::uint32_t constraint) const {
  const ValueTable& table = *values_[claim][constraint];
  Matching by_value;
  by_value.reset(std::vector<std::uint32_t>(table.value_count(), 1),
                 std::vector<std::uint32_t>(table.value_count(), Matching::kNone), 0);
  std::map<std::vector<std::uint32_t>, Bits> accepted;  // by matches, kinds and variants of alternatives
  std::vector<std::uint32_t> slots;
  for (std::uint32_t g = 0; g < problem_.groups.size(); ++g) {
    const SlotGroup& group = problem_.groups[g];
    if (group.claim != claim || group.count == 0) continue;
    const std::vector<CompiledSubRequest>& alternatives =
        compiled_.claims[claim].requests[group.request].alternatives;
    std::vector<std::uint32_t> key = group.matches;
    const std::size_t begin = key.size();
    for (const CompiledSubRequest& sub : alternatives)
      for (const Covering& by : sub.constraints)
        if (by.constraint == constraint) key.insert(key.end(), {sub.kind, by.variant});
    if (key.size() != begin + 2 * alternatives.size()) continue;
    const auto [at, added] = accepted.try_emplace(std::move(key), table.value_count());
    const Bits& mine = accepts(g);
    for (std::size_t p = added ? mine.next(0) : mine.end(); p < mine.end(); p = mine.next(p + 1))
      for (std::size_t v = begin + 1; v < at->first.size(); v += 2)
        for (const std::uint32_t id :
             table.ids(at->first[v], problem_.flat_of(static_cast<std::uint32_t>(p))))
          at->second.set(id);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      by_value.add_slot(&at->second);
      slots.push_back(group.first + i);
    }
  }
  if (by_value.repair()) return std::nullopt;
  Refutation no;
  no.kind = CertificateKind::Distinct;
  no.claim = claim;
  no.constraint = constraint;
  for (const std::uint32_t slot : by_value.blocked_slots()) no.slots.push_back(slots[slot]);
  std::sort(no.slots.begin(), no.slots.end());
  no.need = no.slots.size();
  no.have = by_value.blocked_capacity();
  no.places = Bits(problem_.places.size());
  for (const std::uint32_t slot : no.slots) no.places |= group_of_slot(slot).accepts;
  return no;
}

}  // namespace berth::dra
