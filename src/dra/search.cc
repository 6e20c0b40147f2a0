#include "dra/search.h"

#include <algorithm>
#include <tuple>

#include "base/known_defects.h"

namespace berth::dra {

Outcome Search::run(const CompiledAsk& ask, model::NodeId node, std::size_t steps_max, Explain explain) {
  reset(ask, node, steps_max, explain);
  if (!collect_all()) return Outcome::Error;
  // Most asks are answered by the plain search at once; the rest deserves a plan.
  std::size_t devices = kPlainDevicesMore;
  for (const ClaimAsk& claim : ask.claims)
    for (const RequestAsk& request : claim.requests) devices += wanted_at_least(request);
  if (has(KnownDefect::SearchEndReadAsUnschedulable)) devices = 2;
  steps_max_ = std::min(steps_max, plain_steps_ * devices);
  Outcome outcome = enter(0, 0);
  if (outcome == Outcome::OutOfBudget && has(KnownDefect::SearchEndReadAsUnschedulable)) return Outcome::None;
  if (outcome == Outcome::OutOfBudget && steps_max_ < steps_max) {
    steps_max_ = steps_max;
    outcome = run_exact();
  }
  if (outcome == Outcome::Found && scoring_ == DeviceScoring::LeastFragmenting) improve();
  return outcome == Outcome::TooLarge ? Outcome::None : outcome;
}

std::size_t Search::wanted_at_least(const RequestAsk& request) const {
  std::size_t least = ~std::size_t{0};
  for (const SubAsk& sub : request.alternatives)
    least = std::min(least, sub.spec->mode == api::AllocationMode::All
                                ? collected_.at(&sub).size()
                                : static_cast<std::size_t>(sub.spec->count));
  return least;
}

// Forgets what was chosen.
void Search::start_over() {
  while (!picks_.empty()) undo_last();
}

void Search::reset(const CompiledAsk& ask, model::NodeId node, std::size_t steps_max, Explain explain) {
  ask_ = &ask;
  node_ = node;
  devices_ = &inventory_.of(node);
  steps_ = most_ = 0;
  steps_max_ = steps_max;
  words_ = explain == Explain::Words;
  error_.clear();
  picks_.clear();
  used_.assign(devices_->order.size(), Mask());
  pools_.resize(devices_->pools.size());
  for (RunPool& pool : pools_) pool.copied = false;
  counter_journal_.clear();
  group_journal_.clear();
  collected_.clear();
  exact_.reset();
  problem_.reset();
  notes_.clear();
  rest_noted_ = 0;
  deepest_ = {};
  inventory_.trim_values(*devices_);
  constraints_.resize(ask.claims.size());
  values_.resize(ask.claims.size());
  chosen_.resize(ask.claims.size());
  for (std::size_t c = 0; c < ask.claims.size(); ++c) {
    constraints_[c].clear();
    values_[c].clear();
    for (const ConstraintAsk& constraint : ask.claims[c].shape->constraints) {
      values_[c].push_back(
          &inventory_.values(*devices_, constraint.table_key, constraint.attribute, constraint.derived));
      constraints_[c].emplace_back(constraint.is_match, values_[c].back()->value_count());
    }
    chosen_[c].assign(ask.claims[c].requests.size(), 0);
  }
}

Outcome Search::fail(std::string error) {
  error_ = std::move(error);
  return Outcome::Error;
}

// Devices for requests that want all: known before the search, an error there is fatal whatever is tried
// first.
bool Search::collect_all() {
  for (const ClaimAsk& claim : ask_->claims) {
    std::size_t least = 0;
    for (const RequestAsk& request : claim.requests) {
      for (const SubAsk& sub : request.alternatives) {
        if (sub.spec->mode != api::AllocationMode::All) continue;
        const bool known = !collected_.try_emplace(&sub).second;  // claims of one shape share it
        if (!known && !collect(claim, sub, collected_[&sub])) return false;
      }
      least += wanted_at_least(request);
    }
    if (least <= kClaimResultsMax) continue;
    fail(text_of(*claim.claim) + ": number of requested devices " + std::to_string(least) +
         " exceeds the claim limit of " + std::to_string(kClaimResultsMax));
    return false;
  }
  return true;
}

bool Search::collect(const ClaimAsk& claim, const SubAsk& sub, std::vector<Place>& out) {
  const std::string where = text_of(*claim.claim) + ", request " + sub.spec->name;
  for (const NodePool& pool : devices_->pools) {
    if (pool.state == PoolState::Usable) continue;
    const model::PoolRow& row = cluster_.pool(pool.id);
    fail(where + ": asks for all devices, but resource pool " + row.driver + "/" + row.pool +
         " is currently " + (pool.state == PoolState::Invalid ? "invalid" : "being updated"));
    return false;
  }
  for (const Place place : all_selected(sub)) {
    const auto [s, i] = place;
    const Slice& slice = slice_of(s);
    if (inventory_.selected(slice, sub.selectors).error.test(i)) {
      fail(selector_error(claim, sub, place));
      return false;
    }
    if (!devices_->order[s].here.test(i)) continue;
    const Result<bool> enough = slice.shareable.test(i)
                                    ? share_fits_unused(device_at(place), sub.spec->capacity)
                                    : large_enough(device_at(place), sub.spec->capacity);
    if (!enough) {
      fail(where + ": checking capacity for device " + device_at(place).name + ": " +
           enough.error().message());
      return false;
    }
    if (*enough) out.push_back(place);
  }
  return true;
}

// In Kubernetes' order, slice by slice: who must have all has no use for a preference inside of a pool.
std::vector<Place> Search::all_selected(const SubAsk& sub) {
  std::vector<Place> places;
  for (std::uint32_t s = 0; s < devices_->order.size(); ++s) {
    const Selected selected = inventory_.selected(slice_of(s), sub.selectors);
    const Mask look = (selected.match | selected.error) & devices_->order[s].mask;
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) places.push_back({s, i});
  }
  const auto rank = [&](const Place& place) {
    const Segment& segment = devices_->order[place.segment];
    return std::tuple(devices_->pools[segment.pool].conditioned, segment.pool, segment.slice, place.device);
  };
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) { return rank(a) < rank(b); });
  return places;
}

