#include "placement/index/candidates.h"

#include <algorithm>

namespace berth::placement {
namespace {

bool is_coarse(const DomainAmounts& amounts) {
  return amounts.domain_count() <= kCoarseDomainsMax;
}

// What the nodes of a cell have in common.
std::vector<std::int64_t> cell_key(DomainValueId rule_domain, const std::vector<DomainValueId>& coarse,
                                   const std::vector<std::int64_t>& sums) {
  std::vector<std::int64_t> key{rule_domain.index()};
  for (const DomainValueId domain : coarse) key.push_back(domain.index());
  key.insert(key.end(), sums.begin(), sums.end());
  return key;
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
  for (const ActivePreference& one : domains.preferences)
    preferred_.push_back({one.amounts->generation(), one.amounts->end(), is_coarse(*one.amounts)});
  group_by_fewest(order.by_name().size(), domains.rules);
  make_room(keys.size());
  for (const NodeId node : order.by_name()) place(order.slot(node), order, domains);
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
  for (std::size_t i = 0; i < domains.rules.size(); ++i)
    if (domains.rules[i].amounts->generation() != verdicts_[i].generation) return false;
  for (std::size_t i = 0; i < domains.preferences.size(); ++i) {
    const DomainAmounts& amounts = *domains.preferences[i].amounts;
    if (amounts.generation() != preferred_[i].generation) return false;
    if (preferred_[i].coarse && !is_coarse(amounts)) return false;  // each domain would be a cell
  }
  make_room(order.slot_count());
  for (std::size_t i = 0; i < domains.rules.size(); ++i) read_domains(i, domains.rules[i], order);
  read_preferences(order, domains);
  for (const std::uint32_t slot : changed_slots) place(slot, order, domains);
  return true;
}

// Moves the nodes whose sums changed. Nodes that joined a domain or left it since are placed later.
void Candidates::read_preferences(const NodeOrder& order, const ActiveDomains& domains) {
  std::vector<std::uint32_t> moved;
  for (std::size_t i = 0; i < domains.preferences.size(); ++i) {
    const DomainAmounts& amounts = *domains.preferences[i].amounts;
    if (!preferred_[i].coarse)
      amounts.visit_since(preferred_[i].seen, [&](DomainValueId domain) {
        for (const NodeId node : amounts.nodes(domain)) moved.push_back(order.slot(node));
      });
    preferred_[i].seen = amounts.end();
  }
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
  move(slot, group, order);
  update(slot, order);
}

DomainValueId Candidates::cell_of(NodeId node, DomainValueId rule_domain, const ActiveDomains& domains) {
  std::vector<DomainValueId> coarse(domains.preferences.size());
  std::vector<std::int64_t> sums(domains.preferences.back().score + 1);
  for (std::size_t i = 0; i < domains.preferences.size(); ++i) {
    const auto& [amounts, score, weight] = domains.preferences[i];
    const DomainValueId domain = amounts->domain_of(node);
    if (preferred_[i].coarse)
      coarse[i] = domain;
    else if (domain.valid())
      sums[score] += amounts->amount(domain);
  }
  const auto [at, is_new] = cells_.try_emplace(cell_key(rule_domain, coarse, sums));
  if (!is_new) return at->second;
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
  cell.sums = std::move(sums);
  return at->second;
}

void Candidates::free_if_empty(DomainValueId id) {
  Group& cell = groups_[id.index()];
  if (!has_cells() || cell.slots.size() > cell.free.size()) return;
  cells_.erase(cell_key(cell.rule_domain, cell.coarse, cell.sums));
  cell = {};
  free_cells_.push_back(id);
}

void Candidates::leave(std::uint32_t slot, const NodeOrder& order) {
  const DomainValueId from = group_of_[slot];
  if (!from.valid()) return;
  Group& group = groups_[from.index()];
  group.keys.set(position_[slot], kOut, [&](std::size_t at) { return order.labels()[group.slots[at]]; });
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
  group.keys.set(position_[slot], key, [&](std::size_t at) { return order.labels()[group.slots[at]]; });
  update_final(group_of_[slot], order);
}

void Candidates::update_final(DomainValueId id, const NodeOrder& order) {
  if (has_cells()) return;
  const auto best_of = [this](std::size_t at) { return groups_[at].slots[groups_[at].keys.best()]; };
  const Group& group = groups_[id.index()];
  const bool out = group.refused || group.keys.empty();
  final_.replay(id.index(), out ? kOut : group.keys.key(group.keys.best()),
                [&](std::size_t at) { return order.labels()[best_of(at)]; });
}

void Candidates::set(std::uint32_t slot, std::int64_t key, const NodeOrder& order) {
  if (!has_groups()) return plain_.set(slot, key, order.label_of());
  if (slot >= keys_.size()) make_room(order.slot_count());
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

std::uint32_t Candidates::best(const NodeOrder& order, const ActiveDomains& domains) {
  if (!has_groups()) return plain_.empty() ? NodeOrder::kNoSlot : static_cast<std::uint32_t>(plain_.best());
  if (has_cells()) return best_of_cells(order, domains);
  if (final_.empty()) return NodeOrder::kNoSlot;
  const Group& group = groups_[final_.best()];
  return group.slots[group.keys.best()];
}

// Adds up what each cell gets, and finds the ranges over which that is scaled.
std::vector<Candidates::Range> Candidates::sum_up(const ActiveDomains& domains) {
  std::vector<Range> ranges(domains.preferences.back().score + 1);
  for (const ActivePreference& one : domains.preferences) ranges[one.score].weight = one.weight;
  sums_.assign(groups_.size() * ranges.size(), 0);
  for (std::size_t id = 0; id < groups_.size(); ++id) {
    const Group& cell = groups_[id];
    if (cell.eligible == 0 || is_refused(cell)) continue;
    const std::span<std::int64_t> sums = std::span(sums_).subspan(id * ranges.size(), ranges.size());
    std::copy(cell.sums.begin(), cell.sums.end(), sums.begin());
    for (std::size_t i = 0; i < domains.preferences.size(); ++i)
      if (cell.coarse[i].valid())
        sums[domains.preferences[i].score] += domains.preferences[i].amounts->amount(cell.coarse[i]);
    for (std::size_t score = 0; score < ranges.size(); ++score) {
      ranges[score].least = std::min(ranges[score].least, sums[score]);
      ranges[score].most = std::max(ranges[score].most, sums[score]);
    }
  }
  return ranges;
}

std::uint32_t Candidates::best_of_cells(const NodeOrder& order, const ActiveDomains& domains) {
  const std::vector<Range> ranges = sum_up(domains);
  std::uint32_t best = NodeOrder::kNoSlot;
  std::int64_t highest = kOut;
  for (std::size_t id = 0; id < groups_.size(); ++id) {
    const Group& cell = groups_[id];
    if (cell.keys.empty() || is_refused(cell)) continue;
    const std::uint32_t slot = cell.slots[cell.keys.best()];
    std::int64_t total = cell.keys.key(cell.keys.best());
    for (std::size_t score = 0; score < ranges.size(); ++score)
      total += ranges[score].weight *
               scaled(sums_[id * ranges.size() + score], ranges[score].least, ranges[score].most);
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
