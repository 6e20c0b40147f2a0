// The extension points of plugins, and their order.
//
// Owner: the scheduler, one thread; plugins keep state only in the slots of a PodQuery or a NodeChoice. A
// filter sees all surviving nodes at once, so that it can be a loop over columns. Source: kube-scheduler's
// framework, KEP-5732 (placements).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/decider.h"
#include "dra/certificate.h"
#include "placement/cycle_state.h"
#include "placement/filter_scope.h"
#include "placement/index/comparison.h"
#include "placement/node_trial.h"
#include "placement/placements.h"
#include "placement/plugin.h"
#include "placement/plugin_arguments.h"
#include "placement/refusal/gate.h"
#include "placement/signature.h"

namespace berth::placement {

// Whether the pod may be tried.
class PreEnqueue {
 public:
  virtual ~PreEnqueue() = default;
  virtual std::string_view name() const = 0;  // as Plugin::name()
  // Set: it may not.
  virtual std::optional<PodGate> check(const client::View& view, const api::Pod& pod) const = 0;
};

// Evaluates the pod and its claims once, before any node; may refuse the pod on all nodes.
class PreFilter : public Plugin {
 public:
  // Writes slots of the query. The next pod of the same template (model/pod_templates.h) is judged with them
  // where the verdict on a node depends on nothing else.
  virtual void prepare(PodQuery& query, Diagnosis& diagnosis) const = 0;
  // Of a pod that is refused everywhere: what proves it, if it is about claims of devices.
  virtual std::optional<dra::Certificate> prove(const PodQuery&) const { return std::nullopt; }
};

enum class Signing : std::uint8_t { Unsigned, Signed };

// What the verdicts of a filter or a score depend on. Verdicts are cached per node for all pods with equal
// signatures. Source: kube-scheduler's SignPlugin (KEP-5598).
class SignPlugin : public Plugin {
 public:
  // After the prefilters: writes everything that the plugin reads of the pod and of its claims, as
  // fragments. Unsigned: nothing is cached for this pod, and every node is judged again.
  virtual Signing sign(const PodQuery&, PodSignature&) const { return Signing::Unsigned; }
  // After the prefilters: adds what the plugin reads of other nodes than the one it judges.
  virtual void add_scope(const PodQuery&, FilterScope&) const {}
};

// Refuses nodes; cheap per node, called for all candidates at once. Its verdict on a node depends only on
// that node, on what it signs and on its scope.
class Filter : public SignPlugin {
 public:
  virtual void filter(const PodQuery& query, NodeVerdicts& verdicts) const = 0;
  // True if kube-scheduler's plugin does it in PreFilter, which names the only candidates.
  virtual bool names_nodes() const { return false; }
};

// Refuses whole domains by what they hold; called after the filters. Its rules are part of what it signs.
// The cache keeps the verdict on each domain, so a placement changes that of its own domain alone.
class DomainFilter : public SignPlugin {
 public:
  // Appends the pod's rules; a node must satisfy all, and the first that it does not satisfy is the reason.
  virtual void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const = 0;
};

// Refuses one node; called best score first until a node passes, so that usually one call suffices. Its
// refusal is cached like a filter's, until the node, its devices or shared devices change.
class LazyFilter : public SignPlugin {
 public:
  virtual bool wanted(const PodQuery& query) const = 0;
  virtual bool accepts(const NodeTrial& trial) const = 0;
  // True if all nodes are tried: NodeChoice::preference is added, scaled to 0..100, times
  // PluginSet::preference_weight, where this is not 0.
  virtual bool prefers(const PodQuery& query) const = 0;
  // True if all nodes are tried, because an error on any of them ends the attempt.
  virtual bool expects_error(const PodQuery&) const { return false; }
  // Whether explain() may add to this reason.
  virtual bool explains(const PodQuery& query, const Reason& reason) const = 0;
  // Why it refuses the node; empty: there is nothing to add to the reason.
  virtual std::string explain(const PodQuery& query, NodeId node) const = 0;
  // What proves that it refuses the node; none: it does not, or has no proof.
  virtual std::optional<dra::Certificate> prove(const PodQuery&, NodeId) const { return std::nullopt; }
};

// Adds 0..100 (GpuFragmentation more) times its weight to every candidate, whatever the others get.
class Score : public SignPlugin {
 public:
  // `scores` are of `nodes`.
  virtual void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
                     std::span<std::int64_t> scores) const = 0;
};

