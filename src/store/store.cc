#include "store/store.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "store/commit_builder.h"
#include "store/disk.h"
#include "store/object_index.h"
#include "store/sqlite_log.h"
#include "store/watches.h"

namespace berth::store {
namespace {

// After this long without a write a checkpoint delays nobody.
constexpr std::chrono::milliseconds kQuietBeforeCheckpoint(20);
// After this long without a write the acknowledged revision is made to survive a power cut.
constexpr std::chrono::milliseconds kQuietBeforeMark(1000);
// A full disk is looked at again after this long.
constexpr std::chrono::milliseconds kFullDiskPause(1000);

bool is_for_want_of_room(const Error& error) {
  for (const Error* at = &error; at != nullptr; at = at->cause())
    if (at->code() == ErrorCode::TooLarge) return true;
  return false;
}

Result<std::unique_ptr<SqliteLog>> open_log(const StoreOptions& options, Disk& disk) {
  return SqliteLog::open(database_of(options.directory), disk, options.log_bytes_max,
                         options.accept_data_loss);
}

struct Pending {
  WriteRequest write;
  std::function<void(WriteResult)> done;
};

class CommittingStore final : public Store {
 public:
  CommittingStore(StoreOptions options, Disk& disk, std::unique_ptr<SqliteLog> log)
      : options_(std::move(options)),
        disk_(disk),
        index_(options_.watch_window_events, options_.watch_window_bytes),
        commit_builder_(index_),
        log_(std::move(log)) {}

