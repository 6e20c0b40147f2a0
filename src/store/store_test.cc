#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>

#include "store/disk.h"
#include "store/simulated_disk.h"
#include "store/test_tools.h"

namespace berth::store {
namespace {

std::unique_ptr<Store> opened(StoreOptions options, Disk* disk = nullptr) {
  if (!options.first_revision) options.first_revision = 0;
  Result<std::unique_ptr<Store>> store = open_store(std::move(options), disk);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().text());
  return std::move(store).value();
}

std::vector<std::string> names(const ListPage& page) {
  std::vector<std::string> names;
  names.reserve(page.objects.size());
  for (const ObjectPtr& object : page.objects) names.push_back(object->key.ns + "/" + object->key.name);
  return names;
}

using Names = std::vector<std::string>;

struct Step {
  const char* what;
  WriteRequest write;
  std::optional<ErrorCode> refused;
};

std::vector<Step> steps() {
  return {
      {"create takes revision 1", create(pod("a")), {}},
      {"a second create is refused", create(pod("a")), ErrorCode::Exists},
      {"the same name elsewhere is another object", create(pod("a", "other")), {}},
      {"update of an absent object", update(pod("b")), ErrorCode::NotFound},
      {"update of the version read", update(pod("a"), 1), {}},
      {"update of an old version", update(pod("a"), 1), ErrorCode::Conflict},
      {"update of any version", update(pod("a"), 0), {}},
      {"delete of an old version", remove(pod("a"), 3), ErrorCode::Conflict},
      {"delete of the version read", remove(pod("a"), 4), {}},
      {"delete of an absent object", remove(pod("a")), ErrorCode::NotFound},
      {"create after delete", create(pod("a")), {}},
      {"too many bytes", update(pod("a"), 0, std::string(kObjectBytesMax, 'x')), ErrorCode::TooLarge},
  };
}

void follows_the_steps(StoreOptions options) {
  std::unique_ptr<Store> store = opened(std::move(options));
  Judge judge;
  for (Step& step : steps()) {
    SCOPED_TRACE(step.what);
    const Judge::Expected verdict = judge.write(step.write);
    const WriteResult result = store->write(std::move(step.write));
    ASSERT_EQ(result.ok(), !step.refused.has_value());
    if (step.refused) {
      EXPECT_EQ(result.error().code(), *step.refused);
      EXPECT_EQ(verdict.refused, *step.refused);
    } else {
      ASSERT_TRUE(verdict.made.has_value());
      EXPECT_TRUE(same(**result, *verdict.made));
    }
    EXPECT_EQ(store->revision(), judge.revision());
  }
  EXPECT_EQ(difference(*store, judge, {"pods"}), "");
}

TEST(Store, DecidesWritesInMemory) {
  follows_the_steps({});
}
TEST(Store, DecidesWritesInline) {
  follows_the_steps({.synchronous = true});
}
TEST(Store, DecidesWritesDurably) {
  TemporaryDirectory directory;
  follows_the_steps({.directory = directory.path()});
}

TEST(Store, ListsPagesInOrder) {
  std::unique_ptr<Store> store = opened({});
  for (const char* name : {"c", "a", "b"}) {
    for (const char* ns : {"two", "one"}) ASSERT_TRUE(store->write(create(pod(name, ns))).ok());
  }
  ListQuery query{.resource = "pods", .limit = 4};
  ListPage first = store->list(query).value();
  EXPECT_EQ(names(first), (Names{"one/a", "one/b", "one/c", "two/a"}));
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.remaining, 2u);
  ASSERT_TRUE(store->write(remove(pod("b", "two"))).ok());

  query.at = first.revision;
  query.after = first.objects.back()->key;
  const ListPage second = store->list(query).value();
  EXPECT_EQ(names(second), (Names{"two/b", "two/c"})) << "the second page shows the state of the first";
  EXPECT_FALSE(second.more);
  EXPECT_EQ(second.revision, first.revision);

  const auto only_c = [](const Object& object) { return object.key.name == "c"; };
  const ListPage filtered = store->list({.resource = "pods", .limit = 1, .accept = only_c}).value();
  EXPECT_EQ(names(filtered), (Names{"one/c"}));
  EXPECT_TRUE(filtered.more);
  EXPECT_EQ(filtered.remaining, 0u);
  EXPECT_TRUE(store->list({.resource = "nodes"}).value().objects.empty());
}

