#include "placement/trees/tree_placer.h"

#include <algorithm>
#include <map>

namespace berth::placement {

TreePlacer::TreePlacer(GroupCycle& groups, const PluginSet& plugins, TreeGrounds& grounds,
                       const SchedulingContext& context, const TreeInput& input,
                       model::Ledger::Transaction& transaction)
    : groups_(groups),
      grounds_(grounds),
      context_(context),
      input_(input),
      transaction_(transaction),
      needs_(needs_of(input)),
      states_(input.nodes.size()),
      before_(input.nodes.size()) {
  find_kinds(plugins);
  find_devices();
  add_units(0, std::nullopt, 0, Children::All, units_);
  reset();
}

void TreePlacer::find_kinds(const PluginSet& plugins) {
  std::map<std::string, std::size_t, std::less<>> known;
  for (std::size_t node = 0; node < input_.nodes.size(); ++node) {
    const TreeNode& one = input_.nodes[node];
    if (!one.is_group() || one.group.waiting.empty()) continue;
    states_[node].members = std::make_shared<const WaitingMembers>(context_.cluster, one.group.waiting);
    auto fit = std::make_unique<GroupFit>(plugins, groups_.pods(), context_, transaction_,
                                          states_[node].members->distinct());
    const std::string_view kind = fit->kind();
    const auto found = kind.empty() ? known.end() : known.find(kind);
    if (found != known.end()) {
      states_[node].kind = found->second;
      continue;
    }
    states_[node].kind = fits_.size();
    if (!kind.empty()) known.emplace(kind, fits_.size());
    fits_.push_back(std::move(fit));
    if (kinds_.size() < kTreeKindsMax) kinds_.push_back(fits_.back().get());
  }
}

void TreePlacer::find_devices() {
  std::vector<const api::Pod*> with_claims;
  for (const TreeNode& node : input_.nodes)
    std::ranges::copy_if(node.group.waiting, std::back_inserter(with_claims),
                         [](const api::Pod* pod) { return !pod->claims.empty(); });
  if (with_claims.empty()) return;
  const std::set<model::ClaimId> shared = GroupDevices::claims_of_several(context_.cluster, with_claims);
  for (std::size_t node = 0; node < input_.nodes.size(); ++node) find_devices(node, shared);
}

// What members of several groups share is counted nowhere.
void TreePlacer::find_devices(std::size_t node, const std::set<model::ClaimId>& shared) {
  GroupDevices devices(context_, input_.nodes[node].group.waiting, shared);
  if (!devices.limits()) return;
  const std::string demand = devices.demand();
  const auto known =
      std::ranges::find_if(devices_, [&](const TreeDevices* one) { return one->demand() == demand; });
  const auto index = static_cast<std::size_t>(known - devices_.begin());
  if (index == kTreeKindsMax) return;
  states_[node].devices = index;
  if (known != devices_.end()) return;
  device_counts_.push_back(std::make_unique<TreeDevices>(std::move(devices)));
  devices_.push_back(device_counts_.back().get());
}

void TreePlacer::reset() {
  obstacle_ = std::nullopt;
  unproved_ = {};
  if (is_empty_) return;
  is_empty_ = true;
  outcome_ = {};
  outcome_.nodes.resize(input_.nodes.size());
  for (std::size_t node = 0; node < input_.nodes.size(); ++node) {
    outcome_.nodes[node].members.resize(input_.nodes[node].group.waiting.size());
    outcome_.nodes[node].placed = needs_[node].has_minimum();
    states_[node].ground = std::nullopt;
  }
}

void TreePlacer::begin_check() {
  descents_ = choices_ = Budget(kTreeCheckStepsMax);
  placings_ = Budget(kTreeCheckPlacingsMax);
  reset();
}

DomainUse TreePlacer::requested() const {
  DomainUse use;
  for (const State& state : states_)
    if (state.members) use += state.members->requested(context_.cluster);
  return use;
}

// Placing a member costs as much as many steps of a search by counts.
std::size_t TreePlacer::steps() const {
  constexpr std::size_t kStepsOfAMember = 8;
  const std::size_t searched = 2 * kTreeCheckStepsMax - descents_.left() - choices_.left();
  return static_cast<std::size_t>(placed()) + kTreeCheckPlacingsMax - placings_.left() +
         searched / kStepsOfAMember;
}

std::vector<std::size_t> TreePlacer::children_of(const TreeNode& node, std::int64_t needed,
                                                 Children which) const {
  std::vector<std::size_t> children = children_to_place(node, needs_);
  if (which == Children::Oldest && std::ssize(children) > needed)
    children.resize(static_cast<std::size_t>(needed));
  std::ranges::stable_sort(children, [&](std::size_t a, std::size_t b) {
    if (grounds_.chooses(a) != grounds_.chooses(b)) return grounds_.chooses(a);
    return asks(a) > asks(b);
  });
  return children;
}

void TreePlacer::add_units(std::size_t node, std::optional<std::size_t> parent, std::int64_t left,
                           Children which, std::vector<TreeUnit>& units) const {
  const std::size_t at = units.size();
  const std::int64_t needed = needs_[node].needed;
  units.push_back({node, parent, 0, needed, left, std::nullopt});
  if (input_.nodes[node].is_group()) {
    units[at].kind = states_[node].kind.value_or(kTreeKindsMax);
    units[at].devices = states_[node].devices;
  } else {
    const std::vector<std::size_t> children = children_of(input_.nodes[node], needed, which);
    for (std::size_t i = 0; i < children.size(); ++i)
      add_units(children[i], at, static_cast<std::int64_t>(children.size() - i - 1), which, units);
  }
  units[at].end = units.size();
}

namespace {

// Whether some group of groups has more children than it needs.
bool leaves_some_out(std::span<const TreeUnit> units) {
  std::vector<std::int64_t> children(units.size());
  for (const TreeUnit& unit : units)
    if (unit.parent) ++children[*unit.parent];
  for (std::size_t i = 0; i < units.size(); ++i)
    if (!units[i].kind && children[i] > units[i].needed) return true;
  return false;
}

}  // namespace

bool TreePlacer::place_root(const Ground& ground, std::size_t shares) {
  return place_minima(0, grounds_.whole_cluster(), &ground, shares);
}

bool TreePlacer::place_minima(std::size_t node, const Ground& of_parent, const Ground* own,
                              std::size_t shares) {
  std::vector<TreeUnit> below;
  if (node > 0) add_units(node, std::nullopt, 0, Children::All, below);
  const std::vector<TreeUnit>& all = node > 0 ? below : units_;
  if (!leaves_some_out(all)) return descend(all, of_parent, own, shares);
  std::vector<TreeUnit> oldest;
  add_units(node, std::nullopt, 0, Children::Oldest, oldest);
  if (descend(oldest, of_parent, own, shares * 2)) return true;
  return error_.empty() && descend(all, of_parent, own, shares);
}

bool TreePlacer::descend(std::span<const TreeUnit> units, const Ground& of_parent, const Ground* own,
                         std::size_t shares) {
  unproved_ = kSearchBudgetEnded;
  if (units.size() > kTreeUnitsMax) return false;
  unproved_ = {};
  for (TreeDevices* const one : devices_) one->forget();
  for (const TreeEffort effort : {TreeEffort::ByCounts, TreeEffort::ByPlacing, TreeEffort::Together}) {
    BudgetShare steps(effort == TreeEffort::ByPlacing ? placings_ : descents_, shares);
    BudgetShare choices(choices_, shares);
    const TreeDescent* running = nullptr;
    const auto all_on = [&](std::span<const std::size_t> placed) {
      return together(units, *running, placed, steps.budget(), choices.budget());
    };
    TreeDescent::Moves moves{
        [&](const TreeUnit& unit, const Ground& ground) { return place(unit, ground); },
        [&](std::span<const std::size_t> placed) { return place_together(all_on(placed)); },
        [&](std::span<const std::size_t> some) { return refute_together(all_on(some)); },
        [&](const TreeUnit& unit) { take_back(unit); }};
    if (const GroupWishPtr& wish = input_.nodes.front().wish; wish && spreads_children(*wish))
      moves.siblings_before = [&](const TreeUnit& unit, const Ground& ground) {
        return siblings_there(unit.node, ground);
      };
    TreeDescent descent(grounds_, units, {kinds_, devices_}, steps.budget(), moves);
    running = &descent;
    if (descent.run(effort, of_parent, own)) {
      keep(units, descent);
      return true;
    }
    if (effort == TreeEffort::ByCounts) note(units, descent);
    if (!error_.empty() || descent.refuted()) return false;
  }
  unproved_ = kSearchBudgetEnded;
  return false;
}

TreePlacer::Together TreePlacer::together(std::span<const TreeUnit> units, const TreeDescent& descent,
                                          std::span<const std::size_t> placed, Budget& steps,
                                          Budget& choices) const {
  Together all{{}, {}, steps, choices};
  for (const std::size_t at : placed) {
    const TreeUnit& unit = units[at];
    if (!unit.kind) continue;
    all.nodes.push_back(unit.node);
    all.parts.push_back({&input_.nodes[unit.node].group, descent.found()[at]->placement,
                         static_cast<std::size_t>(unit.needed)});
  }
  return all;
}

// `unproved`: why a refusal proves nothing.
GroupOutcome TreePlacer::search_together(const Together& all, std::string_view& unproved) {
  std::size_t members = 0;
  for (const GroupPart& part : all.parts) members += part.needed;
  unproved = kSearchBudgetEnded;
  if (!error_.empty() || !all.steps.spend(kTreeStepsOfAChoice * members)) return {};
  BudgetShare share(all.choices, kTreeSharesOfChoices);
  GroupOutcome outcome = groups_.run_together(context_, all.parts, share.budget(), transaction_, unproved);
  if (outcome.kind == GroupOutcome::Kind::Error) error_ = outcome.refusal->group->error;
  return outcome;
}

bool TreePlacer::refute_together(const Together& some) {
  const auto before = transaction_.savepoint();
  std::string_view unproved;
  const GroupOutcome outcome = search_together(some, unproved);
  transaction_.roll_back_to(before);
  return outcome.kind == GroupOutcome::Kind::Unschedulable && unproved.empty();
}

// Where the search ends without an answer, so does the proof.
bool TreePlacer::place_together(const Together& all) {
  std::string_view unproved;
  GroupOutcome outcome = search_together(all, unproved);
  if (outcome.kind != GroupOutcome::Kind::Placed) {
    if (!unproved.empty()) unproved_ = unproved;
    return false;
  }
  auto member = outcome.members.begin();
  for (const std::size_t node : all.nodes)
    for (MemberOutcome& own_member : outcome_.nodes[node].members) own_member = std::move(*member++);
  return true;
}

void TreePlacer::keep(std::span<const TreeUnit> units, const TreeDescent& descent) {
  is_empty_ = false;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::optional<Ground>& ground = descent.found()[i];
    if (!ground) continue;
    states_[units[i].node].ground = ground;
    TreeNodeOutcome& own = outcome_.nodes[units[i].node];
    own.placed = true;
    own.placement = ground->placement->name;
  }
}

