// Decides offline what Berth would do with every pending pod of a described cluster.
//
// A pure function: no clock, no API, no entropy. The order of the documents has no effect; the same documents
// and options give the same plan on every machine. Source: outer surface, `berth plan`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "base/json.h"
#include "base/result.h"
#include "dra/gates.h"
#include "dra/scoring.h"
#include "dra/selectors.h"
#include "placement/profiles.h"
#include "placement/refusal/berth_words.h"
#include "placement/wishes/wish.h"

namespace berth::planning {

// One object in its stored form: canonical, of the storage version, with defaults.
struct Document {
  api::Kind kind = api::Kind::Other;
  Json object;
  // Why the API server would refuse it: of a pod the decision is Error, of a workload no pods are made.
  std::string trouble = {};
  // Of a workload whose number of pods was changed: pods beyond the number are gone. Otherwise they stay.
  bool scaled = false;
};

enum class Verdicts : std::uint8_t { None, Summary, All };

struct PlanOptions {
  Time now;  // unset: the newest timestamp of the documents, else 2000-01-01
  std::uint64_t seed = 0;
  Verdicts verdicts = Verdicts::None;
  const api::Gates* gates = nullptr;  // for defaults of priorities
  dra::DeviceGates device_gates = {};
  dra::DeviceScoring device_scoring = dra::DeviceScoring::Reference;
  placement::VictimScoring victim_scoring = placement::VictimScoring::Reference;
  bool objects = false;    // fill Plan::objects
  bool preempts = true;    // pods of lower priority may be evicted
  bool workloads = false;  // plan the pods of Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs too
  placement::MakePlugins plugins = placement::default_plugins;
  std::vector<placement::Profile> profiles = {};  // empty: one for all pods
};

enum class ResultKind : std::uint8_t { Placed, Preempting, Unschedulable, Error, Gated, Unknown };
inline constexpr std::size_t kResultKindCount = 6;
std::string_view name_of(ResultKind kind);

struct PlannedClaim {
  std::string name;  // of the ResourceClaim object
  std::shared_ptr<const api::Allocation> allocation;
};

struct PlannedPod {
  std::string ns;
  std::string name;
  std::string node;  // empty: none
  std::vector<PlannedClaim> claims;
  api::GpuSharePtr gpu_share = nullptr;     // null: none
  placement::RefusalPtr refusal = nullptr;  // of a member of a group; null: not refused by itself
};

// A pod that has to be evicted. `group`: it goes with this PodGroup as one; empty: alone.
struct PlannedVictim {
  std::string ns;
  std::string name;
  std::string group;
  friend bool operator==(const PlannedVictim&, const PlannedVictim&) = default;
};

struct NodeVerdict {
  std::string node;
  bool feasible = false;
  std::string plugin;
  std::string reason;
};

// The number of nodes that share one verdict.
struct VerdictCount {
  bool feasible = false;
  std::string plugin, reason;
  std::size_t nodes = 0;
};
// Feasible ones first, then by plugin and reason.
std::vector<VerdictCount> summary_of(const std::vector<NodeVerdict>& verdicts);

// The smallest blocking set found.
using Proof = placement::ProofText;

struct Decision {
  bool group = false;       // of a PodGroup, or of a tree of them
  bool composite = false;   // of a tree, by its root
  std::string parent = {};  // of a PodGroup of a tree: its CompositePodGroup
  std::string ns;
  std::string name;
  ResultKind result = ResultKind::Unschedulable;
  std::string reason;
  std::string told;                                           // the message of a decision without a refusal
  placement::RefusalPtr refusal = nullptr;                    // null: placed, or not tried
  std::vector<std::pair<std::string, std::string>> topology;  // key and value
  std::int64_t score = 0;
  std::optional<placement::WishResult> wish = std::nullopt;  // of a placed group with a PlacementPolicy
  std::vector<PlannedPod> pods;
  std::vector<PlannedVictim> victims;  // of a Preempting one; empty: it waits for pods that end anyway
  std::vector<NodeVerdict> verdicts;

  std::string sentence() const;     // Kubernetes' own; without a refusal `told`
  std::string explanation() const;  // Berth's; empty: there is none
  std::string message() const;      // the sentence first, then the explanation
  std::optional<Proof> certificate() const;
};

// How a plan differs from the one without its changes (what_if.h).
struct WhatIf {
  std::vector<std::string> changes;
  std::map<ResultKind, std::size_t> base;  // decisions of the plan without them
  struct Changed {
    std::size_t now;              // in Plan::decisions
    std::optional<Decision> was;  // none: it is new
  };
  std::vector<Changed> changed;  // whose result, nodes or victims differ
  std::vector<Decision> gone;    // of the plan without them; nobody asks for them any more
};

struct Plan {
  std::vector<Decision> decisions;  // in the order they were made
  std::vector<Json> objects;        // pods, claims and bind requests as the decisions leave them
  std::vector<std::string> notes;   // for people: workloads whose pods are left out, and why
  std::optional<WhatIf> what_if;    // none: no change was asked for
  // True when every decision is Placed or Gated.
  bool complete() const;
};

// A fault of the documents as a whole (the same object twice) is an error; a fault of one pod is its
// decision. Cost: reading 20 µs an object, a decision 10 µs to 1 ms.
Result<Plan> make_plan(std::vector<Document> documents, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors);

// One document with all decisions, in the form of the outer surface.
Json to_json(const Plan& plan, Verdicts verdicts);
// For people: one line per decision, its reason below, a total at the end.
std::string to_table(const Plan& plan, Verdicts verdicts);

}  // namespace berth::planning
