#include "scheduling/queue/scheduling_queue.h"

#include <gtest/gtest.h>

#include "scheduling/keepers/decision_failures.h"

namespace berth::scheduling {
namespace {

constexpr Time kStart = Time::from_seconds(1'000);

EntityKey pod(const std::string& name) {
  return {"default", name, EntityKind::Pod};
}

std::vector<std::string> drain(SchedulingQueue& queue, Time now) {
  std::vector<std::string> names;
  while (auto entry = queue.pop(now)) names.push_back(entry->key.name);
  return names;
}

TEST(SchedulingQueue, GoesByPriorityThenAgeThenArrival) {
  SchedulingQueue queue;
  queue.add(pod("young"), 0, kStart + Duration::seconds(1));
  queue.add(pod("b"), 0, kStart);
  queue.add(pod("a"), 0, kStart);
  queue.add(pod("high"), 10, kStart + Duration::seconds(9));
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"high", "b", "a", "young"}));
}

TEST(SchedulingQueue, AnEntryThatWasGatedGoesByTheAgeThatItIsAddedWith) {
  SchedulingQueue queue;
  queue.gate(pod("gated"), 0, kStart);
  queue.add(pod("other"), 0, kStart + Duration::seconds(1));
  queue.add(pod("gated"), 0, kStart + Duration::seconds(2));
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"other", "gated"}));
}

TEST(SchedulingQueue, BackoffDoublesUpToTenSeconds) {
  const int seconds[] = {1, 2, 4, 8, 10, 10};
  for (std::uint32_t state = 1; state <= 6; ++state)
    EXPECT_EQ(backoff_after(state), Duration::seconds(seconds[state - 1]));
}

TEST(SchedulingQueue, AnErrorWaitsItsBackoffEvenWhenNothingElseIsActive) {
  SchedulingQueue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_after_error(*queue.pop(kStart), kStart);
  EXPECT_FALSE(queue.pop(kStart));
  EXPECT_EQ(queue.next_time(), kStart + Duration::seconds(1));
  EXPECT_TRUE(queue.pop(kStart + Duration::seconds(1)));
}

TEST(SchedulingQueue, AnEntryThatFailedAgainBacksOffAlsoAfterAGate) {
  SchedulingQueue queue;
  queue.gate(pod("a"), 0, kStart);
  queue.add_after_failures(pod("a"), 0, kStart, 2, kStart);
  EXPECT_FALSE(queue.pop(kStart + Duration::millis(1999)));
  queue.add_after_failures(pod("a"), 0, kStart, 2, kStart + Duration::seconds(1));
  EXPECT_TRUE(queue.pop(kStart + Duration::seconds(2))) << "the backoff does not begin again";
}

TEST(SchedulingQueue, WithinASecondOfCreationTheFirstToArriveGoesFirst) {
  SchedulingQueue queue;
  queue.gate(pod("z"), 0, kStart);
  queue.add(pod("b"), 0, kStart);
  queue.add(pod("a"), 0, kStart);
  queue.add(pod("older"), 0, kStart - Duration::seconds(1));
  queue.add(pod("z"), 0, kStart);
  std::string order;
  while (std::optional<QueuedEntity> entry = queue.pop(kStart)) {
    order += entry->key.name + " ";
    if (entry->attempts == 1 && entry->key.name == "b")
      queue.put_unschedulable(*entry, {{kEventAny}}, kStart);
  }
  EXPECT_EQ(order, "older z b a ");
  queue.add(pod("c"), 0, kStart);
  queue.wake(kEventAny, kStart);
  EXPECT_EQ(queue.pop(kStart + Duration::seconds(1))->key.name, "b") << "it keeps its place";
  EXPECT_TRUE(placement::queue_sort_less({pod("a"), 0, kStart}, {pod("b"), 0, kStart}))
      << "a plan knows no arrivals";
}

TEST(DecisionFailures, CountADecisionOnceAndAreForgotten) {
  DecisionFailures failures;
  EXPECT_EQ(failures.repeated(pod("a"), kStart), 0u);
  failures.note(pod("a"), "d1", "u", DecisionFailures::Kind::Silent, kStart);
  failures.note(pod("a"), "d1", "v", DecisionFailures::Kind::Silent, kStart);
  EXPECT_EQ(failures.repeated(pod("a"), kStart), 0u) << "another place may do";
  failures.note(pod("a"), "d2", "u", DecisionFailures::Kind::Silent, kStart);
  failures.note(pod("a"), "d3", "u", DecisionFailures::Kind::Silent, kStart);
  EXPECT_EQ(failures.repeated(pod("a"), kStart), 2u);
  EXPECT_EQ(failures.repeated(pod("b"), kStart), 0u);
  EXPECT_EQ(failures.repeated(pod("a"), kStart + kFailuresForgotten), 0u);
  failures.note(pod("a"), "d4", "u", DecisionFailures::Kind::Silent, kStart + kFailuresForgotten);
  EXPECT_EQ(failures.repeated(pod("a"), kStart + kFailuresForgotten), 0u) << "it begins anew";
  failures.note(pod("a"), "d5", "u", DecisionFailures::Kind::Silent, kStart + kFailuresForgotten);
  failures.forget(pod("a"));
  EXPECT_EQ(failures.repeated(pod("a"), kStart + kFailuresForgotten), 0u);
}

