#include "dra/search/search_proof.h"

#include <array>

namespace berth::dra {
namespace {

// The number of wanted devices, and the most that fit at once.
Certificate numbers_of(const SearchContext& context, std::size_t most_picks) {
  const std::vector<CompiledClaim>& claims = context.compiled->claims;
  std::size_t need = 0, requests = 0;
  for (const CompiledClaim& claim : claims)
    for (const CompiledRequest& request : claim.requests) {
      need += context.wanted_at_least(request);
      ++requests;
    }
  Certificate out;
  out.proof = Proof::Search;
  out.need = Quantity::of(static_cast<std::int64_t>(need));
  out.have = Quantity::of(static_cast<std::int64_t>(most_picks));
  if (claims.size() == 1) out.claim = claims[0].claim->meta.name;
  if (requests == 1) out.request = claims[0].requests[0].spec->name;
  return out;
}

// The attribute of the first constraint of this kind; empty for rules other than constraints.
std::string subject_of(const CompiledAllocationRequest& compiled, CertificateKind rule) {
  for (const CompiledClaim& claim : compiled.claims)
    for (const CompiledConstraint& constraint : claim.compiled_spec->constraints)
      if (rule == (constraint.is_match ? CertificateKind::Match : CertificateKind::Distinct))
        return constraint.attribute;
  return {};
}

}  // namespace

Certificate prove_by_search(SearchContext& context, SearchState& state, PlainSearch& search,
                            const Prover& prover) {
  Certificate out = numbers_of(context, state.most_picks());
  constexpr std::array kRules = {
      CertificateKind::Match, CertificateKind::Distinct, CertificateKind::Group,
      CertificateKind::Taint, CertificateKind::Counter,  CertificateKind::Capacity,
  };
  for (const CertificateKind rule : kRules) {
    context.left_out = rule;
    context.steps = 0;
    context.steps_max = kWithoutStepsMax;
    const bool possible = search.run() == SearchOutcome::Found;
    for (const Pick& pick : state.picks())
      if (possible && out.items.size() < kCertificateItemsMax)
        out.items.push_back(prover.name_of(pick.place));
    state.undo_all();
    if (!possible) continue;
    out.kind = rule;
    out.subject = subject_of(*context.compiled, rule);
    break;
  }
  context.left_out.reset();
  context.error.clear();
  return out;
}

}  // namespace berth::dra
