#include "placement/entity.h"

namespace berth::placement {

bool queue_sort_less(const QueuedEntity& a, const QueuedEntity& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.since != b.since) return a.since < b.since;
  if (a.arrival != b.arrival) return a.arrival < b.arrival;
  return a.key < b.key;
}

}  // namespace berth::placement
