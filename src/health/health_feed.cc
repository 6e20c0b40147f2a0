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
  wake(node);
}

void HealthFeed::wake(const std::string& node) {
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

std::map<std::string, HealthFeed::Snapshot> HealthFeed::all() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Snapshot> snapshots;
  for (auto& [node, slot] : slots_) {
    slot.unread = false;
    snapshots.emplace(node, slot.snapshot);
  }
  return snapshots;
}

HealthFeed::Snapshot HealthFeed::peek(std::string_view node) const {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(node);
  return found == slots_.end() ? nullptr : found->second.snapshot;
}

void HealthFeed::serve(const std::string& node) {
  {
    const std::lock_guard lock(mutex_);
    served_.try_emplace(node);
  }
  wake(node);
}

void HealthFeed::stop_serving(const std::string& node) {
  const std::lock_guard lock(mutex_);
  served_.erase(node);
  slots_.erase(node);
  introducing_.erase(node);
}

bool HealthFeed::serves(std::string_view node) const {
  const std::lock_guard lock(mutex_);
  return served_.contains(node);
}

void HealthFeed::put_introducing(const std::string& node, bool introducing) {
  {
    const std::lock_guard lock(mutex_);
    const bool changed = introducing ? introducing_.insert(node).second : introducing_.erase(node) > 0;
    if (!changed) return;
  }
  wake(node);
}

bool HealthFeed::introducing(std::string_view node) const {
  const std::lock_guard lock(mutex_);
  return introducing_.contains(node);
}

void HealthFeed::put_node(const std::string& node, Presence presence) {
  {
    const std::lock_guard lock(mutex_);
    const bool changed = presence == Presence::Here ? nodes_.insert(node).second : nodes_.erase(node) > 0;
    if (!changed) return;
  }
  const std::lock_guard lock(tell_mutex_);
  if (tell_node_) tell_node_(node, presence);
}

std::vector<std::string> HealthFeed::nodes() const {
  const std::lock_guard lock(mutex_);
  return {nodes_.begin(), nodes_.end()};
}

void HealthFeed::on_nodes(std::function<void(const std::string&, Presence)> tell) {
  const std::lock_guard lock(tell_mutex_);
  tell_node_ = std::move(tell);
}

void HealthFeed::put_pods(const std::string& node, NodePods pods) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = served_.find(node);
    if (found == served_.end() || (found->second && *found->second == pods)) return;
    found->second = std::make_shared<const NodePods>(std::move(pods));
  }
  const std::lock_guard lock(tell_mutex_);
  if (tell_) tell_(node);
}

HealthFeed::Pods HealthFeed::pods(std::string_view node) const {
  const std::lock_guard lock(mutex_);
  const auto found = served_.find(node);
  return found == served_.end() ? nullptr : found->second;
}

void HealthFeed::on_pods(std::function<void(const std::string&)> tell) {
  const std::lock_guard lock(tell_mutex_);
  tell_ = std::move(tell);
}

}  // namespace berth::health
