// Which volumes a pod's claims have or can get: the facts that scheduler, binder and volume controller share.
//
// Pure functions of a View; pointers are valid until the view changes. Source: kube-scheduler's VolumeBinding
// plugin and k8s.io/component-helpers/storage/volume, 1.37.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "client/node_label_index.h"
#include "client/view.h"

namespace berth::client {

// Why the pod fits on no node.
enum class ClaimProblem : std::uint8_t {
  None,
  NotFound,    // subject: the claim
  NotMadeYet,  // of an ephemeral volume; subject: the claim
  Lost,        // subject: the claim, second: its volume
  Deleting,    // subject: the claim
  NotOwned,    // by the pod of its ephemeral volume; subject: claim, second: pod, with namespaces
  Unbound      // a claim that the volume controller must bind first
};

struct PodVolumeClaims {
  ClaimProblem problem = ClaimProblem::None;  // the first one, in the order of the pod's volumes
  std::string subject, second;
  // Each claim once. `delayed`, to be bound once a node is chosen: smallest request first.
  std::vector<const api::PersistentVolumeClaim*> bound, delayed;
};

// With a problem, `bound` and `delayed` are incomplete. Cost: O(volumes of the pod * log n).
PodVolumeClaims volume_claims_of(const View& view, const api::Pod& pod);

// The claim's class binds when a pod's node is chosen.
bool waits_for_consumer(const View& view, const api::PersistentVolumeClaim& claim);

// One volume that a node attaches by a CSI driver.
struct CsiVolume {
  std::string driver;
  std::string handle;  // empty: not made yet
  std::string claim;   // namespace/name; empty: it has a handle
  friend auto operator<=>(const CsiVolume&, const CsiVolume&) = default;
};

// Adds those of the pod's claims; a claim without a volume counts as one of its class's provisioner. Claims
// that do not exist, or belong to another pod, are left out. Cost: O(volumes of the pod * log n).
void add_csi_volumes_of(const View& view, const api::Pod& pod, std::set<CsiVolume>& volumes);

// Whether another claim is about to get the volume.
using IsTaken = std::function<bool(const api::PersistentVolume&)>;

// The volumes that the claim can be bound to, on whatever node, best first: the one that is reserved for it,
// alone; otherwise smallest first, then by name. Cost: O(volumes of the claim's class).
std::vector<const api::PersistentVolume*> volumes_for(const View& view,
                                                      const api::PersistentVolumeClaim& claim,
                                                      const IsTaken& is_taken);

enum class Provisioning : std::uint8_t { Possible, Impossible, NotEnoughSpace };

// Makes volumes for a claim. Possible on a node: the class has a provisioner, its allowedTopologies select
// the node, and, where the driver publishes capacities, one of the node's is large enough.
class Provisioner {
 public:
  struct Answer {
    Provisioning provisioning = Provisioning::Impossible;
    const api::CSIStorageCapacity* from = nullptr;  // the first one that is large enough, if it is published
  };
  // Cost: O(capacities of the class).
  Provisioner(const View& view, const api::PersistentVolumeClaim& claim);
  // Cost: O(capacities that may be the node's).
  Answer ask(const api::Node& node) const;

 private:
  const api::StorageClass* class_ = nullptr;  // null: it has no provisioner
  bool is_published_ = false;
  NodeLabelIndex<api::CSIStorageCapacity> capacities_;
};

}  // namespace berth::client
