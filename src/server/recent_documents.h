// Parsed documents of stored versions, by revision: what is read, patched and judged again is not parsed
// again.
//
// Worth it where one thread does everything, as in a simulated world. A server keeps none: there the store's
// one committer would fill it and free what other threads made, which costs a fifth of all writes.
//
// Owner: the registry. Any thread; the lock is held for a lookup and a copy of O(1). Bounded in bytes of the
// versions' JSON; the parsed form takes about four times as much. Oldest out first.
#pragma once

#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/json.h"
#include "base/result.h"
#include "store/store.h"

namespace berth::server {

class RecentDocuments {
 public:
  // Of JSON text; 0: nothing is kept.
  explicit RecentDocuments(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  bool keeps() const { return bytes_max_ > 0; }

  // The document of a stored version. Refuses bytes that are no JSON.
  Result<Json> document_of(const store::Object& object);
  // Says what the bytes of a version that was just written parse to. Left out, to be parsed when wanted, is a
  // document with a double: its text may read back as an integer.
  void wrote(const store::Object& object, Json document);
  // This version was replaced or deleted.
  void forget(store::Revision revision);

  std::size_t bytes() const;  // of JSON text, at most bytes_max

 private:
  struct CachedDocument {
    Json document;
    std::size_t bytes = 0;
  };
  void keep(store::Revision revision, Json document, std::size_t bytes);
  Json take(store::Revision revision);  // with the lock held

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::unordered_map<store::Revision, CachedDocument> kept_;
  std::deque<store::Revision> order_;  // of keeping; at most half of them are forgotten
  std::size_t bytes_ = 0;
};

}  // namespace berth::server
