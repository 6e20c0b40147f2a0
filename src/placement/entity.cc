#include "placement/entity.h"

#include "client/named_map.h"

namespace berth::placement {

std::size_t EntityKeyHash::operator()(const EntityKey& key) const {
  return client::NamedKeyHash{}(client::NamedKeyView{key.ns, key.name}) + static_cast<std::size_t>(key.kind);
}

bool queue_sort_less(const QueuedEntity& a, const QueuedEntity& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.since != b.since) return a.since < b.since;
  if (a.arrival != b.arrival) return a.arrival < b.arrival;
  return a.key < b.key;
}

}  // namespace berth::placement
