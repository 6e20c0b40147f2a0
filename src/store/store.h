// Versioned objects with a watch window: the storage of the API server.
//
// Every accepted write gets the next revision, one sequence over all kinds that never goes backwards, also
// across restarts. One committer evaluates writes in submission order and acknowledges them once they are
// durable (group commit); readers and watchers see only durable state. Reads are snapshots and never wait for
// writers. Thread-safe. Source: resourceVersion rules of the Kubernetes API (docs/api-server.md#versions).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/object.h"

namespace berth::store {

struct WriteRequest {
  enum class Kind { Create, Update, Delete };
  Kind kind = Kind::Create;
  Key key;
  std::string uid;  // Create: the new object's
  // Update, Delete: the version that was read; Conflict when the stored one differs. 0 accepts any.
  Revision expected = 0;
  Draft draft;  // Delete: the last state, for watchers
};

// Create of an existing key: Exists. Update or Delete of an absent key: NotFound. Another version: Conflict.
// Unavailable: too many writes wait. Forbidden: the disk is full, and the message is kNoSpace, until
// there is room. Internal: the disk failed; the store then refuses every later write. A write that
// failed with either of the last two may still have reached the disk, and shows up later.
using WriteResult = Result<ObjectPtr>;

// As Kubernetes clients know it from etcd.
inline constexpr const char* kNoSpace = "etcdserver: mvcc: database space exceeded";

struct WatchEvent {
  enum class Kind { Added, Modified, Deleted };
  Kind kind = Kind::Added;
  ObjectPtr object;    // Deleted: the last state with the revision of the delete
  ObjectPtr previous;  // null for Added
};
using WatchEventPtr = std::shared_ptr<const WatchEvent>;

// A string member that an event's object has somewhere, now or before, when the event concerns a watch.
// Both as to_string() writes them: "\"nodeName\":" and "\"n1\"".
struct MemberFilter {
  std::string member;  // empty: every event concerns it
  std::string value;
};

// Receives the events of one watch, in order, on the committer's thread (a synchronous store: inline, the
// past ones before watch() returns). It must only enqueue them.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // `progress`: every event up to this revision, of any resource, has been delivered. Called once a commit,
  // also without events when only other resources changed, and once at the start with the past events.
  virtual void on_events(std::span<const WatchEventPtr> events, Revision progress) = 0;
  // Asked once. Besides past events, a watch of one resource then hears only of those that pass.
  virtual MemberFilter filter() const { return {}; }
};

// The destructor ends the watch and waits for a call in progress; after that the sink is not called again.
// Destroy it without holding a lock that the sink takes. The sink itself may destroy it. May outlive the
// store.
class WatchHandle {
 public:
  virtual ~WatchHandle() = default;
  // Every event up to here that concerns the watch has been delivered, and the sink has returned. No lock.
  virtual Revision progress() const = 0;
};

struct ListQuery {
  std::string resource;
  std::string ns;                             // empty: all namespaces
  std::optional<Revision> at;                 // absent: the newest state
  std::optional<Key> after;                   // continue after this key
  std::size_t limit = 0;                      // 0: no limit
  std::function<bool(const Object&)> accept;  // applied before the limit; empty: all
};

struct ListPage {
  std::vector<ObjectPtr> objects;  // by ns, then name
  Revision revision = 0;           // the state that this page shows
  bool more = false;
  std::size_t remaining = 0;  // after this page; 0 when `accept` is set
};

// One state of a resource, read object by object in order of ns, then name. Holds that state without a copy:
// versions replaced since then live on until it is destroyed. One reader at a time; may outlive the store.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Null at the end.
  virtual ObjectPtr next() = 0;
  // How many objects next() has left to return.
  virtual std::size_t remaining() = 0;
  // Begins again, with the same state.
  virtual void rewind() = 0;
  // The state that it shows.
  virtual Revision revision() const = 0;
};

// Kept events of a resource, by revision.
struct EventPage {
  std::vector<WatchEventPtr> events;
  Revision through = 0;  // every event up to here is on this page or an earlier one; may lie before `from`
  bool more = false;
};

struct StoreOptions {
  std::string directory;                               // empty: in memory only
  std::size_t watch_window_events = 100'000;           // events kept for watches and old lists
  std::size_t watch_window_bytes = 128 * 1024 * 1024;  // of versions that only the window keeps
  std::size_t queue_writes_max = 16'384;               // waiting writes; more answer Unavailable
  std::size_t batch_writes_max = 1'024;                // writes of one group commit
  std::size_t log_bytes_max =
      16 * 1024 * 1024;  // of the journal's write-ahead log before it is tidied under load
  // Continues with what is left of a directory that has lost something; without it, opening is refused.
  bool accept_data_loss = false;
  // What a store in memory begins with. Absent: the microseconds since 1970, which an earlier one cannot have
  // reached, so that its clients see that theirs is gone; 0 when synchronous.
  std::optional<Revision> first_revision;
  // No thread: submit() decides and answers inline, each write a commit of its own. One thread only.
  bool synchronous = false;
};

class Disk;  // disk.h: the file system as SQLite sees it; null means the machine's

class Store {
 public:
  virtual ~Store() = default;

  // Evaluates the write in order and calls `done` once its outcome is durable (on the committer's thread, or
  // inline when synchronous). `done` must only enqueue.
  virtual void submit(WriteRequest write, std::function<void(WriteResult)> done) = 0;
  // Waits for the outcome. Deadlocks in a callback of this store.
  WriteResult write(WriteRequest write);
  // Runs `work`. What is written during it is decided, visible and answered as always, but durable only when
  // this returns, all of it or none: for a start, before others are served. When `work` refuses, or the disk
  // does, that is the error, nothing of it is durable, and the store takes no more writes.
  virtual Status together(const std::function<Status()>& work) = 0;

  // Null when absent.
  virtual ObjectPtr get(const Key& key) const = 0;
  // Gone when `at` has left the window; Invalid when it is in the future.
  virtual Result<ListPage> list(const ListQuery& query) const = 0;
  // The same state without its page: `accept` and `limit` do not apply. Refuses as list() does, never the
  // newest state. Cost: a pointer, and one for each event since `at`.
  virtual Result<std::unique_ptr<Cursor>> open_cursor(const ListQuery& query) const = 0;
  // At most `limit` events of `resource` (empty: of every resource) behind `from`, which may lie in the
  // future. Gone when some are no longer kept.
  virtual Result<EventPage> events(std::string_view resource, Revision from, std::size_t limit) const = 0;
  // Delivers all events of `resource` (empty: of every resource) with a revision above `from`.
  // Gone when they are no longer retained. A watch from a future revision waits without an error.
  virtual Result<std::unique_ptr<WatchHandle>> watch(std::string resource, Revision from,
                                                     WatchSink& sink) = 0;

  // Why no writes are taken now, if so.
  virtual Status health() const = 0;

  virtual Revision revision() const = 0;
  // The oldest revision from which a watch can start.
  virtual Revision oldest_watchable() const = 0;
  // The number of objects of a resource; of all when empty.
  virtual std::size_t count(std::string_view resource) const = 0;
};

// Opens or makes the store. Refuses, with a clear sentence, a directory of a newer schema, one in use, and
// (Gone) one whose database or write-ahead log is missing or damaged where commits were acknowledged.
Result<std::unique_ptr<Store>> open_store(StoreOptions options, Disk* disk = nullptr);

}  // namespace berth::store
