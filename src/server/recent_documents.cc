#include "server/recent_documents.h"

#include <algorithm>

namespace berth::server {
namespace {

bool holds_double(const Json& json) {
  if (json.is_double()) return true;
  if (json.is_array()) return std::any_of(json.as_array().begin(), json.as_array().end(), holds_double);
  if (!json.is_object()) return false;
  const JsonObject& object = json.as_object();
  return std::any_of(object.begin(), object.end(),
                     [](const JsonMember& member) { return holds_double(member.value); });
}

}  // namespace

Result<Json> RecentDocuments::document_of(const store::Object& object) {
  if (!keeps()) return parse_json(object.bytes);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(object.revision); found != kept_.end()) return found->second.document;
  }
  Json document = TRY(parse_json(object.bytes));
  keep(object.revision, document, object.bytes.size());
  return document;
}

void RecentDocuments::wrote(const store::Object& object, Json document) {
  if (!holds_double(document)) keep(object.revision, std::move(document), object.bytes.size());
}

void RecentDocuments::forget(store::Revision revision) {
  if (!keeps()) return;
  Json left;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  left = take(revision);
}

Json RecentDocuments::take(store::Revision revision) {
  const auto found = kept_.find(revision);
  if (found == kept_.end()) return {};
  Json document = std::move(found->second.document);
  bytes_ -= found->second.bytes;
  kept_.erase(found);
  return document;
}

void RecentDocuments::keep(store::Revision revision, Json document, std::size_t bytes) {
  if (bytes > bytes_max_) return;
  std::vector<Json> left;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (!kept_.try_emplace(revision, CachedDocument{std::move(document), bytes}).second) return;
  order_.push_back(revision);
  bytes_ += bytes;
  for (; bytes_ > bytes_max_; order_.pop_front()) left.push_back(take(order_.front()));
  if (order_.size() > 2 * kept_.size())
    std::erase_if(order_, [&](store::Revision kept) { return !kept_.contains(kept); });
}

std::size_t RecentDocuments::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace berth::server