TEST(Store, ForgetsWhatLeavesTheWindow) {
  std::unique_ptr<Store> store = opened({.watch_window_events = 2, .synchronous = true});
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(store->write(create(pod(name))).ok());
  EXPECT_EQ(store->oldest_watchable(), 2u);
  RememberingSink sink;
  EXPECT_EQ(store->watch("pods", 1, sink).error().code(), ErrorCode::Gone);
  EXPECT_EQ(store->list({.resource = "pods", .at = 1}).error().code(), ErrorCode::Gone);
  EXPECT_EQ(store->list({.resource = "pods", .at = 5}).error().code(), ErrorCode::Invalid);
  EXPECT_EQ(names(store->list({.resource = "pods", .at = 2}).value()), (Names{"default/a", "default/b"}));
  const auto handle = store->watch("pods", 2, sink).value();
  EXPECT_EQ(sink.events().size(), 2u);
}

TEST(Store, WatchesFromAPastTheNewestAndAFutureRevision) {
  std::unique_ptr<Store> store = opened({.synchronous = true});
  ASSERT_TRUE(store->write(create(pod("a"))).ok());
  RememberingSink past, newest, future, everything, nodes;
  std::vector<std::unique_ptr<WatchHandle>> handles;
  handles.push_back(store->watch("pods", 0, past).value());
  handles.push_back(store->watch("pods", 1, newest).value());
  handles.push_back(store->watch("pods", 3, future).value());
  handles.push_back(store->watch("", 0, everything).value());
  handles.push_back(store->watch("nodes", 0, nodes).value());
  ASSERT_TRUE(store->write(update(pod("a"))).ok());
  EXPECT_EQ(future.progress(), 0u) << "a future revision waits silently";
  ASSERT_TRUE(store->write(remove(pod("a"))).ok());
  ASSERT_TRUE(store->write(create({"nodes", "", "n"})).ok());
  EXPECT_EQ(past.events().size(), 3u);
  EXPECT_EQ(newest.events().size(), 2u);
  EXPECT_EQ(future.events().size(), 0u);
  EXPECT_EQ(everything.events().size(), 4u);
  EXPECT_EQ(nodes.events().size(), 1u);
  EXPECT_EQ(past.progress(), 4u) << "events of other resources move progress too";
  const std::vector<WatchEventPtr> events = past.events();
  EXPECT_EQ(events[1]->previous, events[0]->object);
  EXPECT_EQ(events[2]->kind, WatchEvent::Kind::Deleted);
  EXPECT_EQ(events[2]->object->bytes, "gone@3;");
  handles.clear();
  ASSERT_TRUE(store->write(create(pod("z"))).ok());
  EXPECT_EQ(past.progress(), 4u) << "an ended watch is left alone";
}

// Wants the pods of one node.
class NodeSink final : public WatchSink {
 public:
  explicit NodeSink(std::string node) : node_(std::move(node)) {}
  void on_events(std::span<const WatchEventPtr> events, Revision) override {
    ++calls;
    for (const WatchEventPtr& event : events) heard.push_back(event->object->key.name);
  }
  MemberFilter filter() const override { return {"\"nodeName\":", "\"" + node_ + "\""}; }
  int calls = 0;
  std::vector<std::string> heard;

 private:
  const std::string node_;
};

