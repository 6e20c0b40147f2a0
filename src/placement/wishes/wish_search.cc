#include "placement/wishes/wish_search.h"

#include <algorithm>
#include <numeric>

#include "placement/groups/group_run.h"
#include "placement/wishes/ranks.h"
#include "placement/wishes/reached.h"

namespace berth::placement {
namespace {

std::vector<std::size_t> order_of(const GroupInput& input) {
  if (input.wish->contiguous_ranks) return by_rank(input.waiting);
  std::vector<std::size_t> order(input.waiting.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<const api::Pod*> in_order(const GroupInput& input, std::span<const std::size_t> order) {
  std::vector<const api::Pod*> pods;
  pods.reserve(order.size());
  for (const std::size_t i : order) pods.push_back(input.waiting[i]);
  return pods;
}

topology::DomainId domain_at(std::size_t depth, const Placement& placement) {
  return depth > 0 ? placement.domain : topology::Tree::root();
}

}  // namespace

std::vector<WishMember> placed_members(const model::Cluster& cluster, const GroupInput& input,
                                       std::span<const MemberOutcome> members) {
  std::vector<WishMember> placed;
  const auto add = [&](const api::Pod* pod, NodeId node) {
    if (node.valid() && cluster.node(node).live)
      placed.push_back({pod, &cluster.node(node).live->meta.labels});
  };
  for (std::size_t i = 0; i < input.placed.size(); ++i) add(input.placed[i], input.occupied[i]);
  for (std::size_t i = 0; i < members.size(); ++i) add(input.waiting[i], members[i].node);
  return placed;
}

WishSearch::WishSearch(const WishQuestion& question)
    : question_(question),
      input_(question.input),
      wish_(*question.input.wish),
      segments_(wish_.segments.value_or(WishSegments())),
      context_(question.context),
      transaction_(question.transaction),
      levels_(question.input.group->topology_keys, wish_, question.placements, question.domains,
              question.context.cluster),
      order_(order_of(question.input)),
      waiting_(in_order(question.input, order_)),
      needed_(std::max(1, question.input.group->minimum() - question.input.scheduled)),
      fit_(question.groups.plugins_of(question.input), question.groups.pods(), context_, transaction_,
           waiting_),
      bound_(question.groups.plugins_of(question.input), question.groups.pods(), context_, transaction_,
             waiting_, kWishNodesCountedMax),
      devices_(context_, waiting_) {
  if (wish_.same_devices) same_.emplace(context_, input_);
  if (question.inside) {
    levels_.forget_required();
    inside_.resize(context_.cluster.nodes().size());
    for (const NodeId node : question.inside->nodes) inside_[node.index()] = true;
  }
  rungs_ = levels_.rungs();
  all_.resize(waiting_.size());
  std::iota(all_.begin(), all_.end(), std::size_t{0});
}

bool WishSearch::try_rungs(std::int64_t members) {
  for (const WishRung& rung : rungs_) {
    if (try_rung(rung, members)) return true;
    if (outcome_.kind == GroupOutcome::Kind::Error) return true;
  }
  return false;
}

// All of so many members if they fit, else as many as may fit, and at least `needed`. True: some are placed,
// or the attempt ended with an error.
bool WishSearch::try_counts(std::int64_t members, std::int64_t needed) {
  const std::size_t counts_max = wish_.segments || same_ ? kWishCountsMax : 2;
  for (std::size_t i = 0; i < counts_max && members >= std::max<std::int64_t>(1, needed); ++i) {
    if (try_rungs(members)) return true;
    members = fewer_than(members);
  }
  if (members >= needed && counts_max > 2) unproved_ = kSearchBudgetEnded;
  return false;
}

GroupOutcome WishSearch::run() {
  if (!try_counts(std::ssize(waiting_), needed_)) return as_required();
  return outcome_.kind == GroupOutcome::Kind::Error ? in_their_order(std::move(outcome_)) : finish();
}

std::optional<GroupOutcome> WishSearch::place(std::int64_t needed, std::int64_t most, GroupEffort effort) {
  effort_ = effort;
  if (try_counts(std::min(most, std::ssize(waiting_)), needed)) return in_their_order(std::move(outcome_));
  if (!wish_.segments && !same_) return std::nullopt;
  GroupOutcome none;
  none.members.resize(waiting_.size());
  return none;
}

// How many members there may be room for by counts, in what is required.
std::int64_t WishSearch::most_members() {
  const WishRung& last = rungs_.back();
  const std::int64_t min = segments_.min, max = segments_.max;
  const std::vector<Placement> placements = placements_at(last.depth);
  std::int64_t most = 0;
  if (!wish_.segments || last.parts <= last.depth) {
    for (const Placement& one : placements)
      most = std::max(most, std::min(max, room(last.depth, domain_at(last.depth, one))));
  }
  if (last.parts <= last.depth) return most;
  for (const Region& region : regions(last, placements)) {
    std::int64_t sum = 0;
    for (const PartDomain& one : region.domains)
      if (const std::int64_t part = std::min(one.room, max - std::min(max, one.placed));
          one.placed > 0 || part >= min)
        sum += part;
    most = std::max(most, sum);
  }
  return most;
}

// The next smaller number to try; less than 1: there is none.
std::int64_t WishSearch::fewer_than(std::int64_t members) {
  if (choices_.ended() || placings_.ended()) return 0;
  members = std::min(members - 1, most_members());
  if (wish_.segments && input_.placed.empty())
    while (members > 0 && !can_be_cut(members, wish_.segments->min, wish_.segments->max)) --members;
  return members;
}

bool WishSearch::try_rung(const WishRung& rung, std::int64_t members) {
  if (!same_) return try_domains(rung, members);
  if (!counts_suffice(rung, members)) return false;
  const std::vector<SameDevices::Values> sets = same_->sets(members);
  if (!same_->complete()) unproved_ = kSearchBudgetEnded;
  for (const SameDevices::Values& values : sets) {
    if (try_values(rung, values, members)) return true;
    if (outcome_.kind == GroupOutcome::Kind::Error) return false;
  }
  if (sets.size() == kValueSetsTriedMax) unproved_ = kSearchBudgetEnded;
  return false;
}

// With all devices.
bool WishSearch::counts_suffice(const WishRung& rung, std::int64_t members) {
  const std::vector<Placement> placements = placements_at(rung.depth);
  const bool in_parts = rung.parts > rung.depth;
  if (!in_parts || !wish_.segments)
    for (const Placement& one : placements)
      if (room(rung.depth, domain_at(rung.depth, one)) >= members) return true;
  if (!in_parts) return false;
  std::vector<Region> all = regions(rung, placements);
  return std::ranges::any_of(all, [&](Region& region) {
    choose(region, members);
    return region.parts.has_value();
  });
}

// With the other devices hidden, which they are not in the end.
bool WishSearch::try_values(const WishRung& rung, const SameDevices::Values& values, std::int64_t members) {
  const auto before = transaction_.savepoint();
  forget_rooms();
  same_->hide_others(values, transaction_);
  bool found = try_domains(rung, members);
  if (found && !same_->common(outcome_.members)) {
    found = false;
    unproved_ = kSearchBudgetEnded;
  }
  forget_rooms();
  model::Plan plan = transaction_.take_since(before);
  if (!found) return false;
  SameDevices::show_again(plan);
  context_.cluster.redo(plan, transaction_);
  return true;
}

bool WishSearch::try_domains(const WishRung& rung, std::int64_t members) {
  const std::vector<Placement> placements = placements_at(rung.depth);
  if (rung.parts <= rung.depth) return try_whole(rung, placements, members);
  if (try_parts(rung, placements, members)) return true;
  if (outcome_.kind != GroupOutcome::Kind::Error && tries_assignments(members) &&
      try_assignments(rung, placements))
    return true;
  return !wish_.segments && outcome_.kind != GroupOutcome::Kind::Error &&
         try_whole(rung, placements, members);
}

// Empty if members with a place are in several domains, or outside of them all.
std::vector<Placement> WishSearch::placements_at(std::size_t depth) {
  if (depth == 0 && question_.inside) {
    Placement all = *question_.inside;
    if (all.domain.valid() && !all.narrowed) {
      all.narrowed = std::make_shared<const std::vector<NodeId>>(all.nodes.begin(), all.nodes.end());
      all.nodes = *all.narrowed;
    }
    return {std::move(all)};
  }
  const topology::Tree* tree = depth == 0 ? nullptr : &levels_.topology(depth).tree();
  const PluginSet& plugins = question_.groups.plugins_of(input_);
  std::vector<Placement> placements = plugins.placement_generator
                                          ->generate({tree, question_.domains.nodes(context_.cluster),
                                                      input_.placed, input_.occupied, input_.recorded})
                                          .value_or(std::vector<Placement>{});
  if (!question_.inside) return inside_required(std::move(placements), depth);
  std::vector<Placement> inside;
  for (const Placement& one : placements)
    if (Placement part = placement_of(depth, one.domain); !part.nodes.empty())
      inside.push_back(std::move(part));
  return inside;
}

// Wished domains are not recorded, so of members whose nodes were relabelled they may be elsewhere.
std::vector<Placement> WishSearch::inside_required(std::vector<Placement> placements, std::size_t depth) {
  if (input_.placed.empty() || levels_.required() == 0 || depth <= levels_.required()) return placements;
  const std::vector<Placement> outer = placements_at(levels_.required());
  if (outer.empty()) return {};
  const std::string prefix = outer.front().name + "/";
  std::erase_if(placements, [&](const Placement& one) { return !one.name.starts_with(prefix); });
  return placements;
}

Placement WishSearch::placement_of(std::size_t depth, topology::DomainId domain) {
  const topology::Tree& tree = levels_.topology(depth).tree();
  const std::vector<NodeId>& nodes = tree.domain(domain).nodes;
  if (!question_.inside) return {tree.path_of(domain), domain, nodes, nullptr, {}};
  std::vector<NodeId> own;
  std::ranges::copy_if(nodes, std::back_inserter(own), [&](NodeId node) { return inside_[node.index()]; });
  Placement part{
      tree.path_of(domain), domain, {}, std::make_shared<const std::vector<NodeId>>(std::move(own)), {}};
  part.nodes = *part.narrowed;
  return part;
}

// In the state before any member is placed.
std::int64_t WishSearch::room(std::size_t depth, topology::DomainId domain) {
  return room(depth, domain, levels_.topology(depth));
}

std::int64_t WishSearch::room(std::size_t depth, topology::DomainId domain, Topology& topology) {
  const auto known = rooms_.find({depth, domain});
  if (known != rooms_.end()) return known->second;
  if (!question_.inside)
    return (devices_.limits() ? fit_.counts(topology, devices_) : fit_.counts(topology)).sum(domain);
  std::int64_t sum = 0;
  const auto add = [&](std::span<const NodeId> nodes) {
    for (const NodeId node : nodes)
      if (inside_.empty() || inside_[node.index()]) sum += devices_.room(node, fit_.room(node));
  };
  if (depth > 0)
    add(topology.tree().domain(domain).nodes);
  else
    add(question_.inside ? question_.inside->nodes : question_.domains.nodes(context_.cluster));
  return rooms_[{depth, domain}] = sum;
}

void WishSearch::forget_rooms() {
  rooms_.clear();
  devices_.forget();
}

bool WishSearch::suits_segments(const WishRung& rung, const Placement& placement, std::int64_t members) {
  if (!wish_.segments) return true;
  const topology::Tree& tree = levels_.topology(rung.depth).tree();
  const auto part = [&](topology::DomainId leaf) { return domain_above(tree, leaf, rung.parts); };
  const topology::DomainId own = part(placement.domain);
  std::map<topology::DomainId, std::int64_t> sizes{{own, members}};
  for (const NodeId node : input_.occupied)
    if (const topology::DomainId leaf = tree.leaf_of(node); leaf.valid()) ++sizes[part(leaf)];
  return sizes[own] <= wish_.segments->max &&
         std::ranges::all_of(sizes, [&](const auto& one) { return one.second >= wish_.segments->min; });
}

void WishSearch::start() {
  outcome_ = {};
  outcome_.members.resize(waiting_.size());
}

std::span<const std::size_t> WishSearch::first_members(std::int64_t from, std::int64_t size) const {
  return std::span(all_).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size));
}

bool WishSearch::try_whole(const WishRung& rung, std::span<const Placement> placements,
                           std::int64_t members) {
  std::vector<Placement> promising;
  for (const Placement& one : placements)
    if (room(rung.depth, domain_at(rung.depth, one)) >= members && suits_segments(rung, one, members))
      promising.push_back(one);
  if (promising.empty()) return false;
  const auto before = transaction_.savepoint();
  start();
  if (run_among(promising, rung.depth, first_members(0, members))) return true;
  transaction_.roll_back_to(before);
  return false;
}

std::vector<WishSearch::Region> WishSearch::regions(const WishRung& rung,
                                                    std::span<const Placement> placements) {
  Topology& topology = levels_.topology(rung.parts);
  const topology::Tree& tree = topology.tree();
  std::map<topology::DomainId, std::int64_t> placed;
  for (const NodeId node : input_.occupied)
    if (const topology::DomainId leaf = tree.leaf_of(node); leaf.valid()) ++placed[leaf];
  std::vector<Region> all;
  std::map<std::string_view, std::size_t> by_path;
  for (const Placement& one : placements) {
    by_path.emplace(rung.depth == 0 ? std::string_view() : one.name, all.size());
    all.push_back({&one});
  }
  std::map<topology::DomainId, Region*> by_domain;  // of the inner tree
  for (const topology::DomainId leaf : tree.leaves()) {
    const topology::DomainId above = domain_above(tree, leaf, rung.depth);
    const auto [at, is_new] = by_domain.try_emplace(above, nullptr);
    if (is_new)
      if (const auto found = by_path.find(tree.path_of(above)); found != by_path.end())
        at->second = &all[found->second];
    if (!at->second) continue;
    PartDomain domain{room(rung.parts, leaf, topology), 0};
    if (const auto here = placed.find(leaf); here != placed.end()) domain.placed = here->second;
    for (const std::size_t depth : rung.parents)
      domain.parents.push_back(domain_above(tree, leaf, depth).index());
    at->second->leaves.push_back(leaf);
    at->second->domains.push_back(std::move(domain));
  }
  return all;
}

void WishSearch::choose(Region& region, std::int64_t members) const {
  region.parts = choose_parts({region.domains, members, segments_.min, segments_.max, wish_.distribution});
}

// Of equal ones the tightest.
WishSearch::Region* WishSearch::best_of(std::vector<Region>& regions) const {
  const auto spare = [](const Region& region) {
    std::int64_t sum = 0;
    for (const PartDomain& one : region.domains) sum += one.room;
    return sum;
  };
  Region* best = nullptr;
  for (Region& one : regions) {
    if (!one.parts) continue;
    if (!best || one.parts->worth < best->parts->worth ||
        (one.parts->worth == best->parts->worth && spare(one) < spare(*best)))
      best = &one;
  }
  return best;
}

bool WishSearch::try_parts(const WishRung& rung, std::span<const Placement> placements,
                           std::int64_t members) {
  std::vector<Region> all = regions(rung, placements);
  for (Region& region : all) choose(region, members);
  while (Region* best = best_of(all)) {
    if (place_parts(rung, *best)) return true;
    if (outcome_.kind == GroupOutcome::Kind::Error) return false;
    if (tries_assignments(members)) return false;
    if (!choices_.spend(1) || !placings_.spend(static_cast<std::size_t>(members))) {
      unproved_ = kSearchBudgetEnded;
      return false;
    }
    choose(*best, members);
  }
  return false;
}

// False: the counts of the region are corrected, so that another choice follows.
bool WishSearch::place_parts(const WishRung& rung, Region& region) {
  const auto before = transaction_.savepoint();
  start();
  std::int64_t from = 0;
  for (std::size_t i = 0; i < region.leaves.size(); ++i) {
    const std::int64_t size = region.parts->counts[i];
    if (size == 0) continue;
    const Placement part = placement_of(rung.parts, region.leaves[i]);
    if (!run_among({&part, 1}, rung.parts, first_members(from, size))) {
      transaction_.roll_back_to(before);
      const std::vector<std::int64_t>& counts = region.parts->counts;
      const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      if (outcome_.kind != GroupOutcome::Kind::Error && !tries_assignments(all)) correct(rung, region, i);
      return false;
    }
    from += size;
  }
  outcome_.placement = region.placement->name;
  return true;
}

void WishSearch::correct(const WishRung& rung, Region& region, std::size_t at) {
  const topology::DomainId leaf = region.leaves[at];
  const std::int64_t size = region.parts->counts[at];
  Topology& topology = levels_.topology(rung.parts);
  std::int64_t most = size - 1;
  const Placement part = placement_of(rung.parts, leaf);
  if (const auto proof = bound_.refute(topology, leaf, part.nodes, size))
    most = std::min(most, proof->have);
  else if (!are_alike())
    unproved_ = kSearchBudgetEnded;
  rooms_[{rung.parts, leaf}] = region.domains[at].room = most;
}

// Which of them go where matters, and is tried.
bool WishSearch::tries_assignments(std::int64_t members) {
  return members == std::ssize(waiting_) && waiting_.size() <= kMembersAssignedMax && !are_alike();
}

bool WishSearch::are_alike() {
  return std::ranges::all_of(bound_.kinds(), [](std::uint32_t kind) { return kind == 0; });
}

GroupInput WishSearch::some_members(std::span<const std::size_t> members) const {
  GroupInput some;
  some.group = input_.group;
  for (const std::size_t member : members) some.waiting.push_back(waiting_[member]);
  some.avoid = input_.avoid;
  some.needs = static_cast<std::int32_t>(members.size());
  some.node_by_node = wish_.contiguous_ranks;
  return some;
}

// False: none of them has a place.
bool WishSearch::run_among(std::span<const Placement> placements, std::size_t depth,
                           std::span<const std::size_t> members) {
  // Counts of a topology are of whole domains.
  Topology* const topology = depth == 0 || question_.inside ? nullptr : &levels_.topology(depth);
  BudgetShare share(steps_, kWishSharesOfChoices);
  std::string_view unproved;
  GroupOutcome outcome =
      question_.groups.run_among(context_, some_members(members),
                                 {placements, topology, share.budget(), effort_}, transaction_, unproved);
  if (!unproved.empty()) unproved_ = unproved;
  outcome_.kind = outcome.kind;
  if (outcome.kind == GroupOutcome::Kind::Error) outcome_.refusal = std::move(outcome.refusal);
  if (outcome.kind != GroupOutcome::Kind::Placed) return false;
  outcome_.placement = std::move(outcome.placement);
  for (std::size_t i = 0; i < members.size(); ++i)
    outcome_.members[members[i]] = std::move(outcome.members[i]);
  return true;
}

GroupOutcome WishSearch::in_their_order(GroupOutcome outcome) const {
  std::vector<MemberOutcome> members(outcome.members.size());
  for (std::size_t i = 0; i < members.size(); ++i) members[order_[i]] = std::move(outcome.members[i]);
  outcome.members = std::move(members);
  return outcome;
}

// Members that found no place know why, where the others are.
void WishSearch::refuse_the_rest(GroupOutcome& outcome) {
  GroupInput rest = input_;
  rest.waiting.clear();
  rest.needs = 1;
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < outcome.members.size(); ++i) {
    const NodeId node = outcome.members[i].node;
    if (node.valid()) {
      rest.placed.push_back(waiting_[i]);
      rest.occupied.push_back(node);
      rest.recorded.emplace_back();
    } else {
      members.push_back(i);
      rest.waiting.push_back(waiting_[i]);
    }
  }
  if (members.empty()) return;
  GroupOutcome refused = question_.groups.refuse(context_, rest, transaction_);
  for (std::size_t i = 0; i < members.size(); ++i)
    outcome.members[members[i]] = std::move(refused.members[i]);
  add_refused_members(input_, outcome);
}