void TreePlacer::note(std::span<const TreeUnit> units, const TreeDescent& descent) {
  if (!descent.stuck()) return;
  obstacle_ = TreeObstacle{units[*descent.stuck()].node, descent.nearest(), descent.nearest_spare()};
}

bool TreePlacer::place(const TreeUnit& unit, const Ground& ground) {
  const GroupInput& group = input_.nodes[unit.node].group;
  const auto needed = static_cast<std::size_t>(unit.needed);
  if (!error_.empty()) return false;
  before_[unit.node] = transaction_.savepoint();
  const std::optional<std::size_t> kind = states_[unit.node].kind;
  const GroupTrial trial{*ground.placement,
                         needed,
                         GroupEffort::InOrder,
                         needed,
                         grounds_.topology_of(ground),
                         false,
                         kind ? fits_[*kind].get() : nullptr,
                         states_[unit.node].members};
  GroupOutcome outcome = groups_.run_on(context_, group, trial, transaction_);
  if (outcome.kind == GroupOutcome::Kind::Error) error_ = outcome.refusal->group->error;
  if (outcome.kind != GroupOutcome::Kind::Placed) return false;
  outcome_.nodes[unit.node].members = std::move(outcome.members);
  return true;
}

void TreePlacer::take_back(const TreeUnit& unit) {
  transaction_.roll_back_to(*before_[unit.node]);
  outcome_.nodes[unit.node].members.assign(input_.nodes[unit.node].group.waiting.size(), {});
}

