// The current objects of one resource, ordered by namespace and name, with O(1) snapshots.
//
// A sequence of short sorted chunks, copied on write: a snapshot starts a new epoch, and the owner copies
// chunks older than the epoch before it changes them. Without readers nothing is copied. Owner: ObjectIndex.
// A `const CowTable` never changes and may be read by any thread. Cost: find O(log n); put and erase O(log n
// + chunk), and O(chunks) for the first change after a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace berth::store {

class CowTable {
 public:
  struct Position {
    std::size_t chunk = 0;
    std::size_t index = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };

  // Null when absent.
  ObjectPtr find(std::string_view ns, std::string_view name) const;
  std::size_t size() const { return size_; }

  Position begin() const { return {}; }
  Position end() const { return {chunks_.size(), 0}; }
  Position first_not_before(std::string_view ns, std::string_view name) const;
  Position first_behind(std::string_view ns, std::string_view name) const;
  Position first_behind_namespace(std::string_view ns) const;
  const ObjectPtr& at(Position position) const { return chunks_[position.chunk]->objects[position.index]; }
  Position next(Position position) const;
  // The number of objects in [from, to).
  std::size_t distance(Position from, Position to) const;

  // Inserts or replaces. `epoch` never decreases; chunks of an earlier epoch stay unchanged, for its
  // snapshots.
  void put(ObjectPtr object, std::uint64_t epoch);
  // The object must exist.
  void erase(const Key& key, std::uint64_t epoch);

 private:
  struct Chunk {
    std::uint64_t epoch = 0;
    std::vector<ObjectPtr> objects;  // never empty
  };

  // The first object for which `before` is false; it is true for a prefix of the table.
  template <class Before>
  Position first_where_not(Before before) const;
  Chunk& own_chunk(std::size_t index, std::uint64_t epoch);

  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace berth::store