TEST(Store, AFilteredWatchIsCalledForWhatConcernsItAlone) {
  std::unique_ptr<Store> store = opened({.synchronous = true});
  NodeSink one("n1"), two("n2"), quoted(R"(n\"1)");
  std::vector<std::unique_ptr<WatchHandle>> handles;
  for (NodeSink* sink : {&one, &two, &quoted}) handles.push_back(store->watch("pods", 0, *sink).value());
  const int calls_at_start = one.calls;
  const auto on = [](const std::string& node) { return R"({"spec":{"nodeName":")" + node + R"("}})"; };
  ASSERT_TRUE(store->write(create(pod("a"), on("n1"))).ok());
  ASSERT_TRUE(store->write(create(pod("b"), on("n11"))).ok());
  ASSERT_TRUE(store->write(create(pod("c"), on(R"(n\"1)"))).ok());
  ASSERT_TRUE(store->write(create(pod("d"), R"({"nodeName":1,"x":"nodeName\":\"n1\""})")).ok());
  ASSERT_TRUE(store->write(create(pod("e"), on("n1") + on("n2") + on("n1"))).ok());
  ASSERT_TRUE(store->write(update(pod("a"), 0, on("n2"))).ok());
  ASSERT_TRUE(store->write(create({"nodes", "", "n"}, on("n1"))).ok());
  EXPECT_EQ(one.heard, (Names{"a", "e", "a"})) << "also when an object leaves";
  EXPECT_EQ(two.heard, (Names{"e", "a"}));
  EXPECT_EQ(quoted.heard, Names{"c"});
  EXPECT_EQ(one.calls - calls_at_start, 3);
  for (const auto& handle : handles) EXPECT_EQ(handle->progress(), 7u);
  handles.erase(handles.begin());
  ASSERT_TRUE(store->write(create(pod("f"), on("n1"))).ok());
  EXPECT_EQ(one.heard.size(), 3u);
}

// Ends its own watch on the first event.
class LeavingSink final : public WatchSink {
 public:
  void on_events(std::span<const WatchEventPtr> events, Revision) override {
    seen += events.size();
    handle.reset();
  }
  std::unique_ptr<WatchHandle> handle;
  std::size_t seen = 0;
};

TEST(Store, ASinkMayEndItsOwnWatch) {
  std::unique_ptr<Store> store = opened({.synchronous = true});
  LeavingSink sink;
  ASSERT_TRUE(store->write(create(pod("before"))).ok());
  sink.handle = store->watch("pods", 1, sink).value();
  ASSERT_TRUE(store->write(create(pod("a"))).ok());
  ASSERT_TRUE(store->write(create(pod("b"))).ok());
  EXPECT_EQ(sink.seen, 1u);
}

TEST(Store, SurvivesAReopenWithItsRevision) {
  TemporaryDirectory directory;
  const StoreOptions options{.directory = directory.path() + "/new/place"};
  Judge judge;
  {
    std::unique_ptr<Store> store = opened(options);
    for (WriteRequest write : {create(pod("a")), create(pod("b")), update(pod("a")), remove(pod("b"))}) {
      judge.write(write);
      ASSERT_TRUE(store->write(std::move(write)).ok());
    }
  }
  std::unique_ptr<Store> store = opened(options);
  EXPECT_EQ(store->revision(), 4u) << "the delete was the newest, and leaves no object";
  EXPECT_EQ(store->oldest_watchable(), 4u);
  EXPECT_EQ(difference(*store, judge, {"pods"}), "");
  EXPECT_EQ(store->write(create(pod("c"))).value()->revision, 5u);
  struct stat facts{};
  ASSERT_EQ(stat((options.directory + "/berth.db").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 077u, 0u) << "only the owner may read what may be a Secret";
}

TEST(Store, RefusesADirectoryInUse) {
  TemporaryDirectory directory;
  std::unique_ptr<Store> store = opened({.directory = directory.path()});
  const auto second = open_store({.directory = directory.path()});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::Unavailable);
  EXPECT_NE(second.error().text().find("in use by another process"), std::string::npos)
      << second.error().text();
  store.reset();
  EXPECT_TRUE(open_store({.directory = directory.path()}).ok());
}

struct Foreign {
  const char* what;
  const char* statements;
  ErrorCode code;
  const char* sentence;
};

TEST(Store, RefusesFilesItDoesNotUnderstand) {
  const Foreign cases[] = {
      {"a newer schema", "PRAGMA user_version = 3", ErrorCode::Unsupported, "newer Berth (schema 3"},
      {"somebody else's", "PRAGMA application_id = 7", ErrorCode::Unsupported, "not one of Berth's"},
      {"twins", "INSERT INTO objects SELECT 2, 2, resource, ns, name, uid, bytes, NULL FROM objects",
       ErrorCode::Gone, "the checksum of the newest commit"},
      {"a revision that fell", "UPDATE state SET revision = 0", ErrorCode::Gone,
       "from version 1 to 3 are lost"},
  };
  for (const Foreign& one : cases) {
    SCOPED_TRACE(one.what);
    TemporaryDirectory directory;
    {
      std::unique_ptr<Store> store = opened({.directory = directory.path()});
      ASSERT_TRUE(store->write(create(pod("a"))).ok());
      ASSERT_TRUE(store->write(create(pod("b"))).ok());
      ASSERT_TRUE(store->write(remove(pod("b"))).ok());
    }
    run_sql(directory.path() + "/berth.db", one.statements);
    const auto store = open_store({.directory = directory.path()});
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code(), one.code);
    EXPECT_NE(store.error().text().find(one.sentence), std::string::npos) << store.error().text();
  }
}

TEST(Store, RefusesAFileThatIsNoDatabase) {
  TemporaryDirectory directory;
  std::ofstream(directory.path() + "/berth.db") << std::string(8'192, 'x');
  EXPECT_FALSE(open_store({.directory = directory.path()}).ok());
}

TEST(Store, ADiskThatFailsStopsWritesNotReads) {
  SimulatedDisk disk(1);
  std::unique_ptr<Store> store = opened({.directory = "store", .synchronous = true}, &disk);
  ASSERT_TRUE(store->write(create(pod("a"))).ok());
  disk.fail_operation(1);
  const WriteResult failed = store->write(create(pod("b")));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::Internal);
  EXPECT_NE(failed.error().text().find("failed on request"), std::string::npos) << failed.error().text();
  EXPECT_EQ(store->write(create(pod("c"))).error().code(), ErrorCode::Internal)
      << "the fault is over, trust is not";
  EXPECT_EQ(store->revision(), 1u);
  EXPECT_NE(store->get(pod("a")), nullptr);
  EXPECT_EQ(store->get(pod("b")), nullptr);
}

