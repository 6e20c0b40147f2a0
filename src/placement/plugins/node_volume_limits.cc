// NodeVolumeLimits: a node attaches as many volumes of a CSI driver as its CSINode says. Volumes of pods that
// have the node count, each volume once, and those that are still attached for pods that are gone; a driver
// whose CSIDriver asks for it must be installed on the node. Volumes of in-tree drivers are not counted.
// Source: kube-scheduler's plugin, 1.37 with VolumeLimitScaling.
#include <algorithm>
#include <map>
#include <set>

#include "client/volumes.h"
#include "placement/plugins/plugins.h"
#include "placement/plugins/volume_facts.h"

namespace berth::placement::plugins {
namespace {

using client::CsiVolume;
using VolumeSet = std::set<CsiVolume>;

const api::CSINodeDriver* driver_on(const api::CSINode* node, const std::string& name) {
  if (!node) return nullptr;
  const auto found = std::find_if(node->drivers.begin(), node->drivers.end(),
                                  [&](const api::CSINodeDriver& driver) { return driver.name == name; });
  return found == node->drivers.end() ? nullptr : &*found;
}

// Every volume of the pods that have the node or are expected there, and those of its VolumeAttachments.
VolumeSet attached_to(const PodQuery& query, NodeId node, const std::string& name) {
  const SchedulingContext& context = *query.context;
  VolumeSet attached;
  const model::NodeUse& use = context.cluster.ledger().node(node);
  for (const auto* pods : {&use.pods, &use.expected})
    for (const PodId pod : *pods) {
      const auto& live = context.cluster.pod(pod).live;
      if (pod != query.pod_id && live) client::add_csi_volumes_of(context.view, *live, attached);
    }
  for (const api::VolumeAttachment* attachment : context.view.attachments_of_node(name)) {
    const api::PersistentVolume* volume = context.view.volumes.find("", attachment->volume);
    if (volume && !volume->csi_driver.empty())
      attached.insert({attachment->attacher, volume->csi_handle, ""});
  }
  return attached;
}

// Whether there is room for those of `wanted` that are not attached yet.
bool has_attach_room(const api::CSINode& node, const VolumeSet& attached, const VolumeSet& wanted) {
  std::map<std::string_view, std::int64_t> used, added;
  for (const CsiVolume& volume : attached) ++used[volume.driver];
  for (const CsiVolume& volume : wanted)
    if (!attached.contains(volume)) ++added[volume.driver];
  return std::all_of(node.drivers.begin(), node.drivers.end(), [&](const api::CSINodeDriver& driver) {
    return !driver.volumes_max || added[driver.name] == 0 ||
           used[driver.name] + added[driver.name] <= *driver.volumes_max;
  });
}

class NodeVolumeLimits final : public Filter {
 public:
  std::string_view name() const override { return kNodeVolumeLimits; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventVolumeChanged | kEventPodGone,
            [](const api::Pod& pod) { return !pod.volumes.empty(); }};
  }
  void add_interests(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) const override {
    add_limit_hints(context, pod, hints);
    hints.add(kEventNodeAdded, {{facts::node_added()}});
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    add_limit_facts(change, facts);
  }
  // Limits and attachments change without the node.
  Signing sign(const PodQuery& query, PodSignature&) const override {
    return query.pod->volumes.empty() ? Signing::Signed : Signing::Unsigned;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    if (query.pod->volumes.empty()) return;
    VolumeSet wanted;
    client::add_csi_volumes_of(query.context->view, *query.pod, wanted);
    if (wanted.empty()) return;
    verdicts.keep_if([&](NodeId node) { return accepts_volumes(query, verdicts.diagnosis, node, wanted); });
  }

 private:
  static bool accepts_volumes(const PodQuery& query, Diagnosis& diagnosis, NodeId node,
                              const VolumeSet& wanted) {
    const client::View& view = query.context->view;
    const std::string& name = query.context->cluster.node(node).name;
    const api::CSINode* csi_node = view.csi_nodes.find("", name);
    for (const CsiVolume& volume : wanted) {
      const api::CSIDriver* driver = view.csi_drivers.find("", volume.driver);
      if (!driver || !driver->needs_node_plugin || driver_on(csi_node, volume.driver)) continue;
      diagnosis.refuse(node, diagnosis.reason(reason_row("DriverNotInstalled"), volume.driver));
      return false;
    }
    const bool limited = csi_node && std::any_of(wanted.begin(), wanted.end(), [&](const CsiVolume& volume) {
                           const api::CSINodeDriver* driver = driver_on(csi_node, volume.driver);
                           return driver && driver->volumes_max;
                         });
    if (!limited || has_attach_room(*csi_node, attached_to(query, node, name), wanted)) return true;
    diagnosis.refuse(node, diagnosis.reason(reason_row("MaxVolumeCount")));
    return false;
  }
};

}  // namespace

std::unique_ptr<Filter> node_volume_limits() {
  return std::make_unique<NodeVolumeLimits>();
}

}  // namespace berth::placement::plugins
