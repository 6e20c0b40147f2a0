#include "dra/search/plain_search.h"

#include <algorithm>

#include "base/known_defects.h"
#include "dra/search/refusal_texts.h"

namespace berth::dra {

SearchOutcome PlainSearch::run() {
  const SearchOutcome outcome = enter(0, 0);
  return outcome == SearchOutcome::TooLarge ? SearchOutcome::None : outcome;
}

SearchOutcome PlainSearch::enter(std::uint32_t claim, std::uint32_t request) {
  if (!context_.step()) return SearchOutcome::OutOfBudget;
  if (claim == context_.compiled->claims.size()) return SearchOutcome::Found;
  const CompiledClaim& compiled_claim = context_.compiled->claims[claim];
  if (request == compiled_claim.requests.size()) {
    const SearchOutcome rest = enter(claim + 1, 0);
    return rest == SearchOutcome::TooLarge ? SearchOutcome::None : rest;
  }
  const std::size_t in_claim = state_.picks_of(claim);
  const CompiledRequest& compiled = compiled_claim.requests[request];
  bool all_too_large = true;
  for (std::uint32_t a = 0; a < compiled.alternatives.size(); ++a) {
    const SearchOutcome outcome = take_next({claim, request, a}, 0, in_claim, {});
    if (outcome == SearchOutcome::Found) state_.set_alternative({claim, request, a});
    if (!compiled.spec->prioritized || has(KnownDefect::LaterAlternativesNotTried)) return outcome;
    if (outcome != SearchOutcome::None && outcome != SearchOutcome::TooLarge) return outcome;
    all_too_large = all_too_large && outcome == SearchOutcome::TooLarge;
  }
  return all_too_large ? SearchOutcome::TooLarge : SearchOutcome::None;
}

SearchOutcome PlainSearch::take_next(RequestRef at, std::size_t taken, std::size_t in_claim, DeviceRef from) {
  if (!context_.step()) return SearchOutcome::OutOfBudget;
  const CompiledSubRequest& sub = context_.sub(at);
  const std::size_t count = context_.wanted(sub);
  const bool all = sub.spec->mode == api::AllocationMode::All;
  if (taken == 0) nearest_miss_.enter(at);
  if (all && count == 0 && !has(KnownDefect::AllOfNothing)) return SearchOutcome::None;
  if (taken >= count) return enter(at.claim, at.request + 1);
  if (in_claim + count - taken > kClaimResultsMax) return SearchOutcome::TooLarge;
  return all ? take_collected(at, taken, in_claim) : take_any(at, taken, in_claim, from);
}

SearchOutcome PlainSearch::take_collected(RequestRef at, std::size_t taken, std::size_t in_claim) {
  const DeviceRef place = context_.collected.at(&context_.sub(at))[taken];
  const TrialResult result = trial_.take(at, place);
  if (result == TrialResult::Fatal) return SearchOutcome::Error;
  if (result == TrialResult::Refused && has(KnownDefect::AllTakesASubset))
    return take_next(at, taken + 1, in_claim, {});
  if (result == TrialResult::Refused) return SearchOutcome::None;
  const SearchOutcome outcome = take_next(at, taken + 1, in_claim + 1, {});
  if (outcome != SearchOutcome::Found) state_.undo_last();
  return outcome;
}

// Devices of the run, at or after `from`, that the search has to try for this request.
Mask PlainSearch::open(const CompiledSubRequest& sub, const Selected& selected, std::uint32_t run,
                       DeviceRef from) const {
  const DeviceRun& device_run = context_.devices->order[run];
  Mask look = (selected.match | selected.error) & device_run.mask;
  if (!sub.spec->admin_access) look = look & ~device_run.blocked & ~state_.used(run);
  return look.from(run == from.device_run ? from.device : 0);
}

SearchOutcome PlainSearch::take_any(RequestRef at, std::size_t taken, std::size_t in_claim, DeviceRef from) {
  const CompiledSubRequest& sub = context_.sub(at);
  const std::size_t missing = static_cast<std::size_t>(sub.spec->count) - taken;
  if (!may_err(at) && cannot_suffice(sub, from, missing)) {
    if (taken == 0 && nearest_miss_.wants_rest(at)) note_rest(at, from);
    return SearchOutcome::None;
  }
  for (std::uint32_t s = from.device_run; s < context_.devices->order.size(); ++s) {
    const DeviceRun& run = context_.devices->order[s];
    const Selected selected = context_.selected(run, sub);
    const Mask look = open(sub, selected, s, from);
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) {
      const DeviceRef place{s, i};
      if (!context_.step()) return SearchOutcome::OutOfBudget;
      // The selectors are not evaluated for a device that this claim already has.
      if (sub.spec->admin_access && state_.in_use(at, place)) continue;
      if (selected.error.test(i)) return fail_on_selector(context_, context_.claim(at), sub, place);
      if (!run.here.test(i)) continue;
      const TrialResult result = trial_.take(at, place);
      if (result == TrialResult::Fatal) return SearchOutcome::Error;
      if (result == TrialResult::Refused) continue;
      const SearchOutcome outcome = take_next(at, taken + 1, in_claim + 1, {s, i + 1});
      if (outcome == SearchOutcome::Found) return outcome;
      state_.undo_last();
      if (outcome != SearchOutcome::None) return outcome;
    }
  }
  return SearchOutcome::None;
}

// Whether trying a device can end the attempt, so that none may be skipped.
bool PlainSearch::may_err(RequestRef at) const {
  const CompiledSubRequest& sub = context_.sub(at);
  return !sub.spec->capacity.empty() ||
         std::any_of(sub.constraints.begin(), sub.constraints.end(), [&](const Covering& by) {
           return by.variant != 0 && context_.values[at.claim][by.constraint]->has_errors();
         });
}

// True when fewer devices are left than are missing. Not when one of them has an error to report.
bool PlainSearch::cannot_suffice(const CompiledSubRequest& sub, DeviceRef from, std::size_t missing) const {
  std::size_t left = 0;
  for (std::uint32_t s = from.device_run; s < context_.devices->order.size(); ++s) {
    const DeviceRun& run = context_.devices->order[s];
    const Selected selected = context_.selected(run, sub);
    const Mask look = open(sub, selected, s, from);
    if ((look & selected.error).any()) return false;
    left += (look & run.here).count();
    if (left >= missing) return false;
  }
  return true;
}

// Tries the devices that the search skips, only for their reasons.
void PlainSearch::note_rest(RequestRef at, DeviceRef from) {
  const CompiledSubRequest& sub = context_.sub(at);
  for (std::uint32_t s = from.device_run; s < context_.devices->order.size(); ++s) {
    const DeviceRun& run = context_.devices->order[s];
    const Mask look = open(sub, context_.selected(run, sub), s, from) & run.here;
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1))
      if (trial_.take(at, {s, i}) == TrialResult::Passed) state_.undo_last();
  }
  context_.error.clear();
}

}  // namespace berth::dra