TEST(DecisionFailures, AReportedFailureBacksOffAtOnce) {
  DecisionFailures failures;
  failures.note(pod("a"), "d1", "u", DecisionFailures::Kind::Told, kStart);
  EXPECT_EQ(failures.repeated(pod("a"), kStart), 1u);
  failures.note(pod("a"), "d1", "v", DecisionFailures::Kind::Told, kStart);
  EXPECT_EQ(failures.repeated(pod("a"), kStart), 1u) << "two members of one decision";
  failures.note(pod("b"), "d2", "u", DecisionFailures::Kind::Silent, kStart);
  failures.note(pod("b"), "d2", "v", DecisionFailures::Kind::Told, kStart);
  EXPECT_EQ(failures.repeated(pod("b"), kStart), 1u);
}

// The others wait at the barrier: their decision is joined again and again.
TEST(DecisionFailures, AMemberThatFailsAgainInOneDecisionCountsAgain) {
  DecisionFailures failures;
  for (const std::uint32_t repeated : {0u, 1u, 2u}) {
    for (const char* uid : {"u", "v"})
      failures.note(pod("a"), "d1", uid, DecisionFailures::Kind::Silent, kStart);
    EXPECT_EQ(failures.repeated(pod("a"), kStart), repeated);
  }
}

TEST(SchedulingQueue, OnlyAHintedEventWakesAnUnschedulableEntry) {
  SchedulingQueue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), {{kEventPodGone}}, kStart);
  queue.wake(kEventNodeAdded, kStart);
  EXPECT_FALSE(queue.pop(kStart));
  queue.wake(kEventPodGone, kStart);
  const auto woken = queue.pop(kStart);
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->attempts, 2u);
}

TEST(SchedulingQueue, AWokenEntryInBackoffLetsActiveOnesGoFirst) {
  SchedulingQueue queue;
  queue.add(pod("old"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), {{kEventAny}}, kStart);
  queue.wake(kEventNodeAdded, kStart);
  queue.add(pod("new"), 0, kStart + Duration::seconds(5));
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"new", "old"}));
}

TEST(SchedulingQueue, SweepsAfterFiveMinutes) {
  SchedulingQueue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), {{kEventNever}}, kStart);
  EXPECT_EQ(queue.next_time(), kStart + kUnschedulableMax);
  EXPECT_FALSE(queue.pop(kStart + kUnschedulableMax - Duration::micros(1)));
  EXPECT_TRUE(queue.pop(kStart + kUnschedulableMax));
}

TEST(SchedulingQueue, AGateHoldsUntilItIsAddedAgain) {
  SchedulingQueue queue;
  queue.gate(pod("a"), 0, kStart);
  queue.wake(kEventAny, kStart);
  EXPECT_FALSE(queue.pop(kStart + Duration::minutes(60)));
  EXPECT_EQ(queue.gated_count(), 1u);
  EXPECT_FALSE(queue.next_time());
  queue.add(pod("a"), 0, kStart);
  EXPECT_TRUE(queue.pop(kStart));
}

TEST(SchedulingQueue, ANewPriorityMovesAWaitingEntry) {
  SchedulingQueue queue;
  queue.add(pod("a"), 0, kStart);
  queue.add(pod("b"), 1, kStart);
  queue.add(pod("a"), 2, kStart);
  EXPECT_EQ(drain(queue, kStart), (std::vector<std::string>{"a", "b"}));
}

// The row of equal entries is tried by its first one, and by the next only once that one is placed.
TEST(SchedulingQueue, OfEqualEntriesOneIsTriedAtATime) {
  SchedulingQueue queue;
  const placement::WaitsFor equal{{kEventPodGone}, "equal"};
  for (const char* name : {"a", "b", "c"}) {
    queue.add(pod(name), 0, kStart);
    queue.put_unschedulable(*queue.pop(kStart), equal, kStart);
  }
  const Time later = kStart + Duration::seconds(5);
  queue.wake(kEventPodGone, later);
  EXPECT_EQ(queue.pop(later)->key.name, "a") << "and is placed";
  const auto second = queue.pop(later);
  EXPECT_EQ(second->key.name, "b");
  queue.put_unschedulable(*second, equal, later);
  EXPECT_FALSE(queue.pop(later)) << "b answered for c";
  queue.wake(kEventPodGone, later);
  queue.erase(pod("c"));
  EXPECT_EQ(queue.pop(later)->key.name, "b") << "the head that is gone has a follower";
}

