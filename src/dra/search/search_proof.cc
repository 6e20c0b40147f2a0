// The proof of a "no": by numbers where counting shows it, else the search itself, with the rule whose
// absence would have made it possible.
#include <array>

#include "dra/search/search.h"

namespace berth::dra {
namespace {

// Steps of each try without one rule.
constexpr std::size_t kWithoutStepsMax = 512;

}  // namespace

Certificate Search::certificate() {
  const std::size_t steps = steps_;
  start_over();
  if (!problem_) problem_.emplace(*compiled_, eligibility_check(), values_, collected_);
  Prover prover(*compiled_, *problem_, values_, collected_);
  std::optional<Certificate> found = prover.by_numbers();
  Certificate certificate = found ? std::move(*found) : search_proof(prover);
  steps_ = steps;
  return certificate;
}

Certificate Search::search_proof(const Prover& prover) {
  Certificate out;
  out.proof = Proof::Search;
  out.have = Quantity::of(static_cast<std::int64_t>(most_));
  std::size_t need = 0, requests = 0;
  for (const CompiledClaim& claim : compiled_->claims)
    for (const CompiledRequest& request : claim.requests) {
      need += wanted_at_least(request);
      ++requests;
    }
  out.need = Quantity::of(static_cast<std::int64_t>(need));
  if (compiled_->claims.size() == 1) out.claim = compiled_->claims[0].claim->meta.name;
  if (requests == 1) out.request = compiled_->claims[0].requests[0].spec->name;
  explains_ = false;
  constexpr std::array kRules = {
      CertificateKind::Match, CertificateKind::Distinct, CertificateKind::Group,
      CertificateKind::Taint, CertificateKind::Counter,  CertificateKind::Capacity,
  };
  for (const CertificateKind rule : kRules) {
    left_out_ = rule;
    steps_ = 0;
    steps_max_ = kWithoutStepsMax;
    const bool possible = enter(0, 0) == SearchOutcome::Found;
    for (const Pick& pick : picks_)
      if (possible && out.items.size() < kCertificateItemsMax)
        out.items.push_back(prover.name_of({pick.device_run, pick.device}));
    start_over();
    if (!possible) continue;
    out.kind = rule;
    for (const CompiledClaim& claim : compiled_->claims)
      for (const CompiledConstraint& constraint : claim.compiled_spec->constraints)
        if (out.subject.empty() &&
            rule == (constraint.is_match ? CertificateKind::Match : CertificateKind::Distinct))
          out.subject = constraint.attribute;
    break;
  }
  left_out_.reset();
  error_.clear();
  return out;
}

}  // namespace berth::dra
