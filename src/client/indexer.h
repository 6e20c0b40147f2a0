// Typed objects by namespace and name, with indexes.
//
// Owner: one View, on one thread. Iteration is by namespace/name. Cost: lookups and new versions O(1) and
// without an allocation where no index entry changes; new and removed objects O(log n). Source: client-go's
// Indexer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/named_map.h"

namespace berth::client {

// The index entries of one object. Its memory is used again for the next object.
class IndexEntries {
 public:
  void add(std::string_view entry) { next().assign(entry); }
  // "<owner>/<name>": an entry by namespaced name, or by driver and pool.
  void add(std::string_view owner, std::string_view name) { next().assign(owner).append("/").append(name); }
  void clear() { size_ = 0; }
  const std::string* begin() const { return texts_.data(); }
  const std::string* end() const { return texts_.data() + size_; }
  friend bool operator==(const IndexEntries& a, const IndexEntries& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::string& next() {
    if (size_ == texts_.size()) texts_.emplace_back();
    return texts_[size_++];
  }
  std::vector<std::string> texts_;
  std::size_t size_ = 0;
};

template <class T>
class Indexer {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Adds the index entries of an object; order and repetition do not matter.
  using IndexKeys = void (*)(const T&, IndexEntries&);

  // Null when absent.
  const T* find(std::string_view ns, std::string_view name) const {
    const auto* found = objects_.find(ns, name);
    return found ? found->second.get() : nullptr;
  }
  Ptr find_shared(std::string_view ns, std::string_view name) const {
    const auto* found = objects_.find(ns, name);
    return found ? found->second : nullptr;
  }
  const std::map<NamedKey, Ptr>& all() const { return objects_.all(); }
  std::size_t size() const { return objects_.size(); }

  // Objects under one entry of the index added as the n-th, by namespace/name.
  std::vector<const T*> indexed(std::size_t index, std::string_view entry) const {
    std::vector<const T*> found;
    const auto& entries = indexes_.at(index).entries;
    const auto at = entries.find(entry);
    if (at == entries.end()) return found;
    found.reserve(at->second.size());
    for (const Stored* stored : at->second) found.push_back(stored->second.get());
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
    Stored& stored = *objects_.try_emplace(object->meta.ns, object->meta.name).first;
    Ptr& slot = stored.second;
    if (slot && slot->meta.uid == object->meta.uid &&
        slot->meta.resource_version >= object->meta.resource_version)
      return object;
    Ptr before = std::move(slot);
    slot = std::move(object);
    reindex(stored, before.get(), slot.get());
    return before;
  }

  Ptr erase(std::string_view ns, std::string_view name) {
    Stored* const stored = objects_.find(ns, name);
    if (!stored) return nullptr;
    reindex(*stored, stored->second.get(), nullptr);
    Ptr before = std::move(stored->second);
    objects_.erase(before->meta.ns, before->meta.name);
    return before;
  }

 private:
  using Stored = typename NamedMap<Ptr>::Entry;
  struct ByKey {
    bool operator()(const Stored* a, const Stored* b) const { return a->first < b->first; }
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using StoredSet = std::set<const Stored*, ByKey>;
  struct Index {
    IndexKeys keys;
    std::unordered_map<std::string, StoredSet, TextHash, std::equal_to<>> entries;
  };

  // Most changes of an object leave its entries as they are.
  void reindex(const Stored& stored, const T* before, const T* after) {
    for (Index& index : indexes_) {
      left_.clear();
      entered_.clear();
      if (before) index.keys(*before, left_);
      if (after) index.keys(*after, entered_);
      if (left_ == entered_) continue;
      for (const std::string& entry : left_) drop(index, entry, stored);
      for (const std::string& entry : entered_) {
        StoredSet& under = index.entries[entry];
        under.insert(under.end(), &stored);  // a list comes in this order
      }
    }
  }
  static void drop(Index& index, const std::string& entry, const Stored& stored) {
    const auto at = index.entries.find(entry);
    if (at == index.entries.end()) return;
    at->second.erase(&stored);
    if (at->second.empty()) index.entries.erase(at);
  }

  NamedMap<Ptr> objects_;
  std::vector<Index> indexes_;
  IndexEntries left_, entered_;  // of the object that reindex() looks at
};

}  // namespace berth::client
