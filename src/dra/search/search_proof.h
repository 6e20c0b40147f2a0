// The proof of a "no" that only a search can show: every choice was tried, and disabling one rule gives a
// solution.
//
// Free function over the parts of one Search. Cost: at most kWithoutStepsMax steps for each rule.
#pragma once

#include "dra/proof/prover.h"
#include "dra/search/plain_search.h"

namespace berth::dra {

// Steps of each try with one rule disabled.
inline constexpr std::size_t kWithoutStepsMax = 512;

// After a search that found nothing, from a state without picks, which it restores. `prover` names the
// devices.
Certificate prove_by_search(SearchContext& context, SearchState& state, PlainSearch& search,
                            const Prover& prover);

}  // namespace berth::dra