  ~CommittingStore() override {
    if (!committer_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
    committer_.join();
  }

  Status start() {
    if (log_) {
      SqliteLog::Contents contents = TRY(log_->load());
      TRY(index_.load(std::move(contents.objects), contents.revision));
    } else {
      TRY(index_.load({}, first_revision()));
    }
    if (!options_.synchronous) committer_ = std::thread([this] { run(); });
    return {};
  }

  void submit(WriteRequest write, std::function<void(WriteResult)> done) override {
    {
      std::unique_lock lock(mutex_);
      if (waiting_ < options_.queue_writes_max) {
        ++waiting_;
        queue_.push_back({std::move(write), std::move(done)});
        const bool wake = std::exchange(asleep_, false);
        lock.unlock();
        if (wake) work_.notify_one();
        if (options_.synchronous) commit_inline();
        return;
      }
    }
    done(Error(ErrorCode::Unavailable,
               "too many writes wait: " + std::to_string(options_.queue_writes_max) + "; try again later"));
  }

  Status together(const std::function<Status()>& work) override {
    if (!log_) return work();
    TRY(on_committer([this] { return log_->begin_together(); }));
    const Status done = work();
    return on_committer([&] {
      if (!done.ok() && !failed_) set_failure(done.error());
      if (failed_) return Status(done.ok() ? *failed_ : done.error());
      Status durable = log_->end_together();
      if (!durable.ok()) fail(durable.error());
      return durable;
    });
  }

  ObjectPtr get(const Key& key) const override { return index_.get(key); }
  Result<ListPage> list(const ListQuery& query) const override { return index_.list(query); }
  Result<std::unique_ptr<Cursor>> open_cursor(const ListQuery& query) const override {
    return index_.open_cursor(query);
  }
  Result<EventPage> events(std::string_view resource, Revision from, std::size_t limit) const override {
    return index_.events_behind(resource, from, limit);
  }
  Revision revision() const override { return index_.revision(); }
  Status health() const override {
    std::lock_guard lock(mutex_);
    return health_;
  }
  Revision oldest_watchable() const override { return index_.oldest_watchable(); }
  std::size_t count(std::string_view resource) const override { return index_.count(resource); }

  Result<std::unique_ptr<WatchHandle>> watch(std::string resource, Revision from, WatchSink& sink) override {
    auto handle = TRY(watches_.add(index_, std::move(resource), from, sink));
    if (options_.synchronous) {
      watches_.attend();
      return handle;
    }
    {
      std::lock_guard lock(mutex_);
      new_watch_ = true;
      asleep_ = false;
    }
    work_.notify_one();
    return handle;
  }

 private:
  Revision first_revision() const {
    if (options_.first_revision) return *options_.first_revision;
    return options_.synchronous ? 0 : static_cast<Revision>(SystemClock().now().micros());
  }

  // Runs the step behind the writes that wait already.
  Status on_committer(std::function<Status()> step) {
    if (options_.synchronous) return step();
    std::promise<Status> done;
    {
      std::lock_guard lock(mutex_);
      BERTH_ASSERT(!step_, "one step at a time");
      step_ = [&] { done.set_value(step()); };
      asleep_ = false;
    }
    work_.notify_one();
    return done.get_future().get();
  }

  // A write submitted from inside a callback waits until the one at hand is finished.
  void commit_inline() {
    if (std::exchange(committing_, true)) return;
    while (!queue_.empty()) {
      std::vector<Pending> taken;
      taken.swap(queue_);
      if (full_) recover();
      for (Pending& next : taken) commit({&next, 1});
      checkpoint_if(log_ && log_->checkpoint_due());
    }
    committing_ = false;
  }

  void run() {
    std::vector<Pending> taken;
    while (take(taken)) {
      watches_.attend();
      recover_if_due();
      for (std::span<Pending> rest(taken); !rest.empty();) {
        const std::size_t count = std::min(rest.size(), options_.batch_writes_max);
        commit(rest.first(count));
        rest = rest.subspan(count);
        checkpoint_if(log_ && log_->checkpoint_due());
      }
      taken.clear();
      if (const auto step = take_step()) step();
    }
  }

  std::function<void()> take_step() {
    std::lock_guard lock(mutex_);
    return std::exchange(step_, nullptr);
  }

  // Waits for work and takes all of it; runs a checkpoint when there is none for a while. False: stop.
  bool take(std::vector<Pending>& taken) {
    const auto has_work = [this] { return !queue_.empty() || new_watch_ || stopping_ || step_; };
    std::unique_lock lock(mutex_);
    while (!has_work()) {
      asleep_ = true;
      if (full_) {
        work_.wait_for(lock, kFullDiskPause);
        lock.unlock();
        recover_if_due();
        lock.lock();
      } else if (!failed_ && log_ && log_->checkpoint_useful()) {
        if (work_.wait_for(lock, kQuietBeforeCheckpoint) == std::cv_status::no_timeout || has_work())
          continue;
        lock.unlock();
        checkpoint_if(true);
        lock.lock();
      } else if (!failed_ && log_ && log_->mark_is_behind()) {
        if (work_.wait_for(lock, kQuietBeforeMark) == std::cv_status::no_timeout || has_work()) continue;
        lock.unlock();
        sync_mark();
        lock.lock();
      } else {
        work_.wait(lock);
      }
    }
    asleep_ = false;
    new_watch_ = false;
    taken.swap(queue_);
    return !taken.empty() || step_ || !stopping_;
  }

  void sync_mark() {
    if (Status synced = log_->sync_mark(); !synced.ok()) fail(synced.error());
  }

  void checkpoint_if(bool wanted) {
    if (!wanted || failed_) return;
    if (Status tidied = log_->checkpoint(); !tidied.ok()) fail(tidied.error());
  }

  // `in_doubt`: the events of the commit that failed; they may be durable.
  void fail(const Error& cause, const std::vector<WatchEventPtr>& in_doubt = {}) {
    full_ = is_for_want_of_room(cause);
    in_doubt_ = in_doubt;
    retry_at_ = SystemClock().monotonic() + Duration::millis(kFullDiskPause.count());
    set_failure((full_ ? Error(ErrorCode::Forbidden, kNoSpace)
                       : Error(ErrorCode::Internal, "the store's disk failed, and it takes no more writes"))
                    .because_of(cause));
    log(LogLevel::Error,
        full_ ? "the disk is full: no writes are taken until there is room"
              : "the disk failed: no writes are taken until a restart",
        {{"reason", cause.text()}});
  }

  void set_failure(std::optional<Error> failure) {
    failed_ = std::move(failure);
    std::lock_guard lock(mutex_);
    health_ = failed_ ? Status(*failed_) : Status();
  }

  void recover_if_due() {
    if (!full_ || SystemClock().monotonic() < retry_at_) return;
    recover();
    retry_at_ = SystemClock().monotonic() + Duration::millis(kFullDiskPause.count());
  }

  // After a full disk. A connection that failed is not used again: what is durable is read anew, and a write
  // without effect shows whether there is room.
  void recover() {
    log_.reset();
    Result<std::unique_ptr<SqliteLog>> opened = open_log(options_, disk_);
    if (!opened) return;
    const Result<Revision> durable = (*opened)->revision();
    if (!durable) return;
    const bool kept = !in_doubt_.empty() && *durable == in_doubt_.back()->object->revision;
    if (!kept && *durable != index_.revision()) {
      full_ = false;
      return set_failure(Error(ErrorCode::Internal, "the store's database is not the one that it was"));
    }
    if (!(*opened)->commit({}, *durable).ok()) return;
    if (kept) show(std::exchange(in_doubt_, {}));
    log_ = *std::move(opened);
    full_ = false;
    set_failure(std::nullopt);
    log(LogLevel::Info, "the disk has room again: writes go on");
  }

  void commit(std::span<Pending> batch) {
    commit_builder_.begin();
    outcomes_.clear();
    for (Pending& pending : batch) outcomes_.push_back(decide(std::move(pending.write)));
    const std::vector<WatchEventPtr>& events = commit_builder_.events();
    if (!events.empty()) publish(events);
    {
      std::lock_guard lock(mutex_);
      waiting_ -= batch.size();
    }
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i].done(std::move(outcomes_[i]));
  }