Outcome Search::enter(std::uint32_t claim, std::uint32_t request) {
  if (++steps_ > steps_max_) return Outcome::OutOfBudget;
  if (claim == ask_->claims.size()) return Outcome::Found;
  const ClaimAsk& claim_ask = ask_->claims[claim];
  if (request == claim_ask.requests.size()) {
    const Outcome rest = enter(claim + 1, 0);
    return rest == Outcome::TooLarge ? Outcome::None : rest;
  }
  std::size_t in_claim = 0;
  for (const Pick& pick : picks_) in_claim += pick.claim == claim ? 1 : 0;
  const RequestAsk& request_ask = claim_ask.requests[request];
  bool all_too_large = true;
  for (std::uint32_t a = 0; a < request_ask.alternatives.size(); ++a) {
    const Outcome outcome = pick_next({claim, request, a}, 0, in_claim, {});
    if (!request_ask.spec->prioritized || has(KnownDefect::LaterAlternativesNotTried)) {
      if (outcome == Outcome::Found) chosen_[claim][request] = 0;
      return outcome;
    }
    if (outcome == Outcome::Found) chosen_[claim][request] = a;
    if (outcome != Outcome::None && outcome != Outcome::TooLarge) return outcome;
    all_too_large = all_too_large && outcome == Outcome::TooLarge;
  }
  return all_too_large ? Outcome::TooLarge : Outcome::None;
}

std::size_t Search::wanted(Position at) const {
  const SubAsk& ask = sub(at);
  return ask.spec->mode == api::AllocationMode::All ? collected_.at(&ask).size()
                                                    : static_cast<std::size_t>(ask.spec->count);
}

Outcome Search::pick_next(Position at, std::size_t taken, std::size_t in_claim, Place from) {
  if (++steps_ > steps_max_) return Outcome::OutOfBudget;
  const std::size_t count = wanted(at);
  const bool all = sub(at).spec->mode == api::AllocationMode::All;
  if (words_ && taken == 0 && std::pair(at.claim, at.request) > std::pair(deepest_.claim, deepest_.request)) {
    deepest_ = at;
    notes_.clear();
    rest_noted_ = 0;
  }
  if (all && count == 0 && !has(KnownDefect::AllOfNothing)) return Outcome::None;
  if (taken >= count) return enter(at.claim, at.request + 1);
  if (in_claim + count - taken > kClaimResultsMax) return Outcome::TooLarge;
  return all ? pick_collected(at, taken, in_claim) : pick_exact(at, taken, in_claim, from);
}

