#include <algorithm>
#include <map>
#include <set>

#include "api/type_table.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

// Dependents per run of their owner; the next run continues with the rest.
constexpr std::size_t kDependentsPerRunMax = 500;

bool waits_for_dependents(const api::ObjectMeta& meta) {
  return meta.deleting() && (meta.has_finalizer(kForeground) || meta.has_finalizer(kOrphan));
}

// The result of an object's owner references.
struct Owners {
  bool solid = false;                                          // an owner exists
  bool waiting = false;                                        // an owner waits for this object's deletion
  std::vector<std::pair<api::ObjectKey, std::string>> absent;  // with their UIDs
  std::vector<api::OwnerReference> keep;                       // those of existing owners
};

class GarbageCollector final : public client::Reconciler {
 public:
  explicit GarbageCollector(std::vector<ServedResource> resources) : resources_(std::move(resources)) {
    for (const ServedResource& served : resources_)
      by_kind_.emplace(std::pair(served.resource.group, served.kind), &served);
  }

  std::string_view name() const override { return "garbage-collector"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests;
    for (const ServedResource& served : resources_) {
      const api::Kind kind = api::kind_of_resource(served.resource.group, served.resource.resource);
      interests.push_back({kind, served.resource, [this](const View& view, const Delta& delta, Keys& keys) {
                             note(delta);
                             wanted(view, delta, keys);
                           }});
    }
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const auto object = view.find(key);
    if (!object) return Effects::nothing();
    const api::ObjectMeta& meta = api::meta_of(*object);
    if (meta.deleting() && meta.has_finalizer(kOrphan)) return orphan(view, key, meta);
    if (meta.deleting() && meta.has_finalizer(kForeground)) return wait_for_dependents(view, key, meta);
    if (meta.deleting() || meta.owners.empty()) return Effects::nothing();
    return collect(view, key, meta);
  }

 private:
  // Updates the index of dependents: called once for every change, in order.
  void note(const Delta& delta) const {
    if (delta.before)
      for (const api::OwnerReference& owner : api::meta_of(*delta.before).owners) {
        const auto found = dependents_.find(owner.uid);
        if (found == dependents_.end()) continue;
        found->second.erase(delta.key);
        if (found->second.empty()) dependents_.erase(found);
      }
    if (delta.after)
      for (const api::OwnerReference& owner : api::meta_of(*delta.after).owners)
        dependents_[owner.uid].insert(delta.key);
  }

  void wanted(const View& view, const Delta& delta, Keys& keys) const {
    const api::ObjectMeta* before = delta.before ? &api::meta_of(*delta.before) : nullptr;
    const api::ObjectMeta* after = delta.after ? &api::meta_of(*delta.after) : nullptr;
    const bool news = !before || !after || before->uid != after->uid || before->owners != after->owners ||
                      before->finalizers != after->finalizers || before->deleting() != after->deleting();
    if (!news) return;
    if (after && (!after->owners.empty() || waits_for_dependents(*after))) keys.push_back(delta.key);
    if (before && (!after || after->uid != before->uid || after->deleting()))
      for (const api::ObjectKey& dependent : dependents_of(before->uid)) keys.push_back(dependent);
    if (!before) return;
    for (const api::OwnerReference& owner : before->owners) {
      const auto owner_key = key_of(owner, delta.key.ns);
      const auto known = owner_key ? view.find(*owner_key) : std::nullopt;
      if (known && waits_for_dependents(api::meta_of(*known))) keys.push_back(*owner_key);
    }
  }

  const std::set<api::ObjectKey>& dependents_of(const std::string& uid) const {
    static const std::set<api::ObjectKey> kNone;
    const auto found = dependents_.find(uid);
    return found == dependents_.end() ? kNone : found->second;
  }

  // Nothing for a kind that is not served, and for a namespaced owner of a cluster-scoped object.
  std::optional<api::ObjectKey> key_of(const api::OwnerReference& owner, const std::string& ns) const {
    const auto found =
        by_kind_.find(std::pair(std::string(api::group_version_of(owner.api_version).group), owner.kind));
    if (found == by_kind_.end()) return std::nullopt;
    const ServedResource& served = *found->second;
    if (served.namespaced && ns.empty()) return std::nullopt;
    api::ObjectKey key{api::kind_of_resource(served.resource.group, served.resource.resource),
                       served.namespaced ? ns : "",
                       owner.name,
                       {}};
    if (key.kind == api::Kind::Other) key.resource = served.resource;
    return key;
  }