  WriteResult decide(WriteRequest write) {
    if (failed_) return *failed_;
    return commit_builder_.add(std::move(write));
  }

  // The failed commit may have decided any outcome in it, refusals too: all of them are withdrawn.
  void publish(const std::vector<WatchEventPtr>& events) {
    const Revision revision = events.back()->object->revision;
    if (log_) {
      if (Status durable = log_->commit(events, revision); !durable.ok()) {
        fail(durable.error(), events);
        for (WriteResult& outcome : outcomes_) outcome = *failed_;
        return;
      }
    }
    show(events);
  }

  void show(const std::vector<WatchEventPtr>& events) {
    index_.publish(events);
    watches_.deliver(events, events.back()->object->revision);
  }

  const StoreOptions options_;
  Disk& disk_;
  ObjectIndex index_;
  Watches watches_;

  // Used by the committer only.
  CommitBuilder commit_builder_;
  std::unique_ptr<SqliteLog> log_;  // null: in memory only
  std::vector<WriteResult> outcomes_;
  std::optional<Error> failed_;
  bool full_ = false;  // the failure is want of room
  std::vector<WatchEventPtr> in_doubt_;
  Time retry_at_;
  bool committing_ = false;  // synchronous only

  mutable std::mutex mutex_;
  Status health_;
  std::condition_variable work_;
  std::vector<Pending> queue_;
  std::size_t waiting_ = 0;  // queued, or taken and without a result yet
  bool asleep_ = false;      // the committer needs to be woken
  bool new_watch_ = false;
  bool stopping_ = false;
  std::function<void()> step_;  // of together(), for the committer
  std::thread committer_;
};

}  // namespace

WriteResult Store::write(WriteRequest write) {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<WriteResult> outcome;
  submit(std::move(write), [&](WriteResult result) {
    std::lock_guard lock(mutex);
    outcome.emplace(std::move(result));
    answered.notify_one();  // under the lock: once it is released the waiter may be gone
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return outcome.has_value(); });
  return std::move(*outcome);
}

Result<std::unique_ptr<Store>> open_store(StoreOptions options, Disk* disk) {
  BERTH_ASSERT(options.batch_writes_max > 0, "a commit of no writes would never end");
  Disk& files = disk == nullptr ? machine_disk() : *disk;
  std::unique_ptr<SqliteLog> log;
  if (!options.directory.empty()) {
    TRY(files.make_directory(options.directory));
    log = TRY(open_log(options, files));
  }
  auto store = std::make_unique<CommittingStore>(std::move(options), files, std::move(log));
  TRY(store->start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace berth::store
