#include "placement/trees/tree_descent.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "base/key_bytes.h"

namespace berth::placement {

std::int64_t TreeDevices::count(const Placement& placement) {
  const auto [at, is_new] = counted_.try_emplace(&placement, 0);
  if (is_new)
    for (const NodeId node : placement.nodes) at->second += devices_.room(node, kFitCountMax);
  return at->second;
}

std::int64_t TreeDevices::known(const Placement& placement) const {
  const auto found = counted_.find(&placement);
  return found == counted_.end() ? kFitCountMax : found->second;
}

void TreeDevices::forget() {
  devices_.forget();
  counted_.clear();
}

TreeDescent::TreeDescent(TreeGrounds& grounds, std::span<const TreeUnit> units, const TreeCounts& counts,
                         Budget& budget, const Moves& moves)
    : grounds_(grounds),
      units_(units),
      kinds_(counts.kinds),
      devices_(counts.devices),
      budget_(budget),
      moves_(moves),
      strict_(units.size(), 1),
      counts_(kinds_.size(), std::vector<const topology::FitCounts*>(grounds.chain_count())) {
  find_strict();
}

void TreeDescent::find_strict() {
  std::vector<std::int64_t> children(units_.size());
  for (std::size_t i = units_.size(); i-- > 0;) {
    if (!units_[i].kind && children[i] > units_[i].needed) strict_[i] = 0;
    if (!units_[i].parent) continue;
    ++children[*units_[i].parent];
    strict_[*units_[i].parent] &= strict_[i];
  }
}

bool TreeDescent::run(TreeEffort effort, const Ground& of_parent, const Ground* own) {
  effort_ = effort;
  of_parent_ = of_parent;
  own_ = own;
  grounds_of_.assign(units_.size(), std::nullopt);
  placed_.assign(units_.size(), 0);
  used_.assign(grounds_.chain_count(), {});
  for (auto& of_kind : counts_) std::ranges::fill(of_kind, nullptr);
  touched_.clear();
  failed_.clear();
  refuted_on_ground_.clear();
  remembered_bytes_ = 0;
  failures_ = misled_ = 0;
  stuck_ = std::nullopt;
  return go_on(0);
}

const Ground& TreeDescent::ground_above(std::size_t at) const {
  return units_[at].parent ? *grounds_of_[*units_[at].parent] : of_parent_;
}

// All units before this one are placed or left out.
bool TreeDescent::go_on(std::size_t at) {
  if (at == units_.size()) return finish();
  const TreeUnit& unit = units_[at];
  const bool enough = unit.parent && placed_[*unit.parent] >= units_[*unit.parent].needed;
  if (enough) return go_on(unit.end);
  if (!budget_.spend(1)) return false;
  std::string key;
  const bool counts = effort_ != TreeEffort::ByPlacing;
  const std::size_t misled_before = misled_;
  if (counts && failures_ > 0) {
    key = state_key(at);
    if (failed_.contains(key)) return false;
    if (is_refuted(at)) return false;
  }
  const std::vector<Candidate> all = candidates(at);
  if (all.empty()) note_stuck(at, all);
  for (const Candidate& one : all) {
    if (enter(at, one.ground)) return true;
    if (budget_.ended() || misled_ > misled_max()) return false;
  }
  if (skip(at)) return true;
  ++failures_;
  if (counts && misled_ == misled_before) remember_failure(key.empty() ? state_key(at) : std::move(key));
  return false;
}

bool TreeDescent::may_remember(const std::string& key) {
  constexpr std::size_t kBytesOfAnEntry = 64;
  if (remembered_bytes_ + key.size() + kBytesOfAnEntry > kTreeFailuresBytesMax) return false;
  remembered_bytes_ += key.size() + kBytesOfAnEntry;
  return true;
}

void TreeDescent::remember_failure(std::string key) {
  if (may_remember(key)) failed_.insert(std::move(key));
}

// Without this unit, if enough of its siblings are left.
bool TreeDescent::skip(std::size_t at) {
  const TreeUnit& unit = units_[at];
  if (!unit.parent || placed_[*unit.parent] + unit.left < units_[*unit.parent].needed) return false;
  return go_on(unit.end);
}

bool TreeDescent::enter(std::size_t at, const Ground& ground) {
  const TreeUnit& unit = units_[at];
  const bool places = effort_ == TreeEffort::ByPlacing && unit.kind;
  if (places && (!budget_.spend(static_cast<std::size_t>(unit.needed)) || !moves_.place(unit, ground)))
    return false;
  grounds_of_[at] = ground;
  touched_.push_back(at);
  use(unit, ground, 1);
  placed_[at] = 0;
  if (unit.parent) ++placed_[*unit.parent];
  const bool found = !is_refuted_on_its_ground(at) && go_on(at + 1);
  if (found) return true;
  if (unit.parent) --placed_[*unit.parent];
  use(unit, ground, -1);
  touched_.pop_back();
  grounds_of_[at] = std::nullopt;
  if (places) moves_.take_back(unit);
  return false;
}

// By the groups that have the same ground, this one included.
bool TreeDescent::is_refuted_on_its_ground(std::size_t at) {
  if (effort_ != TreeEffort::Together || misled_ < kTreeMisledMin || !units_[at].kind) return false;
  const Placement* const placement = grounds_of_[at]->placement;
  std::vector<std::size_t> there;
  std::string key;
  append_plain(key, placement);
  for (const std::size_t other : touched_) {
    if (!units_[other].kind || grounds_of_[other]->placement != placement) continue;
    there.push_back(other);
    append_plain(key, other);
  }
  const auto known = refuted_on_ground_.find(key);
  if (known != refuted_on_ground_.end()) return known->second;
  const bool refuted = moves_.refute_together(there);
  if (!budget_.ended() && may_remember(key)) refuted_on_ground_.emplace(std::move(key), refuted);
  return refuted;
}

bool TreeDescent::finish() {
  const bool done = effort_ == TreeEffort::ByPlacing ||
                    (effort_ == TreeEffort::ByCounts ? finish_one_by_one() : moves_.place_together(touched_));
  if (!done) ++misled_;
  return done;
}

bool TreeDescent::finish_one_by_one() {
  std::size_t placed = 0;
  for (; placed < touched_.size(); ++placed) {
    const TreeUnit& unit = units_[touched_[placed]];
    if (unit.kind && !moves_.place(unit, *grounds_of_[touched_[placed]])) break;
  }
  if (placed == touched_.size()) return true;
  stuck_ = touched_[placed];
  nearest_ = *grounds_of_[*stuck_];
  nearest_spare_ = 0;  // counts see room
  while (placed-- > 0)
    if (units_[touched_[placed]].kind) moves_.take_back(units_[touched_[placed]]);
  return false;
}

const topology::FitCounts& TreeDescent::counts(std::size_t kind, std::size_t chain) {
  const topology::FitCounts*& known = counts_[kind][chain];
  if (!known || effort_ == TreeEffort::ByPlacing) known = &kinds_[kind]->counts(grounds_.topology(chain));
  return *known;
}

// Members that still fit there.
std::int64_t TreeDescent::free(Column column, const Ground& ground) {
  const topology::DomainId domain = TreeGrounds::domain_of(*ground.placement);
  const std::int64_t all = column < kinds_.size() ? counts(column, ground.chain).sum(domain)
                                                  : device_room(column - kinds_.size(), *ground.placement);
  const std::vector<std::int64_t>& used = used_[ground.chain];
  const std::size_t cell = domain.index() * column_count() + column;
  return cell < used.size() ? all - used[cell] : all;
}

std::int64_t TreeDescent::device_room(std::size_t devices, const Placement& placement) const {
  return effort_ == TreeEffort::ByPlacing ? devices_[devices]->known(placement)
                                          : devices_[devices]->count(placement);
}

// Where members are placed, kinds are counted again.
void TreeDescent::use(const TreeUnit& unit, const Ground& ground, std::int64_t sign) {
  visit_columns(unit, [&](Column column) {
    if (column < kinds_.size() && effort_ == TreeEffort::ByPlacing) return;
    for (const Ground& outer : grounds_.around(ground)) {
      std::vector<std::int64_t>& used = used_[outer.chain];
      const std::size_t cell = TreeGrounds::domain_of(*outer.placement).index() * column_count() + column;
      if (used.size() <= cell) used.resize(std::max(cell + 1, used.size() * 2));
      used[cell] += sign * unit.needed;
    }
  });
}

// Of the unit and all below it, as far as they are counted.
TreeDescent::Needs TreeDescent::needs_of(std::size_t at) const {
  Needs needs;
  for (std::size_t i = at; i < units_[at].end; ++i)
    visit_columns(units_[i], [&](Column column) { needs[column] += units_[i].needed; });
  return needs;
}

// Of what is shortest.
void TreeDescent::find_spare(const Needs& needs, Candidate& candidate) {
  candidate.spare = candidate.of_kinds = kFitCountMax;
  for (const auto& [column, members] : needs) {
    const std::int64_t own = free(column, candidate.ground) - members;
    candidate.spare = std::min(candidate.spare, own);
    if (column < kinds_.size()) candidate.of_kinds = std::min(candidate.of_kinds, own);
  }
}

// Those with room, the one with least first; all of them if something below the unit may be left out.
std::vector<TreeDescent::Candidate> TreeDescent::candidates(std::size_t at) {
  const TreeUnit& unit = units_[at];
  const Ground& above = ground_above(at);
  std::vector<Candidate> all;
  if (at == 0 && own_) {
    all.push_back({*own_, 0});
  } else if (!grounds_.chooses(unit.node)) {
    all.push_back({above, 0});
  } else {
    for (const Placement* one : grounds_.candidates(unit.node, above))
      all.push_back({{grounds_.chain_of(unit.node), one}, 0});
  }
  const Needs needs = needs_of(at);
  for (Candidate& one : all) find_spare(needs, one);
  if (strict_[at]) {
    const auto too_small = [](const Candidate& one) { return one.spare < 0; };
    if (std::ranges::all_of(all, too_small)) note_stuck(at, all);
    std::erase_if(all, too_small);
  }
  std::ranges::stable_sort(all, {}, [](const Candidate& one) { return std::pair(one.spare, one.of_kinds); });
  if (moves_.siblings_before && grounds_.chooses(unit.node)) put_fewest_siblings_first(at, all);
  if (effort_ == TreeEffort::ByCounts && is_counted(unit)) keep_one_of_equals(all);
  return all;
}

void TreeDescent::put_fewest_siblings_first(std::size_t at, std::vector<Candidate>& all) const {
  const TreeUnit& unit = units_[at];
  std::map<const Placement*, std::int64_t> siblings;
  for (const std::size_t other : touched_)
    if (unit.parent && units_[other].parent == unit.parent) ++siblings[grounds_of_[other]->placement];
  for (Candidate& one : all)
    one.siblings = siblings[one.ground.placement] + moves_.siblings_before(unit, one.ground);
  std::ranges::stable_sort(all, {}, &Candidate::siblings);
}

// Of domains inside one domain that take as many of every kind and with every demand.
void TreeDescent::keep_one_of_equals(std::vector<Candidate>& all) {
  std::set<std::vector<std::int64_t>> seen;
  std::erase_if(all, [&](const Candidate& one) {
    std::vector<std::int64_t> rooms;
    for (Column column = 0; column < column_count(); ++column) rooms.push_back(free(column, one.ground));
    return !seen.insert(std::move(rooms)).second;
  });
}

void TreeDescent::note_stuck(std::size_t at, std::span<const Candidate> candidates) {
  if (stuck_ && *stuck_ >= at) return;
  stuck_ = at;
  const auto most = std::ranges::max_element(candidates, {}, &Candidate::spare);
  nearest_ = most == candidates.end() ? Ground() : most->ground;
  nearest_spare_ = most == candidates.end() ? INT64_MIN : most->spare;
}

bool TreeDescent::is_refuted(std::size_t at) {
  const TreeUnit& unit = units_[at];
  if (!unit.parent || !grounds_.chooses(unit.node)) return false;
  bool refuted = false;
  visit_columns(unit, [&](Column column) { refuted = refuted || is_short_of(column, at); });
  return refuted;
}

// Of the siblings from this one on, groups that are counted so and choose their domains: whether the domains
// that take the smallest of them have too little room together, or too few places for groups of its size.
bool TreeDescent::is_short_of(Column column, std::size_t at) {
  const TreeUnit& unit = units_[at];
  const std::size_t end = units_[*unit.parent].end;
  std::vector<std::int64_t> needs;
  for (std::size_t i = at; i < end; ++i) {
    const bool same_chain = grounds_.chain_of(units_[i].node) == grounds_.chain_of(unit.node);
    if (!is_counted_in(units_[i], column) || !same_chain) return false;
    needs.push_back(units_[i].needed);
  }
  std::ranges::sort(needs);
  const std::int64_t more = units_[*unit.parent].needed - placed_[*unit.parent];
  needs.resize(std::min(needs.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, more))));
  std::int64_t sum = 0;
  for (const std::int64_t need : needs) sum += need;
  if (sum == 0) return false;
  std::int64_t room = 0, places = 0;
  for (const Placement* one : grounds_.candidates(unit.node, ground_above(at))) {
    const std::int64_t here = free(column, {grounds_.chain_of(unit.node), one});
    if (here >= needs.front()) room += here;
    places += std::max<std::int64_t>(0, here) / needs.front();
  }
  return room < sum || places < static_cast<std::int64_t>(needs.size());
}

