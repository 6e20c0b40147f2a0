// The objects of one LIST, of one state, read a few at a time in the version of the request.
//
// Holds the state without a copy (store::Cursor). One thread at a time; of a target with a webhook, on its
// lane. Cost of an object: a pointer; a selector parses it; a webhook converts as many as fit in one
// call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "server/registry.h"
#include "store/store.h"

namespace berth::server {

// Makes what the list has of an object that it selected; null: nothing. Any thread of the pool.
using ObjectMaker = std::function<store::ObjectPtr(const store::ObjectPtr&)>;

class ListReader {
 public:
  // The state that the query names. 410 or 504 when the store does not show it. `registry` outlives it.
  // Without `make` the list has the objects themselves.
  static ApiResult<ListReader> open(const Registry& registry, const ObjectTarget& target,
                                    const store::ListQuery& query, ObjectMaker make = nullptr);

  // Looks at the next object, whether it is selected or not. Null: it is not, or there are no more.
  // What a webhook answers is the error.
  ApiResult<store::ObjectPtr> look();
  bool at_end() const { return at_end_; }
  // Objects behind those that were looked at, selected or not.
  std::size_t remaining() { return cursor_->remaining() + (batch_.size() - batch_at_); }
  // Begins again, with the same state.
  void rewind();
  store::Revision revision() const { return cursor_->revision(); }

 private:
  ListReader(ObjectTarget target, const store::ListQuery& query, std::unique_ptr<store::Cursor> cursor,
             ObjectMaker make);
  // The next objects in the request's version: those of one call.
  ApiResult<void> convert_batch();

  ObjectTarget target_;
  std::function<bool(const store::Object&)> accept_;
  ObjectMaker make_;
  std::unique_ptr<store::Cursor> cursor_;
  const bool converts_;
  bool at_end_ = false;
  std::vector<store::ObjectPtr> batch_;  // of a target that reads shape
  std::size_t batch_at_ = 0;
};

}  // namespace berth::server
