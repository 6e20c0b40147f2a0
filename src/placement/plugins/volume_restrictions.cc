// VolumeRestrictions: a ReadWriteOncePod claim is for one pod. Volume sources in the pod itself (disks of
// in-tree drivers) are not compared. Source: kube-scheduler's plugin.
#include <algorithm>

#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

// A pod with a place has it: bound, decided, placed in this transaction, or expected where a hold is.
bool is_used_by_another(const PodQuery& query, const std::string& claim) {
  const SchedulingContext& context = *query.context;
  const std::vector<const api::Pod*> pods = context.view.pods_using_volume_claim(query.pod->meta.ns, claim);
  return std::any_of(pods.begin(), pods.end(), [&](const api::Pod* other) {
    const PodId id = context.cluster.find_pod(other->meta.ns, other->meta.name);
    const model::Ledger& ledger = context.cluster.ledger();
    return id != query.pod_id && id.valid() && (ledger.node_of(id).valid() || ledger.expects(id));
  });
}

class VolumeRestrictions final : public Filter {
 public:
  std::string_view name() const override { return kVolumeRestrictions; }
  QueueingHint events_to_register() const override {
    return {kEventPodGone, [](const api::Pod& pod) { return !pod.volumes.empty(); }};
  }
  void add_interests(const SchedulingContext&, const api::Pod& pod, PodHints& hints) const override {
    for (const api::PodVolume& volume : pod.volumes)
      hints.add(kEventPodGone, {{claim_left(pod.meta.ns, volume.claim_name)}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    if (!change.pod_before) return;
    for (const api::PodVolume& volume : change.pod_before->volumes)
      facts.add(claim_left(change.pod_before->meta.ns, volume.claim_name));
  }
  Signing sign(const PodQuery& query, PodSignature&) const override {
    return query.pod->volumes.empty() ? Signing::Signed : Signing::Unsigned;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    for (const api::PodVolume& volume : query.pod->volumes) {
      const auto* claim = query.context->view.volume_claims.find(query.pod->meta.ns, volume.claim_name);
      if (!claim || !claim->has_access_mode(api::kReadWriteOncePod)) continue;
      if (!is_used_by_another(query, volume.claim_name)) continue;
      return verdicts.keep_if(reason_row("ReadWriteOncePodInUse"), [](NodeId) { return false; });
    }
  }

 private:
  static FactId claim_left(std::string_view ns, std::string_view claim) {
    return fact_id({"claim left", ns, claim});
  }
};

}  // namespace

std::unique_ptr<Filter> volume_restrictions() {
  return std::make_unique<VolumeRestrictions>();
}

}  // namespace berth::placement::plugins
