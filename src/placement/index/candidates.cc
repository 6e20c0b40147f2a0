#include "placement/index/candidates.h"

#include <algorithm>

namespace berth::placement {
namespace {

bool is_coarse(const DomainAmounts& amounts) {
  return amounts.domain_count() <= kCoarseDomainsMax;
}

// What the nodes of a cell have in common.
std::vector<std::int64_t> cell_key(DomainValueId rule_domain, const std::vector<DomainValueId>& coarse,
                                   const std::vector<std::int64_t>& columns) {
  std::vector<std::int64_t> key{rule_domain.index()};
  for (const DomainValueId domain : coarse) key.push_back(domain.index());
  key.insert(key.end(), columns.begin(), columns.end());
  return key;
}

// Calls visit(comparison, its first key, its first column).
template <class Visit>
void for_each_comparison(const ActiveDomains& domains, Visit visit) {
  std::size_t key = 0, column = 0;
  for (const ActiveComparison& one : domains.comparisons) {
    visit(one, key, column);
    key += one.comparison.domains.size();
    column += one.comparison.columns;
  }
}

}  // namespace

void Candidates::start(std::span<const std::int64_t> keys, const NodeOrder& order) {
  plain_.start(keys, order.label_of());
}

void Candidates::start(std::span<const std::int64_t> keys, const NodeOrder& order,
                       const ActiveDomains& domains) {
  if (domains.empty()) return start(keys, order);
  keys_.assign(keys.begin(), keys.end());
  for (const ActiveRule& rule : domains.rules) {
    Verdicts verdicts{rule.amounts->generation(), rule.amounts->end(), rule.accepted, {}};
    for (std::uint32_t domain = 0; domain < rule.amounts->domain_count(); ++domain)
      verdicts.refused.push_back(!rule.accepts(DomainValueId(domain)));
    verdicts_.push_back(std::move(verdicts));
  }
  compares_ = !domains.comparisons.empty();
  for_each_comparison(domains, [&](const ActiveComparison& one, std::size_t, std::size_t) {
    for (std::size_t i = 0; i < one.amounts.size(); ++i)
      keys_compared_.push_back({one.amounts[i]->generation(), one.amounts[i]->end(),
                                one.comparison.domains[i].tells_apart || is_coarse(*one.amounts[i])});
  });
  group_by_fewest(order.by_name().size(), domains.rules);
  make_room(keys.size());
  for (const NodeId node : order.by_name()) seat(order.slot(node), order, domains);
  play_all(order);
}

// As place(), for a node that is in no group yet; nobody has played for its group.
void Candidates::seat(std::uint32_t slot, const NodeOrder& order, const ActiveDomains& domains) {
  const DomainValueId to = group_for(slot, order, domains);
  group_of_[slot] = to;
  if (!to.valid()) return;
  Group& group = groups_[to.index()];
  position_[slot] = static_cast<std::uint32_t>(group.slots.size());
  group.slots.push_back(slot);
  eligible_[slot] = refusals_[slot] == 0 && keys_[slot] != kOut;
  group.eligible += eligible_[slot] ? 1 : 0;
}

void Candidates::play_all(const NodeOrder& order) {
  std::vector<std::int64_t> keys, best(groups_.size(), kOut);
  for (std::size_t id = 0; id < groups_.size(); ++id) {
    Group& group = groups_[id];
    if (group.eligible == 0) continue;
    keys.clear();
    for (const std::uint32_t slot : group.slots) keys.push_back(eligible_[slot] ? keys_[slot] : kOut);
    group.keys.start(keys, label_in(group, order));
    if (!group.refused) best[id] = group.keys.key(group.keys.best());
  }
  if (!has_cells()) final_.start(best, label_of_best(order));
}

void Candidates::make_room(std::size_t slots) {
  keys_.resize(slots, kOut);
  group_of_.resize(slots);
  position_.resize(slots);
  refusals_.resize(slots);
  aside_.resize(slots);
  eligible_.resize(slots);
}

void Candidates::group_by_fewest(std::size_t nodes, std::span<const ActiveRule> rules) {
  std::size_t fewest = nodes / kNodesOfAGroup + 1;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].amounts->domain_count() >= fewest) continue;
    fewest = rules[i].amounts->domain_count();
    grouping_ = i;
  }
  if (has_cells()) return;
  if (grouping_ == kNone) return groups_.resize(1);
  groups_.resize(fewest);
  for (std::size_t i = 0; i < fewest; ++i) groups_[i].refused = verdicts_[grouping_].refused[i];
}

