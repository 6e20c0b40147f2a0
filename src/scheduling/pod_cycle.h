// One pod over a set of nodes: every node is judged, the best score wins, ties go to the first name.
//
// Owner: the scheduler. Changes nothing but the open transaction, and that only in `reserve`. Costly filters
// are asked best node first, so that a pod that fits pays for one node's devices. ShapeIndex gives the same
// answer for the whole cluster without judging it all.
#pragma once

#include <span>

#include "scheduling/framework.h"
#include "scheduling/fit_error.h"

namespace berth::scheduling {

// In a cluster of at most so many nodes every one that passes the filters is asked about devices, because an
// error on any of them ends the attempt: kube-scheduler filters no fewer nodes either. In a larger one the
// nodes are asked best first until one accepts.
inline constexpr std::size_t kNodesAllAskedMax = 100;

class PodCycle {
 public:
  explicit PodCycle(const PluginSet& plugins) : plugins_(plugins) {}

  // Starts an attempt in the buffers of an earlier one, without candidates.
  void begin(Attempt& attempt, const World& world, const api::Pod& pod) const;
  // Runs the prefilters. False when the attempt is over: the diagnosis says why.
  bool prepare(Attempt& attempt) const;
  // After `prepare`: the best of `nodes` (by name) without those in `avoid`. None when the pod fits nowhere
  // or the attempt failed.
  NodeId choose(Attempt& attempt, std::span<const NodeId> nodes, std::span<const NodeId> avoid) const;
  // Judges `nodes` by filters and scores, without the costly filters: who is left stands in the candidates,
  // who is not in the diagnosis.
  void judge(Attempt& attempt, std::span<const NodeId> nodes) const;
  // True when the costly filters, all of them, take the node.
  bool accepts(Attempt& attempt, NodeId node) const;
  bool has_costly_questions(const Attempt& attempt) const;
  // Whether nodes are asked even after one has accepted.
  bool asks_all(const Attempt& attempt) const;
  bool has_preferences(const Attempt& attempt) const;
  // After `prepare`: what all filters and scores read of the pod. False when one of them does not sign it.
  bool sign(const Attempt& attempt, PodSignature& signature) const;
  // After `prepare`: what filters and scores read of other nodes than the one they answer for.
  void add_scope(const Attempt& attempt, NodeScope& scope) const;
  // What `filter_only` reads of the pod. False when a filter does not sign it, or reads other nodes too.
  bool sign_filters(const Attempt& attempt, PodSignature& signature) const;
  // Runs the Reserve plugins and charges the chosen node. False when one of them failed: the diagnosis says
  // why, transaction and reservation are as they were.
  [[nodiscard]] bool reserve(Attempt& attempt, NodeId node, model::Ledger::Transaction& transaction) const;
  // What is to be written for a pod that fits nowhere. Leaves the transaction as it was.
  std::vector<client::Chain> post_filter(const Attempt& attempt, model::Ledger::Transaction& transaction,
                                         const PostFilter::FitsNow& fits_now) const;
  // Runs the cheap filters on the candidates: an upper bound of where the pod could go.
  void filter_only(Attempt& attempt) const;
  // What the diagnosis comes to, with words of costly filters.
  Refusals refusals(const Attempt& attempt) const;
  // Whether costly filters have more to say about a node that was refused for this reason.
  bool has_words(const Attempt& attempt, const Reason& reason) const;
  // In words, why a costly filter refuses the node; empty when there is nothing to add.
  std::string why_not(const Attempt& attempt, NodeId node) const;

 private:
  NodeId best_accepted(Attempt& attempt) const;
  NodeId best_of_all(Attempt& attempt) const;
  NodeId first_accepted(Attempt& attempt) const;

  const PluginSet& plugins_;
};

}  // namespace berth::scheduling
