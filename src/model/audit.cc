#include "model/audit.h"

#include <algorithm>

#include "client/decider.h"

namespace berth::model {
namespace {

template <class T>
std::string version_of(const std::shared_ptr<const T>& object) {
  return object ? "version " + std::to_string(object->meta.resource_version) : "absent";
}

bool same_result(const api::DeviceResult& a, const api::DeviceResult& b) {
  return a.driver == b.driver && a.pool == b.pool && a.device == b.device && a.share_id == b.share_id &&
         a.admin_access == b.admin_access && a.consumed_capacity == b.consumed_capacity;
}
bool same_devices(const api::Allocation* a, const api::Allocation* b) {
  if (!a || !b) return a == b;
  return std::equal(a->results.begin(), a->results.end(), b->results.begin(), b->results.end(), same_result);
}
std::string devices_of(const api::Allocation* allocation) {
  if (!allocation) return "no device";
  std::string text;
  for (const api::DeviceResult& result : allocation->results)
    text += (text.empty() ? "" : " ") + result.driver + "/" + result.pool + "/" + result.device;
  return text.empty() ? "no device" : text;
}

}  // namespace

// One call of Audit::look.
class Audit::Look {
 public:
  Look(Audit& audit, const client::View& view, Cluster& cluster, std::size_t rows, const Apply& apply)
      : audit_(audit), view_(view), cluster_(cluster), ledger_(cluster.ledger_), left_(rows), apply_(apply) {}

  // At most one round.
  std::vector<Repair> run() {
    for (const std::uint64_t round = audit_.rounds_; left_ > 0 && audit_.rounds_ == round;) {
      part();
      if (left_ > 0) next_part();
    }
    return std::move(repairs_);
  }

 private:
  void next_part() {
    audit_.part_ = static_cast<AuditPhase>(static_cast<int>(audit_.part_) + 1);
    audit_.after_ = {};
    audit_.next_row_ = 0;
    if (audit_.part_ != AuditPhase::End) return;
    audit_.part_ = AuditPhase::Nodes;
    ++audit_.rounds_;
  }

  void part() {
    switch (audit_.part_) {
      case AuditPhase::Nodes:
        return objects(view_.nodes, api::Kind::Node, [&](const api::Node& node) {
          const NodeId id = cluster_.find_node(node.meta.name);
          return id.valid() ? cluster_.node(id).live : nullptr;
        });
      case AuditPhase::Slices:
        return objects(view_.slices, api::Kind::ResourceSlice, [&](const api::ResourceSlice& slice) {
          const PoolId id = cluster_.find_pool(slice.driver, slice.pool);
          if (!id.valid()) return std::shared_ptr<const api::ResourceSlice>();
          const auto found = cluster_.pool(id).slices.find(slice.meta.name);
          return found == cluster_.pool(id).slices.end() ? nullptr : found->second.live;
        });
      case AuditPhase::Classes:
        return objects(view_.classes, api::Kind::DeviceClass, [&](const api::DeviceClass& one) {
          const auto found = cluster_.classes().find(one.meta.name);
          return found == cluster_.classes().end() ? nullptr : found->second;
        });
      case AuditPhase::Namespaces:
        return objects(view_.namespaces, api::Kind::Namespace, [&](const api::Namespace& one) {
          const auto& known = cluster_.affinities().namespaces();
          const auto found = known.find(one.meta.name);
          return found == known.end() ? nullptr : found->second;
        });
      case AuditPhase::Pods:
        return objects(view_.pods, api::Kind::Pod, [&](const api::Pod& pod) {
          const PodId id = cluster_.find_pod(pod.meta.ns, pod.meta.name);
          return id.valid() ? cluster_.pod(id).live : nullptr;
        });
      case AuditPhase::Claims:
        return objects(view_.claims, api::Kind::ResourceClaim, [&](const api::ResourceClaim& claim) {
          const ClaimId id = cluster_.find_claim(claim.meta.ns, claim.meta.name);
          return id.valid() ? cluster_.claim(id).live : nullptr;
        });
      case AuditPhase::Requests:
        return objects(view_.bind_requests, api::Kind::BindRequest, [&](const api::BindRequest& request) {
          const PodId id = cluster_.find_pod(request.meta.ns, request.pod_name);
          if (!id.valid()) return BindRequestPtr();
          const auto found = cluster_.pod(id).bind_requests.find(request.meta.name);
          return found == cluster_.pod(id).bind_requests.end() ? nullptr : found->second;
        });
      case AuditPhase::NodeRows:
        return rows(cluster_.nodes_.size(), [&](std::uint32_t row) { node_row(NodeId(row)); });
      case AuditPhase::DeviceRows:
        return rows(cluster_.devices_.size(), [&](std::uint32_t row) { device_row(DeviceId(row)); });
      case AuditPhase::PoolRows:
        return rows(cluster_.pools_.size(), [&](std::uint32_t row) { pool_row(PoolId(row)); });
      case AuditPhase::PodRows:
        return rows(cluster_.pods_.size(), [&](std::uint32_t row) { pod_row(PodId(row)); });
      case AuditPhase::ClaimRows:
        return rows(cluster_.claims_.size(), [&](std::uint32_t row) { claim_row(ClaimId(row)); });
      case AuditPhase::End:
        return;
    }
  }