bool Candidates::catch_up(std::span<const std::uint32_t> changed_slots, const NodeOrder& order,
                          const ActiveDomains& domains) {
  if (!has_groups()) return true;
  compared_now_ = false;
  for (std::size_t i = 0; i < domains.rules.size(); ++i)
    if (domains.rules[i].amounts->generation() != verdicts_[i].generation) return false;
  bool same = true;
  for_each_comparison(domains, [&](const ActiveComparison& one, std::size_t key, std::size_t) {
    for (std::size_t i = 0; i < one.amounts.size(); ++i) {
      const ComparedKey& known = keys_compared_[key + i];
      // A key that is not coarse any more: each domain would be a cell.
      same = same && one.amounts[i]->generation() == known.generation &&
             (!known.coarse || one.comparison.domains[i].tells_apart || is_coarse(*one.amounts[i]));
    }
  });
  if (!same) return false;
  make_room(order.slot_count());
  for (std::size_t i = 0; i < domains.rules.size(); ++i) read_domains(i, domains.rules[i], order);
  read_compared_keys(order, domains);
  for (const std::uint32_t slot : changed_slots) place(slot, order, domains);
  return true;
}

// Moves the nodes whose amounts changed. Nodes that joined a domain or left it since are placed later.
void Candidates::read_compared_keys(const NodeOrder& order, const ActiveDomains& domains) {
  std::vector<std::uint32_t> moved;
  for_each_comparison(domains, [&](const ActiveComparison& one, std::size_t key, std::size_t) {
    for (const DomainAmounts* amounts : one.amounts) {
      ComparedKey& known = keys_compared_[key++];
      if (!known.coarse)
        amounts->visit_since(known.seen, [&](DomainValueId domain) {
          for (const NodeId node : amounts->nodes(domain)) moved.push_back(order.slot(node));
        });
      known.seen = amounts->end();
    }
  });
  for (const std::uint32_t slot : moved) place(slot, order, domains);
}

void Candidates::read_domains(std::size_t rule, const ActiveRule& active, const NodeOrder& order) {
  const DomainAmounts& amounts = *active.amounts;
  Verdicts& verdicts = verdicts_[rule];
  verdicts.refused.resize(amounts.domain_count(), false);
  if (rule == grouping_ && !has_cells()) groups_.resize(amounts.domain_count());
  const auto look = [&](DomainValueId domain) {
    if (active.accepts(domain) == verdicts.refused[domain.index()]) turn(rule, domain, amounts, order);
  };
  if (active.accepted == verdicts.accepted)
    amounts.visit_since(verdicts.seen, look);
  else
    for (std::uint32_t i = 0; i < amounts.domain_count(); ++i) look(DomainValueId(i));
  verdicts.accepted = active.accepted;
  verdicts.seen = amounts.end();
}

// The verdict of the rule on the domain becomes the other one. Nodes that joined the domain or left it since
// are placed later.
void Candidates::turn(std::size_t rule, DomainValueId domain, const DomainAmounts& amounts,
                      const NodeOrder& order) {
  const bool refused = !verdicts_[rule].refused[domain.index()];
  verdicts_[rule].refused[domain.index()] = refused;
  if (rule == grouping_ && has_cells()) return;  // best() asks the rule
  if (rule == grouping_) {
    groups_[domain.index()].refused = refused;
    return update_final(domain, order);
  }
  for (const NodeId node : amounts.nodes(domain)) {
    const std::uint32_t slot = order.slot(node);
    refusals_[slot] = static_cast<std::uint8_t>(refusals_[slot] + (refused ? 1 : -1));
    update(slot, order);
  }
}

void Candidates::place(std::uint32_t slot, const NodeOrder& order, const ActiveDomains& domains) {
  const DomainValueId group = group_for(slot, order, domains);
  move(slot, group, order);
  update(slot, order);
}

