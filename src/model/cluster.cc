#include "model/cluster.h"

#include <algorithm>

#include "api/types/claim_consumer.h"
#include "base/known_defects.h"
#include "base/overloaded.h"

namespace berth::model {
namespace {

template <class Row>
std::shared_ptr<const api::Allocation> carried(const Row& claims, const std::shared_ptr<const void>& owner,
                                               const ClaimRow& row) {
  for (const api::ClaimAllocation& claim : claims) {
    if (claim.claim_name != row.key.name) continue;
    if (row.live && !claim.claim_uid.empty() && row.live->meta.uid != claim.claim_uid) continue;
    if (owner) return {owner, &claim.allocation};
    return std::make_shared<const api::Allocation>(claim.allocation);
  }
  return nullptr;
}

}  // namespace

void Cluster::apply(const client::Delta& delta) {
  BERTH_ASSERT(!ledger_.in_transaction(), "the world does not change during a transaction");
  switch (delta.key.kind) {
    case api::Kind::Node:
      return apply_node(client::object_of<api::Node>(delta.before),
                        client::shared_object_of<api::Node>(delta.after));
    case api::Kind::Namespace:
      return affinities_.put_namespace(delta.key.name, client::shared_object_of<api::Namespace>(delta.after));
    case api::Kind::Pod:
      return apply_pod(client::object_of<api::Pod>(delta.before),
                       client::shared_object_of<api::Pod>(delta.after));
    case api::Kind::ResourceSlice:
      return apply_slice(client::object_of<api::ResourceSlice>(delta.before),
                         client::shared_object_of<api::ResourceSlice>(delta.after));
    case api::Kind::DeviceClass:
      return apply_class(delta.key.name, client::shared_object_of<api::DeviceClass>(delta.after));
    case api::Kind::ResourceClaim:
      return apply_claim(client::object_of<api::ResourceClaim>(delta.before),
                         client::shared_object_of<api::ResourceClaim>(delta.after));
    case api::Kind::BindRequest:
      return apply_request(client::shared_object_of<api::BindRequest>(delta.before),
                           client::shared_object_of<api::BindRequest>(delta.after));
    case api::Kind::Other:
      return replica_selectors_.apply(delta);
    default:
      return;
  }
}

void Cluster::apply_node(const api::Node* before, const std::shared_ptr<const api::Node>& after) {
  if (!before && !after) return;
  const std::string& name = after ? after->meta.name : before->meta.name;
  const NodeId id = node_id(name);
  NodeRow& row = nodes_[id.index()];
  const bool same_labels = before && after && before->meta.labels == after->meta.labels &&
                           before->declared_features == after->declared_features;
  if (!same_labels) row.labels_stamp = labels_stamp_ = ++stamp_;
  if (!before || !after) node_set_stamp_ = ++stamp_;
  traits_.replace(row.live.get(), after.get());
  row.live = after;
  row.allocatable = after ? resources_.row(after->allocatable) : ResourceRow{};
  row.unschedulable = after && after->unschedulable;
  row.tainted = after && !after->taints.empty();
  if (after)
    live_nodes_[name] = id;
  else
    live_nodes_.erase(name);
  ledger_.changes().note(id);
}

Cluster::ChangeScope Cluster::changed_since(Changes::Position from, std::vector<NodeId>& nodes) const {
  bool wide = false;
  const bool known = ledger_.changes().visit_since(
      from, [&](NodeId node) { nodes.push_back(node); },
      [&](PoolId id) {
        const PoolRow& pool = pools_[id.index()];
        nodes.insert(nodes.end(), pool.nodes.begin(), pool.nodes.end());
        wide = wide || pool.wide;
      });
  if (!known) return ChangeScope::Unknown;
  return wide ? ChangeScope::AllDevices : ChangeScope::Nodes;
}

void Cluster::apply_class(const std::string& name, const std::shared_ptr<const api::DeviceClass>& after) {
  classes_stamp_ = ++stamp_;
  if (after)
    classes_[name] = after;
  else
    classes_.erase(name);
}

void Cluster::pool_changed(PoolId pool) {
  PoolRow& row = pools_[pool.index()];
  row.stamp = ++stamp_;
  const bool was_shared = row.wide;
  row.nodes.clear();
  row.wide = false;
  for (const auto& [name, slice] : row.slices) {
    if (slice.live->node_name.empty()) {
      row.wide = true;
      continue;
    }
    const NodeId node = node_id(slice.live->node_name);
    nodes_[node.index()].slices_stamp = stamp_;
    row.nodes.push_back(node);
    ledger_.changes().note(node);
  }
  std::sort(row.nodes.begin(), row.nodes.end());
  row.nodes.erase(std::unique(row.nodes.begin(), row.nodes.end()), row.nodes.end());
  if (row.wide || was_shared) shared_pools_stamp_ = stamp_;
  if (row.wide == was_shared) return;
  const std::pair<std::string, std::string> key{row.driver, row.pool};
  if (row.wide)
    shared_pools_[key] = pool;
  else
    shared_pools_.erase(key);
}

bool Cluster::devices_take_of_nodes() const {
  return counting_ == NodeAllocatable::Counted && slice_traits_.take_of_nodes();
}

void Cluster::apply_slice(const api::ResourceSlice* before,
                          const std::shared_ptr<const api::ResourceSlice>& after) {
  if (before) {
    const PoolId pool = pool_id(before->driver, before->pool);
    pool_changed(pool);
    pools_[pool.index()].slices.erase(before->meta.name);
    slice_traits_.remove(*before);
    if (!before->node_name.empty()) {
      auto& pools = nodes_[node_id(before->node_name).index()].local_pools;
      if (--pools[pool] == 0) pools.erase(pool);
    }
    pool_changed(pool);
  }
  if (!after) return;
  const PoolId pool = pool_id(after->driver, after->pool);
  SliceRow slice{after, pool, {}};
  for (const api::Device& device : after->devices) {
    slice.devices.push_back(device_id(pool, device.name));
    slice.shares |= device.allow_multiple;
    for (const auto& [name, takes] : device.node_allocatable) resources_.intern(name);
    for (const auto& [name, capacity] : device.capacity) capacities_.intern(name);
  }
  pools_[pool.index()].slices[after->meta.name] = std::move(slice);
  slice_traits_.add(*after);
  if (!after->node_name.empty()) ++nodes_[node_id(after->node_name).index()].local_pools[pool];
  pool_changed(pool);
}

void Cluster::apply_pod(const api::Pod* before, const std::shared_ptr<const api::Pod>& after) {
  if (!before && !after) return;
  const api::ObjectMeta& meta = after ? after->meta : before->meta;
  const PodId id = pod_id(meta.ns, meta.name);
  PodRow& row = pods_[id.index()];
  if (before && !before->finished() && (!after || after->meta.uid != before->meta.uid || after->finished()))
    keep_late_allocations(row, before->meta.uid);
  row.live = after;
  const PodTemplateId was_of = row.of_template;
  const bool waits = after && !after->bound() && !after->finished();
  row.of_template = waits ? templates_.add(after) : PodTemplateId::none();
  templates_.remove(was_of);
  row.requests = after ? resources_.charges(*after) : ResourceAmounts{};
  row.gpu_share = after && after->bound() ? api::gpu_share_of(*after) : nullptr;
  const TermUses terms = std::exchange(row.terms, {});
  if (after && !after->finished()) row.terms = affinities_.add(*after);
  affinities_.remove(terms);
  // What filters read of the pods of a node besides their charges.
  const bool reads_the_same = before && after && before->meta.labels == after->meta.labels &&
                              before->meta.deleting() == after->meta.deleting() &&
                              before->meta.owners == after->meta.owners &&
                              before->host_ports == after->host_ports && terms == row.terms;
  if (const NodeId node = ledger_.node_of(id); !reads_the_same && node.valid()) ledger_.changes().note(node);
  if (before && (!after || after->meta.uid != before->meta.uid))
    ledger_.forget_in_holds(id);
  else if (!reads_the_same)
    ledger_.expected_pod_changed(id);
  // Its GPU is charged as that of its group.
  if (after && api::is_gpu_reservation(*after))
    std::erase_if(row.requests, [](const ResourceAmount& one) { return one.resource == kGpu; });
  recompute(id);
  for (const auto& [name, request] : std::map(row.bind_requests))
    for (const api::ClaimAllocation& claim : request->claims)
      recompute(claim_id(row.key.ns, claim.claim_name));
  if (before) drop_confirmed(before->meta.uid);
  if (after) drop_confirmed(after->meta.uid);
  retire_if_unused(id);
  if (before && !after) {
    // An attempt with the pod's extended resources may have made the row.
    const std::string name = api::extended_claim_name(before->meta.name, before->meta.uid);
    if (const ClaimId made = find_claim(before->meta.ns, name); made.valid()) retire_if_unused(made);
  }
}

void Cluster::apply_claim(const api::ResourceClaim* before,
                          const std::shared_ptr<const api::ResourceClaim>& after) {
  if (!before && !after) return;
  const api::ObjectMeta& meta = after ? after->meta : before->meta;
  const ClaimId id = claim_id(meta.ns, meta.name);
  claims_[id.index()].live = after;
  end_late_allocation(id);
  recompute(id);
  for (const std::string& pod_uid : std::set(claims_[id.index()].assumed_by)) drop_confirmed(pod_uid);
  retire_if_unused(id);
}

void Cluster::attach_request(const BindRequestPtr& request) {
  const std::string& name = request->meta.name;
  pods_[pod_id(request->meta.ns, request->pod_name).index()].bind_requests[name] = request;
  for (const api::ClaimAllocation& claim : request->claims)
    claims_[claim_id(request->meta.ns, claim.claim_name).index()].bind_requests[name] = request;
}

void Cluster::detach_request(const api::BindRequest& request) {
  pods_[pod_id(request.meta.ns, request.pod_name).index()].bind_requests.erase(request.meta.name);
  for (const api::ClaimAllocation& claim : request.claims)
    claims_[claim_id(request.meta.ns, claim.claim_name).index()].bind_requests.erase(request.meta.name);
}

void Cluster::apply_request(const BindRequestPtr& before, const BindRequestPtr& after) {
  if (before) detach_request(*before);
  if (after) attach_request(after);
  // The watch of bind requests may be ahead: the record is deleted before binding or allocation are seen.
  if (before && !after && has_bound(*before)) keep_as_assumption(*before);
  for (const BindRequestPtr& request : {before, after}) {
    if (!request) continue;
    const PodId pod = pod_id(request->meta.ns, request->pod_name);
    recompute(pod);
    for (const api::ClaimAllocation& claim : request->claims)
      recompute(claim_id(request->meta.ns, claim.claim_name));
    drop_confirmed(request->pod_uid);
    for (const api::ClaimAllocation& claim : request->claims)
      retire_if_unused(claim_id(request->meta.ns, claim.claim_name));
    retire_if_unused(pod);
  }
}

bool Cluster::has_bound(const api::BindRequest& request) const {
  if (request.phase == api::BindPhase::Succeeded) return true;
  const PodId pod = find_pod(request.meta.ns, request.pod_name);
  const auto live = pod.valid() ? pods_[pod.index()].live : nullptr;
  return live && api::is_bound_by(*live, request);
}

void Cluster::keep_as_assumption(const api::BindRequest& request) {
  if (!is_effective(request)) return;
  Assumption assumption{
      request.decision_id, {request.meta.ns, request.pod_name}, request.pod_uid, request.node, request};
  if (outstanding(assumption)) assume(std::move(assumption));
}

bool Cluster::is_effective(const api::BindRequest& request) const {
  if (api::failed_for_good(request)) return false;
  const PodId pod = find_pod(request.meta.ns, request.pod_name);
  if (!pod.valid()) return false;
  const auto& live = pods_[pod.index()].live;
  return live && live->meta.uid == request.pod_uid && !live->finished();
}

bool Cluster::outstanding(const Assumption& assumption) const {
  const PodId id = find_pod(assumption.pod.ns, assumption.pod.name);
  if (!id.valid()) return false;
  const PodRow& row = pods_[id.index()];
  if (!row.live || row.live->meta.uid != assumption.pod_uid || row.live->finished()) return false;
  for (const auto& [name, request] : row.bind_requests)
    if (request->pod_uid == assumption.pod_uid && request->decision_id == assumption.decision) return false;
  if (!row.live->bound()) return true;
  return std::any_of(assumption.reservation.claims.begin(), assumption.reservation.claims.end(),
                     [&](const api::ClaimAllocation& claim) {
                       const ClaimId claim_id = find_claim(assumption.pod.ns, claim.claim_name);
                       if (!claim_id.valid()) return true;
                       const auto& live = claims_[claim_id.index()].live;
                       return !live || !live->allocation;
                     });
}

BindRequestPtr Cluster::effective_request(const PodRow& row) const {
  for (const auto& [name, request] : row.bind_requests)
    if (is_effective(*request)) return request;
  return nullptr;
}

Cluster::PodPlacement Cluster::place_of(const PodRow& row) {
  if (!row.live || row.live->finished()) return {};
  PodPlacement place;
  if (const BindRequestPtr request = effective_request(row)) {
    place = {node_id(request->node), &request->node_allocatable, &request->claims,
             request->gpu_share.empty() ? nullptr : api::GpuSharePtr(request, &request->gpu_share),
             request->volumes.empty() ? nullptr : VolumeBindingsPtr(request, &request->volumes)};
  } else if (const auto assumed = assumptions_.find(row.live->meta.uid);
             assumed != assumptions_.end() && !assumed->second.node.empty()) {
    const api::PodReservation& reserved = assumed->second.reservation;
    const api::GpuShare& share = reserved.gpu_share;
    place = {node_id(assumed->second.node), &reserved.node_allocatable, &reserved.claims,
             share.empty() ? nullptr : std::make_shared<const api::GpuShare>(share),
             reserved.volumes.empty()
                 ? nullptr
                 : std::make_shared<const std::vector<api::VolumeBinding>>(reserved.volumes)};
  }
  if (!row.live->bound()) return place;
  // A claim may show its volume after its pod shows its node.
  return {node_id(row.live->node_name), &row.live->node_allocatable, nullptr, row.gpu_share,
          std::move(place.volumes)};
}

ResourceAmounts Cluster::charges(PodId pod, const NodeAllocatablePtr& by_devices) const {
  const PodRow& row = pods_[pod.index()];
  return by_devices ? resources_.known_charges(*row.live, *by_devices) : row.requests;
}

ClaimId Cluster::new_claim(Ledger::Transaction& transaction) const {
  return ClaimId(static_cast<std::uint32_t>(claims_.size()) + transaction.next_new_claim());
}

std::shared_ptr<const api::Allocation> Cluster::allocation_of(const ClaimRow& row) const {
  if (row.live && row.live->allocation) return {row.live, &*row.live->allocation};
  for (const auto& [name, request] : row.bind_requests) {
    if (!is_effective(*request)) continue;
    if (auto allocation = carried(request->claims, request, row)) return allocation;
  }
  for (const std::string& pod_uid : row.assumed_by)
    if (auto allocation = carried(assumptions_.at(pod_uid).reservation.claims, nullptr, row))
      return allocation;
  return row.late.allocation;
}

void Cluster::keep_late_allocations(const PodRow& row, const std::string& pod_uid) {
  const auto keep = [&](const std::vector<api::ClaimAllocation>& sent) {
    for (const api::ClaimAllocation& claim : sent) {
      const ClaimId id = find_claim(row.key.ns, claim.claim_name);
      const auto live = id.valid() ? claims_[id.index()].live : nullptr;
      if (!live || live->allocation || live->meta.uid != claim.claim_uid) continue;
      expect_late(id,
                  {std::make_shared<const api::Allocation>(claim.allocation), live->meta.resource_version});
    }
  };
  for (const auto& [name, request] : row.bind_requests)
    if (request->pod_uid == pod_uid && !api::failed_for_good(*request)) keep(request->claims);
  if (const auto assumed = assumptions_.find(pod_uid); assumed != assumptions_.end())
    keep(assumed->second.reservation.claims);
}

void Cluster::expect_late(ClaimId claim, LateAllocation late) {
  claims_[claim.index()].late = std::move(late);
  late_claims_.insert(claim);
  recompute(claim);
}

void Cluster::forget_late(ClaimId claim) {
  if (late_claims_.erase(claim) == 0) return;
  claims_[claim.index()].late = {};
  recompute(claim);
}

// Of the same version it may still come.
void Cluster::end_late_allocation(ClaimId claim) {
  ClaimRow& row = claims_[claim.index()];
  if (row.late.allocation && row.live && row.live->meta.resource_version == row.late.version) return;
  row.late = {};
  late_claims_.erase(claim);
}

// Those that its spec and status name, and those of its request or assumption.
std::vector<ClaimId> Cluster::used_claims(const api::Pod& pod,
                                          const std::vector<api::ClaimAllocation>* reserved) {
  std::vector<ClaimId> used;
  const auto use = [&](const std::string& name) {
    if (!name.empty()) used.push_back(claim_id(pod.meta.ns, name));
  };
  for (const api::PodClaim& claim : pod.claims) use(api::claim_object_name(pod, claim));
  use(pod.extended_claim);
  if (reserved)
    for (const api::ClaimAllocation& claim : *reserved) use(claim.claim_name);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

void Cluster::recompute(PodId pod) {
  const PodRow& row = pods_[pod.index()];
  PodPlacement place = place_of(row);
  const std::vector<ClaimId> before = ledger_.charge(pod).claims;
  PodCharge charge{place.node, {}, std::move(place.gpu_share), {}, std::move(place.volumes)};
  if (place.node.valid()) {
    const bool by_devices =
        counting_ == NodeAllocatable::Counted && place.by_devices && !place.by_devices->empty();
    if (by_devices)
      charge.requests = resources_.charges(*row.live, *place.by_devices);
    else
      charge.requests = row.requests;
    charge.claims = used_claims(*row.live, place.claims);
  }
  ledger_.update_pod(pod, std::move(charge));
  for (const ClaimId claim : before) retire_if_unused(claim);
}

void Cluster::recompute(ClaimId claim) {
  std::shared_ptr<const api::Allocation> allocation = allocation_of(claims_[claim.index()]);
  const ClaimReservationPtr& held = ledger_.reservation(claim);
  if (held && held->allocation == allocation) return;
  if (!allocation && has(KnownDefect::DeviceBusyUntilRestart)) return;
  if (allocation) make_rows_of(*allocation);
  ledger_.update_claim(claim, allocation ? reservation_for(std::move(allocation)) : nullptr);
}

void Cluster::recompute_all_of(const Assumption& assumption) {
  for (const api::ClaimAllocation& claim : assumption.reservation.claims)
    recompute(claim_id(assumption.pod.ns, claim.claim_name));
  recompute(pod_id(assumption.pod.ns, assumption.pod.name));
}

void Cluster::add_assumption(Assumption assumption) {
  for (const api::ClaimAllocation& claim : assumption.reservation.claims)
    claims_[claim_id(assumption.pod.ns, claim.claim_name).index()].assumed_by.insert(assumption.pod_uid);
  const std::string uid = assumption.pod_uid;
  assumptions_.insert_or_assign(uid, std::move(assumption));
}

Assumption Cluster::take_assumption(const std::string& pod_uid) {
  const auto found = assumptions_.find(pod_uid);
  Assumption assumption = std::move(found->second);
  assumptions_.erase(found);
  for (const api::ClaimAllocation& claim : assumption.reservation.claims)
    claims_[claim_id(assumption.pod.ns, claim.claim_name).index()].assumed_by.erase(pod_uid);
  return assumption;
}

void Cluster::assume(Assumption assumption) {
  if (assumptions_.contains(assumption.pod_uid))
    forget(assumptions_.at(assumption.pod_uid).decision, assumption.pod_uid);
  add_assumption(assumption);
  recompute_all_of(assumption);
  drop_confirmed(assumption.pod_uid);
}

void Cluster::drop_confirmed(std::string_view pod_uid) {
  if (assumptions_.empty()) return;
  const auto found = assumptions_.find(std::string(pod_uid));
  if (found == assumptions_.end() || outstanding(found->second)) return;
  forget(std::string(found->second.decision), std::string(pod_uid));
}

void Cluster::forget(std::string_view decision) {
  std::vector<std::string> pods;
  for (const auto& [uid, assumption] : assumptions_)
    if (assumption.decision == decision) pods.push_back(uid);
  for (const std::string& uid : pods) forget(decision, uid);
}

void Cluster::forget(std::string_view decision, std::string_view pod_uid) {
  const auto found = assumptions_.find(std::string(pod_uid));
  if (found == assumptions_.end() || found->second.decision != decision) return;
  const Assumption assumption = take_assumption(std::string(pod_uid));
  recompute_all_of(assumption);
  for (const api::ClaimAllocation& claim : assumption.reservation.claims)
    retire_if_unused(claim_id(assumption.pod.ns, claim.claim_name));
  retire_if_unused(pod_id(assumption.pod.ns, assumption.pod.name));
}

std::string Cluster::claim_name(const api::Pod& pod, const ClaimChoice& choice) const {
  return choice.extended ? api::extended_claim_name(pod.meta.name, pod.meta.uid)
                         : claims_[choice.claim.index()].key.name;
}

api::PodReservation Cluster::named(const api::Pod& pod, const Reservation& reservation) const {
  api::PodReservation named;
  named.claims.reserve(reservation.claims.size());
  for (const ClaimChoice& choice : reservation.claims) {
    api::ClaimAllocation& one =
        named.claims.emplace_back(choice.pod_claim, claim_name(pod, choice), "", *choice.allocation);
    if (choice.extended)
      one.extended = *choice.extended;
    else if (const auto& live = claims_[choice.claim.index()].live)
      one.claim_uid = live->meta.uid;
  }
  if (reservation.node_allocatable) named.node_allocatable = *reservation.node_allocatable;
  if (reservation.volumes) named.volumes = *reservation.volumes;
  if (reservation.gpu_share) named.gpu_share = *reservation.gpu_share;
  return named;
}

void Cluster::commit(Ledger::Transaction& transaction, std::string_view decision) {
  std::vector<Assumption> assumptions;
  for (const Step& step : transaction.steps()) {
    const Place* place = std::get_if<Place>(&step);
    if (!place) continue;
    const PodRow& row = pods_[place->pod.index()];
    BERTH_ASSERT(row.live != nullptr, "only pods that exist are placed");
    assumptions.push_back({std::string(decision), row.key, row.live->meta.uid,
                           nodes_[place->node.index()].name, named(*row.live, value_of(place->reservation))});
    if (has(KnownDefect::InFlightAllocationDropped)) assumptions.back().reservation.claims.clear();
  }
  transaction.end();
  for (Assumption& assumption : assumptions) assume(std::move(assumption));
}

bool Cluster::has_other_consumers(const ClaimRow& row, GroupClaims group_claims) const {
  if (!row.live) return false;
  const auto holds_on = [&](const api::ClaimConsumer& consumer) {
    if (api::is_group(consumer)) return group_claims == GroupClaims::Kept;  // its members are users
    const PodId pod = find_pod(row.key.ns, consumer.name);
    const bool known =
        pod.valid() && pods_[pod.index()].live && pods_[pod.index()].live->meta.uid == consumer.uid;
    return !known || !ledger_.removed(pod);
  };
  return std::ranges::any_of(row.live->reserved_for, holds_on);
}

void Cluster::remove(PodId pod, GroupClaims group_claims, Ledger::Transaction& transaction) const {
  const std::vector<ClaimId> used = ledger_.charge(pod).claims;
  transaction.remove_pod(pod);
  for (const ClaimId claim : used)
    if (ledger_.users(claim) == 0 && ledger_.reservation(claim) &&
        !has_other_consumers(claims_[claim.index()], group_claims))
      transaction.remove_claim(claim);
}

Hold Cluster::hold_for(const Plan& plan, std::int32_t priority) const {
  Hold hold{priority, {}, {}, {}};
  for (const Step& step : plan.steps) {
    if (const auto* place = std::get_if<Place>(&step)) {
      const Reservation& reservation = value_of(place->reservation);
      hold.places.push_back(
          {{place->node, charges(place->pod, reservation.node_allocatable), reservation.gpu_share, {}, {}},
           place->pod});
    }
    if (const auto* allocate = std::get_if<Allocate>(&step)) {
      const auto& devices = allocate->reservation->devices;
      hold.devices.insert(hold.devices.end(), devices.begin(), devices.end());
    }
  }
  return hold;
}

void Cluster::redo(const Plan& plan, Ledger::Transaction& transaction) const {
  const Overloaded again{
      [&](const Place& step) {
        transaction.place(step.pod, step.node, charges(step.pod, value_of(step.reservation).node_allocatable),
                          step.reservation);
      },
      [&](const Allocate& step) { transaction.allocate(step.claim, step.reservation); },
      [&](const RemovePod& step) { transaction.remove_pod(step.pod); },
      [&](const RemoveClaim& step) { transaction.remove_claim(step.claim); },
      [&](const Hide& step) { transaction.hide(step.device); },
      [&](const Exclude& step) { transaction.exclude(step.device); },
  };
  for (const Step& step : plan.steps) std::visit(again, step);
}

}  // namespace berth::model