  Owners owners_of(const View& view, const api::ObjectMeta& meta) const {
    Owners owners;
    for (const api::OwnerReference& reference : meta.owners) {
      const auto key = key_of(reference, meta.ns);
      const auto known = key ? view.find(*key) : std::nullopt;
      const api::ObjectMeta* owner = known ? &api::meta_of(*known) : nullptr;
      if (key && (!owner || owner->uid != reference.uid)) {
        owners.absent.emplace_back(*key, reference.uid);
      } else if (owner && owner->deleting() && owner->has_finalizer(kForeground)) {
        owners.waiting = true;
      } else {
        owners.solid = true;
        owners.keep.push_back(reference);
      }
    }
    return owners;
  }

  Effects collect(const View& view, const api::ObjectKey& key, const api::ObjectMeta& meta) const {
    const Owners owners = owners_of(view, meta);
    if (owners.absent.empty() && !owners.waiting) return Effects::nothing();
    Effects effects;
    effects.chains.push_back({key, {}});
    for (const auto& [owner, uid] : owners.absent) effects.then(unless_exists(owner, uid));
    if (owners.solid) return effects.then(with_owners(key, meta, owners.keep));
    const bool in_circle = owners.waiting && closes_circle(view, meta);
    if (in_circle) effects.then(with_owners(key, meta, unblocked(meta)));
    // The version: it may have got another owner since. After the write above, that has been checked.
    return effects.then(client::delete_object(key, meta.uid, -1, propagation_of(meta, owners),
                                              in_circle ? 0 : meta.resource_version));
  }

  // What its finalizers say of its dependents holds: another policy would take them off.
  std::string_view propagation_of(const api::ObjectMeta& meta, const Owners& owners) const {
    if (owners.waiting && !dependents_of(meta.uid).empty()) return "Foreground";
    if (meta.has_finalizer(kOrphan)) return "Orphan";
    return meta.has_finalizer(kForeground) ? "Foreground" : "Background";
  }

  // A dependent waits for its own dependents, perhaps for this object in the end: owners that wait for each
  // other in a circle would never go.
  bool closes_circle(const View& view, const api::ObjectMeta& meta) const {
    for (const api::ObjectKey& dependent : dependents_of(meta.uid)) {
      const auto object = view.find(dependent);
      if (!object) continue;
      const api::ObjectMeta& of = api::meta_of(*object);
      if (of.deleting() && of.has_finalizer(kForeground)) return true;
    }
    return false;
  }

  static std::vector<api::OwnerReference> unblocked(const api::ObjectMeta& meta) {
    std::vector<api::OwnerReference> owners = meta.owners;
    for (api::OwnerReference& owner : owners) owner.block_owner_deletion = false;
    return owners;
  }

  static client::Write with_owners(const api::ObjectKey& key, const api::ObjectMeta& meta,
                                   const std::vector<api::OwnerReference>& owners) {
    JsonArray references;
    for (const api::OwnerReference& owner : owners) references.push_back(api::to_json(owner));
    Json patch = Json::object();
    patch["metadata"]["ownerReferences"] = std::move(references);
    client::Write write = client::merge_patch(key, std::move(patch), meta.uid, meta.resource_version);
    write.fine_reasons = {"NotFound"};
    return write;
  }

  Effects orphan(const View& view, const api::ObjectKey& key, const api::ObjectMeta& meta) const {
    Effects effects;
    for (const api::ObjectKey& dependent : dependents_of(meta.uid)) {
      const auto object = view.find(dependent);
      if (!object) continue;
      const api::ObjectMeta& of = api::meta_of(*object);
      std::vector<api::OwnerReference> rest = of.owners;
      std::erase_if(rest, [&](const api::OwnerReference& owner) { return owner.uid == meta.uid; });
      effects.chains.push_back({dependent, {with_owners(dependent, of, rest)}});
      if (effects.chains.size() == kDependentsPerRunMax) break;
    }
    if (effects.chains.empty()) return Effects::write(key, drop_finalizer(key, meta, kOrphan));
    return effects;
  }

  Effects wait_for_dependents(const View& view, const api::ObjectKey& key,
                              const api::ObjectMeta& meta) const {
    for (const api::ObjectKey& dependent : dependents_of(meta.uid)) {
      const auto object = view.find(dependent);
      if (!object) continue;
      for (const api::OwnerReference& owner : api::meta_of(*object).owners)
        if (owner.uid == meta.uid && owner.block_owner_deletion) return Effects::nothing();
    }
    return Effects::write(key, drop_finalizer(key, meta, kForeground));
  }

  std::vector<ServedResource> resources_;
  std::map<std::pair<std::string, std::string>, const ServedResource*> by_kind_;
  // By the owner's UID. Changed by the interests, which the engine calls once per change.
  mutable std::map<std::string, std::set<api::ObjectKey>> dependents_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_garbage_collector(std::vector<ServedResource> resources) {
  return std::make_unique<GarbageCollector>(std::move(resources));
}

}  // namespace berth::controllers
