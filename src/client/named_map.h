// Maps by namespace and name, with lookups by hash: NamedMap iterates in that order, NamedTable not at all.
//
// Owner: one thread. Cost: find and replace O(1), without allocation; insert and erase O(log n), of a
// NamedTable O(1). Pointers to entries are valid until their erase. No result depends on the hash.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth::client {

// Namespace and name. Cluster-scoped objects have an empty namespace.
struct NamedKey {
  std::string ns;
  std::string name;
  // "namespace/name", or the name alone.
  std::string text() const { return ns.empty() ? name : ns + "/" + name; }
  friend auto operator<=>(const NamedKey&, const NamedKey&) = default;
};

// A NamedKey in two views.
struct NamedKeyView {
  std::string_view ns, name;
  friend auto operator<=>(const NamedKeyView&, const NamedKeyView&) = default;
};

// Not noexcept: libstdc++ then keeps hashes with entries and does not compute those of neighbours again.
struct NamedKeyHash {
  using is_transparent = void;
  std::size_t operator()(const NamedKeyView& key) const {
    constexpr std::size_t kPrime = 0x9e3779b97f4a7c15ull;
    const std::hash<std::string_view> text;
    return (text(key.ns) * kPrime) ^ text(key.name);
  }
  std::size_t operator()(const NamedKey& key) const { return (*this)(NamedKeyView{key.ns, key.name}); }
};

template <class Value>
class NamedTable {
 public:
  // Null when absent.
  const Value* find(std::string_view ns, std::string_view name) const {
    const auto found = entries_.find(NamedKeyView{ns, name});
    return found == entries_.end() ? nullptr : &found->second;
  }
  // The entry, with an empty value when it is new.
  std::pair<Value*, bool> try_emplace(std::string_view ns, std::string_view name) {
    if (const auto found = entries_.find(NamedKeyView{ns, name}); found != entries_.end())
      return {&found->second, false};
    return {&entries_[NamedKey{std::string(ns), std::string(name)}], true};
  }
  void erase(std::string_view ns, std::string_view name) {
    if (const auto found = entries_.find(NamedKeyView{ns, name}); found != entries_.end())
      entries_.erase(found);
  }
  void reserve(std::size_t entries) { entries_.reserve(entries); }

 private:
  struct Equal {
    using is_transparent = void;
    bool operator()(const NamedKey& a, const NamedKey& b) const { return a == b; }
    bool operator()(const NamedKey& a, const NamedKeyView& b) const {
      return a.name == b.name && a.ns == b.ns;
    }
    bool operator()(const NamedKeyView& a, const NamedKey& b) const { return (*this)(b, a); }
  };
  std::unordered_map<NamedKey, Value, NamedKeyHash, Equal> entries_;
};

template <class Value>
class NamedMap {
 public:
  using Ordered = std::map<NamedKey, Value>;
  using Entry = typename Ordered::value_type;

  NamedMap() = default;
  // A copy would look its names up in the original.
  NamedMap(const NamedMap&) = delete;
  NamedMap& operator=(const NamedMap&) = delete;
  NamedMap(NamedMap&&) noexcept = default;
  NamedMap& operator=(NamedMap&&) noexcept = default;

  // Null when absent.
  const Entry* find(std::string_view ns, std::string_view name) const {
    const auto found = places_.find(NamedKeyView{ns, name});
    return found == places_.end() ? nullptr : &*found->second;
  }
  Entry* find(std::string_view ns, std::string_view name) {
    return const_cast<Entry*>(std::as_const(*this).find(ns, name));
  }
  // The entry, with an empty value when it is new.
  std::pair<Entry*, bool> try_emplace(std::string_view ns, std::string_view name) {
    // A list comes in this order.
    const bool is_last = !entries_.empty() && key_of(*entries_.rbegin()) < NamedKeyView{ns, name};
    if (Entry* found = is_last ? nullptr : find(ns, name)) return {found, false};
    const auto made = entries_.try_emplace(entries_.end(), NamedKey{std::string(ns), std::string(name)});
    places_.emplace(key_of(*made), made);
    return {&*made, true};
  }
  void erase(std::string_view ns, std::string_view name) {
    const auto found = places_.find(NamedKeyView{ns, name});
    if (found == places_.end()) return;
    const auto place = found->second;
    places_.erase(found);
    entries_.erase(place);
  }

  const Ordered& all() const { return entries_; }
  std::size_t size() const { return entries_.size(); }

 private:
  static NamedKeyView key_of(const Entry& entry) { return {entry.first.ns, entry.first.name}; }

  Ordered entries_;
  std::unordered_map<NamedKeyView, typename Ordered::iterator, NamedKeyHash>
      places_;  // views of the keys in entries_
};

}  // namespace berth::client
