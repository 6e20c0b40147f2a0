// From the first solution to the best: other devices for the same alternatives, cheapest first, without what
// cannot cost less than the best so far.
#include <algorithm>
#include <tuple>

#include "dra/search/search.h"

namespace berth::dra {

bool Search::may_differ() const {
  const auto gives = [](const NodePool& pool) { return pool.negative_draws; };
  return !devices_->uniform && std::none_of(devices_->pools.begin(), devices_->pools.end(), gives);
}

void Search::improve() {
  if (!may_differ()) return;
  explains_ = false;
  branch_and_bound_.emplace(cluster_, *devices_);
  for (const Pick& pick : picks_) {
    branch_and_bound_->best.push_back(
        {pick.claim, pick.request, pick.alternative, {pick.device_run, pick.device}});
    note_taken(pick);
  }
  branch_and_bound_->best_score = branch_and_bound_->fragmentation.score();
  for (auto pick = picks_.rbegin(); pick != picks_.rend(); ++pick) undo_noted(*pick);
  start_over();
  if (find_wanted() && branch_and_bound_->wanted[0].least.back() + branch_and_bound_->wanted[0].later <
                           branch_and_bound_->best_score)
    compare(0, 0);
  for (const BranchAndBound::Chosen& chosen : branch_and_bound_->best) {
    const TakeResult again = take({chosen.claim, chosen.request, chosen.alternative}, chosen.place);
    BERTH_ASSERT(again == TakeResult::Taken, "the best allocation was valid when it was compared");
  }
  std::stable_sort(picks_.begin(), picks_.end(), [&](const Pick& a, const Pick& b) {
    const Position at{a.claim, a.request, a.alternative};
    if (std::tie(a.claim, a.request) != std::tie(b.claim, b.request))
      return std::tie(a.claim, a.request) < std::tie(b.claim, b.request);
    return sub(at).spec->mode != api::AllocationMode::All &&
           std::tie(a.device_run, a.device) < std::tie(b.device_run, b.device);
  });
  steps_ += branch_and_bound_->tried;
  branch_and_bound_.reset();
}

// A request with admin access takes nothing.
void Search::note_taken(const Pick& pick) {
  if (!sub({pick.claim, pick.request, pick.alternative}).spec->admin_access)
    branch_and_bound_->fragmentation.take({pick.device_run, pick.device}, pick.consumed);
}
void Search::undo_noted(const Pick& pick) {
  if (!sub({pick.claim, pick.request, pick.alternative}).spec->admin_access)
    branch_and_bound_->fragmentation.undo_last();
}

// False when there is nothing to choose, or too much to look at.
bool Search::find_wanted() {
  for (std::uint32_t c = 0; c < compiled_->claims.size(); ++c)
    for (std::uint32_t r = 0; r < compiled_->claims[c].requests.size(); ++r) {
      BranchAndBound::Wanted& one = branch_and_bound_->wanted.emplace_back();
      one.claim = c;
      one.request = r;
      one.alternative = chosen_[c][r];
      one.count = wanted({c, r, one.alternative});
      const std::vector<DeviceRef> places = candidates({c, r, one.alternative}, 0);
      branch_and_bound_->tried += places.size();
      if (places.size() < one.count || branch_and_bound_->at_its_end()) return false;
      std::vector<Millionths> lost, with_binding_conditions, fresh;
      const bool looks = sub({c, r, one.alternative}).spec->admin_access;
      for (const DeviceRef& place : places) {
        const AllocationScore least =
            looks ? AllocationScore() : branch_and_bound_->fragmentation.least_of(place);
        lost.push_back(least.lost);
        with_binding_conditions.push_back(least.with_binding_conditions);
        fresh.push_back(least.fresh);
      }
      for (auto* list : {&lost, &with_binding_conditions, &fresh}) std::sort(list->begin(), list->end());
      one.least.resize(one.count + 1);
      for (std::size_t n = 0; n < one.count; ++n)
        one.least[n + 1] = one.least[n] + AllocationScore{with_binding_conditions[n], lost[n], fresh[n]};
    }
  for (std::size_t i = branch_and_bound_->wanted.size(); i-- > 1;)
    branch_and_bound_->wanted[i - 1].later =
        branch_and_bound_->wanted[i].later + branch_and_bound_->wanted[i].least.back();
  return !branch_and_bound_->wanted.empty();
}

// Devices that the request's selectors accept and nobody has; the k-th of all where all are wanted.
std::vector<DeviceRef> Search::candidates(Position at, std::size_t taken) const {
  const CompiledSubRequest& compiled = sub(at);
  if (compiled.spec->mode == api::AllocationMode::All) {
    const std::vector<DeviceRef>& all = collected_.at(&compiled);
    return std::vector<DeviceRef>(all.begin() + static_cast<std::ptrdiff_t>(taken), all.end());
  }
  std::vector<DeviceRef> places;
  for (std::uint32_t s = 0; s < devices_->order.size(); ++s) {
    const DeviceRun& device_run = devices_->order[s];
    Mask look = inventory_.selected(slice_of(s), compiled.selectors).match & device_run.here;
    if (!compiled.spec->admin_access) look = look & ~device_run.blocked & ~used_[s];
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) places.push_back({s, i});
  }
  return places;
}

