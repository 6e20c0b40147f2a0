// InterPodAffinity, as far as it protects what others were promised: a pod is kept out of the domains where a
// placed pod's required anti-affinity means it. A pod that sets a field which Berth refuses is kept from all
// nodes. Source: kube-scheduler's plugin for the text; docs/scheduling.md#fields.
#include <algorithm>
#include <set>
#include <utility>

#include "api/placement_fields.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class RefusedFields final : public PreFilter {
 public:
  std::string_view name() const override { return "RefusedFields"; }
  void prepare(CycleState& state) const override {
    std::string fields;
    for (const api::PlacementField* row : state.pod->refused_fields)
      fields.append(fields.empty() ? "" : " and ").append(row->text());
    if (!fields.empty()) state.diagnosis.refuse_everywhere(reason_row("FieldNotHonoured"), fields);
  }
};

// Topology keys and values: the domains where an anti-affinity term of a placed pod means this pod.
struct RepellingDomains {
  std::set<std::pair<std::string, std::string>> domains;
  void clear() { domains.clear(); }
};

// Cost: O(placed pods with required anti-affinity).
class AntiAffinityOfOthers final : public PreFilter {
 public:
  std::string_view name() const override { return "InterPodAffinity"; }
  void prepare(CycleState& state) const override {
    const model::Cluster& cluster = state.context->cluster;
    const api::ObjectMeta& asked = state.pod->meta;
    for (const PodId id : cluster.anti_affine_pods()) {
      const NodeId node = cluster.ledger().node_of(id);
      if (id == state.pod_id || !node.valid() || !cluster.node(node).live) continue;
      const api::Pod& other = *cluster.pod(id).live;
      const api::StringMap& labels = cluster.node(node).live->meta.labels;
      for (const api::PodAffinityTerm& term : other.required_anti_affinity) {
        const auto value = labels.find(term.topology_key);
        if (value != labels.end() && term.means(other.meta.ns, asked.ns, asked.labels))
          state.slots.write<RepellingDomains>().domains.emplace(term.topology_key, value->second);
      }
    }
  }
};

class InterPodAffinity final : public Filter {
 public:
  std::string_view name() const override { return "InterPodAffinity"; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged | kEventPodGone};
  }
  // The verdict on a pod that a term means depends on pods of other nodes, so it is not kept.
  Signing sign(const CycleState& state, PodSignature&) const override {
    return state.slots.read<RepellingDomains>().domains.empty() ? Signing::Signed : Signing::Unsigned;
  }
  void filter(CycleState& state) const override {
    const auto& domains = state.slots.read<RepellingDomains>().domains;
    if (domains.empty()) return;
    state.keep_if(reason_row("RepelledByPod"), [&](NodeId node) {
      const api::StringMap& labels = state.context->cluster.node(node).live->meta.labels;
      return std::none_of(domains.begin(), domains.end(), [&](const auto& domain) {
        const auto value = labels.find(domain.first);
        return value != labels.end() && value->second == domain.second;
      });
    });
  }
};

}  // namespace

std::unique_ptr<PreFilter> refused_fields() {
  return std::make_unique<RefusedFields>();
}
std::unique_ptr<PreFilter> anti_affinity_of_others() {
  return std::make_unique<AntiAffinityOfOthers>();
}
std::unique_ptr<Filter> inter_pod_affinity() {
  return std::make_unique<InterPodAffinity>();
}

}  // namespace berth::placement::plugins
