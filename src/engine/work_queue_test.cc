#include "engine/work_queue.h"

#include <gtest/gtest.h>

namespace berth::engine {
namespace {

constexpr Time kStart = Time::from_seconds(1000);

api::ObjectKey pod(const char* name) {
  return {api::Kind::Pod, "d", name, {}};
}

TEST(WorkQueue, AKeyWaitsOnceAndInOrder) {
  WorkQueue queue;
  for (const char* name : {"b", "a", "b"}) queue.add(0, pod(name));
  queue.add(1, pod("b"));
  EXPECT_EQ(queue.waiting(), 3u);
  EXPECT_EQ(queue.take()->first.key.name, "b");
  EXPECT_EQ(queue.take()->first.key.name, "a");
  EXPECT_EQ(queue.take()->first.reconciler, 1u);
  EXPECT_EQ(queue.take(), nullptr);
}

TEST(WorkQueue, ARunningKeyRunsAgainOnlyAfterItsEnd) {
  WorkQueue queue;
  queue.add(0, pod("a"));
  WorkQueue::Entry* entry = queue.take();
  queue.add(0, pod("a"));
  queue.add(0, pod("a"));
  EXPECT_FALSE(queue.ready());
  queue.done(entry, RunResult::Fine, std::nullopt, kStart);
  ASSERT_TRUE(queue.ready());
  queue.done(queue.take(), RunResult::Fine, std::nullopt, kStart);
  EXPECT_FALSE(queue.ready());
  EXPECT_EQ(queue.running(), 0u);
}

TEST(WorkQueue, AClearedQueueForgetsWhatDoesNotRun) {
  WorkQueue queue;
  for (const char* name : {"runs", "parked", "waits"}) queue.add(0, pod(name));
  WorkQueue::Entry* running = queue.take();
  queue.done(queue.take(), RunResult::Failed, std::nullopt, kStart);
  queue.add(0, pod("runs"));
  queue.clear();
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_FALSE(queue.ready() || queue.next_wake());
  queue.done(running, RunResult::Fine, std::nullopt, kStart);
  EXPECT_EQ(queue.size(), 0u);
  queue.add(0, pod("waits"));
  EXPECT_TRUE(queue.ready());
}

TEST(WorkQueue, FailuresWaitLongerEachTimeUpToTheCap) {
  WorkQueue queue;
  queue.add(0, pod("a"));
  Time now = kStart;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 14; ++i) {
    queue.done(queue.take(), RunResult::Failed, std::nullopt, now);
    waits.push_back((*queue.next_wake() - now).millis());
    now = *queue.next_wake();
    queue.wake_due(now - Duration::micros(1));
    EXPECT_FALSE(queue.ready());
    queue.wake_due(now);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480,
                                              30000, 30000}));
  queue.done(queue.take(), RunResult::Fine, std::nullopt, now);
  queue.add(0, pod("a"));
  queue.done(queue.take(), RunResult::Failed, std::nullopt, now);
  EXPECT_EQ((*queue.next_wake() - now).millis(), 10) << "a run that went well forgets the failures";
}

TEST(WorkQueue, AStaleRunRepeatsAtOnceTheFirstTime) {
  WorkQueue queue;
  queue.add(0, pod("a"));
  queue.done(queue.take(), RunResult::Stale, std::nullopt, kStart);
  ASSERT_TRUE(queue.ready());
  queue.done(queue.take(), RunResult::Stale, std::nullopt, kStart);
  EXPECT_FALSE(queue.ready());
  EXPECT_EQ((*queue.next_wake() - kStart).millis(), 10);
}

TEST(WorkQueue, TheEarlierOfDeadlineAndBackoffWins) {
  const Time soon = kStart + Duration::millis(3), late = kStart + Duration::seconds(9);
  WorkQueue queue;
  queue.add(0, pod("a"));
  queue.done(queue.take(), RunResult::Failed, soon, kStart);
  EXPECT_EQ(*queue.next_wake(), soon);
  queue.wake_due(soon);
  queue.done(queue.take(), RunResult::Fine, late, soon);
  EXPECT_EQ(*queue.next_wake(), late);
}

TEST(WorkQueue, ARunClearsTheDeadline) {
  WorkQueue queue;
  queue.add(0, pod("a"));
  queue.done(queue.take(), RunResult::Fine, kStart + Duration::seconds(5), kStart);
  queue.add(0, pod("a"));
  queue.done(queue.take(), RunResult::Fine, std::nullopt, kStart);
  EXPECT_FALSE(queue.next_wake().has_value());
}

TEST(WorkQueue, ADeadlineThatHasPassedRunsAtOnce) {
  WorkQueue queue;
  queue.add(0, pod("a"));
  queue.done(queue.take(), RunResult::Fine, kStart - Duration::seconds(5), kStart);
  EXPECT_TRUE(queue.ready());
}

}  // namespace
}  // namespace berth::engine
