// Unschedulable entries by what they wait for. Entries that get equal answers share a row, and one at a time
// is tried. The first that still fails answers for all; one that is placed is followed by the next.
//
// Every entry of a row would be refused where its head was. So after an event the head alone is tried; what
// would be placed is placed in the order of the queue, and one attempt more shows that nothing is left.
// Owner: the SchedulingQueue. Cost: O(log n) a call; touched() O(rows that the change concerns). Memory:
// proportional to the entries, and at most kHintKeysMax keys a row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "placement/entity.h"
#include "placement/queueing_hints.h"

namespace berth::scheduling {

using placement::EntityKey;
using placement::QueuedEntity;

using RowId = std::uint64_t;
inline constexpr RowId kNoRow = 0;

struct QueueOrder {
  bool operator()(const QueuedEntity& a, const QueuedEntity& b) const { return queue_sort_less(a, b); }
};

class WaitingRows {
 public:
  // The row of entries like this one; its hints become those of the latest refusal, which holds for all.
  RowId row_of(placement::WaitsFor waits_for);
  void insert(RowId row, const QueuedEntity& entry, Time backoff_end);
  // A row without entries and head is forgotten.
  void erase(RowId row, const QueuedEntity& entry, Time backoff_end);
  bool contains(RowId row) const { return rows_.contains(row); }

  // The entry that is tried for the row, and waits no longer.
  const std::optional<EntityKey>& head(RowId row) const { return rows_.at(row).head; }
  void set_head(RowId row, const EntityKey& key) { rows_.at(row).head = key; }
  void clear_head(RowId row);
  // The entry that would be tried next: the first whose backoff is over, else the one whose backoff ends
  // first.
  std::optional<EntityKey> next(RowId row, Time now);

  // Ascending.
  std::vector<RowId> waiting_for(std::uint32_t events) const;
  std::vector<RowId> touched(std::uint32_t event, const placement::ChangeFacts& facts) const;
  // Whether touched() looks at the facts of such a change.
  bool reads_facts_of(std::uint32_t event) const;

 private:
  struct Row {
    std::string alike;
    placement::PodHints hints;
    std::set<QueuedEntity, QueueOrder> ready;          // whose backoff is over
    std::set<std::pair<Time, EntityKey>> backing_off;  // when it ends
    std::map<EntityKey, QueuedEntity> entries = {};    // of backing_off
    std::optional<EntityKey> head;
  };
  // The first fact of a key, and how much of it the row needs.
  using Post = std::tuple<placement::FactId, std::int64_t, RowId>;

  void forget_if_empty(RowId id);
  void list(RowId id, const placement::PodHints& hints);
  void unlist(RowId id, const placement::PodHints& hints);

  RowId last_ = kNoRow;
  std::map<RowId, Row> rows_;
  std::map<std::string, RowId> by_likeness_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<RowId>> by_events_;  // events, keyed
  std::set<Post> posts_;
};

}  // namespace berth::scheduling
