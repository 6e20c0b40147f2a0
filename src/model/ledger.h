// What is in use: resources of nodes, devices of claims. All tentative changes go through
// Ledger::Transaction.
//
// Owner: one Cluster, on one thread. The ledger holds the effect only; the Cluster decides which source of an
// entry (a bound pod, a bind request, an assumption) wins (cluster.h). Undo restores old values from a
// journal. Cost: place, allocate and their undo O(resources of the pod), O(devices of the claim).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/changes.h"
#include "model/ids.h"
#include "model/plan.h"
#include "model/use.h"

namespace berth::model {

class Ledger {
 public:
  class Transaction;

  // A row without charges reads as empty.
  const NodeUse& node(NodeId node) const;
  const DeviceUse& device(DeviceId device) const;
  // True when a claim reserves the device or it is excluded. One byte a device: the search's first test.
  bool busy(DeviceId device) const { return device.index() < busy_.size() && busy_[device.index()] != 0; }
  // The node that the pod is charged to; none() without one.
  NodeId node_of(PodId pod) const;
  // Null when the claim reserves nothing.
  const ClaimReservationPtr& reservation(ClaimId claim) const;
  // Names the state: changes whenever a device of the pool is reserved or released; undo restores it.
  std::uint64_t pool_stamp(PoolId pool) const;
  // The same for charges to the node's resources.
  std::uint64_t node_stamp(NodeId node) const;
  bool in_transaction() const { return open_ != nullptr; }
  // One entry for every stamp that changed, and for every change of a node that the Cluster itself makes.
  const Changes& changes() const { return changes_; }
  Changes& changes() { return changes_; }

  // Sets the pool of a device: called once, before the device is charged.
  void device_belongs_to(DeviceId device, PoolId pool);
  void expect_rows(std::size_t pods, std::size_t claims);  // Cluster::expect_rows

  // Pods with a charge that use the claim.
  std::int32_t users(ClaimId claim) const;
  // True when the open transaction removed the pod.
  bool removed(PodId pod) const { return pod.index() < pods_.size() && pods_[pod.index()].removed; }
  // What the pod is charged with; nothing without a row.
  const PodCharge& charge(PodId pod) const;
  // Those that are charged with volumes.
  const std::set<PodId>& pods_with_volumes() const { return pods_with_volumes_; }

  // Sets the charge of one pod or claim; called by the Cluster, outside of transactions.
  void update_pod(PodId pod, PodCharge charge);
  void update_claim(ClaimId claim, ClaimReservationPtr reservation);

  using HoldId = model::HoldId;
  // Charges the hold until its release, outside of transactions. Decisions of its priority and above lift it.
  HoldId add(Hold hold);
  void release(HoldId hold);
  const std::map<HoldId, Hold>& holds() const { return holds_; }
  // Whether a hold keeps a place for the pod, and whether the pod is evicted for one.
  bool expects(PodId pod) const { return expected_.contains(pod); }
  bool is_leaving(PodId pod) const { return leaving_.contains(pod); }
  // The pod of this row is gone or another one: holds keep its amounts alone.
  void forget_in_holds(PodId pod);
  // Another pod's filters read other things of a pod that is expected somewhere.
  void expected_pod_changed(PodId pod);

 private:
  friend class Audit;
  enum class Undo : std::uint8_t {
    Pod,
    Hold,
    NodeStamp,
    Claim,
    Device,
    Counts,  // of a device, without its holders
    PoolStamp,
    Consumed
  };
  struct UndoRecord {
    Undo kind;
    std::uint32_t row;
    std::uint32_t detail;                // claim, or how often the device is excluded
    std::int64_t old_value, old_shares;  // of a pod: the stamps of the node that it left and of its new one
  };

