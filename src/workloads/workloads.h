// The workloads: ReplicaSet, ReplicationController, Deployment, Job, CronJob, StatefulSet, DaemonSet.
//
// Each is a Reconciler for the engine. What they remember is derived from the view and may be lost.
// workloads.def has a row for each. Source: kube-controller-manager 1.37.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/decider.h"

namespace berth::workloads {

// Names that every controller uses.
using api::Kind;
using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;
using PodPtr = std::shared_ptr<const api::Pod>;
using Pods = std::vector<PodPtr>;

#define WORKLOAD(name, full_name, alias) std::unique_ptr<client::Reconciler> make_##name();
#include "workloads/workloads.def"
#undef WORKLOAD

// A row of workloads.def.
struct WorkloadRow {
  std::string_view name;   // "replicaset-controller"
  std::string_view alias;  // "replicaset"
  std::unique_ptr<client::Reconciler> (*make)();
};
std::span<const WorkloadRow> workload_rows();
// Publishes the certificate (PEM) of the API server's CA as ConfigMap kube-root-ca.crt in every namespace;
// the row has no make(), which would need it.
inline constexpr WorkloadRow kRootCaPublisher{"root-ca-certificate-publisher-controller",
                                              "root-ca-cert-publisher", nullptr};
std::unique_ptr<client::Reconciler> make_root_ca_publisher(std::string certificate);
// By a list of names as kube-controller-manager's --controllers has it. A name or alias is on, '-name' is
// off, '*' is on for all others. '-*', which Kubernetes does not take, undoes '*'.
bool is_enabled(std::string_view name, std::string_view alias, std::span<const std::string> names);
inline bool is_enabled(const WorkloadRow& row, std::span<const std::string> names) {
  return is_enabled(row.name, row.alias, names);
}

// At most so many pods are created, and deleted, in one run of an owner's key; the next run continues.
inline constexpr std::size_t kPodsPerRunMax = 500;
// The first of them, while nothing says that they are accepted: each run may make as many again as exist.
inline constexpr std::size_t kFirstPodsMax = 16;
// Events of one run; the engine's own bound for an object is the same.
inline constexpr std::size_t kEventsPerRunMax = 25;

}  // namespace berth::workloads
