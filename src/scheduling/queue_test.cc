#include "scheduling/queue.h"

#include <gtest/gtest.h>

namespace berth::scheduling {
namespace {

constexpr Time kStart = Time::from_seconds(1'000);

EntryKey pod(const std::string& name) {
  return {"default", name, EntryKind::Pod};
}

std::vector<std::string> drain(Queue& queue, Time now) {
  std::vector<std::string> names;
  while (auto entry = queue.pop(now)) names.push_back(entry->key.name);
  return names;
}

TEST(Queue, GoesByPriorityThenAgeThenName) {
  Queue queue;
  queue.add(pod("young"), 0, kStart + Duration::seconds(1));
  queue.add(pod("b"), 0, kStart);
  queue.add(pod("a"), 0, kStart);
  queue.add(pod("high"), 10, kStart + Duration::seconds(9));
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"high", "a", "b", "young"}));
}

TEST(Queue, AnEntryThatWasGatedGoesByTheAgeThatItIsAddedWith) {
  Queue queue;
  queue.gate(pod("gated"), 0, kStart);
  queue.add(pod("other"), 0, kStart + Duration::seconds(1));
  queue.add(pod("gated"), 0, kStart + Duration::seconds(2));
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"other", "gated"}));
}

TEST(Queue, BackoffDoublesUpToTenSeconds) {
  const int seconds[] = {1, 2, 4, 8, 10, 10};
  for (std::uint32_t attempt = 1; attempt <= 6; ++attempt)
    EXPECT_EQ(backoff_after(attempt), Duration::seconds(seconds[attempt - 1]));
}

TEST(Queue, AnErrorWaitsItsBackoffEvenWhenNothingElseIsActive) {
  Queue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_after_error(*queue.pop(kStart), kStart);
  EXPECT_FALSE(queue.pop(kStart));
  EXPECT_EQ(queue.next_time(), kStart + Duration::seconds(1));
  EXPECT_TRUE(queue.pop(kStart + Duration::seconds(1)));
}

TEST(Queue, OnlyAHintedEventWakesAnUnschedulableEntry) {
  Queue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), kWakePodGone, kStart);
  queue.wake(kWakeNodeAdded, kStart);
  EXPECT_FALSE(queue.pop(kStart));
  queue.wake(kWakePodGone, kStart);
  const auto woken = queue.pop(kStart);
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->attempts, 2u);
}

TEST(Queue, AWokenEntryInBackoffLetsActiveOnesGoFirst) {
  Queue queue;
  queue.add(pod("old"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), kWakeAny, kStart);
  queue.wake(kWakeNodeAdded, kStart);
  queue.add(pod("new"), 0, kStart + Duration::seconds(5));
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"new", "old"}));
}

TEST(Queue, SweepsAfterFiveMinutes) {
  Queue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), kWakeNever, kStart);
  EXPECT_EQ(queue.next_time(), kStart + kUnschedulableMax);
  EXPECT_FALSE(queue.pop(kStart + kUnschedulableMax - Duration::micros(1)));
  EXPECT_TRUE(queue.pop(kStart + kUnschedulableMax));
}

TEST(Queue, AGateHoldsUntilItIsAddedAgain) {
  Queue queue;
  queue.gate(pod("a"), 0, kStart);
  queue.wake(kWakeAny, kStart);
  EXPECT_FALSE(queue.pop(kStart + Duration::minutes(60)));
  EXPECT_EQ(queue.gated_count(), 1u);
  EXPECT_FALSE(queue.next_time());
  queue.add(pod("a"), 0, kStart);
  EXPECT_TRUE(queue.pop(kStart));
}

TEST(Queue, ANewPriorityMovesAWaitingEntry) {
  Queue queue;
  queue.add(pod("a"), 0, kStart);
  queue.add(pod("b"), 1, kStart);
  queue.add(pod("a"), 2, kStart);
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace berth::scheduling
