#include "scheduling/keepers/overtaking_guard.h"

#include <algorithm>

#include "base/known_defects.h"

namespace berth::scheduling {

Duration OvertakingGuard::limit_of(const WaitingEntity& waiting) const {
  Duration limit = limit_;
  for (std::uint32_t i = 0; i < waiting.in_vain && limit < kOvertakenMax; ++i) limit = limit * 2;
  return waiting.in_vain == 0 ? limit : std::min(limit, kOvertakenMax);
}

void OvertakingGuard::refused(const QueuedEntity& entry) {
  const auto [found, fresh] = waiting_.try_emplace(entry.key, WaitingEntity{.entry = entry});
  if (!fresh && found->second.entry.priority == entry.priority) return;
  if (!fresh) {
    not_overtaken_.erase(place_of(found->second));
    overtaken_.erase(place_of(found->second));
    found->second = WaitingEntity{.entry = entry};
  }
  not_overtaken_.emplace(place_of(found->second), &found->second);
}

bool OvertakingGuard::forget(const EntityKey& key) {
  const auto found = waiting_.find(key);
  if (found != waiting_.end()) {
    not_overtaken_.erase(place_of(found->second));
    overtaken_.erase(place_of(found->second));
    waiting_.erase(found);
  }
  if (!kept_ || kept_->key != key) return false;
  kept_.reset();
  return true;
}

// Those that are not overtaken yet are in the order of the queue.
void OvertakingGuard::placed(const QueuedEntity& entry, Time now) {
  if (not_overtaken_.empty()) return;
  const WaitingOrder place = place_of(entry, Time());
  for (std::size_t i = 0; i < kOvertakenAtOnceMax && !not_overtaken_.empty(); ++i) {
    if (not_overtaken_.begin()->first >= place) return;
    auto moved = not_overtaken_.extract(not_overtaken_.begin());
    WaitingEntity& waiting = *moved.mapped();
    waiting.by_equals = waiting.entry.priority == entry.priority;
    waiting.starves_at = now + limit_of(waiting);
    std::get<1>(moved.key()) = waiting.starves_at;
    overtaken_.insert(overtaken_.end(), std::move(moved));
  }
}

bool OvertakingGuard::is_in_the_way_of(const WaitingOrder& place) const {
  return kept_ && (!kept_->used_from.is_set() || -std::get<0>(place) <= kept_->hold.hold().priority);
}

template <class Visit>
void OvertakingGuard::visit_overtaken(Visit visit) const {
  auto place = overtaken_.begin();
  for (std::size_t looks = 0; looks < kStarvingLooksMax && place != overtaken_.end(); ++looks) {
    const std::int64_t priority = std::get<0>(place->first);
    if (is_in_the_way_of(place->first) || !visit(place->first, *place->second) ||
        std::get<0>(overtaken_.rbegin()->first) == priority)
      return;
    place = overtaken_.lower_bound({priority + 1, Time(), Time(), 0, {}});
  }
}

std::optional<QueuedEntity> OvertakingGuard::starving(Time now) const {
  if (keeps_again_at_.is_set() && now < keeps_again_at_) return std::nullopt;
  if (has(KnownDefect::OvertakenWithoutBound)) return std::nullopt;
  std::optional<QueuedEntity> found;
  visit_overtaken([&](const WaitingOrder& place, const WaitingEntity& waiting) {
    if (std::get<1>(place) <= now) found = waiting.entry;
    return !found;
  });
  return found;
}

void OvertakingGuard::keep(const EntityKey& key, model::ScopedHold hold, Time used_from, Time now) {
  if (used_from.is_set()) used_from = std::min(used_from, now + kUsedFromMax);
  const Time from = std::max(now, used_from);
  kept_.emplace(ActiveReservation{key, std::move(hold), used_from, from + kKeptStillMax,
                                  std::max(now + kKeptMax, from + kKeptStillMax)});
}

std::optional<OvertakingGuard::LaterUse> OvertakingGuard::later_use() const {
  if (!kept_ || !kept_->used_from.is_set()) return std::nullopt;
  return LaterUse{kept_->hold.id(), kept_->used_from};
}

void OvertakingGuard::freed(model::NodeId node, Time now) {
  if (left_at_.size() >= kNodesLeftMax) left_at_.clear();
  if (node.valid()) left_at_[node] = now;
  if (!kept_) return;
  const auto on_node = [&](const model::PodCharge& place) { return place.node == node; };
  if (std::ranges::any_of(kept_->hold.hold().places, on_node))
    kept_->until = std::min(std::max(kept_->until, now + kKeptStillMax), kept_->until_at_most);
}

void OvertakingGuard::wait_again(const EntityKey& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  overtaken_.erase(place_of(found->second));
  found->second.starves_at = Time();
  not_overtaken_.emplace(place_of(found->second), &found->second);
}

void OvertakingGuard::give_up(const EntityKey& key, Time now) {
  wait_again(key);
  keeps_again_at_ = now + kSearchPause;
}

bool OvertakingGuard::expire(Time now) {
  if (!kept_ || now < kept_->until) return false;
  keeps_again_at_ = now + limit_;
  wait_again(kept_->key);
  if (const auto found = waiting_.find(kept_->key); found != waiting_.end()) {
    ++found->second.in_vain;
    std::vector<model::NodeId>& nodes = found->second.in_vain_nodes;
    for (const model::PodCharge& place : kept_->hold.hold().places) nodes.push_back(place.node);
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    if (nodes.size() > kNodesInVainMax) nodes.clear();
  }
  kept_.reset();
  return true;
}

bool OvertakingGuard::overtaken_by_equals(const EntityKey& key) const {
  const auto found = waiting_.find(key);
  return found != waiting_.end() && found->second.by_equals;
}

bool OvertakingGuard::is_left_by_pods(model::NodeId node, Time now) const {
  const auto found = left_at_.find(node);
  return found != left_at_.end() && now < found->second + kStreamWindow;
}

std::optional<model::Ledger::HoldId> OvertakingGuard::open_to(const QueuedEntity& entry) const {
  if (!kept_) return std::nullopt;
  const auto keeper = waiting_.find(kept_->key);
  if (keeper == waiting_.end() || QueueOrder()(keeper->second.entry, entry)) return std::nullopt;
  return kept_->hold.id();
}

std::span<const model::NodeId> OvertakingGuard::in_vain_nodes(const EntityKey& key) const {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return {};
  return found->second.in_vain_nodes;
}

void OvertakingGuard::forget_in_vain_nodes(const EntityKey& key) {
  if (const auto found = waiting_.find(key); found != waiting_.end()) found->second.in_vain_nodes.clear();
}

std::optional<Time> OvertakingGuard::next_time() const {
  std::optional<Time> next;
  if (kept_) next = kept_->until;
  visit_overtaken([&](const WaitingOrder& place, const WaitingEntity&) {
    if (const Time at = std::max(std::get<1>(place), keeps_again_at_); !next || at < *next) next = at;
    return true;
  });
  return next;
}

void OvertakingGuard::clear() {
  waiting_.clear();
  not_overtaken_.clear();
  overtaken_.clear();
  left_at_.clear();
  kept_.reset();
  keeps_again_at_ = Time();
}

}  // namespace berth::scheduling
