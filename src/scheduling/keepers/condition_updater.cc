#include "scheduling/keepers/condition_updater.h"

#include <algorithm>
#include <vector>

#include "base/backoff.h"
#include "base/fnv.h"
#include "base/known_defects.h"

namespace berth::scheduling {
namespace {

constexpr Duration kRewordSpacing = Duration::micros(1'000'000 / kRewordsPerSecondMax);

struct Shown {
  const api::ObjectMeta* meta = nullptr;  // null: not there any more, or another object
  const std::vector<api::Condition>* conditions = nullptr;
  std::string_view nominated = {};  // node
};

Shown shown_in(const client::View& view, const api::ObjectKey& key, const std::string& uid) {
  if (key.kind == api::Kind::Pod) {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    return pod && pod->meta.uid == uid ? Shown{&pod->meta, &pod->conditions, pod->nominated_node} : Shown{};
  }
  const auto shown = [&](const auto* group) {
    return group && group->meta.uid == uid ? Shown{&group->meta, &group->conditions} : Shown{};
  };
  return key.kind == api::Kind::PodGroup ? shown(view.pod_groups.find(key.ns, key.name))
                                         : shown(view.composite_groups.find(key.ns, key.name));
}

bool same_words(const api::Condition& a, const api::Condition& b) {
  return a.status == b.status && a.reason == b.reason && a.message == b.message;
}

bool same_matter(const api::Condition& a, const api::Condition& b) {
  return a.status == b.status && a.reason == b.reason;
}

bool shows(const Shown& object, const WantedCondition& wanted) {
  if (wanted.nomination && object.nominated != *wanted.nomination) return false;
  const api::Condition* shown = api::find_condition(*object.conditions, wanted.condition.type);
  return shown && same_words(*shown, wanted.condition);
}

std::vector<client::Write> writes_of(const Shown& object, const WantedCondition& wanted) {
  std::vector<client::Write> writes;
  if (wanted.nomination && object.nominated != *wanted.nomination)
    writes.push_back(client::nomination_patch(wanted.key, *object.meta, *wanted.nomination));
  writes.push_back(client::condition_patch(wanted.key, *object.meta, wanted.condition));
  writes.back().on_previous_version = writes.size() > 1;
  return writes;
}

std::uint64_t event_digest(const WantedCondition& wanted) {
  return wanted.event ? fnv1a(wanted.event->message) : 0;
}

}  // namespace

std::string wording_class(std::string_view sentence) {
  std::vector<std::string> parts(1);
  for (const char c : sentence) {
    if (c == ',' || c == '.' || c == ':') {
      parts.emplace_back();
    } else if (c != ' ' && (c < '0' || c > '9')) {
      parts.back() += c;
    }
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text.append(part).append(",");
  return text;
}

std::size_t ConditionUpdater::KeyHash::operator()(const api::ObjectKey& key) const {
  return client::NamedKeyHash{}(client::NamedKeyView{key.ns, key.name}) + static_cast<std::size_t>(key.kind);
}

void ConditionUpdater::schedule(const api::ObjectKey& key, PendingCondition& entry, Time at) {
  if (entry.due.is_set()) due_.erase({entry.due, key});
  entry.due = at;
  if (at.is_set()) due_.emplace(at, key);
}

void ConditionUpdater::want(const client::View& view, WantedCondition wanted, Time now) {
  const Shown object = shown_in(view, wanted.key, wanted.uid);
  if (!object.meta) return drop(wanted.key);
  PendingCondition& entry = entries_[wanted.key];
  const api::ObjectKey key = wanted.key;
  if (entry.wanted.uid != wanted.uid) {
    schedule(key, entry, Time());
    entry = PendingCondition{};
  }
  const bool waits = entry.due.is_set() && same_matter(entry.wanted.condition, wanted.condition);
  entry.wanted = std::move(wanted);
  entry.changed |= entry.under_way;
  const api::Condition* shown = api::find_condition(*object.conditions, entry.wanted.condition.type);
  if (shows(object, entry.wanted)) {
    if (entry.told_event == event_digest(entry.wanted)) return schedule(key, entry, Time());
    return schedule_rewording(key, entry, now);
  }
  const bool reworded =
      shown && same_matter(*shown, entry.wanted.condition) && entry.told_class == entry.wanted.wording_class;
  if (reworded && !has(KnownDefect::WordsFollowNumbers)) return schedule_rewording(key, entry, now);
  const bool often = entry.written >= kRefusalsAtOnceMax;
  const Time at = std::max(now + entry.wanted.grace, often ? entry.window_at + kRefusalWindow : now);
  if (!waits || at < entry.due) schedule(key, entry, at);
}

void ConditionUpdater::count_write(PendingCondition& entry, Time now) {
  if (entry.written == 0 || now - entry.window_at >= kRefusalWindow) {
    entry.window_at = now;
    entry.written = 0;
  }
  ++entry.written;
}

void ConditionUpdater::schedule_rewording(const api::ObjectKey& key, PendingCondition& entry, Time now) {
  if (entry.due.is_set()) return;
  const Time at = std::max({now, entry.told_at + entry.wanted.reword_after, next_reword_});
  next_reword_ = at + kRewordSpacing;
  schedule(key, entry, at);
}

bool ConditionUpdater::is_shown(const client::View& view, const api::ObjectKey& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return true;
  const Shown object = shown_in(view, key, found->second.wanted.uid);
  return object.meta && shows(object, found->second.wanted);
}

void ConditionUpdater::drop(const api::ObjectKey& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  schedule(key, found->second, Time());
  entries_.erase(found);
}

void ConditionUpdater::clear() {
  entries_.clear();
  due_.clear();
}

client::Effects ConditionUpdater::due(const client::View& view, Time now) {
  client::Effects effects;
  while (!due_.empty() && due_.begin()->first <= now &&
         std::max(effects.chains.size(), effects.events.size()) < kConditionsPerWriteMax) {
    const api::ObjectKey key = due_.begin()->second;
    PendingCondition& entry = entries_.at(key);
    schedule(key, entry, Time());
    const Shown object = shown_in(view, key, entry.wanted.uid);
    if (!object.meta) {
      entries_.erase(key);
      continue;
    }
    const bool told = shows(object, entry.wanted);
    if (entry.under_way || (told && entry.told_event == event_digest(entry.wanted))) continue;
    entry.told_event = event_digest(entry.wanted);
    entry.told_at = now;
    if (entry.wanted.event) effects.events.push_back(*entry.wanted.event);
    if (told) continue;
    entry.under_way = true;
    entry.changed = false;
    entry.told_class = entry.wanted.wording_class;
    count_write(entry, now);
    effects.chains.push_back({key, writes_of(object, entry.wanted)});
  }
  return effects;
}

void ConditionUpdater::write_done(const api::ObjectKey& key, bool ok, Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  PendingCondition& entry = found->second;
  entry.under_way = false;
  entry.failures = ok ? 0 : entry.failures + 1;
  if (!ok && has(KnownDefect::ConditionSentOnce)) return;
  if (!ok) {
    schedule(key, entry, now + backoff(kConditionRetryFirst, kConditionRetryMax, entry.failures));
  } else if (entry.changed && !entry.due.is_set()) {
    schedule(key, entry, now + entry.wanted.reword_after);
  }
}

std::optional<Time> ConditionUpdater::next_time() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace berth::scheduling
