// The controllers of the embedded control plane: the work of kube-controller-manager and kubelets on a real
// cluster.
//
// Each is a Reconciler for the engine; its state is derived and may be lost at the price of a repeated read.
// controllers.def has a row for each that needs nothing but the view.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/types/simulated_node.h"
#include "client/decider.h"

namespace berth::controllers {

// Names that every controller uses.
using api::Kind;
using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

using api::kSimulatedLabel;
inline constexpr std::string_view kRunTimeAnnotation = "berth.dev/run-time";
// Of a pod with a run time: its containers end with this code, and the pod fails when it is not 0.
inline constexpr std::string_view kExitCodeAnnotation = "berth.dev/exit-code";
// Of pods that have ended so many stay, those of Jobs and Deployments too; the oldest go first. As
// kube-controller-manager's --terminated-pod-gc-threshold.
inline constexpr std::size_t kEndedPodsMax = 12500;
inline constexpr std::string_view kFabricReadyAfterAnnotation = "berth.dev/fabric-ready-after";
inline constexpr std::string_view kFabricFailAfterAnnotation = "berth.dev/fabric-fail-after";
inline constexpr std::string_view kNodeLeaseNamespace = "kube-node-lease";

// One served resource, for the controllers of all resources.
struct ServedResource {
  api::ResourceRef resource;
  std::string kind;
  bool namespaced = true;
};

// What a controller replaces: kube-controller-manager, or the kubelets and drivers of simulated nodes.
enum class ControllerGroup { Cluster, SimulatedNodes };

#define CONTROLLER(group, name, full_name, alias) std::unique_ptr<client::Reconciler> make_##name();
#include "controllers/controllers.def"
#undef CONTROLLER

// A row of controllers.def.
struct ControllerRow {
  ControllerGroup group;
  std::string_view name;   // "garbage-collector-controller"; empty: it cannot be switched off
  std::string_view alias;  // "garbagecollector", or empty
  std::unique_ptr<client::Reconciler> (*make)();
};
std::span<const ControllerRow> controller_rows();

// Every resource of the type table that can be watched and deleted, one per kind.
std::vector<ServedResource> watched_resources();

// The two controllers of all kinds, over some of them.
std::unique_ptr<client::Reconciler> make_garbage_collector(std::vector<ServedResource> resources);
std::unique_ptr<client::Reconciler> make_namespace_finalizer(std::vector<ServedResource> resources);

// Runs the pods that are bound to simulated nodes. Signals about a Node (Engine::wake) run those of its pods
// that do not run yet.
inline constexpr std::string_view kSimulatedPodsName = "simulated-pods";
// Whether the containers of a bound pod may start; until then they are created. A signal about the pod's node
// follows when the answer changes for another reason than the view.
using ContainersMayStart = std::function<bool(const View&, const api::Pod&)>;
// Of containers on simulated nodes.
struct SimulatedDurations {
  Duration job;          // those of Jobs run so long that do not say it; zero: for ever
  Duration termination;  // between the deletion of their pod and their end, at most its grace period
};
std::unique_ptr<client::Reconciler> make_simulated_pods(ContainersMayStart may_start,
                                                        SimulatedDurations durations = {});

// The Node object of the n-th simulated node (from 1).
Json simulated_node_object(std::size_t n);
// Fills in what the agent of a simulated node reports and the object lacks; only for simulated nodes.
void complete_simulated_node(Json& node);

}  // namespace berth::controllers
