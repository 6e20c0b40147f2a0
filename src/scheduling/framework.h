// The extension points: what a plugin may be asked, and in which order.
//
// Owner: the scheduler, one thread; plugins keep no state but in the slots of an attempt. A filter sees all
// surviving nodes at once, so that it can be a loop over columns. Source: kube-scheduler's framework,
// KEP-5732 (placements).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/decider.h"
#include "scheduling/cluster_events.h"
#include "scheduling/cycle_state.h"
#include "scheduling/filter_scope.h"
#include "scheduling/placements.h"
#include "scheduling/signature.h"

namespace berth::scheduling {

// May the pod be tried at all?
struct PreEnqueueResult {
  enum class Kind : std::uint8_t { Open, Silent, Reported };
  Kind kind = Kind::Open;
  std::string reason;   // of the condition, when Reported
  std::string message;  // Silent: for `explain` only
};

class PreEnqueue {
 public:
  virtual ~PreEnqueue() = default;
  virtual PreEnqueueResult check(const client::View& view, const api::Pod& pod) const = 0;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  // As kube-scheduler calls the plugin; static lifetime. Its refusals bear it.
  virtual std::string_view name() const = 0;
  // A pod that waits is tried again at the events of all plugins.
  virtual QueueingHint events_to_register() const { return {}; }
};

// Looks at the pod and its claims once, before any node; may refuse it everywhere.
class PreFilter : public Plugin {
 public:
  virtual void prepare(CycleState& state) const = 0;
};

enum class Signing : std::uint8_t { Unsigned, Signed };

// What the answers of a filter or of a score depend on. Answers are kept for each node, for all pods that
// every plugin signs alike. Source: kube-scheduler's SignPlugin (KEP-5598).
class SignPlugin : public Plugin {
 public:
  // After the prefilters: writes all that the plugin reads of the pod and of its claims, as fragments.
  // Unsigned: its answers on this pod are not kept, and every node is judged anew.
  virtual Signing sign(const CycleState&, PodSignature&) const { return Signing::Unsigned; }
  // After the prefilters: what the plugin reads of other nodes than the one it answers for.
  virtual void add_scope(const CycleState&, FilterScope&) const {}
};

// Refuses nodes; cheap per node, asked for all candidates at once. What it says of a node depends on that
// node, on what it signs and on its scope.
class Filter : public SignPlugin {
 public:
  virtual void filter(CycleState& state) const = 0;
};

// Refuses one node; asked in the order of the scores until a node passes, so that the best node costs one
// question. Its no is kept like a filter's, until the node, its devices or those of every node change.
class LazyFilter : public SignPlugin {
 public:
  virtual bool wanted(const CycleState& state) const = 0;
  virtual bool accepts(CycleState& state, NodeId node) const = 0;
  // True when Attempt::preference counts: all nodes are asked, and it is added, scaled to 0..100.
  virtual bool prefers(const CycleState& state) const = 0;
  // Whether `explain` may add to this reason.
  virtual bool explains(const CycleState& state, const Reason& reason) const = 0;
  // Why it refuses the node, in words; empty when there is nothing to add to the reason.
  virtual std::string explain(const CycleState& state, NodeId node) const = 0;
};

// Adds 0..100 times its weight for every candidate, whatever the other candidates are.
class Score : public SignPlugin {
 public:
  virtual void score(CycleState& state, std::int64_t weight) const = 0;
};

// Takes what the pod needs on the chosen node beside its place, in their order.
class Reserve : public Plugin {
 public:
  // Charges the transaction and notes in state.reservation what the BindRequest carries. An error ends the
  // attempt; transaction and reservation are then as they were.
  virtual Status reserve(CycleState& state, NodeId node, model::Ledger::Transaction& transaction) const = 0;
  // A later plugin failed: undoes what `reserve` left elsewhere, in its slots say. In reverse order.
  virtual void unreserve(CycleState& state, NodeId node) const = 0;
};

// Of a pod that fits nowhere in the cluster: what to write so that a later attempt may find a place.
class PostFilter : public Plugin {
 public:
  // Whether the pod would fit somewhere now, as the transaction stands.
  using FitsNow = std::function<bool()>;
  // Leaves the transaction as it was.
  virtual std::vector<client::Chain> after_refusal(const CycleState& state,
                                                   model::Ledger::Transaction& transaction,
                                                   const FitsNow& fits_now) const = 0;
};

// One row per plugin and extension point, in the order in which they are asked.
struct PluginSet {
  struct Weighted {
    std::unique_ptr<Score> score;
    std::int64_t weight;
  };
  std::vector<std::unique_ptr<PreEnqueue>> gates;
  std::vector<std::unique_ptr<PreFilter>> prefilters;
  std::vector<std::unique_ptr<Filter>> filters;
  std::vector<std::unique_ptr<LazyFilter>> lazy_filters;
  std::vector<Weighted> scores;
  std::vector<std::unique_ptr<Reserve>> reserves;
  std::vector<std::unique_ptr<PostFilter>> post_filters;
  std::unique_ptr<PlacementGenerator> placement_generator;
  std::unique_ptr<FitCounter> fit_counter;
  std::unique_ptr<PlacementState> placement_state;
  std::vector<std::unique_ptr<PlacementScorer>> placement_scorers;

  // The events that may help the pod.
  std::uint32_t events_for(const api::Pod& pod) const;
  // The events that may help any pod.
  std::uint32_t all_events() const;
};

// The plugins of this cut, in kube-scheduler's order.
PluginSet default_plugins();

}  // namespace berth::scheduling
