// A map by namespace and name: iteration in that order, lookups by hash.
//
// Owner: one thread. Cost: find and replace O(1), without allocation; insert and erase O(log n). Pointers to
// entries are valid until their erase. No result depends on the hash.
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
    const auto found = places_.find(Name{ns, name});
    return found == places_.end() ? nullptr : &*found->second;
  }
  Entry* find(std::string_view ns, std::string_view name) {
    return const_cast<Entry*>(std::as_const(*this).find(ns, name));
  }
  // The entry, with an empty value when it is new.
  std::pair<Entry*, bool> try_emplace(std::string_view ns, std::string_view name) {
    if (Entry* found = find(ns, name)) return {found, false};
    const auto made = entries_.try_emplace(NamedKey{std::string(ns), std::string(name)}).first;
    places_.emplace(Name{made->first.ns, made->first.name}, made);
    return {&*made, true};
  }
  void erase(std::string_view ns, std::string_view name) {
    const auto found = places_.find(Name{ns, name});
    if (found == places_.end()) return;
    const auto place = found->second;
    places_.erase(found);
    entries_.erase(place);
  }

  const Ordered& all() const { return entries_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Name {
    std::string_view ns, name;
    friend bool operator==(const Name&, const Name&) = default;
  };
  // Not noexcept: libstdc++ then keeps hashes beside entries and does not compute those of neighbours again.
  struct Hash {
    std::size_t operator()(const Name& key) const {
      constexpr std::size_t kPrime = 0x9e3779b97f4a7c15ull;
      const std::hash<std::string_view> text;
      return (text(key.ns) * kPrime) ^ text(key.name);
    }
  };

  Ordered entries_;
  std::unordered_map<Name, typename Ordered::iterator, Hash> places_;  // views of the keys in entries_
};

}  // namespace berth::client
