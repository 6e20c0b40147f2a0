// The cluster in memory as columns: nodes, pods, device pools, claims, and the source of each ledger entry.
//
// Owner: one decider, on one thread. Fed by View deltas in any order of kinds. A pod's place and a claim's
// allocation are a pure function of objects, bind requests and assumptions, so a rebuild gives the same
// state. Precedence: live object, live bind request (first by name), open assumption (first by pod UID), late
// allocation. Cost: a delta O(what it names; for a slice, the slices of its pool); a look-up by name O(1), of
// pools and devices O(log n). An id stays with its object; rows that nothing names any more are reused.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/view.h"
#include "model/ledger.h"
#include "model/node_traits.h"
#include "model/replica_selectors.h"
#include "model/rows.h"
#include "model/slice_traits.h"

namespace berth::model {

// Whether the node resources that devices consume are counted: DRANodeAllocatableResources.
enum class NodeAllocatable : std::uint8_t { Ignored, Counted };

// Whether a what-if frees a claim that is reserved for a PodGroup with the last pod that uses it. Such a
// claim ends with the group, whenever that is; pods that merely end keep it (KEP-5729).
enum class GroupClaims : std::uint8_t { Kept, Freed };

class Cluster {
 public:
  explicit Cluster(NodeAllocatable counting = NodeAllocatable::Ignored) : counting_(counting) {}

  // Asserts that no transaction is open.
  void apply(const client::Delta& delta);
  void expect_rows(std::size_t pods, std::size_t claims);  // of a first state: room for them, nothing else

  const Ledger& ledger() const { return ledger_; }
  // For Ledger::Transaction.
  Ledger& ledger() { return ledger_; }
  // True while the request reserves what it names: it has not failed for good, and its pod is alive and is
  // the one it was made for.
  bool is_effective(const api::BindRequest& request) const;
  // The first by name of the pod's requests that reserves; null: none.
  BindRequestPtr effective_request(const PodRow& row) const;
  // Ends the transaction and records the pods that it placed as assumptions of `decision`; the ledger keeps
  // their effect, but tentative removals are restored.
  void commit(Ledger::Transaction& transaction, std::string_view decision);
  // Does the steps of a plan again: in the state in which they were taken, with the same effect.
  void redo(const Plan& plan, Ledger::Transaction& transaction) const;
  // Removes the pod in a what-if, and each claim of which it was the last consumer.
  void remove(PodId pod, GroupClaims group_claims, Ledger::Transaction& transaction) const;
  // What the plan takes, kept from entries below `priority`.
  Hold hold_for(const Plan& plan, std::int32_t priority) const;
  // The name of a claim of the pod, made by the decision or not.
  std::string claim_name(const api::Pod& pod, const ClaimChoice& choice) const;
  // What the reservation of a live pod is called in the API.
  api::PodReservation named(const api::Pod& pod, const Reservation& reservation) const;
  // Drops the open assumptions of a decision, or of one pod of it.
  void forget(std::string_view decision);
  void forget(std::string_view decision, std::string_view pod_uid);
  void assume(Assumption assumption);  // adds it unchanged: for replay and rebuild
  const std::map<std::string, Assumption>& assumptions() const { return assumptions_; }  // by pod UID
  // Claims with a late allocation: their devices are in use.
  const std::set<ClaimId>& late_claims() const { return late_claims_; }
  // The late allocation of this claim cannot be written any more.
  void forget_late(ClaimId claim);
  void expect_late(ClaimId claim, LateAllocation late);  // adds it unchanged, as assume()

  const std::vector<NodeRow>& nodes() const { return nodes_; }
  const NodeRow& node(NodeId id) const { return nodes_[id.index()]; }
  const PodRow& pod(PodId id) const { return pods_[id.index()]; }
  const std::vector<PodRow>& pods() const { return pods_; }  // those of pods that are gone are not live
  const ClaimRow& claim(ClaimId id) const { return claims_[id.index()]; }
  const PoolRow& pool(PoolId id) const { return pools_[id.index()]; }
  const DeviceRow& device(DeviceId id) const { return devices_[id.index()]; }
  std::size_t device_count() const { return devices_.size(); }
  const std::map<std::string, std::shared_ptr<const api::DeviceClass>>& classes() const { return classes_; }
  const Affinities& affinities() const { return affinities_; }
  const NodeTraits& node_traits() const { return traits_; }
  const ReplicaSelectors& replica_selectors() const { return replica_selectors_; }
  // Live nodes by name; every loop over nodes uses this order.
  const std::map<std::string, NodeId, std::less<>>& live_nodes() const { return live_nodes_; }

  NodeId find_node(std::string_view name) const { return node_names_.find(name); }
  PodId find_pod(std::string_view ns, std::string_view name) const;
  ClaimId find_claim(std::string_view ns, std::string_view name) const;
  // The id of a claim that a decision makes; it gets a row at the commit, under another id.
  ClaimId new_claim(Ledger::Transaction& transaction) const;
  PoolId find_pool(std::string_view driver, std::string_view pool) const;
  DeviceId find_device(std::string_view driver, std::string_view pool, std::string_view device) const;
  // The device in the newest generation of its pool; null when no slice of it has the device.
  const api::Device* find_offer(std::string_view driver, std::string_view pool,
                                std::string_view device) const;
  const SliceTraits& slice_traits() const { return slice_traits_; }
  bool devices_take_of_nodes() const;  // whether devices consume resources of nodes, and these are counted
  // The charges of a live pod whose devices consume this of its node.
  ResourceAmounts charges(PodId pod, const NodeAllocatablePtr& by_devices) const;
  std::vector<PoolId> pools_of(NodeId id) const;  // with a slice that has this node's name; in no order
  // Pools with a slice that is not tied to one node by nodeName, by driver and name.
  const std::map<std::pair<std::string, std::string>, PoolId>& shared_pools() const { return shared_pools_; }
  std::uint64_t shared_pools_stamp() const { return shared_pools_stamp_; }
  std::uint64_t node_set_stamp() const { return node_set_stamp_; }  // changes as live nodes join and leave
  std::uint64_t labels_stamp() const { return labels_stamp_; }      // and as their labels change

