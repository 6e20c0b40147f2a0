#include "dra/search/branch_and_bound.h"

#include <algorithm>
#include <tuple>

namespace berth::dra {

bool BranchAndBound::applies_to(const NodeDevices& devices) {
  return !devices.uniform && std::none_of(devices.pools.begin(), devices.pools.end(),
                                          [](const NodePool& pool) { return pool.negative_draws; });
}

void BranchAndBound::improve() {
  for (const Pick& pick : state_.picks()) count_in(pick);
  keep_as_best();
  for (auto pick = state_.picks().rbegin(); pick != state_.picks().rend(); ++pick) count_out(*pick);
  state_.undo_all();
  if (find_wanted() && wanted_[0].least.back() + wanted_[0].later < best_score_) branch(0, 0);
  restore_best();
  context_.steps += tried_;
}

void BranchAndBound::keep_as_best() {
  best_score_ = fragmentation_.score();
  best_.clear();
  for (const Pick& pick : state_.picks()) best_.push_back({pick.at, pick.place});
}

void BranchAndBound::restore_best() {
  std::stable_sort(best_.begin(), best_.end(), [&](const Chosen& a, const Chosen& b) {
    if (std::tie(a.at.claim, a.at.request) != std::tie(b.at.claim, b.at.request))
      return std::tie(a.at.claim, a.at.request) < std::tie(b.at.claim, b.at.request);
    return context_.sub(a.at).spec->mode != api::AllocationMode::All && a.place < b.place;
  });
  for (const Chosen& chosen : best_) {
    const TrialResult again = trial_.take(chosen.at, chosen.place);
    BERTH_ASSERT(again == TrialResult::Passed, "the best allocation was valid when it was compared");
  }
}

// A request with admin access reserves nothing.
void BranchAndBound::count_in(const Pick& pick) {
  if (!context_.sub(pick.at).spec->admin_access) fragmentation_.take(pick.place, pick.consumed);
}
void BranchAndBound::count_out(const Pick& pick) {
  if (!context_.sub(pick.at).spec->admin_access) fragmentation_.undo_last();
}

// False when there is nothing to choose, or too much to try.
bool BranchAndBound::find_wanted() {
  for (std::uint32_t c = 0; c < context_.compiled->claims.size(); ++c)
    for (std::uint32_t r = 0; r < context_.compiled->claims[c].requests.size(); ++r) {
      Wanted& wanted = wanted_.emplace_back();
      wanted.at = {c, r, state_.alternative(c, r)};
      wanted.count = context_.wanted(context_.sub(wanted.at));
      if (!find_least(wanted)) return false;
    }
  for (std::size_t i = wanted_.size(); i-- > 1;)
    wanted_[i - 1].later = wanted_[i].later + wanted_[i].least.back();
  return !wanted_.empty();
}

// The bound of a request: each field of the score by itself, from the devices that cost least in it.
bool BranchAndBound::find_least(Wanted& wanted) {
  const std::vector<DeviceRef> places = candidates(wanted.at, 0);
  tried_ += places.size();
  if (places.size() < wanted.count || is_at_a_bound()) return false;
  std::vector<Millionths> lost, with_binding_conditions, fresh;
  const bool admin = context_.sub(wanted.at).spec->admin_access;
  for (const DeviceRef& place : places) {
    const AllocationScore least = admin ? AllocationScore() : fragmentation_.least_of(place);
    lost.push_back(least.lost);
    with_binding_conditions.push_back(least.with_binding_conditions);
    fresh.push_back(least.fresh);
  }
  for (auto* list : {&lost, &with_binding_conditions, &fresh}) std::sort(list->begin(), list->end());
  wanted.least.resize(wanted.count + 1);
  for (std::size_t n = 0; n < wanted.count; ++n)
    wanted.least[n + 1] = wanted.least[n] + AllocationScore{with_binding_conditions[n], lost[n], fresh[n]};
  return true;
}

// Free devices that pass the request's selectors; for an All request, those after its first `taken` devices.
std::vector<DeviceRef> BranchAndBound::candidates(RequestRef at, std::size_t taken) const {
  const CompiledSubRequest& sub = context_.sub(at);
  if (sub.spec->mode == api::AllocationMode::All) {
    const std::vector<DeviceRef>& all = context_.collected.at(&sub);
    return std::vector<DeviceRef>(all.begin() + static_cast<std::ptrdiff_t>(taken), all.end());
  }
  std::vector<DeviceRef> places;
  for (std::uint32_t s = 0; s < context_.devices->order.size(); ++s) {
    const DeviceRun& run = context_.devices->order[s];
    Mask look = context_.selected(run, sub).match & run.here;
    if (!sub.spec->admin_access) look = look & ~run.blocked & ~state_.used(s);
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) places.push_back({s, i});
  }
  return places;
}

// The possible next devices, best first; equal ones in search order.
std::vector<BranchAndBound::Option> BranchAndBound::options(const Wanted& wanted, std::size_t taken) {
  std::vector<Option> found;
  std::vector<DeviceRef> places = candidates(wanted.at, taken);
  if (context_.sub(wanted.at).spec->mode == api::AllocationMode::All) places.resize(1);
  for (const DeviceRef& place : places) {
    if (std::find(wanted.left_out.begin(), wanted.left_out.end(), place) != wanted.left_out.end()) continue;
    if (is_at_a_bound()) break;
    ++tried_;
    if (trial_.take(wanted.at, place) != TrialResult::Passed) {
      context_.error.clear();  // once another device passed, an error excludes the device only
      continue;
    }
    count_in(state_.picks().back());
    found.push_back({place, fragmentation_.score()});
    count_out(state_.picks().back());
    state_.undo_last();
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Option& a, const Option& b) { return a.score < b.score; });
  return found;
}

void BranchAndBound::branch(std::size_t request, std::size_t taken) {
  if (request == wanted_.size()) {
    ++compared_;
    return keep_as_best();  // its score is below the best, or the branch was cut
  }
  Wanted& wanted = wanted_[request];
  if (taken == wanted.count) return branch(request + 1, 0);
  const AllocationScore rest = wanted.least[wanted.count - taken - 1] + wanted.later;
  const std::size_t mark = wanted.left_out.size();
  for (const Option& option : options(wanted, taken)) {
    if (is_at_a_bound() || option.score + rest >= best_score_) break;
    trial_.take(wanted.at, option.place);
    count_in(state_.picks().back());
    wanted.left_out.push_back(option.place);
    branch(request, taken + 1);
    count_out(state_.picks().back());
    state_.undo_last();
  }
  wanted.left_out.resize(mark);
}

}  // namespace berth::dra