GroupOutcome WishSearch::finish() {
  refuse_the_rest(outcome_);
  GroupOutcome outcome = in_their_order(std::move(outcome_));
  outcome.wish = reached_by(wish_, placed_members(context_.cluster, input_, outcome.members));
  if (same_)
    if (const auto values = same_->common(outcome.members))
      outcome.wish->same_values = SameDevices::texts(*values);
  return outcome;
}

// No count of members fits by the wishes and what is required: their own order may place some, or says why
// not.
GroupOutcome WishSearch::as_required() {
  GroupInput all = input_;
  all.waiting = waiting_;
  all.node_by_node = wish_.contiguous_ranks;
  if (wish_.segments || same_) return refuse(all);
  if (const std::int64_t most = most_members(); devices_.limits() && most < needed_ && unproved_.empty()) {
    GroupOutcome outcome = in_their_order(question_.groups.refuse(context_, all, transaction_));
    if (outcome.kind != GroupOutcome::Kind::Unschedulable) return outcome;
    outcome.refusal->group->proof = GroupProof{needed_, most, {}, {}};
    return outcome;
  }
  const auto before = transaction_.savepoint();
  GroupOutcome outcome = question_.groups.run_as_required(context_, all, transaction_);
  if (outcome.kind != GroupOutcome::Kind::Placed) return in_their_order(std::move(outcome));
  // So many fit: perhaps with a wish as well.
  const model::Plan plan = transaction_.take_since(before);
  const std::size_t placed = outcome.placed();
  if (placed < waiting_.size() && try_rungs(static_cast<std::int64_t>(placed)) &&
      outcome_.kind == GroupOutcome::Kind::Placed)
    return finish();
  context_.cluster.redo(plan, transaction_);
  outcome = in_their_order(std::move(outcome));
  outcome.wish = reached_by(wish_, placed_members(context_.cluster, input_, outcome.members));
  return outcome;
}

