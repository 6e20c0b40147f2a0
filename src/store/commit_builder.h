// Evaluates the writes of one commit in order, each against the state that the earlier ones leave.
//
// Owner: the committer. Its results are not durable yet. Cost: one lookup and two allocations a write.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "store/object_index.h"
#include "store/store.h"

namespace berth::store {

class CommitBuilder {
 public:
  explicit CommitBuilder(const ObjectIndex& index);
  ~CommitBuilder();
  CommitBuilder(const CommitBuilder&) = delete;
  CommitBuilder& operator=(const CommitBuilder&) = delete;

  // Drops the latest commit; the next write gets the revision after the index's.
  void begin();
  // The new version with its revision, or why the write is refused (store.h). A refused write changes
  // nothing.
  WriteResult add(WriteRequest write);
  // The events of the accepted writes since begin(), by revision.
  const std::vector<WatchEventPtr>& events() const { return events_; }

 private:
  struct Overlay;

  ObjectPtr current(const Key& key) const;

  const ObjectIndex& index_;
  std::unique_ptr<Overlay> overlay_;
  std::vector<WatchEventPtr> events_;
  Revision next_ = 0;
};

}  // namespace berth::store