// Everything that decides whether the rest finds room: which composite groups are where, and of domains with
// members what they take and what was taken. Domains that are equal in this stand for each other.
std::string TreeDescent::state_key(std::size_t at) const {
  struct Taken {
    const Placement* placement = nullptr;
    std::vector<std::int64_t> members;  // by column; the last: they are counted in no kind
  };
  std::map<std::pair<std::size_t, std::uint32_t>, Taken> taken;
  std::string key;
  append_plain(key, at);
  for (const std::size_t i : touched_) {
    const Ground& ground = *grounds_of_[i];
    const std::uint32_t domain = TreeGrounds::domain_of(*ground.placement).index();
    if (!units_[i].kind) {
      append_plain(key, domain);
      append_plain(key, placed_[i]);
      continue;
    }
    Taken& there = taken[{ground.chain, domain}];
    there.placement = ground.placement;
    there.members.resize(column_count() + 1);
    visit_columns(units_[i], [&](Column column) { there.members[column] += units_[i].needed; });
    if (!is_counted(units_[i])) there.members.back() += units_[i].needed;
  }
  std::vector<std::string> parts;
  for (const auto& [where, there] : taken) {
    std::string& part = parts.emplace_back();
    const topology::Tree& tree = grounds_.topology(where.first).tree();
    append_plain(part, where.first);
    append_plain(part, tree.domain(topology::DomainId(where.second)).parent.index());
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      const topology::FitCounts* const counts = counts_[kind][where.first];
      append_plain(part, counts ? counts->sum(topology::DomainId(where.second)) : kFitCountMax);
      append_plain(part, there.members[kind]);
    }
    for (std::size_t devices = 0; devices < devices_.size(); ++devices) {
      append_plain(part, device_room(devices, *there.placement));
      append_plain(part, there.members[kinds_.size() + devices]);
    }
    if (there.members.back() > 0) append_plain(part, where.second);  // not counted: like no other
  }
  std::ranges::sort(parts);
  for (const std::string& part : parts) key += part;
  return key;
}

}  // namespace berth::placement
