#include "placement/index/candidates.h"

namespace berth::placement {

void Candidates::start(std::span<const std::int64_t> keys, const NodeOrder& order) {
  plain_.start(keys, order.label_of());
}

void Candidates::start(std::span<const std::int64_t> keys, const NodeOrder& order,
                       std::span<const ActiveRule> rules) {
  if (rules.empty()) return start(keys, order);
  keys_.assign(keys.begin(), keys.end());
  for (const ActiveRule& rule : rules) {
    Verdicts verdicts{rule.amounts->generation(), rule.amounts->end(), rule.accepted, {}};
    for (std::uint32_t domain = 0; domain < rule.amounts->domain_count(); ++domain)
      verdicts.refused.push_back(!rule.accepts(DomainValueId(domain)));
    verdicts_.push_back(std::move(verdicts));
  }
  group_by_fewest(order.by_name().size(), rules);
  make_room(keys.size());
  for (const NodeId node : order.by_name()) place(order.slot(node), order, rules);
}

void Candidates::make_room(std::size_t slots) {
  keys_.resize(slots, kOut);
  group_of_.resize(slots);
  position_.resize(slots);
  refusals_.resize(slots);
}

void Candidates::group_by_fewest(std::size_t nodes, std::span<const ActiveRule> rules) {
  std::size_t fewest = nodes / kNodesOfAGroup + 1;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].amounts->domain_count() >= fewest) continue;
    fewest = rules[i].amounts->domain_count();
    grouping_ = i;
  }
  if (grouping_ == kNone) return groups_.resize(1);
  groups_.resize(fewest);
  for (std::size_t i = 0; i < fewest; ++i) groups_[i].refused = verdicts_[grouping_].refused[i];
}

bool Candidates::catch_up(std::span<const std::uint32_t> changed_slots, const NodeOrder& order,
                          std::span<const ActiveRule> rules) {
  if (!has_rules()) return true;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].amounts->generation() != verdicts_[i].generation) return false;
  make_room(order.slot_count());
  for (std::size_t i = 0; i < rules.size(); ++i) read_domains(i, rules[i], order);
  for (const std::uint32_t slot : changed_slots) place(slot, order, rules);
  return true;
}

void Candidates::read_domains(std::size_t rule, const ActiveRule& active, const NodeOrder& order) {
  const DomainAmounts& amounts = *active.amounts;
  Verdicts& verdicts = verdicts_[rule];
  verdicts.refused.resize(amounts.domain_count(), false);
  if (rule == grouping_) groups_.resize(amounts.domain_count());
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

void Candidates::place(std::uint32_t slot, const NodeOrder& order, std::span<const ActiveRule> rules) {
  const NodeId node = order.node(slot);
  DomainValueId group = node.valid() && grouping_ == kNone ? DomainValueId(0) : DomainValueId::none();
  std::uint8_t refusals = 0;
  for (std::size_t i = 0; node.valid() && i < rules.size(); ++i) {
    const DomainValueId domain = rules[i].amounts->domain_of(node);
    if (i == grouping_) group = domain;
    if (!domain.valid() || (i != grouping_ && verdicts_[i].refused[domain.index()])) ++refusals;
  }
  refusals_[slot] = refusals;
  move(slot, group, order);
  update(slot, order);
}

void Candidates::move(std::uint32_t slot, DomainValueId to, const NodeOrder& order) {
  const DomainValueId from = group_of_[slot];
  if (from == to) return;
  if (from.valid()) {
    Group& group = groups_[from.index()];
    group.keys.set(position_[slot], kOut, [&](std::size_t at) { return order.labels()[group.slots[at]]; });
    group.free.push_back(position_[slot]);
    update_final(from, order);
  }
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
  const std::int64_t key = refusals_[slot] == 0 ? keys_[slot] : kOut;
  if (group.keys.key(position_[slot]) == key) return;
  group.keys.set(position_[slot], key, [&](std::size_t at) { return order.labels()[group.slots[at]]; });
  update_final(group_of_[slot], order);
}

void Candidates::update_final(DomainValueId id, const NodeOrder& order) {
  const auto best_of = [this](std::size_t at) { return groups_[at].slots[groups_[at].keys.best()]; };
  const Group& group = groups_[id.index()];
  const bool out = group.refused || group.keys.empty();
  final_.replay(id.index(), out ? kOut : group.keys.key(group.keys.best()),
                [&](std::size_t at) { return order.labels()[best_of(at)]; });
}

void Candidates::set(std::uint32_t slot, std::int64_t key, const NodeOrder& order) {
  if (!has_rules()) return plain_.set(slot, key, order.label_of());
  if (slot >= keys_.size()) make_room(order.slot_count());
  keys_[slot] = key;
  update(slot, order);
}

bool Candidates::is_one(std::uint32_t slot) const {
  if (!has_rules()) return plain_.key(slot) != kOut;
  return keys_[slot] != kOut && group_of_[slot].valid() && refusals_[slot] == 0 &&
         !groups_[group_of_[slot].index()].refused;
}

std::uint32_t Candidates::best() const {
  if (!has_rules()) return plain_.empty() ? NodeOrder::kNoSlot : static_cast<std::uint32_t>(plain_.best());
  if (final_.empty()) return NodeOrder::kNoSlot;
  const Group& group = groups_[final_.best()];
  return group.slots[group.keys.best()];
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
