// The controllers of the embedded control plane: what kube-controller-manager and kubelets do on a real
// cluster.
//
// Each is a Reconciler for the engine; what it remembers is derived and may be lost at the price of a
// repeated read. Which one does what, and by which rule of Kubernetes, stands in README.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/decider.h"

namespace berth::control {

// The words of every controller.
using api::Kind;
using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

inline constexpr std::string_view kSimulatedLabel = "berth.dev/simulated";
inline constexpr std::string_view kRunTimeAnnotation = "berth.dev/run-time";
inline constexpr std::string_view kFabricReadyAfterAnnotation = "berth.dev/fabric-ready-after";
inline constexpr std::string_view kFabricFailAfterAnnotation = "berth.dev/fabric-fail-after";
inline constexpr std::string_view kNodeLeaseNamespace = "kube-node-lease";

// One served resource, for the controllers that care for all of them.
struct ServedResource {
  api::ResourceRef resource;
  std::string kind;
  bool namespaced = true;
};

// Makes the claims that pods ask for by template and writes their names into
// pod.status.resourceClaimStatuses. Names are derived from the pod, so a lost answer never makes a second
// claim.
std::unique_ptr<client::Reconciler> make_claim_from_template();

// The same for the templates of PodGroups (KEP-5729): one claim a group, named in the group's status.
std::unique_ptr<client::Reconciler> make_group_claim_from_template();

// Takes consumers that are gone or finished out of status.reservedFor, frees a claim that nobody uses, lets
// deleted claims go and deletes generated claims of finished pods.
std::unique_ptr<client::Reconciler> make_claim_release();

// Deletes what has lost all its owners; foreground and orphan deletion. Owners are matched by UID; an owner
// of a kind that is not in `resources` counts as present.
std::unique_ptr<client::Reconciler> make_garbage_collector(std::vector<ServedResource> resources);

// Deletes bound pods whose claims hold devices with a NoExecute taint that the claim does not tolerate (any
// more), at timeAdded + tolerationSeconds; says so in the pod's condition DisruptionTarget, an event, and the
// rule's condition EvictionInProgress. Source: KEP-5055.
std::unique_ptr<client::Reconciler> make_device_taint_eviction();

// Empties terminating namespaces, then finalizes them.
std::unique_ptr<client::Reconciler> make_namespace_finalizer(std::vector<ServedResource> resources);

// Lets a deleted PodGroup go once no pod of it can run any more.
std::unique_ptr<client::Reconciler> make_pod_group_protection();

// Ends deleted pods whose node has no kubelet, and pods whose node has been away for long.
std::unique_ptr<client::Reconciler> make_pod_gc();

// Keeps simulated nodes Ready and their leases fresh.
std::unique_ptr<client::Reconciler> make_simulated_nodes();

// Runs the pods that are bound to simulated nodes.
std::unique_ptr<client::Reconciler> make_simulated_pods();

// Attaches devices of claims that are annotated for it, after the time that the annotation says.
std::unique_ptr<client::Reconciler> make_simulated_fabric();

// Deletes events an hour after they last happened.
std::unique_ptr<client::Reconciler> make_event_ttl();

// The Node object of the n-th simulated node (from 1).
Json simulated_node_object(std::size_t n);
// What the node offers once its agent has seen it, where the object does not say; only simulated nodes.
void complete_simulated_node(Json& node);

}  // namespace berth::control
