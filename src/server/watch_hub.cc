#include "server/watch_hub.h"

#include <mutex>
#include <set>

#include "server/watch_stream.h"

namespace berth::server {

// Shared with the exchanges' callbacks, which may outlive the hub.
struct WatchHub::Open {
  std::mutex mutex;
  std::set<std::shared_ptr<WatchStream>> streams;
  bool has_new = false;  // streams that no end_replaced() has seen

  void add(const std::shared_ptr<WatchStream>& stream) {
    const std::lock_guard lock(mutex);
    streams.insert(stream);
    has_new = true;
  }
  void remove(const std::shared_ptr<WatchStream>& stream) {
    const std::lock_guard lock(mutex);
    streams.erase(stream);
  }
  std::set<std::shared_ptr<WatchStream>> copy() {
    const std::lock_guard lock(mutex);
    return streams;
  }
};

WatchHub::WatchHub(const Registry& registry) : registry_(registry), open_(std::make_shared<Open>()) {}
WatchHub::~WatchHub() {
  close_all();
}

void WatchHub::open(const ObjectTarget& target, const ListOptions& options, Rendering rendering,
                    Matcher matches, std::shared_ptr<HttpExchange> exchange) {
  auto stream =
      std::make_shared<WatchStream>(registry_, target, options, rendering, std::move(matches), exchange);
  open_->add(stream);
  exchange->on_close([open = open_, weak = std::weak_ptr<WatchStream>(stream)] {
    if (const auto closed = weak.lock()) {
      closed->close();
      open->remove(closed);
    }
  });
  stream->start();
}

void WatchHub::tick(Time now) {
  for (const std::shared_ptr<WatchStream>& stream : open_->copy())
    if (!stream->tick(now)) open_->remove(stream);
}

void WatchHub::end_replaced(const ServedPtr& served) {
  {
    const std::lock_guard lock(open_->mutex);
    const bool has_new = std::exchange(open_->has_new, false);
    if (!has_new && served == checked_) return;
  }
  checked_ = served;
  for (const std::shared_ptr<WatchStream>& stream : open_->copy())
    if (stream->is_replaced(*served)) stream->end();
}

std::size_t WatchHub::open_count() const {
  return open_->copy().size();
}

void WatchHub::close_all() {
  for (const std::shared_ptr<WatchStream>& stream : open_->copy()) {
    stream->close();
    open_->remove(stream);
  }
}

}  // namespace berth::server
