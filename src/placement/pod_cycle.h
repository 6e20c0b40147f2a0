// Places one pod on a set of nodes: judges every node; the best score wins, ties go to the first name.
//
// Owner: the scheduler. Only reserve() changes the open transaction. Lazy filters are called best node
// first, so that a pod that fits usually costs one node's devices. SignatureCache gives the same answer for
// the whole cluster without judging every node.
#pragma once

#include <optional>
#include <span>

#include "placement/framework.h"
#include "placement/profiles.h"
#include "placement/refusal/refusal.h"

namespace berth::placement {

class PodCycle {
 public:
  // Both outlive it.
  PodCycle(const Profiles& profiles, DomainIndex& domains) : profiles_(profiles), domains_(domains) {}

  // Starts an attempt without candidates; reuses the buffers of an earlier one. `what_if`: the decision's
  // transaction; null: none is open, and devices that take resources of nodes are not tried.
  void begin(CycleState& state, const SchedulingContext& context, const api::Pod& pod,
             model::Ledger::Transaction* what_if) const;
  // The same for a pod whose id is known.
  void begin(CycleState& state, const SchedulingContext& context, const api::Pod& pod, PodId id,
             model::Ledger::Transaction* what_if) const;
  // Instead of begin() and prepare(), for a pod of the same template as the one before it, whose verdict on a
  // node depended on this node alone. False: it is nominated, and nothing has begun.
  bool repeat(CycleState& state, const api::Pod& pod, PodId id) const;
  // Runs the prefilters. False if the attempt is over: the diagnosis says why.
  bool prepare(CycleState& state) const;
  // After prepare(): the best of `nodes` (by name) without those in `avoid` (ascending). None if the pod fits
  // nowhere or the attempt failed. Of several candidates the scores are kube-scheduler's totals.
  NodeId choose(CycleState& state, std::span<const NodeId> nodes, std::span<const NodeId> avoid) const;
  // The same where no rule is about domains and nodes are not compared.
  NodeId choose_alone(CycleState& state, std::span<const NodeId> nodes) const;
  // After begin(): the node that keeps room for the pod, else the one that status.nominatedNodeName names. It
  // must be one of `nodes`, not in `avoid`, and take the pod; it is not compared with others. Otherwise none,
  // and the state is as after begin(). Source: kube-scheduler's evaluateNominatedNode.
  NodeId choose_nominated(CycleState& state, std::span<const NodeId> nodes,
                          std::span<const NodeId> avoid) const;
  // Judges `nodes` by filters and scores, without those of domains and lazy ones: accepted nodes are the
  // candidates, refused ones are in the diagnosis.
  void judge(CycleState& state, std::span<const NodeId> nodes) const;
  // True if every lazy filter accepts the node.
  bool accepts(CycleState& state, NodeId node) const;
  bool has_lazy_filters(const PodQuery& query) const;
  // Whether lazy filters try all candidates: one prefers some of the nodes that it accepts, or expects an
  // error.
  bool tries_all(const PodQuery& query) const;
  // After prepare(): the rules about domains that the pod must satisfy.
  void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const;
  bool has_rules(const PodQuery& query) const;
  struct RefusingRule {
    DomainRule rule;
    std::vector<NodeId> nodes;  // of the domain, in no order
  };
  // After prepare(): the rules that refuse the node for what its domain holds.
  std::vector<RefusingRule> refusing_rules(const PodQuery& query, NodeId node) const;
  struct WeightedComparison {
    Comparison comparison;
    std::int64_t weight = 1;
    std::string_view plugin = {};
  };
  // After prepare(): how nodes are compared for the pod. Returns what each node gets of the scores that
  // distinguish no nodes now.
  std::int64_t add_comparisons(const PodQuery& query, std::vector<WeightedComparison>& comparisons) const;
  // What a plugin gives each candidate: 0..100, before its weight.
  struct PluginScores {
    std::string_view plugin;
    std::int64_t weight = 1;
    std::vector<std::int64_t> scores;
  };
  // After prepare(): the scores that choose() adds up, in call order. The candidates are those of `nodes`
  // that it compares; where lazy filters prefer none, they have still to accept the winner.
  std::vector<PluginScores> scores_by_plugin(CycleState& state, std::span<const NodeId> nodes) const;
  // After prepare(): signs what all filters and scores read of the pod. False if one of them does not sign
  // it.
  bool sign(const PodQuery& query, PodSignature& signature) const;
  // After prepare(): adds what filters and scores read of other nodes than the one they judge.
  void add_scope(const PodQuery& query, FilterScope& scope) const;
  // Signs what filter_only() reads of the pod. False if a filter does not sign it, or reads other nodes too.
  bool sign_filters(const PodQuery& query, PodSignature& signature) const;
  // Runs the Reserve plugins and charges the chosen node. Not set if a plugin failed: the diagnosis says why,
  // and the transaction is unchanged.
  std::optional<ReservationPtr> reserve(CycleState& state, NodeId node,
                                        model::Ledger::Transaction& transaction) const;
  // The writes for a pod that fits nowhere. Leaves the transaction unchanged.
  std::vector<client::Chain> post_filter(const CycleState& state, model::Ledger::Transaction& transaction,
                                         const PostFilter::FitsNow& fits_now) const;
  // Runs the filters on the candidates, without those of domains, whose verdicts other placements may
  // reverse, and without the lazy ones: what is left is an upper bound.
  void filter_only(CycleState& state) const;
  // The summary of the diagnosis, with explanations of lazy filters.
  FitError fit_error(const CycleState& state) const;
  // After a refusal: what proves that none of `nodes` (by name) takes the pod. Judges the first `nodes_max`
  // of them again for the one that comes closest to its devices.
  std::optional<PodProof> prove(CycleState& state, const FitError& fit_error, std::span<const NodeId> nodes,
                                std::size_t nodes_max) const;
  // Whether a lazy filter may explain a refusal for this reason.
  bool has_words(const CycleState& state, const Reason& reason) const;
  // Why a lazy filter refuses the node; empty: there is nothing to add to the reason.
  std::string why_not(const CycleState& state, NodeId node) const;

 private:
  bool has_preferences(const PodQuery& query) const;
  void judge_block(CycleState& state, std::span<const NodeId> nodes) const;
  void filter_domains(CycleState& state) const;
  void score_each(CycleState& state) const;
  void compare_by(const CycleState& state, const Comparison& comparison,
                  std::span<const std::size_t> feasible, ComparedNodes& compared,
                  std::vector<std::int64_t>& scores) const;
  void compare(CycleState& state, std::span<const std::size_t> feasible) const;
  void compare_all(CycleState& state) const;
  struct Accepted {
    std::size_t candidate;
    std::int64_t preference;
    StateSlots slots;
  };
  std::vector<Accepted> accept_all(CycleState& state) const;
  NodeId best_accepted(CycleState& state) const;
  NodeId best_of_all(CycleState& state) const;
  NodeId first_accepted(CycleState& state) const;

  const Profiles& profiles_;
  DomainIndex& domains_;
};

}  // namespace berth::placement
