// The stored objects, read from their JSON and nothing else: the input of the invariant checkers.
//
// Shares no code with the model, the allocator, the typed decoders or the binder, so that no mistake there is
// hidden. Owner: one storm. Cost: one JSON document an event.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "sim/stored_volumes.h"
#include "store/store.h"

namespace berth::sim {

struct StoredPod {
  std::string name, uid, node, group, phase, domain;    // the last of its group, recorded with the binding
  bool deleting = false, ends = false, of_set = false;  // ends: by itself; of_set: of a ReplicaSet
  bool claims_known = true, evicted = false, preempted = false;  // all have names; by DisruptionTarget
  std::vector<std::string> claims, volume_claims;                // objects
  std::int64_t priority = 0, cpu_millis = 0;
  std::int64_t whole_gpus = 0, node_gpus = 0;                  // extended: of devices; nvidia.com/gpu
  std::int64_t share = 0, share_gpus = 0;                      // that it asks for: hundredths, of how many
  std::vector<std::string> gpu_groups, gpu_devices;            // that it has
  std::string scheduled, scheduled_reason, scheduled_message;  // condition PodScheduled
  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool runs_or_will() const { return !node.empty() && !finished() && !deleting; }
};

using StoredAmounts = std::map<std::string, std::int64_t>;  // thousandths

struct StoredToleration {
  std::string key, value, effect;  // empty: any
  bool exists = false;
};

struct StoredTaint {
  std::string key, value, effect;
};

// A claim's request under one name.
struct StoredWant {
  std::string name;  // "request" or "request/alternative", as in results
  std::string device_class;
  std::vector<std::string> selectors;  // CEL
  std::int64_t count = 1;
  bool all = false, admin = false;
  std::vector<StoredToleration> tolerations;
  StoredAmounts capacity;
};

struct StoredConstraint {
  std::vector<std::string> requests;  // empty: all
  std::string match, distinct;        // attributes, with the driver's name
};

struct StoredResult {
  std::string request, device;  // "driver/pool/device"
  bool admin = false, share = false;
  StoredAmounts consumed;
  std::vector<std::string> binding, failing;  // condition types
};

struct StoredClaim {
  std::string name, uid, owner_uid;
  bool deleting = false, allocated = false;
  bool has_finalizer = false;  // that protects it while it is in use
  std::vector<StoredResult> results;
  Json node_selector;
  std::set<std::string> reserved;                      // UIDs
  std::map<std::string, std::set<std::string>> true_;  // by device: condition types
  std::vector<std::vector<StoredWant>> requests;       // each with its alternatives
  std::vector<StoredConstraint> constraints;
};

struct StoredRequest {
  std::string name, pod_name, pod_uid, node, phase, step, decision;
  std::int64_t epoch = 0, failed_attempts = 0, group_size = 0;  // members of its decision
  std::string next_attempt, lease_uid, root;  // of the current decision; of its term; of its tree
  bool is_failing() const { return phase == "Failed" || step == "RollingBack" || step == "RolledBack"; }
  bool is_live() const { return phase != "Succeeded" && phase != "Failed"; }
};

struct StoredGroup {
  std::string name, uid, key, scheduled, scheduled_message, parent;  // topology key; Kubernetes' condition
  std::string committed;               // its latest decision; empty: there is none, or it is aborted
  std::int64_t min = 0, priority = 0;  // min 0: no gang
};
struct StoredComposite : StoredGroup {};  // a CompositePodGroup; its `min` counts children

struct StoredNode {
  std::string name;
  std::map<std::string, std::string> labels;
  std::int64_t cpu_millis = 0, pods = 0, gpus = 0;
  bool usable = false, failed = false;  // Ready, untainted, not cordoned; not Ready, or a taint evicts
};

struct StoredDraw {
  std::string set, counter;
  std::int64_t amount = 0;
  std::set<std::string> groups;
};

// A share's amount as a function of the request: the first step from `min` that reaches it.
struct StoredRange {
  std::int64_t fallback = 0, min = 0, step = 0, max = 0;
};

struct StoredDevice {
  std::string key, type, node;                              // node empty: every node
  std::map<std::string, std::set<std::string>> attributes;  // a list has several values
  StoredAmounts capacity;
  std::map<std::string, StoredRange> ranges;  // by capacity
  std::vector<StoredDraw> draws;
  std::vector<StoredTaint> taints;
  bool shared = false, binds = false;  // allowMultipleAllocations, bindsToNode
  bool tainted() const { return !taints.empty(); }
};

// A DeviceTaintRule; an empty field matches everything.
struct StoredTaintRule {
  std::string driver, pool, device;
  StoredTaint taint;
};

// What one claim has of a device; admin access has nothing.
struct StoredHold {
  bool whole = false;
  StoredAmounts consumed;  // by all its shares
};

struct StoredSlice {
  std::string pool;  // "driver/pool"
  std::int64_t generation = 0, slices = 0;
  std::vector<StoredDevice> devices;
  std::map<std::string, std::int64_t> counters;  // "driver/pool/set counter"
};

inline constexpr std::array<std::string_view, 8> kStepNames = {
    "", "Reserving", "WaitingForDevices", "WaitingForGang", "Binding", "Bound", "RollingBack", "RolledBack"};

// Objects of the namespace "default" and cluster-scoped ones are known by name, others by "namespace/name".
class StoredState {
 public:
  std::map<std::string, StoredPod> pods;
  std::map<std::string, StoredClaim> claims;
  std::map<std::string, StoredRequest> requests;
  std::map<std::string, std::vector<std::string>> gang_records;  // UIDs of their pods
  std::map<std::string, StoredGroup> groups;
  std::map<std::string, StoredComposite> composites;
  std::map<std::string, StoredNode> nodes;
  std::map<std::string, StoredSlice> slices;
  std::map<std::string, std::vector<std::string>> classes;  // their selectors
  std::map<std::string, StoredTaintRule> taint_rules;
  StoredVolumes volumes;
  std::map<std::string, std::map<std::string, StoredHold>> holders;  // device: by claim
  std::map<std::string, std::string> pod_of_uid;                     // name
  std::map<std::string, std::set<std::string>> requests_of_pod;      // UID: names
  std::map<std::string, std::set<std::string>> members;              // group: names of pods
  std::map<std::string, StoredDevice> catalog;                       // every device ever published
  std::map<std::string, std::int64_t> counters;                      // ever published
  std::map<std::string, std::set<std::string>> devices_of_set;       // "driver/pool/set": keys

