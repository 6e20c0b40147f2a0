#include "client/view.h"

namespace berth::client {
namespace {

// "<owner>/<name>": the key of an index by namespaced name, or by driver and pool.
std::string joined(std::string_view owner, std::string_view name) {
  return std::string(owner).append("/").append(name);
}

void node_of(const api::Pod& pod, IndexEntries& entries) {
  if (!pod.node_name.empty()) entries.add(pod.node_name);
}

void group_of(const api::Pod& pod, IndexEntries& entries) {
  if (!pod.group.empty()) entries.add(pod.meta.ns, pod.group);
}

template <class Group>
void parent_of(const Group& group, IndexEntries& entries) {
  if (!group.parent.empty()) entries.add(group.meta.ns, group.parent);
}

void claims_of(const api::Pod& pod, IndexEntries& entries) {
  for (const api::PodClaim& claim : pod.claims)
    if (const std::string name = claim_object_name(pod, claim); !name.empty()) entries.add(pod.meta.ns, name);
  if (!pod.extended_claim.empty()) entries.add(pod.meta.ns, pod.extended_claim);
}

void owner_of(const api::ResourceClaim& claim, IndexEntries& entries) {
  if (const api::OwnerReference* owner = claim.meta.controller()) entries.add(owner->uid);
}

void consumers_of(const api::ResourceClaim& claim, IndexEntries& entries) {
  for (const api::ClaimConsumer& consumer : claim.reserved_for) entries.add(consumer.uid);
}

void devices_of(const api::ResourceClaim& claim, IndexEntries& entries) {
  if (!claim.allocation) return;
  for (const std::string& device : whole_devices(*claim.allocation)) entries.add(device);
}

void decision_of(const api::BindRequest& request, IndexEntries& entries) {
  entries.add(request.decision_id);
}

void claims_of_request(const api::BindRequest& request, IndexEntries& entries) {
  for (const api::ClaimAllocation& claim : request.claims) entries.add(request.meta.ns, claim.claim_name);
}

void group_of_request(const api::BindRequest& request, IndexEntries& entries) {
  if (!request.group.name.empty()) entries.add(request.meta.ns, request.group.name);
}

void root_of_request(const api::BindRequest& request, IndexEntries& entries) {
  if (!request.group.root.name.empty()) entries.add(request.meta.ns, request.group.root.name);
}

void pool_of(const api::ResourceSlice& slice, IndexEntries& entries) {
  entries.add(slice.driver, slice.pool);
}

void volume_claims_of(const api::Pod& pod, IndexEntries& entries) {
  for (const api::PodVolume& volume : pod.volumes) entries.add(pod.meta.ns, volume.claim_name);
}

void class_of(const api::PersistentVolume& volume, IndexEntries& entries) {
  entries.add(volume.traits.storage_class);
}

void claim_of(const api::PersistentVolume& volume, IndexEntries& entries) {
  if (volume.claim_ref) entries.add(volume.claim_ref->ns, volume.claim_ref->name);
}

void volume_of(const api::PersistentVolumeClaim& claim, IndexEntries& entries) {
  if (!claim.volume_name.empty()) entries.add(claim.volume_name);
}

void class_of_capacity(const api::CSIStorageCapacity& capacity, IndexEntries& entries) {
  entries.add(capacity.storage_class);
}

void node_of_attachment(const api::VolumeAttachment& attachment, IndexEntries& entries) {
  entries.add(attachment.node);
}

void volume_claims_of_request(const api::BindRequest& request, IndexEntries& entries) {
  for (const api::VolumeBinding& binding : request.volumes) entries.add(request.meta.ns, binding.claim_name);
}

void volumes_of_request(const api::BindRequest& request, IndexEntries& entries) {
  for (const api::VolumeBinding& binding : request.volumes)
    if (!binding.volume.empty()) entries.add(binding.volume);
}

void pod_of(const api::BindRequest& request, IndexEntries& entries) {
  entries.add(request.meta.ns, request.pod_name);
}

void target_of(const api::PlacementPolicy& policy, IndexEntries& entries) {
  entries.add(policy.meta.ns, api::to_text(policy.target));
}

void topology_of(const api::PlacementPolicy& policy, IndexEntries& entries) {
  entries.add(policy.topology_name());
}

void owners_namespace(const api::PlacementPolicy& policy, IndexEntries& entries) {
  if (!api::is_about_groups(policy.target)) entries.add(policy.meta.ns);
}

// Calls `visit` with the table of this kind.
template <class ViewType, class Visit>
auto with_table(ViewType& view, const api::ObjectKey& key, Visit visit) {
  using api::Kind;
  switch (key.kind) {
    case Kind::Pod:
      return visit(view.pods);
    case Kind::Node:
      return visit(view.nodes);
    case Kind::Namespace:
      return visit(view.namespaces);
    case Kind::Lease:
      return visit(view.leases);
    case Kind::PriorityClass:
      return visit(view.priority_classes);
    case Kind::PodGroup:
      return visit(view.pod_groups);
    case Kind::ResourceSlice:
      return visit(view.slices);
    case Kind::DeviceClass:
      return visit(view.classes);
    case Kind::ResourceClaim:
      return visit(view.claims);
    case Kind::ResourceClaimTemplate:
      return visit(view.claim_templates);
    case Kind::BindRequest:
      return visit(view.bind_requests);
    case Kind::DeviceTaintRule:
      return visit(view.taint_rules);
    case Kind::PersistentVolumeClaim:
      return visit(view.volume_claims);
    case Kind::PersistentVolume:
      return visit(view.volumes);
    case Kind::StorageClass:
      return visit(view.storage_classes);
    case Kind::CSIDriver:
      return visit(view.csi_drivers);
    case Kind::CSIStorageCapacity:
      return visit(view.storage_capacities);
    case Kind::CSINode:
      return visit(view.csi_nodes);
    case Kind::VolumeAttachment:
      return visit(view.volume_attachments);
    case Kind::PodDisruptionBudget:
      return visit(view.disruption_budgets);
    case Kind::CompositePodGroup:
      return visit(view.composite_groups);
    case Kind::Topology:
      return visit(view.topologies);
    case Kind::PlacementPolicy:
      return visit(view.placement_policies);
    case Kind::Other:
      break;
  }
  if constexpr (std::is_const_v<ViewType>) {
    static const Indexer<api::AnyObject> kEmpty;
    const auto found = view.others.find(key.resource);
    return visit(found == view.others.end() ? kEmpty : found->second);
  } else {
    return visit(view.others[key.resource]);
  }
}

}  // namespace

bool takes_whole(const api::DeviceResult& result) {
  return !result.admin_access && result.share_id.empty();
}

std::string device_key(const api::DeviceResult& result) {
  return std::string(result.driver).append("/").append(result.pool).append("/").append(result.device);
}

std::vector<std::string> whole_devices(const api::Allocation& allocation) {
  std::vector<std::string> devices;
  for (const api::DeviceResult& result : allocation.results)
    if (takes_whole(result)) devices.push_back(device_key(result));
  return devices;
}

View::View()
    : pods_by_node_(pods.add_index(node_of)),
      pods_by_group_(pods.add_index(group_of)),
      pods_by_claim_(pods.add_index(claims_of)),
      claims_by_owner_(claims.add_index(owner_of)),
      claims_by_consumer_(claims.add_index(consumers_of)),
      requests_by_decision_(bind_requests.add_index(decision_of)),
      requests_by_pod_(bind_requests.add_index(pod_of)),
      requests_by_claim_(bind_requests.add_index(claims_of_request)),
      requests_by_group_(bind_requests.add_index(group_of_request)),
      claims_by_device_(claims.add_index(devices_of)),
      slices_by_pool_(slices.add_index(pool_of)),
      pods_by_volume_claim_(pods.add_index(volume_claims_of)),
      volumes_by_class_(volumes.add_index(class_of)),
      volumes_by_claim_(volumes.add_index(claim_of)),
      claims_by_volume_(volume_claims.add_index(volume_of)),
      capacities_by_class_(storage_capacities.add_index(class_of_capacity)),
      requests_by_volume_claim_(bind_requests.add_index(volume_claims_of_request)),
      requests_by_volume_(bind_requests.add_index(volumes_of_request)),
      attachments_by_node_(volume_attachments.add_index(node_of_attachment)),
      groups_by_parent_(pod_groups.add_index(parent_of<api::PodGroup>)),
      composites_by_parent_(composite_groups.add_index(parent_of<api::CompositePodGroup>)),
      requests_by_root_(bind_requests.add_index(root_of_request)),
      policies_by_target_(placement_policies.add_index(target_of)),
      policies_by_topology_(placement_policies.add_index(topology_of)),
      policies_of_owners_(placement_policies.add_index(owners_namespace)) {}

std::vector<const api::ResourceSlice*> View::slices_of_pool(std::string_view driver,
                                                            std::string_view pool) const {
  return slices.indexed(slices_by_pool_, joined(driver, pool));
}

std::vector<const api::Pod*> View::pods_on_node(std::string_view node) const {
  return pods.indexed(pods_by_node_, node);
}

std::vector<const api::ResourceClaim*> View::claims_holding_device(const api::DeviceResult& device) const {
  if (!takes_whole(device)) return {};
  return claims.indexed(claims_by_device_, device_key(device));
}

std::vector<const api::BindRequest*> View::bind_requests_of_group(std::string_view ns,
                                                                  std::string_view group) const {
  return bind_requests.indexed(requests_by_group_, joined(ns, group));
}

std::vector<const api::BindRequest*> View::bind_requests_of_root(std::string_view ns,
                                                                 std::string_view root) const {
  return bind_requests.indexed(requests_by_root_, joined(ns, root));
}

std::vector<const api::PodGroup*> View::groups_under(std::string_view ns, std::string_view parent) const {
  return pod_groups.indexed(groups_by_parent_, joined(ns, parent));
}

std::vector<const api::CompositePodGroup*> View::composites_under(std::string_view ns,
                                                                  std::string_view parent) const {
  return composite_groups.indexed(composites_by_parent_, joined(ns, parent));
}

std::vector<const api::PlacementPolicy*> View::policies_about(std::string_view ns,
                                                              const api::PlacementTarget& target) const {
  return placement_policies.indexed(policies_by_target_, joined(ns, api::to_text(target)));
}

std::vector<const api::PlacementPolicy*> View::policies_about_owners(std::string_view ns) const {
  return placement_policies.indexed(policies_of_owners_, ns);
}

std::vector<const api::PlacementPolicy*> View::policies_with_topology(std::string_view topology) const {
  return placement_policies.indexed(policies_by_topology_, topology);
}

std::vector<const api::Pod*> View::pods_of_group(std::string_view ns, std::string_view group) const {
  return pods.indexed(pods_by_group_, joined(ns, group));
}

std::vector<const api::Pod*> View::pods_using_claim(std::string_view ns, std::string_view claim) const {
  return pods.indexed(pods_by_claim_, joined(ns, claim));
}

std::vector<const api::Pod*> View::pods_using_volume_claim(std::string_view ns,
                                                           std::string_view claim) const {
  return pods.indexed(pods_by_volume_claim_, joined(ns, claim));
}

std::vector<const api::PersistentVolume*> View::volumes_of_class(std::string_view storage_class) const {
  return volumes.indexed(volumes_by_class_, storage_class);
}

std::vector<const api::PersistentVolume*> View::volumes_for_claim(std::string_view ns,
                                                                  std::string_view claim) const {
  return volumes.indexed(volumes_by_claim_, joined(ns, claim));
}

std::vector<const api::PersistentVolumeClaim*> View::claims_of_volume(std::string_view volume) const {
  return volume_claims.indexed(claims_by_volume_, volume);
}

std::vector<const api::CSIStorageCapacity*> View::capacities_of_class(std::string_view storage_class) const {
  return storage_capacities.indexed(capacities_by_class_, storage_class);
}

std::vector<const api::VolumeAttachment*> View::attachments_of_node(std::string_view node) const {
  return volume_attachments.indexed(attachments_by_node_, node);
}

std::vector<const api::BindRequest*> View::bind_requests_of_volume_claim(std::string_view ns,
                                                                         std::string_view claim) const {
  return bind_requests.indexed(requests_by_volume_claim_, joined(ns, claim));
}

std::vector<const api::BindRequest*> View::bind_requests_of_volume(std::string_view volume) const {
  return bind_requests.indexed(requests_by_volume_, volume);
}

std::vector<const api::ResourceClaim*> View::claims_owned_by(std::string_view uid) const {
  return claims.indexed(claims_by_owner_, uid);
}

std::vector<const api::ResourceClaim*> View::claims_reserved_by(std::string_view uid) const {
  return claims.indexed(claims_by_consumer_, uid);
}

std::vector<const api::BindRequest*> View::bind_requests_of_decision(std::string_view decision_id) const {
  return bind_requests.indexed(requests_by_decision_, decision_id);
}

std::size_t View::bind_request_count_of_decision(std::string_view decision_id) const {
  return bind_requests.count_indexed(requests_by_decision_, decision_id);
}

std::vector<const api::BindRequest*> View::bind_requests_of_claim(std::string_view ns,
                                                                  std::string_view claim) const {
  return bind_requests.indexed(requests_by_claim_, joined(ns, claim));
}

std::vector<const api::BindRequest*> View::bind_requests_of_pod(std::string_view ns,
                                                                std::string_view pod) const {
  return bind_requests.indexed(requests_by_pod_, joined(ns, pod));
}

std::optional<Delta> View::put(const api::ObjectKey& key, api::TypedObject object) {
  return with_table(*this, key, [&]<class T>(Indexer<T>& table) -> std::optional<Delta> {
    const auto after = std::get<std::shared_ptr<const T>>(std::move(object));
    auto before = table.put(after);
    if (before == after) return std::nullopt;
    Delta delta{key, std::nullopt, after};
    if (before) delta.before = std::move(before);
    return delta;
  });
}

std::optional<Delta> View::erase(const api::ObjectKey& key, std::uint64_t deleted_at) {
  return with_table(*this, key, [&]<class T>(Indexer<T>& table) -> std::optional<Delta> {
    const T* known = table.find(key.ns, key.name);
    if (!known || known->meta.resource_version > deleted_at) return std::nullopt;
    return Delta{key, table.erase(key.ns, key.name), std::nullopt};
  });
}

std::optional<api::TypedObject> View::find(const api::ObjectKey& key) const {
  return with_table(*this, key, [&]<class T>(const Indexer<T>& table) -> std::optional<api::TypedObject> {
    auto found = table.find_shared(key.ns, key.name);
    if (!found) return std::nullopt;
    return found;
  });
}

void View::for_each(api::Kind kind, const api::ResourceRef& resource, const TakeObject& take) const {
  with_table(*this, api::ObjectKey{kind, "", "", resource}, [&]<class T>(const Indexer<T>& table) {
    for (const auto& [named, object] : table.all()) take(named, object);
    return 0;
  });
}

std::vector<api::ObjectKey> View::keys(api::Kind kind, const api::ResourceRef& resource) const {
  std::vector<api::ObjectKey> keys;
  with_table(*this, api::ObjectKey{kind, "", "", resource}, [&]<class T>(const Indexer<T>& table) {
    for (const auto& [named, object] : table.all()) keys.push_back({kind, named.ns, named.name, resource});
    return 0;
  });
  return keys;
}

std::vector<api::ObjectKey> View::keys_in(api::Kind kind, const std::string& ns,
                                          const api::ResourceRef& resource) const {
  const api::ResourceRef named = kind == api::Kind::Other ? resource : api::ResourceRef{};
  std::vector<api::ObjectKey> keys;
  with_table(*this, api::ObjectKey{kind, "", "", named}, [&]<class T>(const Indexer<T>& table) {
    const auto& all = table.all();
    for (auto at = all.lower_bound(NamedKey{ns, ""}); at != all.end() && at->first.ns == ns; ++at)
      keys.push_back({kind, ns, at->first.name, named});
    return 0;
  });
  return keys;
}

}  // namespace berth::client