// Where the node of the slot belongs by now. Counts the rules that refuse it.
DomainValueId Candidates::group_for(std::uint32_t slot, const NodeOrder& order,
                                    const ActiveDomains& domains) {
  const NodeId node = order.node(slot);
  const bool alone = grouping_ == kNone;  // no rule groups
  DomainValueId group = node.valid() && alone ? DomainValueId(0) : DomainValueId::none();
  std::uint8_t refusals = 0;
  for (std::size_t i = 0; node.valid() && i < domains.rules.size(); ++i) {
    const DomainValueId domain = domains.rules[i].amounts->domain_of(node);
    if (i == grouping_) group = domain;
    if (!domain.valid() || (i != grouping_ && verdicts_[i].refused[domain.index()])) ++refusals;
  }
  refusals_[slot] = refusals;
  if (has_cells() && group.valid()) group = cell_of(node, alone ? DomainValueId::none() : group, domains);
  return group;
}

DomainValueId Candidates::cell_of(NodeId node, DomainValueId rule_domain, const ActiveDomains& domains) {
  std::vector<DomainValueId> coarse(keys_compared_.size());
  std::vector<std::int64_t> columns;
  for_each_comparison(domains, [&](const ActiveComparison& one, std::size_t key, std::size_t column) {
    columns.resize(column + one.comparison.columns);
    for (const Comparison::NodeValue& value : one.comparison.values)
      columns[column + value.column] += value.of(node);
    for (std::size_t i = 0; i < one.amounts.size(); ++i) {
      const DomainValueId domain = one.amounts[i]->domain_of(node);
      if (keys_compared_[key + i].coarse)
        coarse[key + i] = domain;
      else if (domain.valid())
        columns[column + one.comparison.domains[i].column] += one.amounts[i]->amount(domain);
    }
  });
  if (overflowed_) return DomainValueId::none();
  const auto [at, is_new] = cells_.try_emplace(cell_key(rule_domain, coarse, columns));
  if (!is_new) return at->second;
  overflowed_ = cells_.size() > kCellsMax;
  if (free_cells_.empty()) {
    at->second = DomainValueId(static_cast<std::uint32_t>(groups_.size()));
    groups_.emplace_back();
  } else {
    at->second = free_cells_.back();
    free_cells_.pop_back();
  }
  Group& cell = groups_[at->second.index()];
  cell.rule_domain = rule_domain;
  cell.coarse = std::move(coarse);
  cell.columns = std::move(columns);
  return at->second;
}

void Candidates::free_if_empty(DomainValueId id) {
  Group& cell = groups_[id.index()];
  if (!has_cells() || cell.slots.size() > cell.free.size()) return;
  cells_.erase(cell_key(cell.rule_domain, cell.coarse, cell.columns));
  cell = {};
  free_cells_.push_back(id);
}

void Candidates::leave(std::uint32_t slot, const NodeOrder& order) {
  const DomainValueId from = group_of_[slot];
  if (!from.valid()) return;
  Group& group = groups_[from.index()];
  group.keys.set(position_[slot], kOut, label_in(group, order));
  group.free.push_back(position_[slot]);
  if (eligible_[slot]) --group.eligible;
  eligible_[slot] = false;
  update_final(from, order);
  free_if_empty(from);
}

void Candidates::move(std::uint32_t slot, DomainValueId to, const NodeOrder& order) {
  if (group_of_[slot] == to) return;
  leave(slot, order);
  group_of_[slot] = to;
  if (!to.valid()) return;
  Group& group = groups_[to.index()];
  if (group.free.empty()) {
    position_[slot] = static_cast<std::uint32_t>(group.slots.size());
    group.slots.push_back(slot);
    return;
  }
  position_[slot] = group.free.back();
  group.free.pop_back();
  group.slots[position_[slot]] = slot;
}

void Candidates::update(std::uint32_t slot, const NodeOrder& order) {
  if (!group_of_[slot].valid()) return;
  Group& group = groups_[group_of_[slot].index()];
  const bool eligible = refusals_[slot] == 0 && keys_[slot] != kOut;
  if (eligible && !eligible_[slot]) ++group.eligible;
  if (!eligible && eligible_[slot]) --group.eligible;
  eligible_[slot] = eligible;
  const std::int64_t key = eligible && !aside_[slot] ? keys_[slot] : kOut;
  if (group.keys.key(position_[slot]) == key) return;
  group.keys.set(position_[slot], key, label_in(group, order));
  update_final(group_of_[slot], order);
}

void Candidates::update_final(DomainValueId id, const NodeOrder& order) {
  if (has_cells()) return;
  const Group& group = groups_[id.index()];
  const bool out = group.refused || group.keys.empty();
  final_.replay(id.index(), out ? kOut : group.keys.key(group.keys.best()), label_of_best(order));
}