  // Each object of the view is in the model, unchanged. Slices are compared by version: device taint rules
  // may have added taints.
  template <class T, class Held>
  void objects(const client::Indexer<T>& table, api::Kind kind, const Held& held) {
    for (auto at = table.all().upper_bound(audit_.after_); at != table.all().end() && left_ > 0; ++at) {
      --left_;
      audit_.after_ = at->first;
      const std::shared_ptr<const T> known = held(*at->second);
      if (known && known->meta.uid == at->second->meta.uid &&
          known->meta.resource_version == at->second->meta.resource_version)
        continue;
      say(api::to_text(client::key_of(kind, at->second->meta)), version_of(known), version_of(at->second));
      apply_({client::key_of(kind, at->second->meta), api::TypedObject(known), api::TypedObject(at->second)});
    }
  }
  template <class Visit>
  void rows(std::size_t count, const Visit& visit) {
    for (; audit_.next_row_ < count && left_ > 0; ++audit_.next_row_) {
      --left_;
      visit(audit_.next_row_);
    }
  }

  void say(std::string row, std::string was, std::string is) {
    repairs_.push_back({std::move(row), std::move(was), std::move(is)});
  }
  template <class T>
  void gone(api::Kind kind, const std::shared_ptr<const T>& known) {
    say(api::to_text(client::key_of(kind, known->meta)), version_of(known), "absent");
    apply_({client::key_of(kind, known->meta), api::TypedObject(known), std::nullopt});
  }