GroupOutcome WishSearch::refuse(const GroupInput& all) {
  GroupOutcome outcome = in_their_order(question_.groups.refuse(context_, all, transaction_));
  if (outcome.kind != GroupOutcome::Kind::Unschedulable) return outcome;
  GroupRefusal& why = *outcome.refusal->group;
  why.wish = shortage();
  // Parts that share devices are not independent of each other.
  if (devices_.limits() && !context_.cluster.shared_pools().empty()) unproved_ = kSearchBudgetEnded;
  why.unproved = unproved_;
  why.proof = std::nullopt;
  if (unproved_.empty()) why.proof = GroupProof{needed_, needed_ - 1, {}, {}};
  return outcome;
}

WishShortage WishSearch::shortage() {
  WishShortage why;
  why.members = static_cast<std::int64_t>(waiting_.size());
  if (wish_.segments) {
    why.level = wish_.levels[wish_.segments->level].name;
    why.min = wish_.segments->min;
    why.max = wish_.segments->max;
    why.can_be_cut = why.members;
    while (input_.placed.empty() && !can_be_cut(why.can_be_cut, why.min, why.max)) --why.can_be_cut;
    why.room = std::min(why.members, most_members());
  }
  if (same_) {
    why.attribute = wish_.same_devices->attribute;
    why.values = same_->value_count();
  }
  return why;
}

}  // namespace berth::placement
