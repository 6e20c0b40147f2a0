// The nodes that may take a pod of one signature, with their scores: the best one whose domains accept it.
//
// A node has a key, its score or none, and each DomainRule accepts or refuses its domain. The domains of the
// rule with the fewest are tournaments of their nodes' keys, and the best of them play the final, so that
// such a domain is refused or accepted in one path. Other rules, and all where every domain has few nodes,
// give their verdicts to the nodes one by one. Owner: one cached signature, one thread. Columns are by slot
// of NodeOrder. Cost: set() O(log n); a changed domain O(log n), or that for each of its nodes. Memory: 16
// bytes a node, with rules 35 and for each domain of the first rule 150.
#pragma once

#include <vector>

#include "placement/index/domains.h"
#include "placement/index/tournament_tree.h"

namespace berth::placement {

// Nodes that a domain has on average if the domains of a rule are groups.
inline constexpr std::size_t kNodesOfAGroup = 4;

struct ActiveRule {
  DomainRule rule;
  const DomainAmounts* amounts = nullptr;  // up to date
  AmountRange accepted;                    // now

  bool accepts(DomainValueId domain) const { return accepted.contains(amounts->amount(domain)); }
};

class Candidates {
 public:
  static constexpr std::int64_t kOut = TournamentTree::kOut;

  // `keys` by slot.
  void start(std::span<const std::int64_t> keys, const NodeOrder& order);
  // The same with rules; the later calls get the same rules.
  void start(std::span<const std::int64_t> keys, const NodeOrder& order, std::span<const ActiveRule> rules);
  // Reads the domains that changed, and where the nodes of these slots belong. False if the domains have
  // other ids: start again.
  bool catch_up(std::span<const std::uint32_t> changed_slots, const NodeOrder& order,
                std::span<const ActiveRule> rules);

  void set(std::uint32_t slot, std::int64_t key, const NodeOrder& order);
  // False if the node has no key or one of its domains is refused.
  bool is_one(std::uint32_t slot) const;
  // The slot of the highest key, of equal ones the first by name; NodeOrder::kNoSlot: no node is one.
  std::uint32_t best() const;
  // The first rule that the node does not satisfy; null: none.
  const Reason* refused_by(NodeId node, std::span<const ActiveRule> rules) const;

 private:
  // What a rule said last.
  struct Verdicts {
    std::uint64_t generation = 0, seen = 0;  // of the amounts
    AmountRange accepted;
    std::vector<bool> refused;  // by domain
  };
  struct Group {
    TournamentTree keys;               // by position
    std::vector<std::uint32_t> slots;  // by position
    std::vector<std::uint32_t> free;   // positions
    bool refused = false;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  bool has_rules() const { return !verdicts_.empty(); }
  void make_room(std::size_t slots);
  void group_by_fewest(std::size_t nodes, std::span<const ActiveRule> rules);
  void place(std::uint32_t slot, const NodeOrder& order, std::span<const ActiveRule> rules);
  void move(std::uint32_t slot, DomainValueId to, const NodeOrder& order);
  void read_domains(std::size_t rule, const ActiveRule& active, const NodeOrder& order);
  void turn(std::size_t rule, DomainValueId domain, const DomainAmounts& amounts, const NodeOrder& order);
  void update(std::uint32_t slot, const NodeOrder& order);
  void update_final(DomainValueId group, const NodeOrder& order);

  TournamentTree plain_;            // without rules: all keys
  std::vector<Verdicts> verdicts_;  // by rule
  std::size_t grouping_ = kNone;    // the rule with the fewest domains
  std::vector<Group> groups_;       // by its domains; without it one of all nodes
  TournamentTree final_;            // the best key of each group
  std::vector<std::int64_t> keys_;
  std::vector<DomainValueId> group_of_;  // none: the node lacks a label, or the slot is free
  std::vector<std::uint32_t> position_;  // in the group
  std::vector<std::uint8_t> refusals_;   // by the other rules
};

}  // namespace berth::placement
