// The rows of a Cluster's columns, and the record of decisions under way (cluster.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/types/cluster.h"
#include "client/view.h"
#include "model/affinities.h"
#include "model/ledger.h"
#include "model/pod_templates.h"

namespace berth::model {

struct NodeRow {
  std::string name;
  std::shared_ptr<const api::Node> live;  // null: only referred to
  ResourceRow allocatable;
  // Copies of `live`, so that a pass over all nodes does not read the objects.
  bool unschedulable = false;
  bool tainted = false;  // has any taint
  // Changes with the node's labels and features, and with the slices of every pool that has one for this
  // node.
  std::uint64_t labels_stamp = 0;
  std::uint64_t slices_stamp = 0;
  std::map<PoolId, std::uint32_t> local_pools;  // slices with this nodeName
};

using api::BindRequestPtr;

struct PodRow {
  client::NamedKey key;
  std::shared_ptr<const api::Pod> live;
  ResourceAmounts requests;                             // its charges without those of devices
  PodTemplateId of_template;                            // of a pod that waits and has others like it
  TermUses terms;                                       // of inter-pod affinity, while it has not finished
  api::GpuSharePtr gpu_share;                           // of a bound pod
  std::map<std::string, BindRequestPtr> bind_requests;  // by name, those that name this pod
};

// What the binder may still write for a pod that is gone or has ended: its allocation was sent, or will be
// before the binder learns of the pod's end. It ends with the next version of the claim.
struct LateAllocation {
  std::shared_ptr<const api::Allocation> allocation;  // null: none
  std::uint64_t version = 0;                          // of the claim that it was decided for
};

struct ClaimRow {
  client::NamedKey key;
  std::shared_ptr<const api::ResourceClaim> live;
  std::map<std::string, BindRequestPtr> bind_requests;  // by name, those that carry this claim
  std::set<std::string> assumed_by;                     // pod UIDs
  LateAllocation late;
};

struct SliceRow {
  std::shared_ptr<const api::ResourceSlice> live;
  PoolId pool;
  std::vector<DeviceId> devices;  // as live->devices
  bool shares = false;            // several claims may have one of them
};

struct PoolRow {
  std::string driver;
  std::string pool;
  std::map<std::string, SliceRow> slices;  // by object name
  std::map<std::string, DeviceId, std::less<>> devices;
  std::vector<NodeId> nodes;  // with a slice of their own; ascending
  bool wide = false;          // has a slice that is not tied to one node by nodeName
  std::uint64_t stamp = 0;    // changes with every slice of the pool
};

struct DeviceRow {
  PoolId pool;
  std::string name;
};

// A decision that no live object shows yet. It ends when the pod is bound and its claims are allocated, when
// its bind request exists, when the pod is gone or finished, or when the decision is forgotten.
struct Assumption {
  std::string decision;
  client::NamedKey pod;
  std::string pod_uid;
  std::string node;
  api::PodReservation reservation;
  friend bool operator<(const Assumption& a, const Assumption& b) { return a.pod_uid < b.pod_uid; }
};

}  // namespace berth::model
