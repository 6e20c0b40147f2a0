// Which nodes and pools changed, in order: a reader that has kept its position visits those alone. It is the
// cluster's only change log: tentative charges and their undo are in it as well.
//
// Owner: one Ledger, on one thread. A bounded ring: a reader that fell too far behind is told so and reads
// everything. Cost: an entry one store; memory 4 bytes each of kChangesMax.
#pragma once

#include <cstdint>
#include <vector>

#include "model/ids.h"

namespace berth::model {

inline constexpr std::size_t kChangesMax = 1 << 16;

class Changes {
 public:
  Changes() : ring_(kChangesMax) {}

  void note(NodeId node) { add(node.index() << 1); }
  void note(PoolId pool) { add(pool.index() << 1 | 1); }
  // The position after the latest entry; a reader that is up to date keeps it.
  std::uint64_t end() const { return end_; }
  // False when entries since `from` were overwritten; then nothing is visited.
  template <class OnNode, class OnPool>
  bool visit_since(std::uint64_t from, OnNode on_node, OnPool on_pool) const {
    if (end_ - from > kChangesMax) return false;
    for (std::uint64_t at = from; at < end_; ++at) {
      const std::uint32_t entry = ring_[at % kChangesMax];
      if ((entry & 1) == 0)
        on_node(NodeId(entry >> 1));
      else
        on_pool(PoolId(entry >> 1));
    }
    return true;
  }

 private:
  void add(std::uint32_t entry) { ring_[end_++ % kChangesMax] = entry; }

  std::vector<std::uint32_t> ring_;
  std::uint64_t end_ = 0;
};

}  // namespace berth::model