Outcome Search::pick_collected(Position at, std::size_t taken, std::size_t in_claim) {
  const Place place = collected_.at(&sub(at))[taken];
  const Attempt attempt = take(at, place);
  if (attempt == Attempt::Fatal) return Outcome::Error;
  if (attempt == Attempt::Refused && has(KnownDefect::AllTakesASubset))
    return pick_next(at, taken + 1, in_claim, {});
  if (attempt == Attempt::Refused) return Outcome::None;
  const Outcome outcome = pick_next(at, taken + 1, in_claim + 1, {});
  if (outcome != Outcome::Found) undo_last();
  return outcome;
}

// Devices of the segment that the search has to look at for this request.
Mask Search::open(const SubAsk& ask, const Segment& segment, std::uint32_t index) const {
  const Selected selected = inventory_.selected(slice_of(index), ask.selectors);
  const Mask look = (selected.match | selected.error) & segment.mask;
  return ask.spec->admin_access ? look : look & ~segment.blocked & ~used_[index];
}

Outcome Search::pick_exact(Position at, std::size_t taken, std::size_t in_claim, Place from) {
  const SubAsk& ask = sub(at);
  const std::size_t missing = static_cast<std::size_t>(ask.spec->count) - taken;
  if (!may_err(at) && cannot_suffice(ask, from, missing)) {
    const std::uint64_t once = std::uint64_t{1} << (at.alternative % 64);
    if (words_ && taken == 0 && (rest_noted_ & once) == 0) {
      rest_noted_ |= once;
      note_rest(at, from);
    }
    return Outcome::None;
  }
  for (std::uint32_t s = from.segment; s < devices_->order.size(); ++s) {
    const Segment& segment = devices_->order[s];
    const Mask look = open(ask, segment, s).from(s == from.segment ? from.device : 0);
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) {
      const Place place{s, i};
      if (++steps_ > steps_max_) return Outcome::OutOfBudget;
      if (ask.spec->admin_access && in_use(at, place)) continue;  // its selectors are not looked at
      if (inventory_.selected(slice_of(s), ask.selectors).error.test(i))
        return fail(selector_error(ask_->claims[at.claim], ask, place));
      if (!segment.here.test(i)) continue;
      const Attempt attempt = take(at, place);
      if (attempt == Attempt::Fatal) return Outcome::Error;
      if (attempt == Attempt::Refused) continue;
      const Outcome outcome = pick_next(at, taken + 1, in_claim + 1, {s, i + 1});
      if (outcome == Outcome::Found) return outcome;
      undo_last();
      if (outcome != Outcome::None) return outcome;
    }
  }
  return Outcome::None;
}

// Whether trying a device can end the attempt, so that none may be left out.
bool Search::may_err(Position at) const {
  const SubAsk& ask = sub(at);
  return !ask.spec->capacity.empty() ||
         std::any_of(ask.constraints.begin(), ask.constraints.end(), [&](const Covering& by) {
           return by.variant != 0 && values_[at.claim][by.constraint]->has_errors();
         });
}

// True when fewer devices are left to look at than are missing. Not when one of them has an error to report.
bool Search::cannot_suffice(const SubAsk& ask, Place from, std::size_t missing) {
  std::size_t left = 0;
  for (std::uint32_t s = from.segment; s < devices_->order.size(); ++s) {
    const Segment& segment = devices_->order[s];
    const Mask look = open(ask, segment, s).from(s == from.segment ? from.device : 0);
    if ((look & inventory_.selected(slice_of(s), ask.selectors).error).any()) return false;
    left += (look & segment.here).count();
    if (left >= missing) return false;
  }
  return true;
}

// Tries the devices that the search did not need to look at, for the words only.
void Search::note_rest(Position at, Place from) {
  for (std::uint32_t s = from.segment; s < devices_->order.size(); ++s) {
    const Segment& segment = devices_->order[s];
    const Mask look = open(sub(at), segment, s).from(s == from.segment ? from.device : 0) & segment.here;
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1))
      if (take(at, {s, i}) == Attempt::Taken) undo_last();
  }
  error_.clear();
}

std::string Search::selector_error(const ClaimAsk& claim, const SubAsk& ask, Place place) {
  const Slice& slice = slice_of(place.segment);
  const SelectorFault fault = inventory_.fault_of(slice, ask.selectors, place.device);
  return (fault.of_class ? "class " + ask.spec->device_class : text_of(*claim.claim)) + ": selector #" +
         std::to_string(fault.index) + " on device " + slice.live->driver + "/" + slice.live->pool + "/" +
         slice.live->devices[place.device].name + ": " + fault.text;
}

}  // namespace berth::dra
