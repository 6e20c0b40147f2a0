// One pod over a set of nodes: every node is judged, the best score wins, ties go to the first name.
//
// Owner: the scheduler. Changes nothing but the open transaction, and that only in `reserve`. lazy filters
// are asked best node first, so that a pod that fits pays for one node's devices. SignatureCache gives the
// same answer for the whole cluster without judging it all.
#pragma once

#include <span>

#include "scheduling/fit_error.h"
#include "scheduling/framework.h"

namespace berth::scheduling {

// In a cluster of at most so many nodes every one that passes the filters is asked about devices, because an
// error on any of them ends the attempt: kube-scheduler filters no fewer nodes either. In a larger one the
// nodes are asked best first until one accepts.
inline constexpr std::size_t kNodesAllAskedMax = 100;

class PodCycle {
 public:
  explicit PodCycle(const PluginSet& plugins) : plugins_(plugins) {}

  // Starts an attempt in the buffers of an earlier one, without candidates.
  void begin(CycleState& state, const SchedulingContext& context, const api::Pod& pod) const;
  // Runs the prefilters. False when the attempt is over: the diagnosis says why.
  bool prepare(CycleState& state) const;
  // After `prepare`: the best of `nodes` (by name) without those in `avoid`. None when the pod fits nowhere
  // or the attempt failed.
  NodeId choose(CycleState& state, std::span<const NodeId> nodes, std::span<const NodeId> avoid) const;
  // After `begin`: the node that the pod's status.nominatedNodeName names, when it is one of `nodes`, not in
  // `avoid`, and takes the pod; it is not compared with others. Otherwise none, and the attempt stands as
  // after `begin`. Source: kube-scheduler's evaluateNominatedNode.
  NodeId choose_nominated(CycleState& state, std::span<const NodeId> nodes,
                          std::span<const NodeId> avoid) const;
  // Judges `nodes` by filters and scores, without the lazy filters: who is left stands in the candidates,
  // who is not in the diagnosis.
  void judge(CycleState& state, std::span<const NodeId> nodes) const;
  // True when the lazy filters, all of them, take the node.
  bool accepts(CycleState& state, NodeId node) const;
  bool has_lazy_filters(const CycleState& state) const;
  // Whether nodes are asked even after one has accepted.
  bool asks_all(const CycleState& state) const;
  bool has_preferences(const CycleState& state) const;
  // After `prepare`: what all filters and scores read of the pod. False when one of them does not sign it.
  bool sign(const CycleState& state, PodSignature& signature) const;
  // After `prepare`: what filters and scores read of other nodes than the one they answer for.
  void add_scope(const CycleState& state, FilterScope& scope) const;
  // What `filter_only` reads of the pod. False when a filter does not sign it, or reads other nodes too.
  bool sign_filters(const CycleState& state, PodSignature& signature) const;
  // Runs the Reserve plugins and charges the chosen node. False when one of them failed: the diagnosis says
  // why, transaction and reservation are as they were.
  [[nodiscard]] bool reserve(CycleState& state, NodeId node, model::Ledger::Transaction& transaction) const;
  // What is to be written for a pod that fits nowhere. Leaves the transaction as it was.
  std::vector<client::Chain> post_filter(const CycleState& state, model::Ledger::Transaction& transaction,
                                         const PostFilter::FitsNow& fits_now) const;
  // Runs the cheap filters on the candidates: an upper bound of where the pod could go.
  void filter_only(CycleState& state) const;
  // What the diagnosis comes to, with words of lazy filters.
  FitError fit_error(const CycleState& state) const;
  // Whether lazy filters have more to say about a node that was refused for this reason.
  bool has_words(const CycleState& state, const Reason& reason) const;
  // In words, why a lazy filter refuses the node; empty when there is nothing to add.
  std::string why_not(const CycleState& state, NodeId node) const;

 private:
  NodeId best_accepted(CycleState& state) const;
  NodeId best_of_all(CycleState& state) const;
  NodeId first_accepted(CycleState& state) const;

  const PluginSet& plugins_;
};

}  // namespace berth::scheduling
