#include "scheduling/keepers/relocations.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::scheduling {
namespace {

constexpr Duration kHour = Duration::minutes(60);

client::EventNote moved(const api::ObjectKey& key, const RelocatedPod& pod, const std::string& gain) {
  client::EventNote event;
  event.regarding = key;
  event.regarding_uid = pod.uid;
  event.reason = "Defragmented";
  event.action = "Evicting";
  event.message = "Evicted: " + gain + "; room for its successor is kept on " + pod.to;
  event.component = pod.scheduler_name;
  return event;
}

}  // namespace

std::optional<DefragmentationMode> defragmentation_mode_of(std::string_view name) {
  const auto* row = std::ranges::find(kDefragmentationModes, name);
  if (row == kDefragmentationModes.end()) return std::nullopt;
  return static_cast<DefragmentationMode>(row - kDefragmentationModes.begin());
}

const api::Pod* still_there(const client::View& view, const api::ObjectKey& key, const RelocatedPod& pod) {
  const api::Pod* live = view.pods.find(key.ns, key.name);
  const bool is_same = live && live->meta.uid == pod.uid && !live->finished();
  return is_same && live->node_name == pod.from ? live : nullptr;
}

bool Relocations::look_is_due(Time now) {
  if (!next_look_.is_set()) next_look_ = now + settings_.interval;
  return now >= next_look_;
}

std::size_t Relocations::moves_left(Time now) const {
  const auto recent = std::ranges::count_if(moves_, [&](Time at) { return at + kHour > now; });
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(settings_.moves_an_hour - recent, 0, settings_.moves_at_once));
}

void Relocations::begin(Relocation set, Time now) {
  BERTH_ASSERT(!set_, "one set of moves is under way at a time");
  for (const auto& [key, pod] : set.pods) {
    steps_[key] = Step::Waiting;
    writes_.want(key, now);
  }
  next_look_ = now;
  set_.emplace(std::move(set));
}

void Relocations::end(bool in_vain, Time now) {
  for (const auto& [key, step] : steps_) writes_.erase(key);
  steps_.clear();
  set_.reset();
  in_vain_ = in_vain ? std::min(in_vain_ + 1, kVainDoublingsMax) : 0;
  wait(now);
}

void Relocations::wait(Time now) {
  const Duration pause = set_ ? kRelocationLookEvery : settings_.interval * (std::int64_t{1} << in_vain_);
  next_look_ = now + pause;
}

bool Relocations::forget(const placement::EntityKey& key) {
  return set_ && set_->served.erase(key) > 0;
}

std::optional<model::HoldId> Relocations::hold_of(const placement::EntityKey& key) const {
  if (!set_) return std::nullopt;
  const auto found = set_->served.find(key);
  return found == set_->served.end() ? std::nullopt : std::optional(found->second.id());
}

bool Relocations::is_news(const std::string& moves) {
  return std::exchange(reported_, moves) != moves;
}

void Relocations::leaves(const api::ObjectKey& key, Time now) {
  writes_.erase(key);
  if (std::exchange(steps_.at(key), Step::Leaving) != Step::Asked) return;
  while (!moves_.empty() && moves_.front() + kHour <= now) moves_.pop_front();
  moves_.push_back(now);
}

// Members that were asked to leave count as gone.
bool Relocations::is_beyond_minimum(const client::View& view, const api::ObjectKey& key,
                                    const RelocatedPod& pod) const {
  const api::PodGroup* group = view.pod_groups.find(key.ns, pod.group);
  if (!group || !group->gang_min) return true;
  std::int64_t others = 0;
  for (const api::Pod* member : view.pods_of_group(key.ns, pod.group)) {
    const auto step = steps_.find(client::key_of(api::Kind::Pod, member->meta));
    const bool leaves = member->meta.deleting() || (step != steps_.end() && step->second != Step::Waiting);
    if (member->bound() && !member->finished() && !leaves && member->meta.uid != pod.uid) ++others;
  }
  return others >= group->minimum();
}

client::Effects Relocations::due(const client::View& view, Time now) {
  client::Effects effects;
  effects.events = std::exchange(events_, {});
  while (const std::optional<api::ObjectKey> key = writes_.next(now)) {
    const RelocatedPod& pod = set_->pods.at(*key);
    const api::Pod* live = still_there(view, *key, pod);
    if (!live || live->meta.deleting()) {
      leaves(*key, now);
    } else if (!is_beyond_minimum(view, *key, pod)) {
      steps_.at(*key) = Step::Waiting;
      writes_.write_done(*key, false, now);
    } else {
      steps_.at(*key) = Step::Asked;
      effects.chains.push_back({*key, {client::evict(*key, pod.uid)}});
    }
  }
  if (!effects.chains.empty()) effects.decision_id = kRelocationWrites;
  return effects;
}

bool Relocations::write_done(const client::ChainOutcome& outcome, Time now) {
  const auto found = steps_.find(outcome.key);
  const bool answers = found != steps_.end() && writes_.write_done(outcome.key, outcome.ok, now);
  if (!answers || !outcome.ok) return false;
  leaves(outcome.key, now);
  events_.push_back(moved(outcome.key, set_->pods.at(outcome.key), set_->gain));
  return true;
}

std::optional<Time> Relocations::next_time() const {
  std::optional<Time> next = writes_.next_time();
  if (next_look_.is_set() && (!next || next_look_ < *next)) next = next_look_;
  return next;
}

}  // namespace berth::scheduling
