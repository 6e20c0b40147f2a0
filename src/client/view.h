// What a decider sees: typed immutable objects, indexed, in a fixed order.
//
// Owner: one loop, on one thread. Fed by watches and by the answers of the loop's own writes; an older
// version of an object never replaces a newer one. Iteration is by namespace/name, so no order of arrival
// reaches a decision. Cost: lookups and changes O(log n).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"

namespace berth::client {

// Namespace and name. Cluster-scoped objects have an empty namespace.
struct NamedKey {
  std::string ns;
  std::string name;
  // "namespace/name", or the name alone.
  std::string text() const { return ns.empty() ? name : ns + "/" + name; }
  friend auto operator<=>(const NamedKey&, const NamedKey&) = default;
};

template <class T>
class Indexer {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Which index entries an object has; sorted output is not required.
  using IndexKeys = std::vector<std::string> (*)(const T&);

  // Null when absent.
  const T* find(std::string_view ns, std::string_view name) const {
    const auto found = objects_.find(NamedKey{std::string(ns), std::string(name)});
    return found == objects_.end() ? nullptr : found->second.get();
  }
  Ptr find_shared(std::string_view ns, std::string_view name) const {
    const auto found = objects_.find(NamedKey{std::string(ns), std::string(name)});
    return found == objects_.end() ? nullptr : found->second;
  }
  const std::map<NamedKey, Ptr>& all() const { return objects_; }
  std::size_t size() const { return objects_.size(); }

  // Objects under one entry of the index added as the n-th, by namespace/name.
  std::vector<const T*> indexed(std::size_t index, std::string_view entry) const {
    std::vector<const T*> found;
    const auto& entries = indexes_.at(index).entries;
    const auto at = entries.find(entry);
    if (at == entries.end()) return found;
    for (const NamedKey& key : at->second) found.push_back(objects_.at(key).get());
    return found;
  }

  std::size_t count_indexed(std::size_t index, std::string_view entry) const {
    const auto& entries = indexes_.at(index).entries;
    const auto at = entries.find(entry);
    return at == entries.end() ? 0 : at->second.size();
  }

  // Before the first object only.
  std::size_t add_index(IndexKeys keys) {
    indexes_.push_back({keys, {}});
    return indexes_.size() - 1;
  }

  // Returns the object that was stored before. An object that is not newer than the stored one of the same
  // UID is ignored and returned itself.
  Ptr put(Ptr object) {
    const NamedKey key{object->meta.ns, object->meta.name};
    Ptr& slot = objects_[key];
    if (slot && slot->meta.uid == object->meta.uid &&
        slot->meta.resource_version >= object->meta.resource_version)
      return object;
    Ptr before = std::move(slot);
    slot = std::move(object);
    reindex(key, before.get(), slot.get());
    return before;
  }

  Ptr erase(std::string_view ns, std::string_view name) {
    const auto found = objects_.find(NamedKey{std::string(ns), std::string(name)});
    if (found == objects_.end()) return nullptr;
    reindex(found->first, found->second.get(), nullptr);
    Ptr before = std::move(found->second);
    objects_.erase(found);
    return before;
  }

 private:
  struct Index {
    IndexKeys keys;
    std::map<std::string, std::set<NamedKey>, std::less<>> entries;
  };
  // Most changes of an object leave its entries as they are.
  void reindex(const NamedKey& key, const T* before, const T* after) {
    for (Index& index : indexes_) {
      const std::vector<std::string> left = before ? index.keys(*before) : std::vector<std::string>();
      std::vector<std::string> entered = after ? index.keys(*after) : std::vector<std::string>();
      if (left == entered) continue;
      for (const std::string& entry : left) drop(index, entry, key);
      for (std::string& entry : entered) index.entries[std::move(entry)].insert(key);
    }
  }
  static void drop(Index& index, const std::string& entry, const NamedKey& key) {
    const auto at = index.entries.find(entry);
    if (at == index.entries.end()) return;
    at->second.erase(key);
    if (at->second.empty()) index.entries.erase(at);
  }

  std::map<NamedKey, Ptr> objects_;
  std::vector<Index> indexes_;
};

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
  std::map<api::ResourceRef, Indexer<api::AnyObject>> others;

  // Of every generation.
  std::vector<const api::ResourceSlice*> slices_of_pool(std::string_view driver, std::string_view pool) const;
  std::vector<const api::Pod*> pods_on_node(std::string_view node) const;
  std::vector<const api::Pod*> pods_of_group(std::string_view ns, std::string_view group) const;
  // Pods whose spec or status names this claim object.
  std::vector<const api::Pod*> pods_using_claim(std::string_view ns, std::string_view claim) const;
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
  // Those that name this claim object.
  std::vector<const api::BindRequest*> bind_requests_of_claim(std::string_view ns,
                                                              std::string_view claim) const;
  std::vector<const api::BindRequest*> bind_requests_of_pod(std::string_view ns, std::string_view pod) const;

  // Applies a new version; returns nothing when it is older than the known one.
  std::optional<Delta> put(const api::ObjectKey& key, api::TypedObject object);
  // `deleted_at`: the version of the deletion; a newer object of that name stays.
  std::optional<Delta> erase(const api::ObjectKey& key, std::uint64_t deleted_at);
  // The object with this key, whatever its kind.
  std::optional<api::TypedObject> find(const api::ObjectKey& key) const;
  // Every key of one kind (of one resource for Kind::Other).
  std::vector<api::ObjectKey> keys(api::Kind kind, const api::ResourceRef& resource = {}) const;
  // Those in one namespace. Cost: O(log n + found).
  std::vector<api::ObjectKey> keys_in(api::Kind kind, const std::string& ns,
                                      const api::ResourceRef& resource = {}) const;

 private:
  std::size_t pods_by_node_, pods_by_group_, pods_by_claim_;
  std::size_t claims_by_owner_, claims_by_consumer_, requests_by_decision_, requests_by_pod_;
  std::size_t requests_by_claim_, requests_by_group_, claims_by_device_, slices_by_pool_;
};

}  // namespace berth::client