void TreePlacer::grow() {
  is_empty_ = false;
  find_ground(0);
  grow_node(0);
}

// Those that were placed before, or run there.
std::int64_t TreePlacer::siblings_there(std::size_t node, const Ground& ground) const {
  const std::optional<std::size_t> parent = input_.nodes[node].parent;
  if (!parent) return 0;
  const topology::Tree& tree = grounds_.topology(ground.chain).tree();
  return std::ranges::count_if(input_.nodes[*parent].children, [&](std::size_t sibling) {
    if (sibling == node || grounds_.chain_of(sibling) != ground.chain) return false;
    if (const std::optional<Ground>& own = states_[sibling].ground) return own->placement == ground.placement;
    const std::vector<NodeId>& occupied = input_.nodes[sibling].group.occupied;
    return !occupied.empty() && tree.leaf_of(occupied.front()) == TreeGrounds::domain_of(*ground.placement);
  });
}

// Where the node's members are, or may go.
void TreePlacer::find_ground(std::size_t node) {
  State& state = states_[node];
  if (state.ground) return;
  const std::optional<std::size_t> parent = input_.nodes[node].parent;
  const Ground above = parent ? *states_[*parent].ground : grounds_.whole_cluster();
  state.ground = above;
  if (!above.placement || !grounds_.chooses(node)) return;
  const std::span<const Placement* const> candidates = grounds_.candidates(node, above);
  state.ground = Ground{grounds_.chain_of(node), candidates.empty() ? nullptr : candidates.front()};
  if (candidates.size() < 2 || !state.kind || *state.kind >= kinds_.size()) return;
  const topology::FitCounts& counts = kinds_[*state.kind]->counts(grounds_.topology(state.ground->chain));
  state.ground->placement = *std::ranges::max_element(
      candidates, {}, [&](const Placement* one) { return counts.sum(TreeGrounds::domain_of(*one)); });
}