TEST(SchedulingQueue, AKeyNeedsAllItsFacts) {
  SchedulingQueue queue;
  placement::WaitsFor two;
  two.hints.add(kEventPodGone, {{1, 2}, {2, 3}});
  queue.add(pod("a"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), two, kStart);
  placement::ChangeFacts facts;
  facts.add(1, 2);
  facts.add(2, 2);
  queue.wake(kEventPodGone, facts, kStart);
  EXPECT_FALSE(queue.pop(kStart));
  facts.add(2, 3);
  queue.wake(kEventPodGone, facts, kStart);
  EXPECT_TRUE(queue.pop(kStart));
}

// What is swept after a change may have been woken by it.
TEST(SchedulingQueue, AnEntryIsSweptIfNothingChangedSince) {
  for (const bool changes : {false, true}) {
    SchedulingQueue queue;
    queue.add(pod("waits"), 0, kStart);
    queue.put_unschedulable(*queue.pop(kStart), {{kEventPodGone}}, kStart);
    const Time late = kStart + kUnschedulableMax + kSweepDelayMax;
    queue.add(pod("first"), 1, kStart);
    EXPECT_FALSE(queue.pop(late)->swept);
    if (changes) queue.wake(kEventNodeAdded, late);
    const auto swept = queue.pop(late);
    EXPECT_EQ(swept->key.name, "waits");
    EXPECT_EQ(swept->swept, !changes);
    queue.put_unschedulable(*swept, {{kEventPodGone}}, late);
    queue.wake(kEventPodGone, late);
    EXPECT_FALSE(queue.pop(late + kBackoffMax)->swept);
  }
}

// b waits for the answer of a, which was woken and is in its backoff.
TEST(SchedulingQueue, AnEntryWhoseRowIsTriedIsNotSwept) {
  SchedulingQueue queue({kUnschedulableMax * 2, kUnschedulableMax * 2});
  for (const char* name : {"a", "b"}) {
    queue.add(pod(name), 0, kStart);
    queue.put_unschedulable(*queue.pop(kStart), {{kEventPodGone}, "equal"}, kStart);
  }
  queue.wake(kEventPodGone, kStart);
  queue.add(pod("first"), 1, kStart);
  EXPECT_EQ(queue.pop(kStart + kUnschedulableMax + kSweepDelayMax)->key.name, "first");
  while (const auto entry = queue.pop(kStart + kUnschedulableMax * 4))
    EXPECT_FALSE(entry->swept) << entry->key.name;
}

TEST(QueueFigures, NameQueuesAndEventsAsKubeSchedulerDoes) {
  SchedulingQueue queue;
  queue.add(pod("a"), 0, kStart);
  queue.put_unschedulable(*queue.pop(kStart), {{kEventPodGone}}, kStart);
  queue.wake(kEventPodGone, kStart + kBackoffMax);
  queue.put_unschedulable(*queue.pop(kStart + kBackoffMax), {{kEventNodeAdded}}, kStart + kBackoffMax);
  queue.wake(kEventNodeAdded, kStart + kBackoffMax);
  queue.pop(kStart + kBackoffMax * 2);
  queue.gate(pod("b"), 0, kStart);
  MetricsText text;
  queue.figures().write_metrics(text);
  const std::string written = text.take();
  for (const char* line :
       {R"({queue="active",event="UnscheduledPodAdd"} 1)", R"({queue="active",event="BackoffComplete"} 1)",
        R"({queue="active",event="AssignedPodDelete"} 1)", R"({queue="backoff",event="NodeAdd"} 1)",
        R"({queue="unschedulable",event="ScheduleAttemptFailure"} 2)",
        R"({queue="gated",event="UnscheduledPodAdd"} 1)"})
    EXPECT_NE(written.find(std::string("scheduler_queue_incoming_pods_total") + line), std::string::npos)
        << line << "\n"
        << written;
}

TEST(QueueFigures, NameWhatChangedOfANode) {
  SchedulingQueue queue;
  const std::pair<std::uint32_t, const char*> changes[] = {
      {kEventNodeGone, "NodeDelete"},
      {kEventNodeAllocatable, "NodeUpdateNodeAllocatable"},
      {kEventNodeLabels, "NodeUpdateNodeLabel"},
      {kEventNodeTaints, "NodeUpdateNodeTaint"},
      {kEventNodeFeatures, "NodeUpdateNodeDeclaredFeature"},
      {kEventPodResized, "AssignedPodUpdatePodScaleDown"}};
  for (const auto& [event, name] : changes) {
    queue.add(pod(name), 0, kStart);
    queue.put_unschedulable(*queue.pop(kStart), {{kEventNodeChanged | kEventPodResized}}, kStart);
    queue.wake(event, kStart + kBackoffMax);
    queue.erase(pod(name));
  }
  MetricsText text;
  queue.figures().write_metrics(text);
  const std::string written = text.take();
  for (const auto& [event, name] : changes)
    EXPECT_NE(written.find(R"({queue="active",event=")" + std::string(name) + "\"} 1"), std::string::npos)
        << name;
}

}  // namespace
}  // namespace berth::scheduling