// Blocks the committer inside a callback until it is released.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_until_entered() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool entered_ = false;
  bool open_ = false;
};

TEST(Store, BoundsItsQueueAndDrainsItAtTheEnd) {
  constexpr std::size_t kQueueMax = 4;
  Gate gate;
  std::vector<std::optional<ErrorCode>> outcomes;
  {
    std::unique_ptr<Store> store = opened({.queue_writes_max = kQueueMax});
    store->submit(create(pod("first")), [&](const WriteResult&) { gate.wait(); });
    gate.wait_until_entered();
    for (std::size_t i = 0; i <= kQueueMax; ++i) {
      store->submit(create(pod(std::to_string(i))), [&](const WriteResult& result) {
        outcomes.push_back(result.ok() ? std::nullopt : std::optional(result.error().code()));
      });
    }
    ASSERT_EQ(outcomes.size(), 1u) << "only the one too many is answered at once";
    EXPECT_EQ(outcomes[0], ErrorCode::Unavailable);
    gate.open();
  }
  ASSERT_EQ(outcomes.size(), kQueueMax + 1);
  for (std::size_t i = 1; i < outcomes.size(); ++i) EXPECT_EQ(outcomes[i], std::nullopt);
}

TEST(Store, TakesWritesFromInsideACallbackInTurn) {
  std::unique_ptr<Store> store = opened({.synchronous = true});
  std::vector<Revision> order;
  store->submit(create(pod("a")), [&](const WriteResult& outer) {
    store->submit(create(pod("b")), [&](const WriteResult& inner) { order.push_back((*inner)->revision); });
    order.push_back((*outer)->revision);
  });
  EXPECT_EQ(order, (std::vector<Revision>{1, 2}));
}

