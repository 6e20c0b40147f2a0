#include "binding/memory_request_log.h"

#include <algorithm>
#include <iterator>

#include "binding/request_bytes.h"

namespace berth::binding {

void RequestLog::follow(client::WatchReceiver& receiver) {
  readers_.push_back({&receiver, first_ + changes_.size()});
}

void RequestLog::leave(const client::WatchReceiver& receiver) {
  std::erase_if(readers_, [&](const Reader& reader) { return reader.receiver == &receiver; });
}

bool RequestLog::is_followed_by(const client::WatchReceiver& receiver) const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [&](const Reader& reader) { return reader.receiver == &receiver; });
}

void RequestLog::append(std::vector<client::RawChange> changes) {
  std::size_t bytes = 0;
  for (const client::RawChange& change : changes)
    bytes += change.kept ? bytes_of(*change.kept) : change.object->size();
  if (bytes_ + bytes > kRequestLogBytesMax) deliver();
  bytes_ += bytes;
  std::move(changes.begin(), changes.end(), std::back_inserter(changes_));
}

void RequestLog::deliver() {
  for (Reader& reader : readers_) {
    const auto unread = static_cast<std::ptrdiff_t>(reader.position - first_);
    std::vector<client::RawChange> batch(changes_.begin() + unread, changes_.end());
    reader.position = first_ + changes_.size();
    if (!batch.empty()) reader.receiver->on_changes(std::move(batch));
  }
  first_ += changes_.size();
  changes_.clear();
  bytes_ = 0;
}

}  // namespace berth::binding
