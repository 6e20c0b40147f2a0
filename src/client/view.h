// What a decider sees: typed immutable objects, indexed, in a fixed order.
//
// Owner: one loop, on one thread. Fed by watches and by the answers of the loop's own writes; an older
// version of an object never replaces a newer one. Iteration is by namespace/name, so no order of arrival
// reaches a decision. Cost: as the Indexers'.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "client/indexer.h"

namespace berth::client {

// One change of one object; both sides hold the same alternative.
struct Delta {
  api::ObjectKey key;
  std::optional<api::TypedObject> before;  // nothing: new
  std::optional<api::TypedObject> after;   // nothing: gone
};

// The object of one side of a delta of T's kind; null when it is not there.
template <class T>
std::shared_ptr<const T> shared_object_of(const std::optional<api::TypedObject>& object) {
  return object ? std::get<std::shared_ptr<const T>>(*object) : nullptr;
}
template <class T>
const T* object_of(const std::optional<api::TypedObject>& object) {
  return object ? std::get<std::shared_ptr<const T>>(*object).get() : nullptr;
}

bool takes_whole(const api::DeviceResult& result);                          // no share of it, no admin access
std::string device_key(const api::DeviceResult& result);                    // driver/pool/device
std::vector<std::string> whole_devices(const api::Allocation& allocation);  // keys of those it takes whole

class View {
 public:
  View();

  Indexer<api::Pod> pods;
  Indexer<api::Node> nodes;
  Indexer<api::Namespace> namespaces;
  Indexer<api::Lease> leases;
  Indexer<api::PriorityClass> priority_classes;
  Indexer<api::PodGroup> pod_groups;
  Indexer<api::ResourceSlice> slices;
  Indexer<api::DeviceClass> classes;
  Indexer<api::ResourceClaim> claims;
  Indexer<api::ResourceClaimTemplate> claim_templates;
  Indexer<api::BindRequest> bind_requests;
  Indexer<api::DeviceTaintRule> taint_rules;
  Indexer<api::PersistentVolumeClaim> volume_claims;
  Indexer<api::PersistentVolume> volumes;
  Indexer<api::StorageClass> storage_classes;
  Indexer<api::CSIDriver> csi_drivers;
  Indexer<api::CSIStorageCapacity> storage_capacities;
  Indexer<api::CSINode> csi_nodes;  // by the name of their node
  Indexer<api::VolumeAttachment> volume_attachments;
  Indexer<api::DisruptionBudget> disruption_budgets;
  Indexer<api::CompositePodGroup> composite_groups;
  Indexer<api::Topology> topologies;
  Indexer<api::PlacementPolicy> placement_policies;
  std::map<api::ResourceRef, Indexer<api::AnyObject>> others;

