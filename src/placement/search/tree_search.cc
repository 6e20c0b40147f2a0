#include "placement/search/tree_search.h"

#include <algorithm>
#include <numeric>

#include "base/key_bytes.h"

namespace berth::placement {
namespace {

// The parts in an order of their own, each with its length.
std::string joined(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  std::string key;
  for (const std::string& part : parts) {
    append_plain(key, static_cast<std::uint32_t>(part.size()));
    key += part;
  }
  return key;
}

}  // namespace

TreeSearch::TreeSearch(const GangProblem& problem, GangDevices& devices, Budget& budget, const Moves& moves)
    : problem_(problem),
      devices_(devices),
      budget_(budget),
      needed_(std::accumulate(problem.needed.begin(), problem.needed.end(), std::size_t{0})),
      moves_(moves),
      resources_(problem.resources.size()),
      free_(problem.free),
      loads_(problem.nodes.size()),
      left_from_(problem.kinds.size() + 1),
      left_of_part_(problem.needed.size(), std::vector<std::size_t>(problem.kinds.size() + 1)),
      placed_(problem.needed.size()),
      asked_from_(problem.kinds.size() + 1, std::vector<__int128>(resources_)),
      most_from_(asked_from_),
      least_from_(problem.kinds.size() + 1, std::vector<std::int64_t>(resources_, INT64_MAX)),
      devices_from_(problem.kinds.size() + 1),
      most_devices_from_(problem.kinds.size() + 1),
      devices_left_(problem.devices),
      alone_(problem.kinds.size()) {
  for (std::size_t kind = problem.kinds.size(); kind-- > 0;) {
    const GangKind& one = problem.kinds[kind];
    if (is_sticky(kind)) sticky_end_ = std::max(sticky_end_, kind + 1);
    left_from_[kind] = left_from_[kind + 1] + one.members.size();
    for (std::vector<std::size_t>& left : left_of_part_) left[kind] = left[kind + 1];
    left_of_part_[one.part][kind] += one.members.size();
    devices_from_[kind] =
        devices_from_[kind + 1] + one.devices * static_cast<std::int64_t>(one.members.size());
    most_devices_from_[kind] = std::max(most_devices_from_[kind + 1], one.devices);
    for (std::size_t r = 0; r < resources_; ++r) {
      const __int128 all = static_cast<__int128>(one.asks[r]) * static_cast<__int128>(one.members.size());
      asked_from_[kind][r] = asked_from_[kind + 1][r] + all;
      most_from_[kind][r] = std::max<__int128>(most_from_[kind + 1][r], one.asks[r]);
      least_from_[kind][r] = std::min(least_from_[kind + 1][r], one.asks[r]);
    }
  }
}

bool TreeSearch::run() {
  return !budget_.ended() && place_kinds(0);
}

// From this kind on; all earlier ones are placed or left out.
bool TreeSearch::place_kinds(std::size_t kind) {
  if (seats_.size() >= needed_) return finish();
  if (seats_.size() + left_from(kind) < needed_ || !budget_.spend(1)) return false;
  const std::size_t part = problem_.kinds[kind].part;
  if (placed_[part] >= problem_.needed[part]) return place_kinds(kind + 1);
  if (placed_[part] + left_of_part_[part][kind] < problem_.needed[part]) return false;
  const std::string key = state_key(kind);
  if (failed_.contains(key) || !is_promising(kind)) return false;
  const GangKind& one = problem_.kinds[kind];
  // What its nodes take of it, summed from the last one.
  std::vector<std::int64_t> room_from(one.nodes.size() + 1);
  for (std::size_t p = one.nodes.size(); p-- > 0;)
    room_from[p] = room_from[p + 1] + fit_count(kind, one.nodes[p]);
  if (place_copies(kind, one.members.size(), 0, room_from)) return true;
  if (!budget_.ended() && may_remember(key.size())) failed_.insert(key);
  return false;
}

// `left` more members of the kind, on nodes from position `first` on.
bool TreeSearch::place_copies(std::size_t kind, std::size_t left, std::size_t first,
                              const std::vector<std::int64_t>& room_from) {
  if (seats_.size() >= needed_) return finish();
  const GangKind& one = problem_.kinds[kind];
  if (left == 0 || placed_[one.part] >= problem_.needed[one.part]) return place_kinds(kind + 1);
  const std::size_t spare = this->spare(kind, left);
  std::unordered_set<std::string> tried;
  for (std::size_t p = first; p < one.nodes.size(); ++p) {
    const std::int64_t here = p == first ? static_cast<std::int64_t>(loads_[one.nodes[p]].counts.empty()
                                                                         ? 0
                                                                         : loads_[one.nodes[p]].counts[kind])
                                         : 0;
    if (room_from[p] - here + static_cast<std::int64_t>(spare) < static_cast<std::int64_t>(left)) break;
    if (!budget_.spend(p % kNodesOfAStep == 0 ? 1 : 0)) return false;
    std::string key;
    append_plain(key, problem_.class_of[one.nodes[p]]);
    for (const std::uint16_t count : loads_[one.nodes[p]].counts) append_plain(key, count);
    if (!tried.insert(std::move(key)).second || !takes(kind, one.nodes[p])) continue;
    if (place_one(kind, left, p, room_from)) return true;
    if (budget_.ended()) return false;
  }
  return spare >= left && place_kinds(kind + 1);
}

bool TreeSearch::place_one(std::size_t kind, std::size_t left, std::size_t position,
                           const std::vector<std::int64_t>& room_from) {
  if (!budget_.spend(1)) return false;
  const GangKind& one = problem_.kinds[kind];
  const std::uint32_t node = one.nodes[position];
  DeviceChoice before;
  const bool coupled = devices_.is_coupled() && (one.has_claims || problem_.by_placing);
  seats_.push_back({one.members[one.members.size() - left], problem_.nodes[node]});
  if (coupled) {
    before = choice_;
  }
  put(kind, node, 1);
  const bool served = !coupled || serves_all();
  const bool found = served && place_copies(kind, left - 1, position, room_from);
  put(kind, node, -1);
  seats_.pop_back();
  if (coupled) choice_ = std::move(before);
  return found;
}

// Whether all seats are served at once, by what was found for the same members on the same nodes.
bool TreeSearch::serves_all() {
  const std::string on_nodes = seated_key(NodesBy::Index), on_classes = seated_key(NodesBy::Class);
  if (unserved_.contains(on_classes)) return false;
  if (const auto known = served_.find(on_nodes); known != served_.end()) {
    choice_ = known->second;
    return true;
  }
  const bool served = devices_.serves_all(seats_, choice_);
  if (budget_.ended()) return served;
  if (!served && may_remember(on_classes.size())) unserved_.insert(on_classes);
  if (served && may_remember(on_nodes.size() + choice_.size() * sizeof(ClaimDevices)))
    served_.emplace(on_nodes, choice_);
  return served;
}

bool TreeSearch::may_remember(std::size_t bytes) {
  constexpr std::size_t kBytesOfAnEntry = 64;
  if (bytes_kept_ + bytes + kBytesOfAnEntry > kTreeBytesMax) return false;
  bytes_kept_ += bytes + kBytesOfAnEntry;
  return true;
}

// Of the kinds before `end` that choose more than amounts.
void TreeSearch::put_counts(const std::vector<std::uint16_t>& counts, std::size_t end,
                            std::string& key) const {
  for (std::size_t k = 0; k < end; ++k) {
    if (counts[k] == 0 || !is_sticky(k)) continue;
    append_plain(key, static_cast<std::uint16_t>(k));
    append_plain(key, counts[k]);
  }
}

// The nodes that hold members with claims, and how many of each kind.
std::string TreeSearch::seated_key(NodesBy by) const {
  std::vector<std::string> parts;
  for (const std::uint32_t node : touched_) {
    std::string counts;
    put_counts(loads_[node].counts, problem_.kinds.size(), counts);
    if (counts.empty()) continue;
    std::string& part = parts.emplace_back();
    append_plain(part, by == NodesBy::Index ? node : problem_.class_of[node]);
    part += counts;
  }
  return joined(std::move(parts));
}

void TreeSearch::put(std::size_t kind, std::uint32_t node, int sign) {
  Load& load = loads_[node];
  for (std::size_t r = 0; r < resources_; ++r)
    free_[node * resources_ + r] -= sign * problem_.kinds[kind].asks[r];
  devices_left_ -= sign * problem_.kinds[kind].devices;
  if (load.counts.empty()) {
    load.counts.assign(problem_.kinds.size(), 0);
    touched_.push_back(node);
  }
  load.counts[kind] = static_cast<std::uint16_t>(load.counts[kind] + sign);
  load.members += static_cast<std::uint32_t>(sign);
  placed_[problem_.kinds[kind].part] += static_cast<std::size_t>(sign);
  if (load.members > 0) return;
  load.counts.clear();
  touched_.pop_back();
}

bool TreeSearch::takes(std::size_t kind, std::uint32_t node) {
  const GangKind& one = problem_.kinds[kind];
  for (std::size_t r = 0; r < resources_; ++r)
    if (one.asks[r] > 0 && free_[node * resources_ + r] < one.asks[r]) return false;
  return !is_sticky(kind) || takes_together(kind, node);
}

// Whether the node takes one more member, by what was found for the same members on a node of its class.
bool TreeSearch::takes_together(std::size_t kind, std::uint32_t node) {
  std::vector<std::uint16_t> counts = loads_[node].counts;
  counts.resize(problem_.kinds.size());
  ++counts[kind];
  std::string key;
  append_plain(key, problem_.class_of[node]);
  put_counts(counts, counts.size(), key);
  if (const auto known = together_.find(key); known != together_.end()) return known->second;
  const bool taken = judge_together(problem_.nodes[node], counts);
  if (!budget_.ended() && may_remember(key.size())) together_.emplace(std::move(key), taken);
  return taken;
}

bool TreeSearch::judge_together(NodeId node, const std::vector<std::uint16_t>& counts) {
  std::vector<std::size_t> members;
  for (std::size_t k = 0; k < counts.size(); ++k)
    for (std::size_t i = 0; i < counts[k]; ++i) members.push_back(problem_.kinds[k].members[i]);
  std::sort(members.begin(), members.end());
  DeviceChoice ignored;
  return serves(node, members, ignored);
}

bool TreeSearch::serves(NodeId node, std::span<const std::size_t> members, DeviceChoice& choice) {
  if (!devices_.serves(node, members, &choice)) return false;
  return !problem_.by_placing || devices_.is_taking() || moves_.fits(node, members, choice);
}

bool TreeSearch::finish() {
  DeviceChoice choice = choice_;
  if (!devices_.is_coupled())
    for (const std::uint32_t node : touched_) {
      std::vector<std::size_t> members;
      for (const GangDevices::Seat& seat : seats_)
        if (seat.node == problem_.nodes[node]) members.push_back(seat.member);
      std::sort(members.begin(), members.end());
      DeviceChoice own;
      if (!serves(problem_.nodes[node], members, own)) return false;
      choice.insert(choice.end(), own.begin(), own.end());
    }
  if (moves_.accept(seats_, choice)) return true;
  surprised_ = true;
  return false;
}

// False: the sums prove that too few of the members that are left find room.
bool TreeSearch::is_promising(std::size_t kind) {
  const std::size_t count = problem_.nodes.size();
  if (!budget_.spend((problem_.kinds.size() - kind) * count / kNodesOfAStep)) return false;
  usable_.assign(count, 0);
  std::size_t possible = 0;
  for (std::size_t k = kind; k < problem_.kinds.size(); ++k) {
    const auto copies = static_cast<std::int64_t>(problem_.kinds[k].members.size());
    std::int64_t room = 0;
    for (const std::uint32_t node : problem_.kinds[k].nodes) {
      const std::int64_t fit = fit_count(k, node);
      usable_[node] |= fit > 0;
      room += fit;
    }
    possible += static_cast<std::size_t>(std::min(copies, room));
    if (budget_.ended()) return false;
  }
  return seats_.size() + possible >= needed_ && sums_suffice(kind);
}

// By the devices that are free anywhere, and by the amounts that are free where any of the members left fits:
// for all that must be placed, and for as many of the smallest.
bool TreeSearch::sums_suffice(std::size_t kind) const {
  const auto needed = static_cast<__int128>(needed_ - seats_.size());
  const auto spare = static_cast<__int128>(left_from(kind)) - needed;
  if (devices_from_[kind] - spare * most_devices_from_[kind] > devices_left_) return false;
  for (std::size_t r = 0; r < resources_; ++r) {
    const std::int64_t least = least_from_[kind][r];
    __int128 free = 0, members = 0;
    for (std::size_t node = 0; node < usable_.size(); ++node) {
      if (!usable_[node]) continue;
      const std::int64_t here = std::max<std::int64_t>(0, free_[node * resources_ + r]);
      free += here;
      if (least > 0) members += here / least;
    }
    if (asked_from_[kind][r] - spare * most_from_[kind][r] > free) return false;
    if (least > 0 && members < needed) return false;
  }
  return true;
}

// At most how many more members of the kind the node takes.
std::int64_t TreeSearch::fit_count(std::size_t kind, std::uint32_t node) {
  const GangKind& one = problem_.kinds[kind];
  auto fit = static_cast<std::int64_t>(one.members.size());
  for (std::size_t r = 0; r < resources_ && fit > 0; ++r)
    if (one.asks[r] > 0)
      fit = std::min(fit, std::max<std::int64_t>(0, free_[node * resources_ + r]) / one.asks[r]);
  if (fit == 0 || !is_sticky(kind) || problem_.nodes.size() > kTreeNodesCountedMax) return fit;
  return std::min(fit, served_alone(kind, node));
}

std::int64_t TreeSearch::served_alone(std::size_t kind, std::uint32_t node) {
  if (const auto known = alone_[kind].find(problem_.class_of[node]); known != alone_[kind].end())
    return known->second;
  const auto copies = static_cast<std::int64_t>(problem_.kinds[kind].members.size());
  std::int64_t most = copies;
  for (std::size_t r = 0; r < resources_; ++r)
    if (const std::int64_t ask = problem_.kinds[kind].asks[r]; ask > 0)
      most = std::min(most, std::max<std::int64_t>(0, problem_.free_at(node, r)) / ask);
  std::vector<std::uint16_t> counts(problem_.kinds.size());
  std::int64_t served = 0;
  while (served < most) {
    counts[kind] = static_cast<std::uint16_t>(served + 1);
    if (!judge_together(problem_.nodes[node], counts)) break;
    ++served;
  }
  if (budget_.ended()) return copies;
  alone_[kind].emplace(problem_.class_of[node], served);
  return served;
}

// Everything that decides whether the rest finds room: of nodes with members the class, what is free, and
// how many members of kinds that choose more than amounts, while such a kind is left.
std::string TreeSearch::state_key(std::size_t kind) const {
  std::vector<std::string> parts;
  for (const std::uint32_t node : touched_) {
    std::string& part = parts.emplace_back();
    append_plain(part, problem_.class_of[node]);
    for (std::size_t r = 0; r < resources_; ++r) append_plain(part, free_[node * resources_ + r]);
    if (kind < sticky_end_) put_counts(loads_[node].counts, kind, part);
  }
  std::string key;
  append_plain(key, kind);
  for (const std::size_t placed : placed_) append_plain(key, placed);
  return key + joined(std::move(parts));
}

}  // namespace berth::placement
