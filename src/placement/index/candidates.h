// The nodes that may take a pod of one signature, with their scores: the best one whose domains accept it.
//
// A node has a key, its score or none, and each DomainRule accepts or refuses its domain. Each domain of the
// rule with the fewest is a tournament of its nodes' keys; the best of them play the final. So one path
// refuses or accepts such a domain. Other rules, and all where every domain has few nodes, give their
// verdicts to the nodes one by one. Where nodes are compared, the groups are cells: nodes of one domain of
// each coarse key, and with equal values and equal amounts of the other keys. So the nodes of a cell score
// the same in every comparison, and best() compares the cells.
// Owner: one cached signature, one thread. Columns are by slot of NodeOrder. Cost: set() O(log n); a changed
// domain O(log n), or that for each of its nodes; with comparisons best() O(cells). Memory: 16 bytes a node,
// with rules 35 and for each group 200.
#pragma once

#include <map>
#include <vector>

#include "placement/index/domains.h"
#include "placement/index/tournament_tree.h"

namespace berth::placement {

// Nodes that a domain has on average if the domains of a rule are groups.
inline constexpr std::size_t kNodesOfAGroup = 4;

// Domains up to which a compared key is coarse: its amounts are read when cells are compared.
inline constexpr std::size_t kCoarseDomainsMax = 64;

// Cells of one pod; beyond, it is judged on all nodes.
inline constexpr std::size_t kCellsMax = 4096;

struct ActiveRule {
  DomainRule rule;
  const DomainAmounts* amounts = nullptr;  // up to date
  AmountRange accepted;                    // now

  bool accepts(DomainValueId domain) const { return accepted.contains(amounts->amount(domain)); }
};

struct ActiveComparison {
  Comparison comparison;
  std::int64_t weight = 1;
  std::vector<const DomainAmounts*> amounts = {};  // by domain count; up to date
};

// What one pod reads of domains and compares of nodes.
struct ActiveDomains {
  std::span<const ActiveRule> rules;
  std::span<const ActiveComparison> comparisons;
  bool empty() const { return rules.empty() && comparisons.empty(); }
};

class Candidates {
 public:
  static constexpr std::int64_t kOut = TournamentTree::kOut;

  // `keys` by slot.
  void start(std::span<const std::int64_t> keys, const NodeOrder& order);
  // The same with domains; the later calls get the same rules and comparisons.
  void start(std::span<const std::int64_t> keys, const NodeOrder& order, const ActiveDomains& domains);
  // Reads the domains that changed, and where the nodes of these slots belong. False if the domains have
  // other ids, or a coarse key has too many by now: start again.
  bool catch_up(std::span<const std::uint32_t> changed_slots, const NodeOrder& order,
                const ActiveDomains& domains);

  void set(std::uint32_t slot, std::int64_t key, const NodeOrder& order);
  // True if the nodes differ in too many ways: the other calls give no answers then.
  bool overflowed() const { return overflowed_; }
  // Takes the node out until set(); where nodes are compared, it still is one of them.
  void put_aside(std::uint32_t slot, const NodeOrder& order);
  // The slot of the highest key, with the scores of comparisons, of equal ones the first by name;
  // NodeOrder::kNoSlot: no node is one.
  std::uint32_t best(const NodeOrder& order, const ActiveDomains& domains);
  // About. Cost: O(rules).
  std::size_t bytes() const;
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
    // Of a cell: the domain of grouping_ (none: no rule groups), the coarse ones by compared key, and by
    // column of all comparisons what does not come from coarse domains.
    DomainValueId rule_domain;
    std::vector<DomainValueId> coarse;
    std::vector<std::int64_t> columns;
    std::uint32_t eligible = 0;  // nodes with a key and no refusal, put aside or not
  };
  struct ComparedKey {
    std::uint64_t generation = 0, seen = 0;  // of the amounts
    bool coarse = false;
  };
  // For the tournaments of nodes, and for that of groups.
  static auto label_in(const Group& group, const NodeOrder& order) {
    return [slots = group.slots.data(), labels = order.labels().data()](std::size_t at) {
      return labels[slots[at]];
    };
  }
  auto label_of_best(const NodeOrder& order) const {
    return [this, labels = order.labels().data()](std::size_t at) {
      return labels[groups_[at].slots[groups_[at].keys.best()]];
    };
  }
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  bool has_groups() const { return !verdicts_.empty() || has_cells(); }
  bool has_cells() const { return compares_; }
  void make_room(std::size_t slots);
  void group_by_fewest(std::size_t nodes, std::span<const ActiveRule> rules);
  void seat(std::uint32_t slot, const NodeOrder& order, const ActiveDomains& domains);
  void play_all(const NodeOrder& order);
  DomainValueId group_for(std::uint32_t slot, const NodeOrder& order, const ActiveDomains& domains);
  void place(std::uint32_t slot, const NodeOrder& order, const ActiveDomains& domains);
  void move(std::uint32_t slot, DomainValueId to, const NodeOrder& order);
  void leave(std::uint32_t slot, const NodeOrder& order);
  DomainValueId cell_of(NodeId node, DomainValueId rule_domain, const ActiveDomains& domains);
  void free_if_empty(DomainValueId cell);
  void read_domains(std::size_t rule, const ActiveRule& active, const NodeOrder& order);
  void read_compared_keys(const NodeOrder& order, const ActiveDomains& domains);
  void turn(std::size_t rule, DomainValueId domain, const DomainAmounts& amounts, const NodeOrder& order);
  void update(std::uint32_t slot, const NodeOrder& order);
  void update_final(DomainValueId group, const NodeOrder& order);
  bool is_refused(const Group& group) const;
  void find_feasible();
  void compare(const ActiveDomains& domains);
  void add_scores(const ActiveDomains& domains);
  std::uint32_t best_of_cells(const NodeOrder& order, const ActiveDomains& domains);

  TournamentTree plain_;            // without rules: all keys
  std::vector<Verdicts> verdicts_;  // by rule
  std::size_t grouping_ = kNone;    // the rule with the fewest domains
  std::vector<Group> groups_;       // by its domains; without it one of all nodes; with comparisons the cells
  TournamentTree final_;            // the best key of each group; unused with comparisons
  std::vector<std::int64_t> keys_;
  std::vector<DomainValueId> group_of_;  // none: the node lacks a label, or the slot is free
  std::vector<std::uint32_t> position_;  // in the group
  std::vector<std::uint8_t> refusals_;   // by the other rules
  std::vector<bool> aside_, eligible_;
  bool compares_ = false, overflowed_ = false;
  std::vector<ComparedKey> keys_compared_;                    // of all comparisons, in order
  std::map<std::vector<std::int64_t>, DomainValueId> cells_;  // by what their nodes have in common
  std::vector<DomainValueId> free_cells_;
  bool compared_now_ = false;          // feasible_ and totals_ are up to date
  std::vector<std::size_t> feasible_;  // cells with a node that may take the pod
  std::vector<std::int64_t> totals_;   // by feasible cell
  std::vector<std::int64_t> scores_;   // scratch: of one comparison
  ComparedNodes compared_;             // scratch
};

}  // namespace berth::placement
