// What a refused pod waits for, and what a change of the cluster brings. Both are facts, and both sides make
// them with the same functions, so that a look-up finds the pods that a change may help.
//
// Values. A fact is a hash: two that are equal by chance cost an attempt, and never a wake-up. Source:
// kube-scheduler's QueueingHintFn; KEP-6132 (a look-up instead of a question to every pod).
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"
#include "placement/cluster_events.h"

namespace berth::placement {

// The keys of one pod; with more, every event that they are about wakes it.
inline constexpr std::size_t kHintKeysMax = 64;

using FactId = std::uint64_t;
FactId fact_id(std::initializer_list<std::string_view> parts);

inline constexpr std::int64_t kFactHolds = INT64_MAX;  // of a fact without an amount

struct NeededFact {
  FactId fact = 0;
  std::int64_t at_least = 0;
  friend auto operator<=>(const NeededFact&, const NeededFact&) = default;
};
// One change must bring all of them. The queue finds the key by the first: the one that is most seldom true.
using HintKey = std::vector<NeededFact>;

struct PodHints {
  std::uint32_t events = kEventNever;  // each of these wakes the pod
  std::uint32_t keyed = kEventNever;   // of these only a change that brings all facts of one key
  std::vector<HintKey> keys = {};
  void add(std::uint32_t events_of_key, HintKey key) {
    keyed |= events_of_key;
    keys.push_back(std::move(key));
  }
  // Each key once; beyond kHintKeysMax every event that they are about wakes the pod.
  void settle();
  friend bool operator==(const PodHints&, const PodHints&) = default;
};

struct WaitsFor {
  PodHints hints = {};
  std::string alike = {};  // pods with equal texts get equal answers; empty: no other pod is like this one
};

class ChangeFacts {
 public:
  void add(FactId fact, std::int64_t amount = kFactHolds);
  bool bring(const HintKey& key) const;
  const std::map<FactId, std::int64_t>& amounts() const { return amounts_; }

 private:
  std::map<FactId, std::int64_t> amounts_;
};

// One change, after the model has it. What does not concern it is null or none.
struct ClusterChange {
  ClusterEvent event = kEventNever;  // of a node: one or more
  const model::Cluster& cluster;
  const client::View& view;
  const client::Delta* object = nullptr;  // that changed
  const api::Node* node_before = nullptr;
  const api::Node* node_after = nullptr;
  const api::Pod* pod_before = nullptr;       // had a place
  const api::Pod* pod_after = nullptr;        // has a place
  model::NodeId node = {};                    // has more free than before
  const api::Allocation* given_up = nullptr;  // by a claim: some of its devices are free
  bool labels_changed() const;                // of the node, which may have come or gone
  bool taints_changed() const;
};

bool same_taints(const std::vector<api::Taint>& a, const std::vector<api::Taint>& b);

// Facts that ClusterChange brings for every plugin.
namespace facts {
FactId node_added();
FactId labels_changed();
FactId taints_changed();
FactId label_changed(std::string_view key);
FactId label_is(std::string_view key, std::string_view value);  // a label that changed
FactId node_named(std::string_view name);                       // that joined
FactId on_node(std::string_view name);                          // the node or a pod on it changed
// A pod that came or left, by one of its posts: a label with its value, or kAnyPost. `ns`: its namespace, or
// kAnyNamespace.
inline constexpr std::string_view kAnyNamespace = "*";
inline constexpr std::string_view kAnyPost = "";
FactId pod_came(std::string_view ns, std::string_view post);
FactId pod_left(std::string_view ns, std::string_view post);
// A pod with required anti-affinity against pods at this post left.
FactId repeller_left(std::string_view ns, std::string_view post);
FactId volumes_left();  // with the pod that used them
FactId placed_up_to();  // minus the priority of a pod that got a place
std::string post_of(std::string_view label, std::string_view value);
// The posts of which every pod that the selector selects has one.
std::vector<std::string> posts_of(const api::LabelSelector& selector);
}  // namespace facts

// The facts above.
void add_common_facts(const ClusterChange& change, ChangeFacts& facts);

}  // namespace berth::placement