  // The scope of a change: the listed nodes, also devices that any node may use, or (the log was overwritten)
  // everything.
  enum class ChangeScope : std::uint8_t { Nodes, AllDevices, Unknown };
  // Appends the nodes that changed since `from`, a position in ledger().changes(), each at least once.
  // Classes and the set of nodes have stamps of their own.
  ChangeScope changed_since(Changes::Position from, std::vector<NodeId>& nodes) const;
  std::uint64_t classes_stamp() const { return classes_stamp_; }

  const ResourceNames& resources() const { return resources_; }
  const Names<CapacityId>& capacities() const { return capacities_; }
  // Turns an allocation into ids. Its devices are in a slice or held by a claim.
  ClaimReservationPtr reservation_for(std::shared_ptr<const api::Allocation> allocation) const;

  // Canonical text of everything that a decision can read, sorted by names: equal states give equal texts.
  std::string to_text() const;

 private:
  friend class Audit;
  void apply_node(const api::Node* before, const std::shared_ptr<const api::Node>& after);
  void apply_pod(const api::Pod* before, const std::shared_ptr<const api::Pod>& after);
  void apply_slice(const api::ResourceSlice* before, const std::shared_ptr<const api::ResourceSlice>& after);
  void apply_class(const std::string& name, const std::shared_ptr<const api::DeviceClass>& after);
  void apply_claim(const api::ResourceClaim* before, const std::shared_ptr<const api::ResourceClaim>& after);
  void apply_request(const BindRequestPtr& before, const BindRequestPtr& after);
  bool has_bound(const api::BindRequest& request) const;
  void keep_as_assumption(const api::BindRequest& request);
  void attach_request(const BindRequestPtr& request);
  void detach_request(const api::BindRequest& request);
  void pool_changed(PoolId pool);

  bool outstanding(const Assumption& assumption) const;
  void drop_confirmed(std::string_view pod_uid);
  void recompute(PodId pod);
  void recompute(ClaimId claim);
  void recompute_all_of(const Assumption& assumption);
  struct PodPlacement {
    NodeId node;
    const api::NodeAllocatableClaims* by_devices = nullptr;
    const std::vector<api::ClaimAllocation>* claims = nullptr;  // of its request or assumption
    api::GpuSharePtr gpu_share = nullptr;
    VolumeBindingsPtr volumes = nullptr;
  };
  PodPlacement place_of(const PodRow& row);
  std::vector<ClaimId> used_claims(const api::Pod& pod, const std::vector<api::ClaimAllocation>* reserved);
  bool has_other_consumers(const ClaimRow& row, GroupClaims group_claims) const;
  std::shared_ptr<const api::Allocation> allocation_of(const ClaimRow& row) const;

  void keep_late_allocations(const PodRow& row, const std::string& pod_uid);
  void end_late_allocation(ClaimId claim);
  void add_assumption(Assumption assumption);
  Assumption take_assumption(const std::string& pod_uid);
  void retire_if_unused(PodId pod);
  void retire_if_unused(ClaimId claim);

  std::string nodes_text() const;
  std::string devices_text() const;

  NodeId node_id(std::string_view name);
  PodId pod_id(std::string_view ns, std::string_view name);
  ClaimId claim_id(std::string_view ns, std::string_view name);
  void make_rows_of(const api::Allocation& allocation);
  PoolId pool_id(const std::string& driver, const std::string& pool);
  DeviceId device_id(PoolId pool, std::string_view name);

  NodeAllocatable counting_;
  SliceTraits slice_traits_;
  Ledger ledger_;
  ResourceNames resources_;
  Names<CapacityId> capacities_;
  Names<NodeId> node_names_;
  std::vector<NodeRow> nodes_;
  std::map<std::string, NodeId, std::less<>> live_nodes_;
  client::NamedTable<PodId> pod_ids_;
  std::vector<PodRow> pods_;
  std::vector<PodId> free_pods_;
  PodTemplates templates_;
  Affinities affinities_;
  NodeTraits traits_;
  ReplicaSelectors replica_selectors_;
  client::NamedTable<ClaimId> claim_ids_;
  std::vector<ClaimRow> claims_;
  std::vector<ClaimId> free_claims_;
  std::map<std::pair<std::string, std::string>, PoolId> pool_ids_, shared_pools_;
  std::vector<PoolRow> pools_;
  std::vector<DeviceRow> devices_;
  std::map<std::string, std::shared_ptr<const api::DeviceClass>> classes_;
  std::map<std::string, Assumption> assumptions_;
  std::set<ClaimId> late_claims_;
  std::uint64_t stamp_ = 0, shared_pools_stamp_ = 0, node_set_stamp_ = 0, labels_stamp_ = 0;
  std::uint64_t classes_stamp_ = 0;
};

}  // namespace berth::model