  // The charges of the listed pods add up to the node's, and each listed pod is charged to this node.
  void node_row(NodeId node) {
    const auto live = cluster_.node(node).live;
    if (live && !view_.nodes.find("", live->meta.name)) gone(api::Kind::Node, live);
    NodeUse sum;
    for (const PodId pod : ledger_.node(node).pods)
      if (ledger_.node_of(pod) == node) charge(sum, pod);
    add_holds(sum, node);
    if (!same(sum, ledger_.node(node))) recount(node);
  }
  void charge(NodeUse& use, PodId pod) const {
    use.pods.push_back(pod);
    add_amounts(use, ledger_.pods_[pod.index()]);
  }
  void add_holds(NodeUse& use, NodeId node) const {
    for (const auto& [id, hold] : ledger_.holds())
      for (const HeldPlace& place : hold.places) {
        if (place.node != node) continue;
        add_amounts(use, place, ShareHolder::Hold);
        if (place.pod.valid()) use.expected.push_back(place.pod);
      }
    std::ranges::sort(use.expected);
  }
  static void add_amounts(NodeUse& use, const PodCharge& charge, ShareHolder holder = ShareHolder::Pod) {
    for (const ResourceAmount& one : charge.requests) use.requested.at(one.resource) += one.amount;
    const api::GpuSharePtr& share = charge.gpu_share;
    if (!share) return;
    const std::size_t before = use.gpu_groups.size();
    add_share(use.gpu_groups, *share, holder);
    use.requested.at(kGpu) += static_cast<std::int64_t>(use.gpu_groups.size() - before);
  }
  static bool same(const NodeUse& a, const NodeUse& b) {
    const std::uint32_t count = std::max(a.requested.size(), b.requested.size());
    for (std::uint32_t i = 0; i < count; ++i)
      if (amount_in(a.requested, ResourceId(i)) != amount_in(b.requested, ResourceId(i))) return false;
    return a.pods == b.pods && a.expected == b.expected && a.gpu_groups == b.gpu_groups;
  }
  static std::string text_of_use(const NodeUse& use) {
    return std::to_string(use.pods.size()) + " pods, " + std::to_string(amount_in(use.requested, kCpu)) +
           "m cpu, " + std::to_string(amount_in(use.requested, kMemory)) + " bytes";
  }
  void recount(NodeId node) {
    NodeUse right;
    for (std::uint32_t pod = 0; pod < ledger_.pods_.size(); ++pod)
      if (ledger_.pods_[pod].node == node) charge(right, PodId(pod));
    add_holds(right, node);
    if (ledger_.nodes_.size() <= node.index()) ledger_.nodes_.resize(node.index() + 1);
    if (ledger_.node_stamps_.size() <= node.index()) ledger_.node_stamps_.resize(node.index() + 1);
    NodeUse& use = ledger_.nodes_[node.index()];
    say("use of node " + cluster_.node(node).name, text_of_use(use), text_of_use(right));
    use = std::move(right);
    ledger_.node_stamps_[node.index()] = ++ledger_.stamp_;
    ledger_.changes_.note(node);
  }

  // Each listed holder has the device in its reservation, and the device's sums are the sums over its
  // holders.
  void device_row(DeviceId device) {
    const DeviceUse& use = ledger_.device(device);
    DeviceUse sum;
    for (std::size_t i = 0; i < use.holders.size(); ++i)
      if (i == 0 || use.holders[i] != use.holders[i - 1]) add(sum, device, use.holders[i]);
    add_holds(sum, device);
    if (!same(sum, use) || ledger_.busy(device) == use.free()) recount(device);
  }
  void add(DeviceUse& use, DeviceId device, ClaimId claim) const {
    if (!ledger_.reservation(claim)) return;
    for (const ReservedDevice& held : ledger_.reservation(claim)->devices)
      if (add(use, device, held)) use.holders.push_back(claim);
  }
  void add_holds(DeviceUse& use, DeviceId device) const {
    for (const auto& [id, hold] : ledger_.holds())
      for (const ReservedDevice& held : hold.devices) add(use, device, held);
  }
  // Whether it is in use as this device.
  static bool add(DeviceUse& use, DeviceId device, const ReservedDevice& held) {
    if (held.device != device || held.kind == DeviceUseKind::Admin) return false;
    (held.kind == DeviceUseKind::Dedicated ? use.dedicated : use.shares) += 1;
    for (const CapacityAmount& amount : held.consumed) consume(use, amount);
    return true;
  }
  static void consume(DeviceUse& use, const CapacityAmount& amount) {
    auto at = std::lower_bound(use.consumed.begin(), use.consumed.end(), amount.capacity,
                               [](const CapacityAmount& a, CapacityId id) { return a.capacity < id; });
    if (at == use.consumed.end() || at->capacity != amount.capacity)
      at = use.consumed.insert(at, {amount.capacity, {}});
    at->amount += amount.amount;
    if (at->amount.is_zero()) use.consumed.erase(at);
  }
  static bool same(const DeviceUse& a, const DeviceUse& b) {
    return a.dedicated == b.dedicated && a.shares == b.shares && a.holders == b.holders &&
           a.consumed == b.consumed;
  }
  std::string text_of_use(const DeviceUse& use) const {
    std::string text = use.free() ? "free" : "held by";
    for (const ClaimId claim : use.holders) text += " " + cluster_.claim(claim).key.text();
    return use.free() || !use.holders.empty() ? text : "held by nobody";
  }
  void recount(DeviceId device) {
    DeviceUse right;
    for (std::uint32_t claim = 0; claim < ledger_.claims_.size(); ++claim) add(right, device, ClaimId(claim));
    add_holds(right, device);
    DeviceUse& use = ledger_.device_row(device);
    const DeviceRow& row = cluster_.device(device);
    const PoolRow& pool = cluster_.pool(row.pool);
    say("use of device " + pool.driver + "/" + pool.pool + "/" + row.name, text_of_use(use),
        text_of_use(right));
    use = std::move(right);
    ledger_.device_changed(device);
  }