// What can come next, best first; of equally good ones in the order of search.
std::vector<BranchAndBound::Option> Search::options(Position at, std::size_t taken,
                                                    const std::vector<DeviceRef>& left_out) {
  std::vector<BranchAndBound::Option> found;
  std::vector<DeviceRef> places = candidates(at, taken);
  if (sub(at).spec->mode == api::AllocationMode::All) places.resize(1);
  for (const DeviceRef& place : places) {
    const auto same = [&](const DeviceRef& other) {
      return other.device_run == place.device_run && other.device == place.device;
    };
    if (std::any_of(left_out.begin(), left_out.end(), same)) continue;
    if (branch_and_bound_->at_its_end()) break;
    ++branch_and_bound_->tried;
    if (take(at, place) != TakeResult::Taken) {
      error_.clear();  // a device that errs is one that does not do, now that another did
      continue;
    }
    note_taken(picks_.back());
    found.push_back({place, branch_and_bound_->fragmentation.score()});
    undo_noted(picks_.back());
    undo_last();
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const BranchAndBound::Option& a, const BranchAndBound::Option& b) { return a.score < b.score; });
  return found;
}

void Search::compare(std::size_t request, std::size_t taken) {
  if (request == branch_and_bound_->wanted.size()) {
    ++branch_and_bound_->compared;
    branch_and_bound_->best_score =
        branch_and_bound_->fragmentation.score();  // less than before, or it would not be here
    branch_and_bound_->best.clear();
    for (const Pick& pick : picks_)
      branch_and_bound_->best.push_back(
          {pick.claim, pick.request, pick.alternative, {pick.device_run, pick.device}});
    return;
  }
  BranchAndBound::Wanted& wanted = branch_and_bound_->wanted[request];
  if (taken == wanted.count) return compare(request + 1, 0);
  const Position at{wanted.claim, wanted.request, wanted.alternative};
  const AllocationScore rest = wanted.least[wanted.count - taken - 1] + wanted.later;
  const std::size_t mark = wanted.left_out.size();
  for (const BranchAndBound::Option& option : options(at, taken, wanted.left_out)) {
    if (branch_and_bound_->at_its_end() || option.score + rest >= branch_and_bound_->best_score) break;
    take(at, option.place);
    note_taken(picks_.back());
    wanted.left_out.push_back(option.place);
    compare(request, taken + 1);
    undo_noted(picks_.back());
    undo_last();
  }
  wanted.left_out.resize(mark);
}

}  // namespace berth::dra
