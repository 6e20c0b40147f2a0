// Proofs of a "no" without a search: too few devices or values, or too little of a counter for all slots
// together.
//
// Sound, not complete: without a refutation the search has to decide. Source: Hall's theorem on the places
// that slots accept.
#pragma once

#include <optional>
#include <vector>

#include "dra/certificate.h"
#include "dra/pools/constraints.h"
#include "dra/proof/problem.h"

namespace berth::dra {

// Why the slots cannot be served at once.
struct Refutation {
  CertificateKind kind = CertificateKind::Count;
  // need > have (or the amounts) is the whole proof; else it involves several values or counters.
  bool by_numbers = true;
  std::vector<std::uint32_t> slots;       // that together request too much
  Bits places;                            // all that they accept
  std::size_t need = 0, have = 0;         // devices
  std::uint32_t claim = 0;                // Match, Distinct
  std::uint32_t constraint = 0;           // Match, Distinct
  std::uint32_t value = Matching::kNone;  // Match: the best value
  std::uint32_t pool = 0, counter = 0;    // Counter
  Quantity need_amount, have_amount;      // Counter
};

// Scarce counters that are combined with weights, and how often the weights are adjusted.
inline constexpr std::size_t kMixedCountersMax = 64;
inline constexpr std::size_t kMixtureRoundsMax = 32;

class Relaxation {
 public:
  Relaxation(const CompiledAllocationRequest& compiled, const Problem& problem,
             const ConstraintValues& values);

  std::optional<Refutation> refute();
  // For use during a search. `constraints` by claim; `left` returns what is left of (pool, counter).
  Matching& matching() { return matching_; }
  template <class Left>
  bool still_possible(const std::vector<std::vector<ConstraintState>>& constraints, const Bits& used,
                      const Left& left) {
    for (std::uint32_t b = 0; b < problem_.bottlenecks.size(); ++b) {
      const CounterBottleneck& bottleneck = problem_.bottlenecks[b];
      matching_.set_bottleneck(
          b, static_cast<std::uint32_t>(matching_.fixed_in(b)) +
                 Problem::fed(bottleneck, left(bottleneck.pool, bottleneck.counter), &used));
    }
    restrict_to(constraints);
    return matching_.repair();
  }
  // The places that the groups accept under the current constraints.
  void restrict_to(const std::vector<std::vector<ConstraintState>>& constraints);
  const Bits& accepts(std::uint32_t group) const {
    return problem_.groups[group].matches.empty() ? problem_.groups[group].accepts : now_[group];
  }

 private:
  std::optional<Refutation> refute_counts();
  void restrict_all(std::uint32_t match, const Bits* only);
  std::optional<Refutation> refute_match(std::uint32_t match);
  std::optional<Refutation> refute_distincts() const;
  std::optional<Refutation> refute_distinct(std::uint32_t claim, std::uint32_t constraint) const;
  // Slots that accept the same places, and their number.
  struct Alike {
    const Bits* places;
    std::size_t count;
  };
  std::vector<Alike> alike() const;
  std::optional<Refutation> refute_counters() const;
  std::optional<Refutation> refute_mixture(const std::vector<Alike>& sets) const;
  Refutation blocked() const;
  const SlotGroup& group_of_slot(std::uint32_t slot) const;

  const CompiledAllocationRequest& compiled_;
  const Problem& problem_;
  const ConstraintValues& values_;
  Matching matching_;
  std::vector<Bits> now_;   // by group with match constraints
  std::vector<Bits> mask_;  // by match
};

}  // namespace berth::dra