  const StoredPod* pod_by_uid(const std::string& uid) const;  // null when none exists
  bool selects(const Json& node_selector, const std::string& node) const;
  // The binder's progress, as an index of kStepNames. Steps that it does not record are derived.
  std::size_t step_of(const StoredRequest& request) const;
  bool has_request(const StoredPod& pod) const;  // that is not failing; one in a record of a gang cannot fail
  // By this consumer of the claim, or by one of them: the pod itself, or its group.
  bool is_entry_of(const StoredClaim& claim, const std::string& uid, const StoredPod& pod) const;
  bool has_reserved(const StoredClaim& claim, const StoredPod& pod) const;
  bool is_held(const std::string& claim, const StoredPod& pod) const;  // allocated to it, devices attached
  bool is_prepared(const StoredPod& pod) const;  // its request is not failing, and every claim is held
  void put_pod(StoredPod pod);
  void erase_pod(const std::string& name);
  void put_claim(StoredClaim claim);
  void erase_claim(const std::string& name);
  void put_request(StoredRequest request);
  void erase_request(const std::string& name);
  void put_slice(const std::string& name, StoredSlice slice);
};

// The name of an object in this class.
std::string local_name(std::string_view ns, std::string_view name);
StoredPod read_pod(const Json& object);
StoredClaim read_claim(const Json& object);
StoredRequest read_request(const Json& object);
std::vector<std::string> members_of_record(const Json& object);  // UIDs of pods; empty: no record of a gang
StoredGroup read_group(const Json& object);
StoredComposite read_composite(const Json& object);
StoredNode read_node(const Json& object);
StoredSlice read_slice(const Json& object);
std::vector<std::string> read_class(const Json& object);
StoredTaintRule read_taint_rule(const Json& object);

}  // namespace berth::sim
