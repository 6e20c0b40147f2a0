// What a decision is about: a pod without a group, a group, or a tree of groups by its root; and its turn
// among others.
//
// Values. Source: kube-scheduler's QueueSort.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::placement {

enum class EntityKind : std::uint8_t { Pod, Group, CompositeGroup };

// Of a group, or of a group of groups, as Kubernetes names it.
inline std::string_view group_kind(bool composite) {
  return composite ? "CompositePodGroup" : "PodGroup";
}

struct EntityKey {
  std::string ns;
  std::string name;
  EntityKind kind = EntityKind::Pod;
  friend auto operator<=>(const EntityKey&, const EntityKey&) = default;
};

// For look-ups: nothing that is decided follows from the order of such a table. Not noexcept, as
// NamedKeyHash.
struct EntityKeyHash {
  std::size_t operator()(const EntityKey& key) const;
};

struct QueuedEntity {
  EntityKey key;
  std::int32_t priority = 0;
  Time since;  // of its creation, in whole seconds; the older entry goes first
  std::uint32_t attempts = 0;
  std::uint64_t arrival = 0;  // counted by the queue; 0: not queued yet
  bool swept = false;         // tried because it waited for long, with no change since then
};

// Priority descending, then age, then arrival, as in kube-scheduler; without arrivals by name, the pod before
// the group of the same name.
bool queue_sort_less(const QueuedEntity& a, const QueuedEntity& b);

}  // namespace berth::placement
