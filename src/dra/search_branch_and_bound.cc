// From the first solution to the best: other devices for the same alternatives, cheapest first, without what
// cannot cost less than the best so far.
#include <algorithm>
#include <tuple>

#include "dra/search.h"

namespace berth::dra {

bool Search::may_differ() const {
  const auto gives = [](const NodePool& pool) { return pool.negative_draws; };
  return !devices_->uniform && std::none_of(devices_->pools.begin(), devices_->pools.end(), gives);
}

void Search::improve() {
  if (!may_differ()) return;
  words_ = false;
  scored_.emplace(cluster_, *devices_);
  for (const Pick& pick : picks_) {
    scored_->best.push_back({pick.claim, pick.request, pick.alternative, {pick.segment, pick.device}});
    note_taken(pick);
  }
  scored_->best_score = scored_->fragments.score();
  for (auto pick = picks_.rbegin(); pick != picks_.rend(); ++pick) undo_noted(*pick);
  start_over();
  if (find_wanted() && scored_->wanted[0].least.back() + scored_->wanted[0].later < scored_->best_score)
    compare(0, 0);
  for (const Scored::Chosen& chosen : scored_->best) {
    const Attempt again = take({chosen.claim, chosen.request, chosen.alternative}, chosen.place);
    BERTH_ASSERT(again == Attempt::Taken, "the best allocation was valid when it was compared");
  }
  std::stable_sort(picks_.begin(), picks_.end(), [&](const Pick& a, const Pick& b) {
    const Position at{a.claim, a.request, a.alternative};
    if (std::tie(a.claim, a.request) != std::tie(b.claim, b.request))
      return std::tie(a.claim, a.request) < std::tie(b.claim, b.request);
    return sub(at).spec->mode != api::AllocationMode::All &&
           std::tie(a.segment, a.device) < std::tie(b.segment, b.device);
  });
  steps_ += scored_->tried;
  scored_.reset();
}

// Who only looks takes nothing.
void Search::note_taken(const Pick& pick) {
  if (!sub({pick.claim, pick.request, pick.alternative}).spec->admin_access)
    scored_->fragments.take({pick.segment, pick.device}, pick.consumed);
}
void Search::undo_noted(const Pick& pick) {
  if (!sub({pick.claim, pick.request, pick.alternative}).spec->admin_access) scored_->fragments.undo_last();
}

// False when there is nothing to choose, or too much to look at.
bool Search::find_wanted() {
  for (std::uint32_t c = 0; c < ask_->claims.size(); ++c)
    for (std::uint32_t r = 0; r < ask_->claims[c].requests.size(); ++r) {
      Scored::Wanted& one = scored_->wanted.emplace_back();
      one.claim = c;
      one.request = r;
      one.alternative = chosen_[c][r];
      one.count = wanted({c, r, one.alternative});
      const std::vector<Place> places = candidates({c, r, one.alternative}, 0);
      scored_->tried += places.size();
      if (places.size() < one.count || scored_->at_its_end()) return false;
      std::vector<Worth> lost, conditioned, fresh;
      const bool looks = sub({c, r, one.alternative}).spec->admin_access;
      for (const Place& place : places) {
        const Score least = looks ? Score() : scored_->fragments.least_of(place);
        lost.push_back(least.lost);
        conditioned.push_back(least.conditioned);
        fresh.push_back(least.fresh);
      }
      for (auto* list : {&lost, &conditioned, &fresh}) std::sort(list->begin(), list->end());
      one.least.resize(one.count + 1);
      for (std::size_t n = 0; n < one.count; ++n)
        one.least[n + 1] = one.least[n] + Score{conditioned[n], lost[n], fresh[n]};
    }
  for (std::size_t i = scored_->wanted.size(); i-- > 1;)
    scored_->wanted[i - 1].later = scored_->wanted[i].later + scored_->wanted[i].least.back();
  return !scored_->wanted.empty();
}

// Devices that the request's selectors accept and nobody has; the k-th of all where all are wanted.
std::vector<Place> Search::candidates(Position at, std::size_t taken) const {
  const SubAsk& ask = sub(at);
  if (ask.spec->mode == api::AllocationMode::All) {
    const std::vector<Place>& all = collected_.at(&ask);
    return std::vector<Place>(all.begin() + static_cast<std::ptrdiff_t>(taken), all.end());
  }
  std::vector<Place> places;
  for (std::uint32_t s = 0; s < devices_->order.size(); ++s) {
    const Segment& segment = devices_->order[s];
    Mask look = inventory_.selected(slice_of(s), ask.selectors).match & segment.here;
    if (!ask.spec->admin_access) look = look & ~segment.blocked & ~used_[s];
    for (std::size_t i = look.next(0); i < kSliceDevicesMax; i = look.next(i + 1)) places.push_back({s, i});
  }
  return places;
}

// What can come next, best first; of equally good ones in the order of search.
std::vector<Scored::Option> Search::options(Position at, std::size_t taken,
                                            const std::vector<Place>& left_out) {
  std::vector<Scored::Option> found;
  std::vector<Place> places = candidates(at, taken);
  if (sub(at).spec->mode == api::AllocationMode::All) places.resize(1);
  for (const Place& place : places) {
    const auto same = [&](const Place& other) {
      return other.segment == place.segment && other.device == place.device;
    };
    if (std::any_of(left_out.begin(), left_out.end(), same)) continue;
    if (scored_->at_its_end()) break;
    ++scored_->tried;
    if (take(at, place) != Attempt::Taken) {
      error_.clear();  // a device that errs is one that does not do, now that another did
      continue;
    }
    note_taken(picks_.back());
    found.push_back({place, scored_->fragments.score()});
    undo_noted(picks_.back());
    undo_last();
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Scored::Option& a, const Scored::Option& b) { return a.score < b.score; });
  return found;
}

void Search::compare(std::size_t request, std::size_t taken) {
  if (request == scored_->wanted.size()) {
    ++scored_->compared;
    scored_->best_score = scored_->fragments.score();  // less than before, or it would not be here
    scored_->best.clear();
    for (const Pick& pick : picks_)
      scored_->best.push_back({pick.claim, pick.request, pick.alternative, {pick.segment, pick.device}});
    return;
  }
  Scored::Wanted& wanted = scored_->wanted[request];
  if (taken == wanted.count) return compare(request + 1, 0);
  const Position at{wanted.claim, wanted.request, wanted.alternative};
  const Score rest = wanted.least[wanted.count - taken - 1] + wanted.later;
  const std::size_t mark = wanted.left_out.size();
  for (const Scored::Option& option : options(at, taken, wanted.left_out)) {
    if (scored_->at_its_end() || option.score + rest >= scored_->best_score) break;
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