  void charge_pod(PodId pod, PodCharge charge);
  void release_pod(PodId pod, bool removed = false);
  void add_amounts(const PodCharge& charge, int sign, ShareHolder holder = ShareHolder::Pod);
  void count_in(PodId pod, const PodCharge& charge);
  void count_out(PodId pod, const PodCharge& charge);
  void charge_hold(const Hold& hold, int sign);
  void add_held(const HeldPlace& place, int sign);
  // -1 removes the share.
  void change_gpu_groups(NodeId node, const api::GpuSharePtr& share, int sign, ShareHolder holder);
  void change_requested(NodeId node, ResourceId resource, std::int64_t by);
  void move_pod(PodId pod, PodCharge to);
  void list_pod(NodeId node, PodId pod);
  void unlist_pod(NodeId node, PodId pod);
  std::uint64_t node_changed(NodeId node);  // its stamp before
  void restore_node_stamp(NodeId node, std::int64_t stamp);
  void set_reservation(ClaimId claim, ClaimReservationPtr reservation);
  void take(ClaimId claim, const ReservedDevice& held);
  void give_back(ClaimId claim, const ReservedDevice& held);
  void add_consumed(DeviceId device, const std::vector<CapacityAmount>& amounts, int sign);
  DeviceUse& device_row(DeviceId device);
  void record_counts(DeviceId device);
  void update_busy(DeviceId device);
  void device_changed(DeviceId device);
  void undo_to(std::size_t size);
  void undo_pod(const UndoRecord& entry);
  void undo_device(const UndoRecord& entry);
  void record(UndoRecord entry) {
    if (open_) journal_.push_back(entry);
  }

  std::vector<NodeUse> nodes_;
  std::vector<std::uint64_t> node_stamps_;
  std::vector<DeviceUse> devices_;
  std::vector<std::uint8_t> busy_;
  std::vector<PoolId> pool_of_;
  std::vector<std::uint64_t> pool_stamps_;
  std::vector<PodCharge> pods_;
  std::vector<ClaimReservationPtr> claims_;
  std::vector<std::int32_t> users_;  // by claim
  std::set<PodId> pods_with_volumes_;
  std::vector<HoldId> not_binding(std::int32_t priority, const HoldsPassed& passed) const;
  std::map<HoldId, Hold> holds_;
  std::set<std::pair<std::int32_t, HoldId>> holds_by_priority_;  // the same
  std::multimap<PodId, NodeId> expected_;                        // of holds that are charged
  std::multiset<PodId> leaving_;                                 // for any hold
  HoldId next_hold_ = 0;
  std::uint64_t stamp_ = 0;
  Changes changes_;

  Transaction* open_ = nullptr;
  std::vector<UndoRecord> journal_;
  // Values too large for an UndoRecord, in journal order.
  std::vector<ClaimReservationPtr> old_reservations_;
  std::vector<PodCharge> old_charges_;
  std::vector<std::vector<CapacityAmount>> old_consumed_;
};

// A tentative change with nested savepoints. At most one is open; the destructor undoes what Cluster::commit
// did not keep.
class Ledger::Transaction {
 public:
  struct Savepoint {
    std::size_t journal;
    std::size_t steps;
  };

  explicit Transaction(Ledger& ledger);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Savepoint savepoint() const { return {ledger_.journal_.size(), steps_.size()}; }
  // Undoes everything since `to`, a savepoint of this transaction that was not undone itself.
  void roll_back_to(Savepoint to);
  // Undoes the same and returns its steps, for Cluster::redo.
  Plan take_since(Savepoint from);

  // Charges the pod to the node; a pod that was charged elsewhere moves. `requests` is the whole charge,
  // including what its devices consume (Cluster::charges). The devices of its claims are charged by allocate.
  void place(PodId pod, NodeId node, const ResourceAmounts& requests, ReservationPtr reservation = nullptr);
  // Reserves the devices. Refuses nothing: the allocator prevents over-use.
  void allocate(ClaimId claim, ClaimReservationPtr reservation);
  // Removes the pod's charge (or the claim's reservation), as preemption tries it.
  void remove_pod(PodId pod);
  void remove_claim(ClaimId claim);
  // Takes back what holds keep from others, where they do not bind an entry of this priority: O(those).
  void lift_holds(std::int32_t priority, const HoldsPassed& passed);
  // Marks the device as in use, so that the allocator avoids it; exclude() leaves its counters free for
  // others.
  void hide(DeviceId device);
  void exclude(DeviceId device);

  const std::vector<Step>& steps() const { return steps_; }
  // The number of the next claim that the transaction makes (Cluster::new_claim).
  std::uint32_t next_new_claim() { return new_claims_++; }

  // Undoes everything and closes; later calls do nothing. Cluster::commit uses it.
  void end();

 private:
  Ledger& ledger_;
  bool ended_ = false;
  std::uint32_t new_claims_ = 0;
  std::vector<Step> steps_;
};

}  // namespace berth::model