// What the store says of each name now is what it finds when it is opened again.
TEST(Store, AFullDiskIsSaidAndPasses) {
  SimulatedDisk disk(1);
  std::unique_ptr<Store> store = opened({.directory = "store", .synchronous = true}, &disk);
  ASSERT_TRUE(store->write(create(pod("a"))).ok());
  disk.fill(true);
  for (const char* name : {"b", "c"}) {
    const WriteResult refused = store->write(create(pod(name), std::string(50'000, 'x')));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::Forbidden);
    EXPECT_EQ(refused.error().message(), kNoSpace);
    EXPECT_FALSE(store->health().ok());
    EXPECT_NE(store->get(pod("a")), nullptr) << "reads go on";
  }
  disk.fill(false);
  EXPECT_TRUE(store->write(create(pod("d"))).ok());
  EXPECT_TRUE(store->health().ok());
  const std::vector<std::string> before = names(*store->list({.resource = "pods"}));
  store.reset();
  store = opened({.directory = "store", .synchronous = true}, &disk);
  EXPECT_EQ(names(*store->list({.resource = "pods"})), before);
  EXPECT_EQ(before.front(), "default/a");
  EXPECT_EQ(before.back(), "default/d");
}

TEST(Store, WritesGoOnWithoutBeingAskedOnceThereIsRoom) {
  SimulatedDisk disk(1);
  std::unique_ptr<Store> store = opened({.directory = "store"}, &disk);
  disk.fill(true);
  EXPECT_FALSE(store->write(create(pod("a"), std::string(50'000, 'x'))).ok());
  EXPECT_FALSE(store->health().ok());
  disk.fill(false);
  constexpr int kLooksMax = 2'000;
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (int i = 0; i < kLooksMax && !store->health().ok(); ++i)
    never.wait_for(lock, std::chrono::milliseconds(10));
  EXPECT_TRUE(store->health().ok());
}

// A client of the earlier process then sees that its version is gone, not that it lies ahead.
TEST(Store, EveryStoreInMemoryBeginsAboveAnyEarlierOne) {
  Revision newest = 0;
  for (int start = 0; start < 3; ++start) {
    const auto store = open_store({}).value();
    EXPECT_GT(store->revision(), newest);
    EXPECT_EQ(store->oldest_watchable(), store->revision());
    for (int i = 0; i < 5; ++i) newest = store->write(create(pod(std::to_string(i)))).value()->revision;
  }
}

TEST(Store, ACursorReadsOneStateWhateverIsWritten) {
  const auto store = opened({.synchronous = true});
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(store->write(create(pod(name))).ok());
  EXPECT_TRUE(store->write(create(pod("x", "other"))).ok());
  ListQuery query;
  query.resource = "pods";
  query.ns = "default";
  const std::unique_ptr<Cursor> cursor = store->open_cursor(query).value();
  EXPECT_EQ(cursor->revision(), 4u);
  EXPECT_EQ(cursor->next()->key.name, "a");
  EXPECT_TRUE(store->write(remove(pod("b"))).ok());
  EXPECT_TRUE(store->write(update(pod("c"))).ok());
  EXPECT_TRUE(store->write(create(pod("d"))).ok());
  EXPECT_EQ(cursor->next()->key.name, "b");
  EXPECT_EQ(cursor->remaining(), 1u);
  EXPECT_EQ(cursor->next()->revision, 3u);
  EXPECT_EQ(cursor->next(), nullptr);
  cursor->rewind();
  EXPECT_EQ(cursor->remaining(), 3u);
  EXPECT_EQ(cursor->next()->key.name, "a");

  query.at = 4;
  query.after = pod("a");
  const std::unique_ptr<Cursor> earlier = store->open_cursor(query).value();
  EXPECT_EQ(earlier->remaining(), 2u) << "b is gone and d is new";
  EXPECT_EQ(earlier->next()->key.name, "b");
  EXPECT_EQ(earlier->next()->revision, 3u);
  EXPECT_EQ(earlier->next(), nullptr);
  earlier->rewind();
  EXPECT_EQ(earlier->next()->key.name, "b");
  query.at = 99;
  EXPECT_EQ(store->open_cursor(query).error().code(), ErrorCode::Invalid);
}

// A thousand updates of a large object were a thousand large objects.
TEST(Store, TheWindowIsBoundedInBytes) {
  const auto store = opened({.watch_window_bytes = 100'000, .synchronous = true});
  EXPECT_TRUE(store->write(create(pod("a"), std::string(20'000, 'x'))).ok());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(store->write(update(pod("a"), 0, std::string(20'000, 'y'))).ok());
  EXPECT_EQ(store->oldest_watchable(), 17u) << "four earlier versions fit";
  EXPECT_TRUE(store->write(update(pod("a"), 0, std::string(200'000, 'z'))).ok());
  EXPECT_TRUE(store->write(update(pod("a"))).ok());
  EXPECT_EQ(store->oldest_watchable(), 22u) << "the newest commit stays, whatever it weighs";
  EXPECT_EQ(store->events("pods", 22, 9)->events.size(), 1u);
}

TEST(Store, EventsAreReadInPages) {
  const auto store = opened({.watch_window_events = 4, .synchronous = true});
  for (const char* name : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(store->write(create(pod(name))).ok());
  EXPECT_EQ(store->events("pods", 0, 2).error().code(), ErrorCode::Gone);
  const EventPage first = store->events("pods", 1, 3).value();
  ASSERT_EQ(first.events.size(), 3u);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.through, 4u);
  const EventPage rest = store->events("", first.through, 3).value();
  ASSERT_EQ(rest.events.size(), 1u);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(store->events("nodes", 2, 3)->through, 5u);
  EXPECT_TRUE(store->events("pods", 99, 3)->events.empty()) << "the future is silent";
}

TEST(Together, WhatIsRefusedIsNotKept) {
  TemporaryDirectory directory;
  {
    const auto store = open_store({.directory = directory.path()}).value();
    ASSERT_TRUE(store->write(create(pod("before"))).ok());
    const Status done = store->together([&] {
      EXPECT_TRUE(store->write(create(pod("a"))).ok());
      EXPECT_NE(store->get(pod("a")), nullptr) << "what follows may build on it";
      return Status(Error(ErrorCode::Invalid, "the second manifest is wrong"));
    });
    EXPECT_EQ(done.error().message(), "the second manifest is wrong");
    EXPECT_FALSE(store->write(create(pod("b"))).ok()) << "what it shows is not what is stored";
  }
  const auto store = open_store({.directory = directory.path()}).value();
  EXPECT_EQ(store->count("pods"), 1u);
  EXPECT_TRUE(store
                  ->together([&] {
                    EXPECT_TRUE(store->write(create(pod("c"))).ok());
                    return Status();
                  })
                  .ok());
  EXPECT_TRUE(store->write(create(pod("d"))).ok());
  EXPECT_EQ(store->count("pods"), 3u);
}

}  // namespace
}  // namespace berth::store