// Prefers nodes by what their domains hold: the sums over all keys, scaled to 0..100 over the nodes that may
// take the pod, times the weight. What it counts is part of what it signs. The cache keeps the amounts, so a
// placement moves the nodes of its own domains alone.
class DomainScore : public SignPlugin {
 public:
  // Appends what counts for the pod; of equal amounts on all nodes nothing follows.
  virtual void add_counts(const PodQuery& query, std::vector<DomainCount>& counts) const = 0;
};

// Prefers nodes in comparison with the others that may take the pod: 0..100, times the weight. What it reads
// of the pod is part of what it signs. The cache keeps nodes with equal values in one class, so no node is
// judged again because another one changed.
class NormalizedScore : public SignPlugin {
 public:
  // None: nothing distinguishes nodes now, and all of them get score_of_all().
  virtual std::optional<Comparison> compare(const PodQuery& query) const = 0;
  virtual std::int64_t score_of_all() const { return 0; }
};

// Reserves what the pod needs on the chosen node besides its place; called in the order of the plugins.
class Reserve : public Plugin {
 public:
  // Charges the transaction and records in `reservation` what the BindRequest carries. `choice` is the lazy
  // filters' on this node. An error ends the attempt; the caller then restores transaction and reservation.
  virtual Status reserve(const PodQuery& query, const NodeChoice& choice, NodeId node,
                         model::Ledger::Transaction& transaction, Reservation& reservation) const = 0;
  // A later plugin failed: undoes what `reserve` left outside of these. In reverse order.
  virtual void unreserve(const PodQuery& query, NodeId node) const = 0;
};

// For a pod that fits nowhere in the cluster: writes after which a later attempt may succeed.
class PostFilter : public Plugin {
 public:
  // Whether the pod fits somewhere in the state of the transaction.
  using FitsNow = std::function<bool()>;
  // Leaves the transaction as it was.
  virtual std::vector<client::Chain> after_refusal(const PodQuery& query,
                                                   model::Ledger::Transaction& transaction,
                                                   const FitsNow& fits_now) const = 0;
};

// One row per plugin and extension point, in call order. Of one profile.
struct PluginSet {
  template <class Kind>
  struct WeightedPlugin {
    std::unique_ptr<Kind> score;
    std::int64_t weight;
  };
  using Weighted = WeightedPlugin<Score>;
  using WeightedDomains = WeightedPlugin<DomainScore>;
  using WeightedNormalized = WeightedPlugin<NormalizedScore>;
  std::vector<std::unique_ptr<PreEnqueue>> gates;
  std::vector<std::unique_ptr<PreFilter>> prefilters;
  std::vector<std::unique_ptr<Filter>> filters;
  std::vector<std::unique_ptr<DomainFilter>> domain_filters;
  std::vector<std::unique_ptr<LazyFilter>> lazy_filters;
  std::int64_t preference_weight = 2;  // kube-scheduler's of DynamicResources; 0: preferences do not count
  std::vector<Weighted> scores;
  std::vector<WeightedDomains> domain_scores;
  std::vector<WeightedNormalized> normalized_scores;
  std::vector<std::unique_ptr<Reserve>> reserves;
  std::vector<std::unique_ptr<PostFilter>> post_filters;
  std::unique_ptr<PlacementGenerator> placement_generator;
  std::unique_ptr<PlacementRefiner> placement_refiner;
  std::unique_ptr<FitCounter> fit_counter;
  std::unique_ptr<JointFitCounter> joint_fit_counter;
  std::unique_ptr<PlacementState> placement_state;
  struct WeightedPlacementScorer {
    std::unique_ptr<PlacementScorer> scorer;
    std::int64_t weight = 1;
  };
  std::vector<WeightedPlacementScorer> placement_scorers;

  PluginArguments arguments;  // that they were made with
  bool preempts = true;       // DefaultPreemption: victims are searched for
  std::uint32_t profile = 0;  // its index; pods of different profiles share no verdicts

  // The events that may help the pod, whichever plugin refuses it.
  std::uint32_t events_for(const api::Pod& pod) const;
  // What the pod waits for: of the plugins that refused it, so that what others refuse later is no matter.
  PodHints hints_for(const PodQuery& query, const FitError& refusal) const;
  // What brings a node closer to taking the pod, whichever plugin refuses it.
  void add_interests(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) const;
  // Those that may refuse a pod.
  std::vector<const Plugin*> refusers() const;
};

// The plugins of this cut, in kube-scheduler's order.
PluginSet default_plugins(const PluginArguments& arguments = {});

// Makes the plugins of a profile: default_plugins, or a function of somebody else that adds to them
// (docs/writing-scheduler-plugins.md). Equal arguments give the same plugins.
using MakePlugins = std::function<PluginSet(const PluginArguments&)>;

}  // namespace berth::placement
