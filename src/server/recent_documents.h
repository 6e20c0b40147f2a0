// Parsed documents of stored versions, by revision: reads, patches and checks of recent versions need no
// parsing.
//
// Worth it where one thread does everything, as in a simulated world. A server has none: there the store's
// one committer would fill it and free memory of other threads, which costs a fifth of all writes.
//
// Owner: the registry. Any thread; the lock is held for a lookup and a copy of O(1). Bounded in bytes of the
// versions' JSON; the parsed form takes about four times as much. Oldest evicted first.
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
  // In bytes of JSON text; 0: no cache.
  explicit RecentDocuments(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  bool keeps() const { return bytes_max_ > 0; }

  // The document of a stored version. Refuses bytes that are no JSON.
  Result<Json> document_of(const store::Object& object);
  // Adds the document of a version that was just written. A document with a double is left out: its text may
  // parse to an integer.
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
  std::deque<store::Revision> order_;  // by insertion; at most half of them are forgotten
  std::size_t bytes_ = 0;
};

}  // namespace berth::server