// Children that are not there yet come before members that no group needs.
void TreePlacer::grow_node(std::size_t node) {
  const TreeNode& one = input_.nodes[node];
  if (!states_[node].ground->placement || !error_.empty()) return;
  if (one.is_group()) return grow_group(node);
  std::size_t left = one.children.size();
  for (const std::size_t child : one.children) {
    if (!has_minimum(child) && is_ready(child)) place_minima(child, *states_[node].ground, nullptr, left);
    --left;
  }
  for (const std::size_t child : one.children) {
    if (!has_minimum(child)) continue;
    find_ground(child);
    grow_node(child);
  }
}

void TreePlacer::grow_group(std::size_t node) {
  const GroupInput& all = input_.nodes[node].group;
  TreeNodeOutcome& own = outcome_.nodes[node];
  if (std::ranges::all_of(own.members, [](const MemberOutcome& one) { return one.node.valid(); })) return;
  GroupInput rest = all;
  rest.waiting.clear();
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < all.waiting.size(); ++i) {
    if (!own.members[i].node.valid()) {
      rest.waiting.push_back(all.waiting[i]);
      members.push_back(i);
      continue;
    }
    ++rest.scheduled;
    rest.placed.push_back(all.waiting[i]);
    rest.occupied.push_back(own.members[i].node);
  }
  const Ground& ground = *states_[node].ground;
  own.placement = ground.placement->name;
  const GroupTrial trial{
      *ground.placement, 1, GroupEffort::InOrder, SIZE_MAX, grounds_.topology_of(ground), true};
  GroupOutcome outcome = groups_.run_on(context_, rest, trial, transaction_);
  if (outcome.kind == GroupOutcome::Kind::Unschedulable)
    outcome = groups_.refuse_on(context_, rest, trial, transaction_);
  if (outcome.kind == GroupOutcome::Kind::Error) error_ = outcome.refusal->group->error;
  for (std::size_t i = 0; i < members.size(); ++i) own.members[members[i]] = std::move(outcome.members[i]);
  own.refusal = std::move(outcome.refusal);
}

std::int64_t TreePlacer::placed() const {
  std::int64_t sum = 0;
  for (const TreeNodeOutcome& node : outcome_.nodes)
    sum += std::ranges::count_if(node.members, [](const MemberOutcome& one) { return one.node.valid(); });
  return sum;
}

std::int64_t TreePlacer::unplaced() const {
  std::int64_t sum = -placed();
  for (const TreeNodeOutcome& node : outcome_.nodes) sum += static_cast<std::int64_t>(node.members.size());
  return sum;
}

}  // namespace berth::placement
