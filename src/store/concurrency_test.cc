// Writers, readers, lists and watches at the same time. Small enough for the thread sanitizer, which is its
// point.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/simulated_disk.h"
#include "store/test_tools.h"

namespace berth::store {
namespace {

constexpr int kWriters = 4;
constexpr int kWritesEach = 300;
constexpr std::size_t kWindowEvents = 200;

// Creates, updates and deletes its own objects; checks that it reads what it wrote.
void write_and_read(Store& store, int writer) {
  for (int i = 0; i < kWritesEach; ++i) {
    const Key key = pod("w" + std::to_string(writer) + "-" + std::to_string(i % 40));
    const ObjectPtr before = store.get(key);
    Write write = before ? update(key, before->revision) : create(key);
    if (before && i % 7 == 0) write = remove(key, before->revision);
    const bool removes = write.kind == Write::Kind::Delete;
    const WriteResult result = store.write(std::move(write));
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_EQ(store.get(key), removes ? nullptr : *result);
    EXPECT_GE(store.revision(), (*result)->revision);
  }
}

void list_until(const Store& store, const std::atomic<bool>& done) {
  while (!done) {
    const ListPage page = store.list({.resource = "pods"}).value();
    for (std::size_t i = 1; i < page.objects.size(); ++i)
      ASSERT_LT(page.objects[i - 1]->key.name, page.objects[i]->key.name);
    for (const ObjectPtr& object : page.objects) ASSERT_LE(object->revision, page.revision);
    const Result<ListPage> old = store.list({.resource = "pods", .at = page.revision, .limit = 10});
    if (!old.ok()) {
      ASSERT_EQ(old.error().code(), ErrorCode::Gone);
      continue;
    }
    for (std::size_t i = 0; i < old->objects.size(); ++i) ASSERT_EQ(old->objects[i], page.objects[i]);
  }
}

void watch_until(Store& store, const std::atomic<bool>& done) {
  while (!done) {
    RememberingSink sink;
    const auto handle = store.watch("pods", store.oldest_watchable(), sink);
    if (!handle.ok()) {
      ASSERT_EQ(handle.error().code(), ErrorCode::Gone);
    } else {
      std::this_thread::yield();
    }
  }
}

void run_everything(Store& store) {
  RememberingSink everything;
  const auto handle = store.watch("", 0, everything).value();
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  others.emplace_back([&] { list_until(store, done); });
  others.emplace_back([&] { watch_until(store, done); });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer)
    writers.emplace_back([&store, writer] { write_and_read(store, writer); });
  for (std::thread& thread : writers) thread.join();
  done = true;
  for (std::thread& thread : others) thread.join();
  EXPECT_EQ(store.revision(), static_cast<Revision>(kWriters * kWritesEach));
  EXPECT_EQ(everything.events().size(), static_cast<std::size_t>(kWriters * kWritesEach));
}

TEST(StoreConcurrency, EverythingAtOnceInMemory) {
  auto store = open_store({.watch_window_events = kWindowEvents, .first_revision = 0}).value();
  run_everything(*store);
}

TEST(StoreConcurrency, EverythingAtOnceDurably) {
  SimulatedDisk disk(3);
  auto store =
      open_store({.directory = "store", .watch_window_events = kWindowEvents, .log_bytes_max = 65'536}, &disk)
          .value();
  run_everything(*store);
}

}  // namespace
}  // namespace berth::store
