// Members that are not alike, in the fewest domains: which kinds go where is tried, one choice after the
// other.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "placement/wishes/wish_search.h"

namespace berth::placement {

// One search in one region.
struct WishSearch::Assigning {
  const WishRung& rung;
  const Region& region;
  std::vector<std::vector<std::size_t>> kinds = {};  // members, by kind
  std::size_t fewest = 0;                            // domains, by counts
  std::vector<std::size_t> order = {};               // of domains: those in use, then the roomiest first
  std::vector<std::size_t> chosen = {};              // domains, in this order
  std::vector<std::size_t> parts = {};               // the same, by path
  std::vector<std::vector<std::size_t>> taken = {};  // by part: members of each kind
  std::vector<std::size_t> used = {};                // members of each kind, in all parts
  std::set<std::vector<std::size_t>> refused = {};   // members of each kind, and the domain
  std::size_t left = 0;                              // members
};

bool WishSearch::try_assignments(const WishRung& rung, std::span<const Placement> placements) {
  std::vector<Region> all = regions(rung, placements);
  std::vector<Assigning> runs;
  std::size_t domains_max = 0;
  for (Region& region : all) {
    choose(region, std::ssize(waiting_));
    if (!region.parts) continue;
    const auto in_use = static_cast<std::size_t>(
        std::ranges::count_if(region.domains, [](const PartDomain& one) { return one.placed > 0; }));
    domains_max = std::max(domains_max, std::min(region.domains.size(), waiting_.size() + in_use));
    runs.push_back(start_assigning(rung, region));
  }
  for (std::size_t count = 1; count <= domains_max; ++count)
    for (Assigning& run : runs) {
      run.chosen.clear();
      if (count < run.fewest) continue;
      if (choose_domains(run, 0, count, 0)) {
        outcome_.placement = run.region.placement->name;
        return true;
      }
      if (outcome_.kind == GroupOutcome::Kind::Error) return false;
      if (!choices_.ended() && !placings_.ended()) continue;
      unproved_ = kSearchBudgetEnded;
      return false;
    }
  return false;
}

WishSearch::Assigning WishSearch::start_assigning(const WishRung& rung, const Region& region) {
  Assigning run{rung, region};
  const std::vector<std::uint32_t>& kinds = bound_.kinds();
  for (std::size_t member = 0; member < kinds.size(); ++member) {
    if (run.kinds.size() <= kinds[member]) run.kinds.resize(kinds[member] + 1);
    run.kinds[kinds[member]].push_back(member);
  }
  run.used.resize(run.kinds.size());
  run.left = kinds.size();
  run.fewest = static_cast<std::size_t>(region.parts->worth.domains);
  run.order.resize(region.domains.size());
  std::iota(run.order.begin(), run.order.end(), std::size_t{0});
  std::ranges::stable_sort(run.order, std::greater<>(), [&](std::size_t at) {
    return std::pair(region.domains[at].placed > 0, region.domains[at].room);
  });
  return run;
}

// So many, those where members have a place among them. `room`: of those that are chosen.
bool WishSearch::choose_domains(Assigning& run, std::size_t next, std::size_t count, std::int64_t room) {
  if (run.chosen.size() == count) {
    const bool skips_used = next < run.order.size() && run.region.domains[run.order[next]].placed > 0;
    if (skips_used || room < static_cast<std::int64_t>(run.left) || !choices_.spend(1)) return false;
    start();
    run.parts = run.chosen;
    std::ranges::sort(run.parts);
    return assign(run, 0);
  }
  if (next == run.order.size() || choices_.ended()) return false;
  const PartDomain& domain = run.region.domains[run.order[next]];
  const bool is_used = domain.placed > 0;
  const auto more = static_cast<std::int64_t>(count - run.chosen.size());
  if (!is_used && room + more * domain.room < static_cast<std::int64_t>(run.left)) return false;
  if (is_used || domain.room >= std::max<std::int64_t>(1, segments_.min)) {
    run.chosen.push_back(run.order[next]);
    if (choose_domains(run, next + 1, count, room + domain.room)) return true;
    run.chosen.pop_back();
  }
  return !is_used && choose_domains(run, next + 1, count, room);
}

// The sizes of the parts, the largest first.
bool WishSearch::assign(Assigning& run, std::size_t at) {
  if (at == run.parts.size()) return run.left == 0;
  const PartDomain& domain = run.region.domains[run.parts[at]];
  const std::int64_t least = std::max<std::int64_t>(domain.placed > 0 ? 0 : 1,
                                                    segments_.min - std::min(segments_.min, domain.placed));
  const std::int64_t most = std::min({domain.room, segments_.max - std::min(segments_.max, domain.placed),
                                      static_cast<std::int64_t>(run.left)});
  run.taken.resize(at);
  for (std::int64_t size = most; size >= least; --size) {
    if (at + 1 == run.parts.size() && size < static_cast<std::int64_t>(run.left)) return false;
    run.taken.resize(at);
    run.taken.emplace_back(run.kinds.size());
    if (share_out(run, at, 0, size)) return true;
    if (placings_.ended() || outcome_.kind == GroupOutcome::Kind::Error) return false;
  }
  run.taken.resize(at);
  return false;
}

// How many members of each kind the part has.
bool WishSearch::share_out(Assigning& run, std::size_t at, std::size_t kind, std::int64_t size) {
  if (kind == run.kinds.size()) return size == 0 && place_part(run, at);
  const auto waiting = static_cast<std::int64_t>(run.kinds[kind].size() - run.used[kind]);
  std::int64_t all = 0;
  for (std::size_t other = kind; other < run.kinds.size(); ++other)
    all += static_cast<std::int64_t>(run.kinds[other].size() - run.used[other]);
  if (all < size) return false;
  for (std::int64_t count = std::min(size, waiting); count >= 0; --count) {
    run.taken.resize(at + 1);
    run.taken[at][kind] = static_cast<std::size_t>(count);
    if (share_out(run, at, kind + 1, size - count)) return true;
    if (placings_.ended() || outcome_.kind == GroupOutcome::Kind::Error) return false;
  }
  return false;
}

bool WishSearch::place_part(Assigning& run, std::size_t at) {
  const std::vector<std::size_t> counts = run.taken[at];
  std::vector<std::size_t> key = counts, members;
  key.push_back(run.parts[at]);
  if (run.refused.contains(key)) return false;
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    for (std::size_t i = 0; i < counts[kind]; ++i) members.push_back(run.kinds[kind][run.used[kind] + i]);
  if (!placings_.spend(members.size() + 1)) return false;
  std::ranges::sort(members);
  const auto before = transaction_.savepoint();
  const Placement part = placement_of(run.rung.parts, run.region.leaves[run.parts[at]]);
  if (!members.empty() && !run_among({&part, 1}, run.rung.parts, members)) {
    if (unproved_.empty()) run.refused.insert(std::move(key));
    return false;
  }
  const auto move = [&](bool back) {
    for (std::size_t kind = 0; kind < counts.size(); ++kind)
      run.used[kind] += back ? std::size_t{0} - counts[kind] : counts[kind];
    run.left += back ? members.size() : std::size_t{0} - members.size();
  };
  move(false);
  if (assign(run, at + 1)) return true;
  move(true);
  transaction_.roll_back_to(before);
  for (const std::size_t member : members) outcome_.members[member] = {};
  return false;
}

}  // namespace berth::placement
