#include "model/ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/known_defects.h"

namespace berth::model {
namespace {

// Passes over all nodes read them: not in a function, where each read would ask whether they are made.
const NodeUse kUnusedNode;
const DeviceUse kUnusedDevice;

template <class T, class Id>
T& row_at(std::vector<T>& rows, Id id) {
  if (rows.size() <= id.index()) rows.resize(id.index() + 1);
  return rows[id.index()];
}

// Lists are short, and what came last goes first: the end is looked at before the rest.
template <class Id>
void insert_sorted(std::vector<Id>& list, Id id) {
  if (list.empty() || list.back() < id) return list.push_back(id);
  list.insert(std::lower_bound(list.begin(), list.end(), id), id);
}

template <class Id>
void erase_sorted(std::vector<Id>& list, Id id) {
  if (!list.empty() && list.back() == id) return list.pop_back();
  const auto at = std::lower_bound(list.begin(), list.end(), id);
  BERTH_ASSERT(at != list.end() && *at == id, "what is given back was taken");
  list.erase(at);
}

bool same_volumes(const VolumeBindingsPtr& a, const VolumeBindingsPtr& b) {
  return a == b || (a && b && *a == *b);
}

}  // namespace

const NodeUse& Ledger::node(NodeId node) const {
  return node.index() < nodes_.size() ? nodes_[node.index()] : kUnusedNode;
}

const DeviceUse& Ledger::device(DeviceId device) const {
  return device.index() < devices_.size() ? devices_[device.index()] : kUnusedDevice;
}

NodeId Ledger::node_of(PodId pod) const {
  return pod.index() < pods_.size() ? pods_[pod.index()].node : NodeId::none();
}

const ClaimReservationPtr& Ledger::reservation(ClaimId claim) const {
  static const ClaimReservationPtr kNothing;
  return claim.index() < claims_.size() ? claims_[claim.index()] : kNothing;
}

std::uint64_t Ledger::pool_stamp(PoolId pool) const {
  return pool.index() < pool_stamps_.size() ? pool_stamps_[pool.index()] : 0;
}

std::uint64_t Ledger::node_stamp(NodeId node) const {
  return node.index() < node_stamps_.size() ? node_stamps_[node.index()] : 0;
}

void Ledger::device_belongs_to(DeviceId device, PoolId pool) {
  row_at(pool_of_, device) = pool;
}

std::int32_t Ledger::users(ClaimId claim) const {
  return claim.index() < users_.size() ? users_[claim.index()] : 0;
}

const PodCharge& Ledger::charge(PodId pod) const {
  static const PodCharge kNothing;
  return pod.index() < pods_.size() ? pods_[pod.index()] : kNothing;
}

void Ledger::expect_rows(std::size_t pods, std::size_t claims) {
  pods_.reserve(pods);
  claims_.reserve(claims);
  users_.reserve(claims);
}

void Ledger::update_pod(PodId pod, PodCharge charge) {
  BERTH_ASSERT(!open_, "the world does not change during a transaction");
  const PodCharge& now = row_at(pods_, pod);
  const bool same_charge = now.requests == charge.requests && same_share(now.gpu_share, charge.gpu_share) &&
                           now.claims == charge.claims && same_volumes(now.volumes, charge.volumes);
  if (now.node == charge.node && (!charge.node.valid() || same_charge)) return;
  release_pod(pod);
  if (charge.node.valid()) charge_pod(pod, std::move(charge));
}

void Ledger::update_claim(ClaimId claim, ClaimReservationPtr reservation) {
  BERTH_ASSERT(!open_, "the world does not change during a transaction");
  if (row_at(claims_, claim) != reservation) set_reservation(claim, std::move(reservation));
}

void Ledger::change_requested(NodeId node, ResourceId resource, std::int64_t by) {
  row_at(nodes_, node).requested.at(resource) += by;
}

void Ledger::list_pod(NodeId node, PodId pod) {
  insert_sorted(row_at(nodes_, node).pods, pod);
}

void Ledger::unlist_pod(NodeId node, PodId pod) {
  erase_sorted(nodes_[node.index()].pods, pod);
}

std::uint64_t Ledger::node_changed(NodeId node) {
  changes_.note(node);
  return std::exchange(row_at(node_stamps_, node), ++stamp_);
}

void Ledger::restore_node_stamp(NodeId node, std::int64_t stamp) {
  node_stamps_[node.index()] = static_cast<std::uint64_t>(stamp);
  if (changes_.in_trial()) changes_.note(node);
}

void Ledger::count_in(PodId pod, const PodCharge& charge) {
  for (const ClaimId claim : charge.claims) ++row_at(users_, claim);
  if (charge.volumes) pods_with_volumes_.insert(pod);
}

void Ledger::count_out(PodId pod, const PodCharge& charge) {
  for (const ClaimId claim : charge.claims) --users_[claim.index()];
  if (charge.volumes) pods_with_volumes_.erase(pod);
}

void Ledger::move_pod(PodId pod, PodCharge to) {
  PodCharge& charge = row_at(pods_, pod);
  std::uint64_t left = 0, reached = 0;
  if (charge.node.valid()) {
    left = node_changed(charge.node);
    unlist_pod(charge.node, pod);
  }
  if (to.node.valid()) {
    reached = node_changed(to.node);
    list_pod(to.node, pod);
  }
  count_out(pod, charge);
  count_in(pod, to);
  if (open_) {
    record({Undo::Pod, pod.index(), 0, static_cast<std::int64_t>(left), static_cast<std::int64_t>(reached)});
    old_charges_.push_back(std::move(charge));
  }
  charge = std::move(to);
}

void Ledger::change_gpu_groups(NodeId node, const api::GpuSharePtr& share, int sign, ShareHolder holder) {
  if (!share) return;
  GpuGroups& groups = row_at(nodes_, node).gpu_groups;
  const auto before = static_cast<std::int64_t>(groups.size());
  if (sign > 0)
    add_share(groups, *share, holder);
  else
    remove_share(groups, *share, holder);
  const std::int64_t opened = static_cast<std::int64_t>(groups.size()) - before;
  if (opened != 0) change_requested(node, kGpu, opened);
}

void Ledger::add_amounts(const PodCharge& charge, int sign, ShareHolder holder) {
  for (const ResourceAmount& entry : charge.requests)
    change_requested(charge.node, entry.resource, sign * entry.amount);
  change_gpu_groups(charge.node, charge.gpu_share, sign, holder);
}

void Ledger::charge_pod(PodId pod, PodCharge charge) {
  add_amounts(charge, +1);
  move_pod(pod, std::move(charge));
}

void Ledger::release_pod(PodId pod, bool removed) {
  const PodCharge& charge = row_at(pods_, pod);
  if (!charge.node.valid()) return;
  add_amounts(charge, -1);
  PodCharge nothing;
  nothing.removed = removed;
  move_pod(pod, std::move(nothing));
}

void Ledger::add_held(const HeldPlace& place, int sign) {
  add_amounts(place, sign, ShareHolder::Hold);
  if (!place.pod.valid()) return;
  std::vector<PodId>& expected = row_at(nodes_, place.node).expected;
  if (sign > 0) {
    insert_sorted(expected, place.pod);
    expected_.emplace(place.pod, place.node);
  } else {
    erase_sorted(expected, place.pod);
    const auto [first, last] = expected_.equal_range(place.pod);
    expected_.erase(std::find_if(first, last, [&](const auto& one) { return one.second == place.node; }));
  }
}

void Ledger::expected_pod_changed(PodId pod) {
  const auto [first, last] = expected_.equal_range(pod);
  for (auto at = first; at != last; ++at) changes_.note(at->second);
}

void Ledger::forget_in_holds(PodId pod) {
  BERTH_ASSERT(!open_, "the world does not change during a transaction");
  if (!expects(pod) && !is_leaving(pod)) return;
  expected_pod_changed(pod);
  for (auto& [id, hold] : holds_) {
    std::erase(hold.leaving, pod);
    for (HeldPlace& place : hold.places) {
      if (place.pod != pod) continue;
      erase_sorted(nodes_[place.node.index()].expected, pod);
      place.pod = PodId::none();
    }
  }
  expected_.erase(pod);
  leaving_.erase(pod);
}

Ledger::HoldId Ledger::add(Hold hold) {
  BERTH_ASSERT(!open_, "the world does not change during a transaction");
  charge_hold(hold, +1);
  for (const PodId pod : hold.leaving) {
    leaving_.insert(pod);
    if (const NodeId node = node_of(pod); node.valid()) changes_.note(node);
  }
  holds_by_priority_.emplace(hold.priority, next_hold_);
  holds_.emplace(next_hold_, std::move(hold));
  return next_hold_++;
}

void Ledger::release(HoldId hold) {
  BERTH_ASSERT(!open_, "the world does not change during a transaction");
  const auto found = holds_.find(hold);
  BERTH_ASSERT(found != holds_.end(), "a hold is released once");
  charge_hold(found->second, -1);
  for (const PodId pod : found->second.leaving) {
    leaving_.erase(leaving_.find(pod));
    if (const NodeId node = node_of(pod); node.valid()) changes_.note(node);
  }
  holds_by_priority_.erase({found->second.priority, hold});
  holds_.erase(found);
}

// Ascending.
std::vector<HoldId> Ledger::not_binding(std::int32_t priority, const HoldsPassed& passed) const {
  const std::optional<std::int32_t> own =
      passed.own ? std::optional(holds_.at(*passed.own).priority) : std::nullopt;
  const auto end = holds_by_priority_.upper_bound({std::max(priority, own.value_or(priority)), UINT32_MAX});
  std::vector<HoldId> passes;
  for (auto at = holds_by_priority_.begin(); at != end; ++at) {
    const auto [of_hold, id] = *at;
    const bool came_first = own && *passed.own <= id && of_hold <= *own;
    const bool equal_is_bound = of_hold == priority && passed.open != id && holds_.at(id).binds_equals;
    if (came_first || (of_hold <= priority && !equal_is_bound)) passes.push_back(id);
  }
  std::ranges::copy_if(passed.rooms, std::back_inserter(passes),
                       [&](HoldId id) { return holds_.contains(id); });
  if (passed.backfilled && holds_.contains(*passed.backfilled)) passes.push_back(*passed.backfilled);
  std::ranges::sort(passes);
  passes.erase(std::ranges::unique(passes).begin(), passes.end());
  return passes;
}

void Ledger::charge_hold(const Hold& hold, int sign) {
  for (const HeldPlace& place : hold.places) {
    add_held(place, sign);
    const std::uint64_t before = node_changed(place.node);
    record({Undo::NodeStamp, place.node.index(), 0, static_cast<std::int64_t>(before), 0});
  }
  for (const ReservedDevice& held : hold.devices) {
    if (held.kind == DeviceUseKind::Admin) continue;
    record_counts(held.device);
    DeviceUse& use = devices_[held.device.index()];
    (held.kind == DeviceUseKind::Dedicated ? use.dedicated : use.shares) += sign;
    add_consumed(held.device, held.consumed, sign);
    device_changed(held.device);
  }
}

DeviceUse& Ledger::device_row(DeviceId device) {
  if (devices_.size() <= device.index()) {
    devices_.resize(device.index() + 1);
    busy_.resize(devices_.size());
  }
  return devices_[device.index()];
}

void Ledger::record_counts(DeviceId device) {
  const DeviceUse& use = device_row(device);
  record({Undo::Counts, device.index(), static_cast<std::uint32_t>(use.excluded), use.dedicated, use.shares});
}

void Ledger::update_busy(DeviceId device) {
  const DeviceUse& use = devices_[device.index()];
  busy_[device.index()] = use.free() && use.excluded == 0 ? 0 : 1;
}

void Ledger::device_changed(DeviceId device) {
  update_busy(device);
  const PoolId pool = device.index() < pool_of_.size() ? pool_of_[device.index()] : PoolId::none();
  if (!pool.valid()) return;
  std::uint64_t& stamp = row_at(pool_stamps_, pool);
  record({Undo::PoolStamp, pool.index(), 0, static_cast<std::int64_t>(stamp), 0});
  stamp = ++stamp_;
  changes_.note(pool);
}

void Ledger::add_consumed(DeviceId device, const std::vector<CapacityAmount>& amounts, int sign) {
  if (amounts.empty()) return;
  std::vector<CapacityAmount>& consumed = device_row(device).consumed;
  if (open_) {
    record({Undo::Consumed, device.index(), 0, 0, 0});
    old_consumed_.push_back(consumed);
  }
  for (const CapacityAmount& entry : amounts) {
    auto at = std::lower_bound(consumed.begin(), consumed.end(), entry.capacity,
                               [](const CapacityAmount& a, CapacityId id) { return a.capacity < id; });
    if (at == consumed.end() || at->capacity != entry.capacity)
      at = consumed.insert(at, {entry.capacity, {}});
    at->amount = sign > 0 ? at->amount + entry.amount : at->amount - entry.amount;
    if (at->amount.is_zero()) consumed.erase(at);
  }
}

void Ledger::take(ClaimId claim, const ReservedDevice& held) {
  if (held.kind == DeviceUseKind::Admin) return;
  DeviceUse& use = device_row(held.device);
  record({Undo::Device, held.device.index(), claim.index(), use.dedicated, use.shares});
  (held.kind == DeviceUseKind::Dedicated ? use.dedicated : use.shares) += 1;
  insert_sorted(use.holders, claim);
  add_consumed(held.device, held.consumed, +1);
  device_changed(held.device);
}

void Ledger::give_back(ClaimId claim, const ReservedDevice& held) {
  if (held.kind == DeviceUseKind::Admin) return;
  DeviceUse& use = device_row(held.device);
  record({Undo::Device, held.device.index(), claim.index(), use.dedicated, use.shares});
  (held.kind == DeviceUseKind::Dedicated ? use.dedicated : use.shares) -= 1;
  erase_sorted(use.holders, claim);
  add_consumed(held.device, held.consumed, -1);
  if (has(KnownDefect::AllocationReleasedTwice)) add_consumed(held.device, held.consumed, -1);
  device_changed(held.device);
}

void Ledger::set_reservation(ClaimId claim, ClaimReservationPtr reservation) {
  ClaimReservationPtr& slot = row_at(claims_, claim);
  if (slot)
    for (const ReservedDevice& held : slot->devices) give_back(claim, held);
  if (reservation)
    for (const ReservedDevice& held : reservation->devices) take(claim, held);
  if (open_) {
    record({Undo::Claim, claim.index(), 0, 0, 0});
    old_reservations_.push_back(std::move(slot));
  }
  slot = std::move(reservation);
}

void Ledger::undo_device(const UndoRecord& entry) {
  const DeviceId device(entry.row);
  DeviceUse& use = devices_[entry.row];
  const bool was_taken = use.dedicated + use.shares > entry.old_value + entry.old_shares;
  if (was_taken)
    erase_sorted(use.holders, ClaimId(entry.detail));
  else
    insert_sorted(use.holders, ClaimId(entry.detail));
  if (!has(KnownDefect::RollbackCorruptsLedger)) use.dedicated = static_cast<std::int32_t>(entry.old_value);
  use.shares = static_cast<std::int32_t>(entry.old_shares);
  update_busy(device);
}

// Sums are whole numbers: what was added is taken away again.
void Ledger::undo_pod(const UndoRecord& entry) {
  const PodId pod(entry.row);
  PodCharge& charge = pods_[entry.row];
  PodCharge& old = old_charges_.back();
  if (charge.node.valid()) {
    add_amounts(charge, -1);
    unlist_pod(charge.node, pod);
    restore_node_stamp(charge.node, entry.old_shares);
  }
  if (old.node.valid()) {
    add_amounts(old, +1);
    list_pod(old.node, pod);
    restore_node_stamp(old.node, entry.old_value);
  }
  count_out(pod, charge);
  count_in(pod, old);
  charge = std::move(old);
  old_charges_.pop_back();
}

void Ledger::undo_to(std::size_t size) {
  // No undo makes a record.
  for (std::size_t at = journal_.size(); at > size; --at) {
    const UndoRecord& entry = journal_[at - 1];
    switch (entry.kind) {
      case Undo::Pod:
        undo_pod(entry);
        break;
      case Undo::Hold:
        for (const HeldPlace& place : holds_.at(entry.row).places) add_held(place, +1);
        break;
      case Undo::NodeStamp:
        restore_node_stamp(NodeId(entry.row), entry.old_value);
        break;
      case Undo::Claim:
        claims_[entry.row] = std::move(old_reservations_.back());
        old_reservations_.pop_back();
        break;
      case Undo::Device:
        undo_device(entry);
        break;
      case Undo::Counts: {
        DeviceUse& use = devices_[entry.row];
        use.dedicated = static_cast<std::int32_t>(entry.old_value);
        use.shares = static_cast<std::int32_t>(entry.old_shares);
        use.excluded = static_cast<std::int32_t>(entry.detail);
        update_busy(DeviceId(entry.row));
        break;
      }
      case Undo::PoolStamp:
        pool_stamps_[entry.row] = static_cast<std::uint64_t>(entry.old_value);
        if (changes_.in_trial()) changes_.note(PoolId(entry.row));
        break;
      case Undo::Consumed:
        devices_[entry.row].consumed = std::move(old_consumed_.back());
        old_consumed_.pop_back();
        break;
    }
  }
  if (size < journal_.size()) journal_.resize(size);
}

Ledger::Transaction::Transaction(Ledger& ledger) : ledger_(ledger) {
  BERTH_ASSERT(!ledger_.open_, "one transaction at a time; nest with savepoints");
  ledger_.open_ = this;
  ledger_.changes_.begin_trial();
}

Ledger::Transaction::~Transaction() {
  end();
}

void Ledger::Transaction::end() {
  if (ended_) return;
  ended_ = true;
  ledger_.changes_.end_trial();  // nobody reads inside any more: the undo is not logged
  ledger_.undo_to(0);
  steps_.clear();
  ledger_.open_ = nullptr;
}

void Ledger::Transaction::roll_back_to(Savepoint to) {
  BERTH_ASSERT(to.journal <= ledger_.journal_.size() && to.steps <= steps_.size(),
               "the savepoint is of this transaction and still stands");
  ledger_.undo_to(to.journal);
  steps_.resize(to.steps);
}

Plan Ledger::Transaction::take_since(Savepoint from) {
  const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(from.steps);
  Plan plan{{std::make_move_iterator(first), std::make_move_iterator(steps_.end())}};
  roll_back_to(from);
  return plan;
}

void Ledger::Transaction::place(PodId pod, NodeId node, const ResourceAmounts& requests,
                                ReservationPtr reservation) {
  PodCharge charge{node, requests, value_of(reservation).gpu_share, {}, value_of(reservation).volumes};
  for (const ClaimChoice& choice : value_of(reservation).claims) charge.claims.push_back(choice.claim);
  std::sort(charge.claims.begin(), charge.claims.end());
  ledger_.release_pod(pod);
  ledger_.charge_pod(pod, std::move(charge));
  steps_.push_back(Place{pod, node, std::move(reservation)});
}

void Ledger::Transaction::allocate(ClaimId claim, ClaimReservationPtr reservation) {
  BERTH_ASSERT(reservation != nullptr, "an allocation is given");
  steps_.push_back(Allocate{claim, reservation});
  ledger_.set_reservation(claim, std::move(reservation));
}

void Ledger::Transaction::remove_pod(PodId pod) {
  steps_.push_back(RemovePod{pod});
  ledger_.release_pod(pod, true);
}

void Ledger::Transaction::remove_claim(ClaimId claim) {
  steps_.push_back(RemoveClaim{claim});
  if (ledger_.reservation(claim)) ledger_.set_reservation(claim, nullptr);
}

void Ledger::Transaction::lift_holds(std::int32_t priority, const HoldsPassed& passed) {
  for (const HoldId id : ledger_.not_binding(priority, passed)) {
    ledger_.record({Undo::Hold, id, 0, 0, 0});
    ledger_.charge_hold(ledger_.holds_.at(id), -1);
  }
}

void Ledger::Transaction::hide(DeviceId device) {
  steps_.push_back(Hide{device});
  ledger_.record_counts(device);
  ++ledger_.device_row(device).dedicated;
  ledger_.device_changed(device);
}

void Ledger::Transaction::exclude(DeviceId device) {
  steps_.push_back(Exclude{device});
  ledger_.record_counts(device);
  ++ledger_.device_row(device).excluded;
  ledger_.device_changed(device);
}

}  // namespace berth::model
