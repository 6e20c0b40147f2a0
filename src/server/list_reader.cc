#include "server/list_reader.h"

#include "server/conversion_webhooks.h"
#include "server/list.h"
#include "server/object_versions.h"

namespace berth::server {

ListReader::ListReader(ObjectTarget target, const store::ListQuery& query,
                       std::unique_ptr<store::Cursor> cursor, ObjectMaker make)
    : target_(std::move(target)),
      accept_(query.accept),
      make_(std::move(make)),
      cursor_(std::move(cursor)),
      converts_(is_shaped_by_reads(target_)) {}

ApiResult<ListReader> ListReader::open(const Registry& registry, const ObjectTarget& target,
                                       const store::ListQuery& query, ObjectMaker make) {
  Result<std::unique_ptr<store::Cursor>> cursor = registry.store().open_cursor(query);
  if (!cursor) return not_listed(cursor.error(), query, registry.store().revision());
  return ListReader(target, query, *std::move(cursor), std::move(make));
}

ApiResult<store::ObjectPtr> ListReader::look() {
  store::ObjectPtr object;
  if (!converts_) {
    object = cursor_->next();
  } else {
    if (batch_at_ == batch_.size()) TRY(convert_batch());
    if (batch_at_ < batch_.size()) object = std::move(batch_[batch_at_++]);
  }
  at_end_ = !object;
  // A webhook may change labels and every field, and defaults may add fields, so selectors look at the
  // result.
  if (at_end_ || (accept_ && !accept_(*object))) return store::ObjectPtr();
  return make_ ? make_(object) : object;
}

ApiResult<void> ListReader::convert_batch() {
  batch_.clear();
  batch_at_ = 0;
  std::size_t bytes = 0;
  while (batch_.size() < kConversionBatchObjectsMax && bytes < kConversionBatchBytes) {
    store::ObjectPtr object = cursor_->next();
    if (!object) break;
    bytes += object->bytes.size();
    batch_.push_back(std::move(object));
  }
  batch_ = TRY(in_request_version(target_, std::move(batch_)));
  return {};
}

void ListReader::rewind() {
  cursor_->rewind();
  batch_.clear();
  batch_at_ = 0;
  at_end_ = false;
}

}  // namespace berth::server
