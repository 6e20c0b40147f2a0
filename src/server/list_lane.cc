#include "server/list_lane.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "server/fair_line.h"
#include "server/object_versions.h"

namespace berth::server {

using ListPtr = std::shared_ptr<ListStream>;

struct ListLane::State : std::enable_shared_from_this<State> {
  // `the_executor` and `the_clock` outlive every turn.
  State(Executor& the_executor, const Clock& the_clock) : executor(the_executor), clock(the_clock) {}

  // With a slot.
  struct Open {
    Time since;
    std::optional<Time> full_since;  // its peer has no room
  };
  struct Waiting {
    ListPtr stream;
    Time since;
  };

  // False when it waits, or is refused.
  bool take_slot(const ListPtr& stream);
  // Its next turn, after those of the others.
  void schedule(const ListPtr& stream);
  void run();
  void take_turn(const ListPtr& stream);
  void pause(const ListPtr& stream);
  // It is done, or its peer is gone: the next one begins.
  void leave(const ListPtr& stream);
  bool has_slot(const ListPtr& stream) const { return open.contains(stream); }

  Executor& executor;
  const Clock& clock;
  std::mutex mutex;
  std::map<ListPtr, Open> open;
  FairLine<Waiting> waiting;  // by user
  std::deque<ListPtr> ready;  // of the open ones
  bool runs = false;          // one is having its turn, or run() is posted
};

bool ListLane::State::take_slot(const ListPtr& stream) {
  ListPtr refused;
  {
    const std::lock_guard lock(mutex);
    if (open.size() < kListsOpenMax && waiting.empty()) {
      open.emplace(stream, Open{clock.monotonic(), std::nullopt});
      return true;
    }
    if (waiting.size() >= kListsWaitingMax)
      if (std::optional<Waiting> other = waiting.take_for(stream->user())) refused = std::move(other->stream);
    if (waiting.size() < kListsWaitingMax) {
      stream->begin_again();
      waiting.push(stream->user(), {stream, clock.monotonic()});
    } else {
      refused = stream;
    }
  }
  if (refused) refused->refuse(too_many_requests());
  return false;
}

void ListLane::State::schedule(const ListPtr& stream) {
  const bool converts = has_webhook(stream->target());
  {
    const std::lock_guard lock(mutex);
    const auto found = open.find(stream);
    if (found == open.end()) return;
    found->second.full_since.reset();
    if (!converts) {
      ready.push_back(stream);
      if (std::exchange(runs, true)) return;
    }
  }
  post_for(stream->target(), executor, [self = shared_from_this(), stream, converts] {
    if (converts)
      self->take_turn(stream);
    else
      self->run();
  });
}

// One turn, of whoever is first. Another posted call has the next, so that others of the pool have theirs.
void ListLane::State::run() {
  ListPtr stream;
  {
    const std::lock_guard lock(mutex);
    if (ready.empty()) {
      runs = false;
      return;
    }
    stream = std::move(ready.front());
    ready.pop_front();
  }
  take_turn(stream);
  executor.post([self = shared_from_this()] { self->run(); });
}

void ListLane::State::take_turn(const ListPtr& stream) {
  switch (stream->take_turn(ListStream::Slot::Held)) {
    case ListStream::Turn::More:
      return schedule(stream);
    case ListStream::Turn::Full:
      return pause(stream);
    case ListStream::Turn::Done:
      return leave(stream);
  }
}

void ListLane::State::pause(const ListPtr& stream) {
  {
    const std::lock_guard lock(mutex);
    const auto found = open.find(stream);
    if (found == open.end()) return;
    found->second.full_since = clock.monotonic();
  }
  stream->exchange().on_room([weak = weak_from_this(), stream_weak = std::weak_ptr<ListStream>(stream)] {
    const auto self = weak.lock();
    const auto paused = stream_weak.lock();
    if (self && paused) self->schedule(paused);
  });
}

void ListLane::State::leave(const ListPtr& stream) {
  std::vector<ListPtr> next;
  {
    const std::lock_guard lock(mutex);
    open.erase(stream);
    waiting.take_if([&](const Waiting& one) { return one.stream == stream; });
    std::erase(ready, stream);
    while (open.size() < kListsOpenMax && !waiting.empty()) {
      next.push_back(waiting.pop().stream);
      open.emplace(next.back(), Open{clock.monotonic(), std::nullopt});
    }
  }
  for (const ListPtr& begins : next) schedule(begins);
}

ListLane::ListLane(const Registry& registry)
    : registry_(registry),
      state_(std::make_shared<State>(registry.dependencies().executor, registry.dependencies().clock)) {}

ListLane::~ListLane() {
  decltype(state_->open) open;
  decltype(state_->waiting) waiting;
  decltype(state_->ready) ready;
  const std::lock_guard lock(state_->mutex);
  open.swap(state_->open);
  std::swap(waiting, state_->waiting);
  ready.swap(state_->ready);
}

void ListLane::answer(ListRequest request) {
  enter(std::make_shared<ListStream>(registry_, kept_, std::move(request)));
}

void ListLane::answer(ListRequest request, store::ListPage page) {
  enter(std::make_shared<ListStream>(registry_, kept_, std::move(request), std::move(page)));
}

void ListLane::enter(ListPtr stream) {
  if (stream->take_turn(ListStream::Slot::None) == ListStream::Turn::Done) return;
  if (state_->take_slot(stream)) state_->schedule(stream);
  // Last: the peer may be gone already.
  HttpExchange& exchange = stream->exchange();
  exchange.on_close([weak = std::weak_ptr<State>(state_), stream_weak = std::weak_ptr<ListStream>(stream)] {
    const auto state = weak.lock();
    const auto closed = stream_weak.lock();
    if (state && closed) state->leave(closed);
  });
}

void ListLane::tick(Time now) {
  std::vector<ListPtr> stalled, slow, late;
  {
    const std::lock_guard lock(state_->mutex);
    const bool others_wait = !state_->waiting.empty();
    for (const auto& [stream, slot] : state_->open) {
      const bool takes_nothing = slot.full_since && now - *slot.full_since >= Duration::seconds(kListStallS);
      const Duration limit = Duration::seconds(others_wait ? kListShareS : kListTimeoutS);
      if (others_wait && takes_nothing)
        stalled.push_back(stream);
      else if (now - slot.since >= limit)
        slow.push_back(stream);
    }
    for (State::Waiting& one : state_->waiting.take_if([&](const State::Waiting& waiting) {
           return now - waiting.since >= Duration::seconds(kListWaitS);
         }))
      late.push_back(std::move(one.stream));
  }
  for (const ListPtr& stream : stalled) stream->cut("its peer takes nothing, and others wait");
  for (const ListPtr& stream : slow) stream->cut("it takes too long");
  for (const auto* cut : {&stalled, &slow})
    for (const ListPtr& stream : *cut) state_->leave(stream);
  for (const ListPtr& stream : late) stream->refuse(too_many_requests());
}

std::size_t ListLane::open_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->open.size();
}

std::size_t ListLane::waiting_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting.size();
}

}  // namespace berth::server
