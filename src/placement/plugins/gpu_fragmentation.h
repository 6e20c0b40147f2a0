// What GpuFragmentation knows of a pod and of the workload, for policies that score by another formula.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "placement/fragmentation/claimed_devices.h"
#include "placement/fragmentation/driver_devices.h"
#include "placement/fragmentation/learned_workload.h"
#include "placement/signature.h"

namespace berth::placement::plugins {

// Device classes that are learned about, the first ones that pods ask for; and drivers whose devices can be
// divided.
inline constexpr std::size_t kLearnedClassesMax = 8;

// In PodQuery::slots; the workloads outlive the pod.
struct GpuWorkload {
  LearnedWorkload learned;
  std::map<std::string, LearnedWorkload> of_classes;  // by claims
  std::map<std::string, DriverWorkload> of_drivers;   // the same, of devices that can be divided
  GpuDemand demand;                                   // of the pod; hundredths is 0 for a share by memory
  std::uint64_t memory_mib = 0;                       // of such a share
  bool any_model = true;                              // the pod's affinity excludes no node with GPUs
  bool has_preferences = false;                       // of nodes: these count more
  // Of a pod with such claims, whose class or driver is known: its own is the demand above. Null: of others.
  const LearnedWorkload* of_class = nullptr;
  std::shared_ptr<const ClaimedDevices> claimed;        // of its class
  std::shared_ptr<const dra::AllocationRequest> kinds;  // of its driver: a claim for each

  void clear() {
    demand = {};
    memory_mib = 0;
    any_model = true;
    has_preferences = false;
    of_class = nullptr;
    claimed.reset();
    kinds.reset();
  }
};

// What the pod asks for on this node; none: the node's GPUs cannot be shared by memory.
std::optional<ScoredDemand> demand_on(const PodQuery& query, model::NodeId node);
GpuRoom gpu_room_of(const model::Cluster& cluster, model::NodeId node);
// Writes the fragments that gpu_room_of() and demand_on() depend on, and the workload's digest.
void sign_gpu_workload(const PodQuery& query, PodSignature& signature);

}  // namespace berth::placement::plugins
