#include "health/health_feed.h"

namespace berth::health {

void HealthFeed::on_change(std::function<void(const std::string&)> wake) {
  const std::lock_guard lock(wake_mutex_);
  wake_ = std::move(wake);
}

void HealthFeed::publish(const std::string& node, Snapshot snapshot) {
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[node];
    slot.snapshot = std::move(snapshot);
    if (slot.unread) return;
    slot.unread = true;
  }
  const std::lock_guard lock(wake_mutex_);
  if (wake_) wake_(node);
}

HealthFeed::Snapshot HealthFeed::latest(std::string_view node) {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(node);
  if (found == slots_.end()) return nullptr;
  found->second.unread = false;
  return found->second.snapshot;
}

}  // namespace berth::health
