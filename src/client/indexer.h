// Typed objects by namespace and name, with indexes.
//
// Owner: one View, on one thread. Iteration is by namespace/name. Cost: lookups and changes O(log n).
// Source: client-go's Indexer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace berth::client