void Candidates::set(std::uint32_t slot, std::int64_t key, const NodeOrder& order) {
  if (!has_groups()) return plain_.set(slot, key, order.label_of());
  if (slot >= keys_.size()) make_room(order.slot_count());
  compared_now_ = false;
  keys_[slot] = key;
  aside_[slot] = false;
  update(slot, order);
}

void Candidates::put_aside(std::uint32_t slot, const NodeOrder& order) {
  if (!has_groups()) return plain_.set(slot, kOut, order.label_of());
  aside_[slot] = true;
  update(slot, order);
}

bool Candidates::is_refused(const Group& group) const {
  if (!has_cells()) return group.refused;
  return group.rule_domain.valid() && verdicts_[grouping_].refused[group.rule_domain.index()];
}

std::size_t Candidates::bytes() const {
  constexpr std::size_t kBytesANode = 35, kBytesAGroup = 200;
  return plain_.bytes() + final_.bytes() + group_of_.size() * kBytesANode + groups_.size() * kBytesAGroup;
}

std::uint32_t Candidates::best(const NodeOrder& order, const ActiveDomains& domains) {
  if (!has_groups()) return plain_.empty() ? NodeOrder::kNoSlot : static_cast<std::uint32_t>(plain_.best());
  if (has_cells()) return best_of_cells(order, domains);
  if (final_.empty()) return NodeOrder::kNoSlot;
  const Group& group = groups_[final_.best()];
  return group.slots[group.keys.best()];
}

void Candidates::find_feasible() {
  feasible_.clear();
  for (std::size_t id = 0; id < groups_.size(); ++id)
    if (groups_[id].eligible > 0 && !is_refused(groups_[id])) feasible_.push_back(id);
}

// Once a decision: a node that is put aside still counts for the others' scores.
void Candidates::compare(const ActiveDomains& domains) {
  if (compared_now_) return;
  find_feasible();
  if (!feasible_.empty()) add_scores(domains);
  compared_now_ = true;
}

// Adds up what each feasible cell gets.
void Candidates::add_scores(const ActiveDomains& domains) {
  totals_.assign(feasible_.size(), 0);
  scores_.resize(feasible_.size());
  for_each_comparison(domains, [&](const ActiveComparison& one, std::size_t key, std::size_t column) {
    compared_.start(one.comparison.columns, one.amounts.size());
    for (std::size_t at = 0; at < feasible_.size(); ++at) {
      const Group& cell = groups_[feasible_[at]];
      compared_.add(cell.eligible);
      for (std::size_t i = 0; i < one.comparison.columns; ++i)
        compared_.add_to(at, i, cell.columns[column + i]);
      for (std::size_t i = 0; i < one.amounts.size(); ++i) {
        const DomainValueId domain = cell.coarse[key + i];
        compared_.set_domain(at, i, domain);
        if (domain.valid())
          compared_.add_to(at, one.comparison.domains[i].column, one.amounts[i]->amount(domain));
      }
    }
    one.comparison.normalize(compared_, scores_);
    for (std::size_t at = 0; at < feasible_.size(); ++at) totals_[at] += one.weight * scores_[at];
  });
}

std::uint32_t Candidates::best_of_cells(const NodeOrder& order, const ActiveDomains& domains) {
  compare(domains);
  std::uint32_t best = NodeOrder::kNoSlot;
  std::int64_t highest = kOut;
  for (std::size_t at = 0; at < feasible_.size(); ++at) {
    const Group& cell = groups_[feasible_[at]];
    if (cell.keys.empty()) continue;
    const std::uint32_t slot = cell.slots[cell.keys.best()];
    const std::int64_t total = cell.keys.key(cell.keys.best()) + totals_[at];
    if (best != NodeOrder::kNoSlot && (total < highest || (total == highest && order.before(best, slot))))
      continue;
    best = slot;
    highest = total;
  }
  return best;
}

const Reason* Candidates::refused_by(NodeId node, std::span<const ActiveRule> rules) const {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const DomainValueId domain = rules[i].amounts->domain_of(node);
    if (!domain.valid()) return rules[i].rule.no_label;
    if (verdicts_[i].refused[domain.index()]) return rules[i].rule.refused;
  }
  return nullptr;
}

}  // namespace berth::placement