  void pool_row(PoolId pool) {
    for (const auto& [name, slice] : std::map(cluster_.pool(pool).slices))
      if (!view_.slices.find("", name)) gone(api::Kind::ResourceSlice, slice.live);
  }

  template <class Rows>
  void requests_gone(const Rows& requests) {
    for (const auto& [name, request] : std::map(requests))
      if (!view_.bind_requests.find(request->meta.ns, name)) gone(api::Kind::BindRequest, request);
  }

  static bool same_amounts(const PodCharge& a, const PodCharge& b) {
    return a.requests == b.requests && same_share(a.gpu_share, b.gpu_share);
  }

  // The pod is charged where its object, its bind request or the decision under way says.
  void pod_row(PodId pod) {
    requests_gone(cluster_.pod(pod).bind_requests);
    if (const auto live = cluster_.pod(pod).live; live && !view_.pods.find(live->meta.ns, live->meta.name))
      gone(api::Kind::Pod, live);
    const auto where = [&](NodeId node) { return node.valid() ? cluster_.node(node).name : "nowhere"; };
    const NodeId was = ledger_.node_of(pod);
    if (was.valid() && !std::ranges::binary_search(ledger_.node(was).pods, pod)) recount(was);
    const PodCharge charged = ledger_.charge(pod);
    const client::NamedKey key = cluster_.pod(pod).key;
    cluster_.recompute(pod);
    const NodeId is = ledger_.node_of(pod);
    if (was != is)
      say("place of pod " + key.text(), where(was), where(is));
    else if (is.valid() && !same_amounts(charged, ledger_.pods_[pod.index()]))
      say("charge of pod " + key.text(), "other amounts", "what it asks for");
  }

  // The claim's reservation is that of its object, a bind request or a decision under way.
  void claim_row(ClaimId claim) {
    const ClaimRow& row = cluster_.claim(claim);
    requests_gone(row.bind_requests);
    if (const auto live = row.live; live && !view_.claims.find(live->meta.ns, live->meta.name))
      gone(api::Kind::ResourceClaim, live);
    const ClaimReservationPtr was = ledger_.reservation(claim);
    if (was)
      for (const ReservedDevice& held : was->devices)
        if (held.kind != DeviceUseKind::Admin &&
            !std::ranges::binary_search(ledger_.device(held.device).holders, claim))
          recount(held.device);
    const std::shared_ptr<const api::Allocation> right = cluster_.allocation_of(cluster_.claim(claim));
    const bool same = same_devices(was ? was->allocation.get() : nullptr, right.get());
    if (same && (!was || matches(*was))) return;
    say("devices of claim " + cluster_.claim(claim).key.text(),
        same ? "other devices" : devices_of(was ? was->allocation.get() : nullptr), devices_of(right.get()));
    if (right) cluster_.make_rows_of(*right);
    ledger_.update_claim(claim, right ? cluster_.reservation_for(right) : nullptr);
  }
  bool matches(const ClaimReservation& reservation) const {
    const auto& results = reservation.allocation->results;
    return std::equal(results.begin(), results.end(), reservation.devices.begin(), reservation.devices.end(),
                      [&](const api::DeviceResult& result, const ReservedDevice& held) {
                        return cluster_.find_device(result.driver, result.pool, result.device) == held.device;
                      });
  }

  Audit& audit_;
  const client::View& view_;
  Cluster& cluster_;
  Ledger& ledger_;
  std::size_t left_;
  const Apply& apply_;
  std::vector<Repair> repairs_;
};

std::vector<Repair> Audit::look(const client::View& view, Cluster& cluster, std::size_t rows,
                                const Apply& apply) {
  return Look(*this, view, cluster, rows, apply).run();
}

}  // namespace berth::model
