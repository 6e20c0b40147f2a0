// Runs deciders: feeds them from watches, carries out their effects, reports the results to them.
//
// Owner: the thread or simulator that calls step(). Owns no thread and reads no clock. Other threads access
// only the mailbox. Cost: a run of a key costs a few microseconds more than the decider's own; no step scans
// all keys. No decider runs before all lists that were requested after the start of the term have arrived. A
// key never runs twice at once, nor while its writes are in flight. The responses to its writes are in the
// view before it runs again.
// A follower keeps the view, and nothing that grows with deleted objects.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/decider.h"
#include "engine/effect_executor.h"
#include "engine/event_recorder.h"
#include "engine/shared_informers.h"
#include "engine/tombstones.h"
#include "engine/work_queue.h"

namespace berth::engine {

inline constexpr std::size_t kRunsPerStepMax = 512;      // keys
inline constexpr std::size_t kDecisionsPerStepMax = 64;  // of the stateful decider
// The same in addition to reconcilers, which wait for it: a decision about a large group takes some 100 ms.
inline constexpr std::size_t kSharedDecisionsPerStepMax = 8;

struct EngineOptions {
  std::string component = "berth-controllers";  // in events
  std::string instance = "berth";
  std::size_t writes_in_flight_max = kWritesInFlightMax;
  EventPacing event_pacing = {};
  // Shared with the informers and other engines. Null: not shared.
  std::shared_ptr<api::DecodedVersions> decoded = nullptr;
};

struct DeciderCounters {
  std::string name;
  std::uint64_t runs = 0;
  std::uint64_t failed_runs = 0;  // the decider requested a retry, or a chain was not accepted
};

struct EngineCounters {
  std::vector<DeciderCounters> deciders;
  EffectExecutorCounters writes;
  EventCounters events;
  std::size_t keys_waiting = 0;
  std::size_t keys_running = 0;
};

class Engine final : private ViewPort {
 public:
  // `client` outlives the engine.
  Engine(client::ApiClient& client, EngineOptions options);
  ~Engine() override;

  // Before attach_to() only. At most one stateful decider, which must outlive the engine.
  void add(std::unique_ptr<client::Reconciler> reconciler);
  void add(client::StatefulDecider& decider);
  void attach_to(SharedInformers& informers);

  // Does a bounded amount of work. True when more work is ready. When `now` is earlier than in the last call
  // (a clock was corrected), earlier deadlines are void: everything that is parked runs.
  bool step(Time now) {
    receive();
    return work(now);
  }
  // The two halves of step(), for callers that read the time in between. A response may set that clock, so
  // messages are then handled at a time that was read after they arrived.
  void receive();
  bool work(Time now);
  // When step() must be called next if no message arrives before.
  std::optional<Time> next_wake() const;
  // Every resource has been listed; also true of a follower.
  bool synced() const { return synced_; }
  // Called, on any thread, when a message arrives.
  void on_message(std::function<void()> notify) { mailbox_->on_message(std::move(notify)); }
  // On any thread: signals the reconciler of this name that something outside the API changed. Its
  // signalled() names the keys that run. Senders fold repeats: every call is a message.
  void wake(std::string_view reconciler, api::ObjectKey about) {
    mailbox_->push(Signal{std::string(reconciler), std::move(about)});
  }

  // On any thread; without a call it leads as Leadership{0}. A new term waits until each resource has been
  // listed again: the caller ensures that no older list arrives after this call (SharedInformers::relist).
  void lead(Leading leading, client::Leadership leadership = {}) {
    mailbox_->push(TermChange{leading, leadership});
  }
  // Starts nothing new from now on; effects in flight are completed until `deadline`.
  void begin_stop(Time deadline);
  bool stopped(Time now) const;

  const client::View& view() const { return view_; }
  EngineCounters counters() const;
  const EffectExecutorCounters& write_counters() const { return executor_.counters(); }
  // Nothing waits or is in flight, apart from deadlines.
  bool idle() const;

 private:
  using KeysOf = std::function<void(const client::View&, const client::Delta&, std::vector<api::ObjectKey>&)>;
  struct Route {
    std::uint32_t reconciler = 0;
    KeysOf keys;
  };
  struct Feed {
    api::Kind kind = api::Kind::Other;
    api::ResourceRef resource;
    bool listed = false;
    std::uint64_t listed_at = 0;  // the version of the latest list
    std::vector<BatchPtr> parts;  // of the list under way
    std::size_t entered = 0;      // of them are in the view
    bool to_decider = false;
    std::vector<Route> routes;
  };
  bool keeps(const api::ObjectKey& key) const override;
  const api::ObjectMeta* known(const api::ObjectKey& key) const override;
  void learn(const api::ObjectKey& key, api::TypedObject object) override;
  void forget(const api::ObjectKey& key, const std::string& uid) override;

  Feed& feed_for(const client::Interest& interest);
  Feed* find_feed(api::Kind kind, const api::ResourceRef& resource);
  const Feed* find_feed(api::Kind kind, const api::ResourceRef& resource) const;
  void take(Message message);
  void change_term(const TermChange& change);
  void take_signal(const Signal& signal);
  void take_batch(const BatchPtr& batch);
  void enter(Feed& feed, const TypedBatch& batch);
  void enter_parts(Feed& feed);
  void end_list(Feed& feed, std::uint64_t version);
  void drop_unlisted(Feed& feed, std::uint64_t version);
  void publish(Feed& feed, const client::Delta& delta);
  void wake_keys(Feed& feed, const client::Delta& delta);
  void begin_if_listed();
  void replay(Feed& feed, bool to_decider);
  void deliver_outcomes();
  bool may_run() const;
  void run_keys();
  void run_decider();

  client::View view_;
  Time now_;
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<Message> received_;  // from receive() to work()
  EffectExecutor executor_;
  EventRecorder recorder_;
  std::uint64_t writes_seen_ = 0;
  Time last_write_;
  WorkQueue queue_;
  std::vector<std::unique_ptr<client::Reconciler>> reconcilers_;
  client::StatefulDecider* decider_ = nullptr;
  std::vector<DeciderCounters> decider_counters_;  // of the reconcilers, then of the stateful decider
  std::deque<Feed> feeds_;                         // stable addresses
  std::array<Feed*, api::kTypedKindCount> typed_feeds_{};
  std::map<api::ResourceRef, Feed*> other_feeds_;
  std::size_t lists_missing_ = 0;
  bool attached_ = false;
  bool synced_ = false;
  bool begun_ = false;  // this term: deciders run
  Tombstones tombstones_;
  struct KeyFlight {
    WorkQueue::Entry* entry = nullptr;  // null: the stateful decider's
    std::optional<Time> wake_at;
    bool retry = false;
  };
  std::unordered_map<std::uint64_t, KeyFlight> flights_;
  std::vector<api::ObjectKey> scratch_keys_;
  bool decider_wanted_ = false;
  std::uint32_t decider_failures_ = 0;
  std::optional<Time> decider_wake_;
  Leading leading_ = Leading::Yes;
  client::Leadership leadership_;
  std::optional<Time> stop_deadline_;
};

}  // namespace berth::engine
