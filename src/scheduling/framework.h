// The extension points: what a plugin may be asked, and in which order.
//
// Owner: the scheduler, one thread; plugins keep no state between attempts. A filter sees all surviving nodes
// at once, so that it can be a loop over columns. Source: kube-scheduler's framework, KEP-5732 (placements).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"
#include "scheduling/diagnosis.h"
#include "scheduling/placements.h"
#include "scheduling/signature.h"

namespace berth::dra {
class Allocator;
class Ask;
}  // namespace berth::dra

namespace berth::scheduling {
using model::PodId;
// What every attempt of one decision shares.
struct World {
  const client::View& view;
  model::Cluster& cluster;
  dra::Allocator& allocator;
  Time now = {};  // not set: no allocation is late
  Duration binding_timeout = Duration::seconds(600);
};
// Unusable: its devices failed to get ready, or did not in time (KEP-5007).
enum class ClaimState : std::uint8_t { Usable, Unusable };

// One claim of a pod, and what stands or would stand in its status.
struct ClaimChoice {
  std::string pod_claim;  // name in pod.spec.resourceClaims
  model::ClaimId claim;
  std::shared_ptr<const api::Allocation> allocation;  // null: not allocated yet
  ClaimState state = ClaimState::Usable;
  std::shared_ptr<const api::ExtendedClaim> extended = nullptr;  // the claim is to be made
};

// One pod being placed: the input, what survived so far, and why the rest did not.
struct Attempt {
  const World* world = nullptr;
  const api::Pod* pod = nullptr;
  PodId pod_id;
  std::vector<NodeId> candidates;    // by node name
  std::vector<std::int64_t> scores;  // of candidates, once scored
  Diagnosis diagnosis;
  std::vector<ClaimChoice> claims;      // in the pod's order
  std::shared_ptr<const dra::Ask> ask;  // the claims that the place must allocate; null: none
  std::vector<std::shared_ptr<const api::Allocation>> allocations;  // for `ask`, on the node accepted last
  std::int64_t preference = 0;                                      // of those allocations
  model::NodeAllocatablePtr node_allocatable;                       // what those devices take of that node
  std::shared_ptr<struct ExtendedResources> extended;  // plugins/extended_resources.h; null: none

  bool over() const { return !diagnosis.error().empty() || diagnosis.refused_everywhere(); }
  // Keeps the candidates for which `keep(node)` is true. `keep` refuses the others itself.
  template <class Keep>
  void keep_if(Keep keep) {
    std::size_t kept = 0;
    for (const NodeId node : candidates)
      if (keep(node)) candidates[kept++] = node;
    candidates.resize(kept);
  }
};

// May the pod be tried at all?
struct Gate {
  enum class Kind : std::uint8_t { Open, Silent, Told };
  Kind kind = Kind::Open;
  std::string reason;   // of the condition, when Told
  std::string message;  // Silent: for `explain` only
};

class PreEnqueue {
 public:
  virtual ~PreEnqueue() = default;
  virtual Gate check(const client::View& view, const api::Pod& pod) const = 0;
};

// Looks at the pod and its claims once, before any node; may refuse it everywhere.
class PreFilter {
 public:
  virtual ~PreFilter() = default;
  // As kube-scheduler calls the plugin; static lifetime. Its refusals bear it.
  virtual std::string_view name() const = 0;
  virtual void prepare(Attempt& attempt) const = 0;
};

enum class Signing : std::uint8_t { Unsigned, Signed };

// What the answers of a filter or of a score depend on. Answers are kept for each node, for all pods that
// every plugin signs alike. Source: kube-scheduler's SignPlugin (KEP-5598).
class SignPlugin {
 public:
  virtual ~SignPlugin() = default;
  // After the prefilters: writes all that the plugin reads of the pod and of its claims, as fragments.
  // Unsigned: its answers on this pod are not kept, and every node is judged anew.
  virtual Signing sign(const Attempt&, PodSignature&) const { return Signing::Unsigned; }
};

// Refuses nodes; cheap per node, asked for all candidates at once. What it says of a node depends on that
// node and on what it signs.
class Filter : public SignPlugin {
 public:
  virtual std::string_view name() const = 0;
  virtual void filter(Attempt& attempt) const = 0;
};

// Refuses one node; asked in the order of the scores until a node passes, so that the best node costs one
// question. Its no is kept like a filter's, until the node, its devices or those of every node change.
class CostlyFilter : public SignPlugin {
 public:
  virtual std::string_view name() const = 0;
  virtual bool wanted(const Attempt& attempt) const = 0;
  virtual bool accepts(Attempt& attempt, NodeId node) const = 0;
  // True when Attempt::preference counts: all nodes are asked, and it is added, scaled to 0..100.
  virtual bool prefers(const Attempt& attempt) const = 0;
  // Why it refuses the node, in words; empty when there is nothing to add to the reason.
  virtual std::string explain(const Attempt& attempt, NodeId node) const = 0;
};

// Adds 0..100 times its weight for every candidate, whatever the other candidates are.
class Score : public SignPlugin {
 public:
  virtual void score(Attempt& attempt, std::int64_t weight) const = 0;
};

// One row per plugin, in the order in which they are asked.
struct PluginSet {
  struct Weighted {
    std::unique_ptr<Score> score;
    std::int64_t weight;
  };
  std::vector<std::unique_ptr<PreEnqueue>> gates;
  std::vector<std::unique_ptr<PreFilter>> prefilters;
  std::vector<std::unique_ptr<Filter>> filters;
  std::vector<std::unique_ptr<CostlyFilter>> costly_filters;
  std::vector<Weighted> scores;
  std::unique_ptr<PlacementGenerator> placement_generator;
  std::unique_ptr<PlacementState> placement_state;
  std::vector<std::unique_ptr<PlacementScorer>> placement_scorers;
};

// The plugins of this cut, in kube-scheduler's order.
PluginSet default_plugins();

}  // namespace berth::scheduling
