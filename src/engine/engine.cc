#include "engine/engine.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/known_defects.h"
#include "base/log.h"

namespace berth::engine {

using client::ChangeKind;
using client::Delta;
using client::Effects;

namespace {

constexpr Time kEndOfTime = Time::from_micros(INT64_MAX);

// The counters of the stateful decider follow those of the reconcilers.
RunResult worse(RunResult a, RunResult b) {
  return std::max(a, b);
}

}  // namespace

Engine::Engine(client::ApiClient& client, EngineOptions options)
    : mailbox_(std::make_shared<Mailbox>()),
      executor_(client, mailbox_, *this, options.writes_in_flight_max, std::move(options.decoded)),
      recorder_(client, mailbox_, std::move(options.component), std::move(options.instance),
                options.event_pacing) {}

Engine::~Engine() = default;

Engine::Feed* Engine::find_feed(api::Kind kind, const api::ResourceRef& resource) {
  return const_cast<Feed*>(std::as_const(*this).find_feed(kind, resource));
}

const Engine::Feed* Engine::find_feed(api::Kind kind, const api::ResourceRef& resource) const {
  if (kind != api::Kind::Other) return typed_feeds_[static_cast<std::size_t>(kind)];
  const auto found = other_feeds_.find(resource);
  return found == other_feeds_.end() ? nullptr : found->second;
}

Engine::Feed& Engine::feed_for(const client::Interest& interest) {
  api::Kind kind = interest.kind;
  if (kind == api::Kind::Other)
    kind = api::kind_of_resource(interest.resource.group, interest.resource.resource);
  if (Feed* feed = find_feed(kind, interest.resource)) return *feed;
  Feed& feed = feeds_.emplace_back();
  feed.kind = kind;
  if (kind == api::Kind::Other) {
    feed.resource = interest.resource;
    other_feeds_.emplace(feed.resource, &feed);
  } else {
    typed_feeds_[static_cast<std::size_t>(kind)] = &feed;
  }
  ++lists_missing_;
  return feed;
}

void Engine::add(std::unique_ptr<client::Reconciler> reconciler) {
  BERTH_ASSERT(!attached_, "deciders are added before the engine is attached");
  const auto index = static_cast<std::uint32_t>(reconcilers_.size());
  for (client::Interest& interest : reconciler->interests())
    feed_for(interest).routes.push_back({index, std::move(interest.keys)});
  decider_counters_.insert(decider_counters_.begin() + index, {std::string(reconciler->name()), 0, 0});
  reconcilers_.push_back(std::move(reconciler));
}

void Engine::add(client::StatefulDecider& decider) {
  BERTH_ASSERT(!attached_ && !decider_, "one stateful decider, added before the engine is attached");
  decider_ = &decider;
  for (const client::Interest& interest : decider.interests()) feed_for(interest).to_decider = true;
  decider_counters_.push_back({std::string(decider.name()), 0, 0});
}

void Engine::attach_to(SharedInformers& informers) {
  attached_ = true;
  for (const Feed& feed : feeds_)
    informers.attach(feed.kind == api::Kind::Other ? feed.resource : api::ref_of(feed.kind), mailbox_);
}

void Engine::receive() {
  mailbox_->drain(received_);
}

bool Engine::work(Time now) {
  const bool stepped_back = now_.is_set() && now < now_;
  now_ = now;
  for (Message& message : received_) take(std::move(message));
  received_.clear();
  executor_.wake_due(stepped_back ? kEndOfTime : now);
  deliver_outcomes();
  begin_if_listed();
  if (stepped_back) {
    queue_.wake_due(kEndOfTime);
    decider_wanted_ = decider_ && begun_;
  }
  if (may_run()) {
    queue_.wake_due(now);
    run_keys();
    run_decider();
    deliver_outcomes();
  }
  if (std::exchange(writes_seen_, executor_.counters().writes) != executor_.counters().writes)
    last_write_ = now;
  executor_.flush(now);
  recorder_.send_waiting({last_write_, writes_seen_}, now);
  return !mailbox_->empty() || (may_run() && (queue_.ready() || decider_wanted_));
}

std::optional<Time> Engine::next_wake() const {
  std::optional<Time> next = executor_.next_wake();
  const auto earlier = [&next](std::optional<Time> other) {
    if (other && (!next || *other < *next)) next = other;
  };
  earlier(recorder_.next_wake());
  if (may_run()) {
    earlier(queue_.next_wake());
    earlier(decider_wake_);
  }
  earlier(stop_deadline_);
  return next;
}

void Engine::begin_stop(Time deadline) {
  stop_deadline_ = deadline;
}

bool Engine::stopped(Time now) const {
  if (!stop_deadline_) return false;
  return now >= *stop_deadline_ || (executor_.flights() == 0 && recorder_.unsent() == 0);
}

bool Engine::may_run() const {
  return begun_ && !stop_deadline_;
}

bool Engine::idle() const {
  return received_.empty() && mailbox_->empty() && !queue_.ready() && !decider_wanted_ &&
         executor_.flights() == 0 && recorder_.unsent() == 0;
}

EngineCounters Engine::counters() const {
  return {decider_counters_, executor_.counters(), recorder_.counters(), queue_.waiting(), queue_.running()};
}

void Engine::take(Message message) {
  if (const auto* batch = std::get_if<BatchPtr>(&message)) return take_batch(*batch);
  if (const auto* signal = std::get_if<Signal>(&message)) return take_signal(*signal);
  if (const auto* change = std::get_if<TermChange>(&message)) return change_term(*change);
  ClientAnswer& answer = std::get<ClientAnswer>(message);
  if (answer.purpose == RequestPurpose::Event)
    recorder_.on_answer(answer, now_);
  else
    executor_.on_answer(std::move(answer), now_);
}

// Work in flight continues, as far as the client permits; its keys do not run again.
void Engine::change_term(const TermChange& change) {
  leading_ = change.leading;
  leadership_ = change.leadership;
  begun_ = false;
  queue_.clear();
  decider_wanted_ = false;
  decider_wake_.reset();
  if (leading_ == Leading::No) return;
  for (Feed& feed : feeds_) feed.listed = false;
  lists_missing_ = feeds_.size();
}

void Engine::take_signal(const Signal& signal) {
  if (!may_run()) return;  // the first run of a term sees everything anyway
  for (std::uint32_t index = 0; index < reconcilers_.size(); ++index) {
    if (reconcilers_[index]->name() != signal.reconciler) continue;
    scratch_keys_.clear();
    reconcilers_[index]->signalled(view_, signal.about, scratch_keys_);
    for (api::ObjectKey& key : scratch_keys_) queue_.add(index, std::move(key));
  }
}

void Engine::take_batch(const BatchPtr& batch) {
  Feed* feed = find_feed(batch->of, batch->resource);
  BERTH_ASSERT(feed, "the hub sends what was asked for");
  if (batch->kind == BatchKind::Changes) return enter(*feed, *batch);
  feed->parts.push_back(batch);
  // A list is in order of names, not of events: deciders that run see all of it or nothing.
  if (batch->kind == BatchKind::List || !begun_) enter_parts(*feed);
  if (batch->kind == BatchKind::List) end_list(*feed, batch->resource_version);
}

void Engine::enter(Feed& feed, const TypedBatch& batch) {
  for (const TypedChange& change : batch.changes) {
    const api::ObjectMeta& meta = api::meta_of(change.object);
    if (change.kind == ChangeKind::Deleted) {
      tombstones_.add(meta.uid);  // an earlier response may still arrive
      if (const auto delta = view_.erase(change.key, meta.resource_version)) publish(feed, *delta);
    } else if (!tombstones_.has(meta.uid)) {
      if (const auto delta = view_.put(change.key, change.object)) publish(feed, *delta);
    }
  }
}

void Engine::enter_parts(Feed& feed) {
  while (feed.entered < feed.parts.size()) enter(feed, *feed.parts[feed.entered++]);
}

void Engine::end_list(Feed& feed, std::uint64_t version) {
  drop_unlisted(feed, version);
  feed.parts.clear();
  feed.entered = 0;
  if (!feed.listed) --lists_missing_;
  feed.listed = true;
  feed.listed_at = std::max(feed.listed_at, version);
}

// An object that a list lacks is gone, unless it is newer than the list.
void Engine::drop_unlisted(Feed& feed, std::uint64_t version) {
  std::vector<client::NamedKeyView> listed;
  for (const BatchPtr& part : feed.parts)
    for (const TypedChange& change : part->changes) listed.push_back({change.key.ns, change.key.name});
  if (!std::ranges::is_sorted(listed)) std::ranges::sort(listed);  // an API server's order is nearly the same
  std::vector<api::ObjectKey> unlisted;
  auto next = listed.begin();
  view_.for_each(feed.kind, feed.resource, [&](const client::NamedKey& named, const api::TypedObject&) {
    const client::NamedKeyView key{named.ns, named.name};
    while (next != listed.end() && *next < key) ++next;
    if (next == listed.end() || *next != key)
      unlisted.push_back({feed.kind, named.ns, named.name, feed.resource});
  });
  for (const api::ObjectKey& key : unlisted) {
    const auto delta = view_.erase(key, version);
    if (!delta) continue;
    tombstones_.add(api::meta_of(*delta->before).uid);
    publish(feed, *delta);
  }
}

void Engine::publish(Feed& feed, const Delta& delta) {
  if (!synced_) return;  // the first run sees everything anyway
  wake_keys(feed, delta);
  if (!feed.to_decider) return;
  decider_->apply(view_, delta, now_);
  decider_wanted_ = begun_;
}

// A reconciler that names keys may keep an index of what it has seen: it gets every change, also as a
// follower.
void Engine::wake_keys(Feed& feed, const Delta& delta) {
  for (const Route& route : feed.routes) {
    scratch_keys_.clear();
    route.keys(view_, delta, scratch_keys_);
    if (!may_run()) continue;
    for (api::ObjectKey& key : scratch_keys_) queue_.add(route.reconciler, std::move(key));
  }
}

// Deciders see the first state kind by kind and name by name, in whatever order the lists arrived; a term
// begins with a run of every key.
void Engine::begin_if_listed() {
  if ((lists_missing_ > 0 && !has(KnownDefect::FirstCycleBeforeCaches)) || !attached_) return;
  const bool first = !synced_, begins = leading_ == Leading::Yes && !begun_;
  if (!first && !begins) return;
  synced_ = true;
  begun_ = begins;
  for (Feed* feed : typed_feeds_)
    if (feed) replay(*feed, first);
  for (const auto& [resource, feed] : other_feeds_) replay(*feed, first);
  if (!begins || !decider_) return;
  decider_->begin_leading(view_, leadership_, now_);
  decider_wanted_ = true;
}

void Engine::replay(Feed& feed, bool to_decider) {
  view_.for_each(feed.kind, feed.resource,
                 [&](const client::NamedKey& named, const api::TypedObject& object) {
                   const Delta delta{{feed.kind, named.ns, named.name, feed.resource}, std::nullopt, object};
                   if (to_decider)
                     publish(feed, delta);
                   else
                     wake_keys(feed, delta);
                 });
}

bool Engine::keeps(const api::ObjectKey& key) const {
  return find_feed(key.kind, key.resource) != nullptr;
}

const api::ObjectMeta* Engine::known(const api::ObjectKey& key) const {
  const auto object = view_.find(key);
  return object ? &api::meta_of(*object) : nullptr;
}

void Engine::learn(const api::ObjectKey& key, api::TypedObject object) {
  const api::ObjectMeta& meta = api::meta_of(object);
  Feed& feed = *find_feed(key.kind, key.resource);
  const api::ObjectMeta* there = known(key);
  // A list that is newer than the response would contain the object.
  const bool unlisted = meta.resource_version <= feed.listed_at && (!there || there->uid != meta.uid);
  if (unlisted || tombstones_.has(meta.uid)) return;
  if (const auto delta = view_.put(key, std::move(object))) publish(feed, *delta);
}

void Engine::forget(const api::ObjectKey& key, const std::string& uid) {
  tombstones_.add(uid);
  const api::ObjectMeta* meta = known(key);
  if (!meta || meta->uid != uid) return;
  if (const auto delta = view_.erase(key, meta->resource_version))
    publish(*find_feed(key.kind, key.resource), *delta);
}

void Engine::deliver_outcomes() {
  for (EffectExecutor::Finished& finished : executor_.take_finished()) {
    const auto found = flights_.find(finished.flight);
    BERTH_ASSERT(found != flights_.end(), "every flight has a starter");
    const KeyFlight flight = found->second;
    flights_.erase(found);
    if (!flight.entry) {
      if (finished.result != RunResult::Fine) ++decider_counters_.back().failed_runs;
      decider_->on_outcome(view_, finished.outcome, now_);
      decider_wanted_ = begun_;
      continue;
    }
    const auto& [reconciler, key] = flight.entry->first;
    if (finished.result != RunResult::Fine || finished.told)
      reconcilers_[reconciler]->on_outcome(view_, key, finished.outcome, now_);
    if (!begun_) {
      queue_.done(flight.entry, RunResult::Fine, std::nullopt, now_);
      continue;
    }
    const RunResult asked = flight.retry ? RunResult::Failed : RunResult::Fine;
    const RunResult result = worse(finished.result, asked);
    if (result != RunResult::Fine) ++decider_counters_[reconciler].failed_runs;
    queue_.done(flight.entry, result, flight.wake_at, now_);
  }
}

void Engine::run_keys() {
  for (std::size_t i = 0; i < kRunsPerStepMax; ++i) {
    WorkQueue::Entry* entry = queue_.take();
    if (!entry) return;
    const std::uint32_t index = entry->first.reconciler;
    ++decider_counters_[index].runs;
    Effects effects = reconcilers_[index]->reconcile(view_, entry->first.key, now_);
    for (const client::EventNote& note : effects.events) recorder_.note(note, now_);
    if (effects.chains.empty()) {
      if (effects.retry) ++decider_counters_[index].failed_runs;
      queue_.done(entry, effects.retry ? RunResult::Failed : RunResult::Fine, effects.wake_at, now_);
      continue;
    }
    const KeyFlight flight{entry, effects.wake_at, effects.retry};
    flights_.emplace(executor_.start(std::move(effects)), flight);
  }
}

void Engine::run_decider() {
  if (decider_wake_ && *decider_wake_ <= now_) {
    decider_wake_.reset();
    decider_wanted_ = true;
  }
  const std::size_t most = reconcilers_.empty() ? kDecisionsPerStepMax : kSharedDecisionsPerStepMax;
  for (std::size_t i = 0; decider_wanted_ && i < most; ++i) {
    ++decider_counters_.back().runs;
    Effects effects = decider_->decide(view_, now_);
    for (const client::EventNote& note : effects.events) recorder_.note(note, now_);
    decider_wake_ = effects.wake_at;
    decider_failures_ = effects.retry ? decider_failures_ + 1 : 0;
    if (effects.retry) {
      const Time retry_at = now_ + backoff(kKeyBackoffBase, kKeyBackoffCap, decider_failures_);
      decider_wake_ = decider_wake_ ? std::min(*decider_wake_, retry_at) : retry_at;
    }
    decider_wanted_ = !effects.chains.empty() || !effects.events.empty();
    if (!effects.chains.empty()) flights_.emplace(executor_.start(std::move(effects)), KeyFlight{});
  }
}

}  // namespace berth::engine
