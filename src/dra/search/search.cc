#include "dra/search/search.h"

#include <algorithm>
#include <tuple>

#include "base/known_defects.h"

namespace berth::dra {

SearchOutcome Search::run(const CompiledAllocationRequest& compiled, model::NodeId node,
                          std::size_t steps_max, Explain explain) {
  reset(compiled, node, steps_max, explain);
  if (!collect_all()) return SearchOutcome::Error;
  // Most asks are answered by the plain search at once; the rest deserves a plan.
  std::size_t devices = kPlainDevicesMore;
  for (const CompiledClaim& claim : compiled.claims)
    for (const CompiledRequest& request : claim.requests) devices += wanted_at_least(request);
  if (has(KnownDefect::SearchEndReadAsUnschedulable)) devices = 2;
  steps_max_ = std::min(steps_max, plain_steps_ * devices);
  SearchOutcome outcome = enter(0, 0);
  if (outcome == SearchOutcome::OutOfBudget && has(KnownDefect::SearchEndReadAsUnschedulable))
    return SearchOutcome::None;
  if (outcome == SearchOutcome::OutOfBudget && steps_max_ < steps_max) {
    steps_max_ = steps_max;
    outcome = run_pruned();
  }
  if (outcome == SearchOutcome::Found && scoring_ == DeviceScoring::LeastFragmenting) improve();
  return outcome == SearchOutcome::TooLarge ? SearchOutcome::None : outcome;
}

std::size_t Search::wanted_at_least(const CompiledRequest& request) const {
  std::size_t least = ~std::size_t{0};
  for (const CompiledSubRequest& sub : request.alternatives)
    least = std::min(least, sub.spec->mode == api::AllocationMode::All
                                ? collected_.at(&sub).size()
                                : static_cast<std::size_t>(sub.spec->count));
  return least;
}

// Forgets what was chosen.
void Search::start_over() {
  while (!picks_.empty()) undo_last();
}

void Search::reset(const CompiledAllocationRequest& compiled, model::NodeId node, std::size_t steps_max,
                   Explain explain) {
  compiled_ = &compiled;
  node_ = node;
  devices_ = &inventory_.of(node);
  steps_ = most_ = 0;
  steps_max_ = steps_max;
  explains_ = explain == Explain::Words;
  error_.clear();
  picks_.clear();
  used_.assign(devices_->order.size(), Mask());
  pools_.resize(devices_->pools.size());
  for (RunPool& pool : pools_) pool.copied = false;
  counter_journal_.clear();
  group_journal_.clear();
  collected_.clear();
  symmetry_.reset();
  problem_.reset();
  notes_.clear();
  rest_noted_ = 0;
  deepest_ = {};
  inventory_.trim_values(*devices_);
  constraints_.resize(compiled.claims.size());
  values_.resize(compiled.claims.size());
  chosen_.resize(compiled.claims.size());
  for (std::size_t c = 0; c < compiled.claims.size(); ++c) {
    constraints_[c].clear();
    values_[c].clear();
    for (const CompiledConstraint& constraint : compiled.claims[c].compiled_spec->constraints) {
      values_[c].push_back(
          &inventory_.values(*devices_, constraint.table_key, constraint.attribute, constraint.derived));
      constraints_[c].emplace_back(constraint.is_match, values_[c].back()->value_count());
    }
    chosen_[c].assign(compiled.claims[c].requests.size(), 0);
  }
}

SearchOutcome Search::fail(std::string error) {
  error_ = std::move(error);
  return SearchOutcome::Error;
}

// Devices for requests that want all: known before the search, an error there is fatal whatever is tried
// first.
bool Search::collect_all() {
  for (const CompiledClaim& claim : compiled_->claims) {
    std::size_t least = 0;
    for (const CompiledRequest& request : claim.requests) {
      for (const CompiledSubRequest& sub : request.alternatives) {
        if (sub.spec->mode != api::AllocationMode::All) continue;
        const bool known = !collected_.try_emplace(&sub).second;  // claims of one spec share it
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

bool Search::collect(const CompiledClaim& claim, const CompiledSubRequest& sub, std::vector<DeviceRef>& out) {
  const std::string where = text_of(*claim.claim) + ", request " + sub.spec->name;
  for (const NodePool& pool : devices_->pools) {
    if (pool.state == PoolState::Usable) continue;
    const model::PoolRow& row = cluster_.pool(pool.id);
    fail(where + ": asks for all devices, but resource pool " + row.driver + "/" + row.pool +
         " is currently " + (pool.state == PoolState::Invalid ? "invalid" : "being updated"));
    return false;
  }
  for (const DeviceRef place : all_selected(sub)) {
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

// In Kubernetes' order, slice by slice. An All request takes every device, so preferences do not apply.
std::vector<DeviceRef> Search::all_selected(const CompiledSubRequest& sub) {
  std::vector<DeviceRef> places;
  for (std::uint32_t s = 0; s < devices_->order.size(); ++s) {
    const Selected selected = inventory_.selected(slice_of(s), sub.selectors);
    const Mask look = (selected.match | selected.error) & devices_->order[s].mask;
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) places.push_back({s, i});
  }
  const auto rank = [&](const DeviceRef& place) {
    const DeviceRun& device_run = devices_->order[place.device_run];
    return std::tuple(devices_->pools[device_run.pool].has_binding_conditions, device_run.pool,
                      device_run.slice, place.device);
  };
  std::sort(places.begin(), places.end(),
            [&](const DeviceRef& a, const DeviceRef& b) { return rank(a) < rank(b); });
  return places;
}

SearchOutcome Search::enter(std::uint32_t claim, std::uint32_t request) {
  if (++steps_ > steps_max_) return SearchOutcome::OutOfBudget;
  if (claim == compiled_->claims.size()) return SearchOutcome::Found;
  const CompiledClaim& compiled_claim = compiled_->claims[claim];
  if (request == compiled_claim.requests.size()) {
    const SearchOutcome rest = enter(claim + 1, 0);
    return rest == SearchOutcome::TooLarge ? SearchOutcome::None : rest;
  }
  std::size_t in_claim = 0;
  for (const Pick& pick : picks_) in_claim += pick.claim == claim ? 1 : 0;
  const CompiledRequest& compiled_request = compiled_claim.requests[request];
  bool all_too_large = true;
  for (std::uint32_t a = 0; a < compiled_request.alternatives.size(); ++a) {
    const SearchOutcome outcome = pick_next({claim, request, a}, 0, in_claim, {});
    if (!compiled_request.spec->prioritized || has(KnownDefect::LaterAlternativesNotTried)) {
      if (outcome == SearchOutcome::Found) chosen_[claim][request] = 0;
      return outcome;
    }
    if (outcome == SearchOutcome::Found) chosen_[claim][request] = a;
    if (outcome != SearchOutcome::None && outcome != SearchOutcome::TooLarge) return outcome;
    all_too_large = all_too_large && outcome == SearchOutcome::TooLarge;
  }
  return all_too_large ? SearchOutcome::TooLarge : SearchOutcome::None;
}

std::size_t Search::wanted(Position at) const {
  const CompiledSubRequest& compiled = sub(at);
  return compiled.spec->mode == api::AllocationMode::All ? collected_.at(&compiled).size()
                                                         : static_cast<std::size_t>(compiled.spec->count);
}

SearchOutcome Search::pick_next(Position at, std::size_t taken, std::size_t in_claim, DeviceRef from) {
  if (++steps_ > steps_max_) return SearchOutcome::OutOfBudget;
  const std::size_t count = wanted(at);
  const bool all = sub(at).spec->mode == api::AllocationMode::All;
  if (explains_ && taken == 0 &&
      std::pair(at.claim, at.request) > std::pair(deepest_.claim, deepest_.request)) {
    deepest_ = at;
    notes_.clear();
    rest_noted_ = 0;
  }
  if (all && count == 0 && !has(KnownDefect::AllOfNothing)) return SearchOutcome::None;
  if (taken >= count) return enter(at.claim, at.request + 1);
  if (in_claim + count - taken > kClaimResultsMax) return SearchOutcome::TooLarge;
  return all ? pick_collected(at, taken, in_claim) : pick_pruned(at, taken, in_claim, from);
}

SearchOutcome Search::pick_collected(Position at, std::size_t taken, std::size_t in_claim) {
  const DeviceRef place = collected_.at(&sub(at))[taken];
  const TakeResult attempt = take(at, place);
  if (attempt == TakeResult::Fatal) return SearchOutcome::Error;
  if (attempt == TakeResult::Refused && has(KnownDefect::AllTakesASubset))
    return pick_next(at, taken + 1, in_claim, {});
  if (attempt == TakeResult::Refused) return SearchOutcome::None;
  const SearchOutcome outcome = pick_next(at, taken + 1, in_claim + 1, {});
  if (outcome != SearchOutcome::Found) undo_last();
  return outcome;
}

// Devices of the segment that the search has to look at for this request.
Mask Search::open(const CompiledSubRequest& compiled, const DeviceRun& device_run,
                  std::uint32_t index) const {
  const Selected selected = inventory_.selected(slice_of(index), compiled.selectors);
  const Mask look = (selected.match | selected.error) & device_run.mask;
  return compiled.spec->admin_access ? look : look & ~device_run.blocked & ~used_[index];
}

SearchOutcome Search::pick_pruned(Position at, std::size_t taken, std::size_t in_claim, DeviceRef from) {
  const CompiledSubRequest& compiled = sub(at);
  const std::size_t missing = static_cast<std::size_t>(compiled.spec->count) - taken;
  if (!may_err(at) && cannot_suffice(compiled, from, missing)) {
    const std::uint64_t once = std::uint64_t{1} << (at.alternative % 64);
    if (explains_ && taken == 0 && (rest_noted_ & once) == 0) {
      rest_noted_ |= once;
      note_rest(at, from);
    }
    return SearchOutcome::None;
  }
  for (std::uint32_t s = from.device_run; s < devices_->order.size(); ++s) {
    const DeviceRun& device_run = devices_->order[s];
    const Mask look = open(compiled, device_run, s).from(s == from.device_run ? from.device : 0);
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) {
      const DeviceRef place{s, i};
      if (++steps_ > steps_max_) return SearchOutcome::OutOfBudget;
      if (compiled.spec->admin_access && in_use(at, place)) continue;  // its selectors are not looked at
      if (inventory_.selected(slice_of(s), compiled.selectors).error.test(i))
        return fail(selector_error(compiled_->claims[at.claim], compiled, place));
      if (!device_run.here.test(i)) continue;
      const TakeResult attempt = take(at, place);
      if (attempt == TakeResult::Fatal) return SearchOutcome::Error;
      if (attempt == TakeResult::Refused) continue;
      const SearchOutcome outcome = pick_next(at, taken + 1, in_claim + 1, {s, i + 1});
      if (outcome == SearchOutcome::Found) return outcome;
      undo_last();
      if (outcome != SearchOutcome::None) return outcome;
    }
  }
  return SearchOutcome::None;
}

// Whether trying a device can end the attempt, so that none may be left out.
bool Search::may_err(Position at) const {
  const CompiledSubRequest& compiled = sub(at);
  return !compiled.spec->capacity.empty() ||
         std::any_of(compiled.constraints.begin(), compiled.constraints.end(), [&](const Covering& by) {
           return by.variant != 0 && values_[at.claim][by.constraint]->has_errors();
         });
}

// True when fewer devices are left to look at than are missing. Not when one of them has an error to report.
bool Search::cannot_suffice(const CompiledSubRequest& compiled, DeviceRef from, std::size_t missing) {
  std::size_t left = 0;
  for (std::uint32_t s = from.device_run; s < devices_->order.size(); ++s) {
    const DeviceRun& device_run = devices_->order[s];
    const Mask look = open(compiled, device_run, s).from(s == from.device_run ? from.device : 0);
    if ((look & inventory_.selected(slice_of(s), compiled.selectors).error).any()) return false;
    left += (look & device_run.here).count();
    if (left >= missing) return false;
  }
  return true;
}

// Tries the devices that the search did not need to look at, for the words only.
void Search::note_rest(Position at, DeviceRef from) {
  for (std::uint32_t s = from.device_run; s < devices_->order.size(); ++s) {
    const DeviceRun& device_run = devices_->order[s];
    const Mask look =
        open(sub(at), device_run, s).from(s == from.device_run ? from.device : 0) & device_run.here;
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1))
      if (take(at, {s, i}) == TakeResult::Taken) undo_last();
  }
  error_.clear();
}

std::string Search::selector_error(const CompiledClaim& claim, const CompiledSubRequest& compiled,
                                   DeviceRef place) {
  const Slice& slice = slice_of(place.device_run);
  const SelectorFault fault = inventory_.fault_of(slice, compiled.selectors, place.device);
  return (fault.of_class ? "class " + compiled.spec->device_class : text_of(*claim.claim)) + ": selector #" +
         std::to_string(fault.index) + " on device " + slice.live->driver + "/" + slice.live->pool + "/" +
         slice.live->devices[place.device].name + ": " + fault.text;
}

}  // namespace berth::dra