  // Of every generation.
  std::vector<const api::ResourceSlice*> slices_of_pool(std::string_view driver, std::string_view pool) const;
  std::vector<const api::Pod*> pods_on_node(std::string_view node) const;
  std::vector<const api::Pod*> pods_of_group(std::string_view ns, std::string_view group) const;
  // Pods whose spec or status names this claim object.
  std::vector<const api::Pod*> pods_using_claim(std::string_view ns, std::string_view claim) const;
  // Pods with a volume that is this PersistentVolumeClaim.
  std::vector<const api::Pod*> pods_using_volume_claim(std::string_view ns, std::string_view claim) const;
  // PersistentVolumes of this class (empty: of none), and those whose spec.claimRef has this name.
  std::vector<const api::PersistentVolume*> volumes_of_class(std::string_view storage_class) const;
  std::vector<const api::PersistentVolume*> volumes_for_claim(std::string_view ns,
                                                              std::string_view claim) const;
  // PersistentVolumeClaims whose spec.volumeName is this one.
  std::vector<const api::PersistentVolumeClaim*> claims_of_volume(std::string_view volume) const;
  // Of every driver.
  std::vector<const api::CSIStorageCapacity*> capacities_of_class(std::string_view storage_class) const;
  std::vector<const api::VolumeAttachment*> attachments_of_node(std::string_view node) const;
  // Claims whose controller, or one of whose consumers (status.reservedFor), has this UID.
  std::vector<const api::ResourceClaim*> claims_owned_by(std::string_view uid) const;
  std::vector<const api::ResourceClaim*> claims_reserved_by(std::string_view uid) const;
  // Those whose allocation takes_whole() this device.
  std::vector<const api::ResourceClaim*> claims_holding_device(const api::DeviceResult& device) const;
  std::vector<const api::BindRequest*> bind_requests_of_decision(std::string_view decision_id) const;
  // How many, without visiting them.
  std::size_t bind_request_count_of_decision(std::string_view decision_id) const;
  // Those that name this PodGroup.
  std::vector<const api::BindRequest*> bind_requests_of_group(std::string_view ns,
                                                              std::string_view group) const;
  // Those of decisions about the tree of this CompositePodGroup.
  std::vector<const api::BindRequest*> bind_requests_of_root(std::string_view ns,
                                                             std::string_view root) const;
  // Children of this CompositePodGroup, which need not exist.
  std::vector<const api::PodGroup*> groups_under(std::string_view ns, std::string_view parent) const;
  std::vector<const api::CompositePodGroup*> composites_under(std::string_view ns,
                                                              std::string_view parent) const;
  // Those whose target this is, whether it exists or not.
  std::vector<const api::PlacementPolicy*> policies_about(std::string_view ns,
                                                          const api::PlacementTarget& target) const;
  // Those of the namespace whose target is neither a PodGroup nor a CompositePodGroup.
  std::vector<const api::PlacementPolicy*> policies_about_owners(std::string_view ns) const;
  // Those that name this Topology; those without a name use kDefaultTopology.
  std::vector<const api::PlacementPolicy*> policies_with_topology(std::string_view topology) const;
  // Those that name this claim object.
  std::vector<const api::BindRequest*> bind_requests_of_claim(std::string_view ns,
                                                              std::string_view claim) const;
  // Those that bind this PersistentVolumeClaim, or this PersistentVolume.
  std::vector<const api::BindRequest*> bind_requests_of_volume_claim(std::string_view ns,
                                                                     std::string_view claim) const;
  std::vector<const api::BindRequest*> bind_requests_of_volume(std::string_view volume) const;
  std::vector<const api::BindRequest*> bind_requests_of_pod(std::string_view ns, std::string_view pod) const;

  // Applies a new version; returns nothing when it is older than the known one.
  std::optional<Delta> put(const api::ObjectKey& key, api::TypedObject object);
  // `deleted_at`: the version of the deletion; a newer object of that name stays.
  std::optional<Delta> erase(const api::ObjectKey& key, std::uint64_t deleted_at);
  // The object with this key, whatever its kind.
  std::optional<api::TypedObject> find(const api::ObjectKey& key) const;
  // Calls `take` for every object of one kind (of one resource for Kind::Other), by namespace and name. It
  // does not change the view.
  using TakeObject = std::function<void(const NamedKey&, const api::TypedObject&)>;
  void for_each(api::Kind kind, const api::ResourceRef& resource, const TakeObject& take) const;
  // Every key of one kind (of one resource for Kind::Other).
  std::vector<api::ObjectKey> keys(api::Kind kind, const api::ResourceRef& resource = {}) const;
  // Those in one namespace. Cost: O(log n + found).
  std::vector<api::ObjectKey> keys_in(api::Kind kind, const std::string& ns,
                                      const api::ResourceRef& resource = {}) const;

 private:
  std::size_t pods_by_node_, pods_by_group_, pods_by_claim_;
  std::size_t claims_by_owner_, claims_by_consumer_, requests_by_decision_, requests_by_pod_;
  std::size_t requests_by_claim_, requests_by_group_, claims_by_device_, slices_by_pool_;
  std::size_t pods_by_volume_claim_, volumes_by_class_, volumes_by_claim_, claims_by_volume_;
  std::size_t capacities_by_class_, requests_by_volume_claim_, requests_by_volume_, attachments_by_node_;
  std::size_t groups_by_parent_, composites_by_parent_, requests_by_root_;
  std::size_t policies_by_target_, policies_by_topology_, policies_of_owners_;
};

}  // namespace berth::client
