// Writes besides decisions are derived from live objects until the view shows them.
#include <gtest/gtest.h>

#include "api/types/decision_id.h"
#include "scheduling/test_bench.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

const api::ObjectKey kPod{api::Kind::Pod, "default", "p", {}};

WantedCondition wanted(const std::string& message, const std::string& reason = "Unschedulable") {
  return {kPod, "uid-p", {"PodScheduled", "False", reason, message, {}, 0}, wording_class(message)};
}

class Conditions : public testing::Test {
 protected:
  Conditions() { bench_.put_pod({"p"}); }

  // Whether a write is due; it is carried out if `ok`.
  bool written(bool ok = true) {
    const client::Effects effects = updater_.due(bench_.view, bench_.now);
    if (effects.chains.empty()) return false;
    if (ok) bench_.carry_out(effects);
    updater_.write_done(kPod, ok, bench_.now);
    return true;
  }
  void want(const std::string& message, const std::string& reason = "Unschedulable") {
    updater_.want(bench_.view, wanted(message, reason), bench_.now);
  }
  void pass(Duration time) { bench_.now = bench_.now + time; }

  TestBench bench_;
  ConditionUpdater updater_;
};

TEST_F(Conditions, AreWrittenAgainUntilTheViewShowsThem) {
  want("no room");
  EXPECT_TRUE(written(false));
  EXPECT_FALSE(written()) << "not without a pause";
  pass(kConditionRetryFirst);
  EXPECT_TRUE(written(false));
  pass(kConditionRetryMax);
  EXPECT_TRUE(written());
  pass(kConditionRetryMax);
  EXPECT_FALSE(written());
  EXPECT_EQ(bench_.message_of("p"), "no room");
}

TEST_F(Conditions, ThatChangeAgainAndAgainAreWrittenAFewTimesAWindow) {
  std::uint32_t writes = 0;
  for (int i = 0; i < 9; ++i) {
    want(i % 2 == 0 ? "no room" : "waits for a victim", i % 2 == 0 ? "Unschedulable" : "SchedulerError");
    writes += written() ? 1 : 0;
    pass(Duration::seconds(1));
  }
  EXPECT_EQ(writes, kRefusalsAtOnceMax);
  pass(Duration::seconds(1));
  EXPECT_TRUE(written()) << "the last one is not lost";
  EXPECT_EQ(bench_.message_of("p"), "no room");
}

TEST_F(Conditions, AreRewordedRarelyWhenOnlyNumbersChanged) {
  want("0/4 nodes are available: 4 Insufficient cpu");
  EXPECT_TRUE(written());
  want("0/5 nodes are available: 5 Insufficient cpu");
  EXPECT_FALSE(written());
  pass(kRewordAfter - Duration::seconds(1));
  want("0/6 nodes are available: 6 Insufficient cpu");
  EXPECT_FALSE(written()) << "a later number does not put it off";
  pass(Duration::seconds(1));
  EXPECT_TRUE(written());
  EXPECT_EQ(bench_.message_of("p"), "0/6 nodes are available: 6 Insufficient cpu");
  want("0/6 nodes are available: 6 Insufficient memory");
  EXPECT_TRUE(written()) << "another matter goes out at once";
  want("0/6 nodes are available: 6 Insufficient memory", "SchedulerError");
  EXPECT_TRUE(written());
}

// The condition keeps its sentence; only the event's own words change.
TEST_F(Conditions, AnEventGoesOutAloneWhenOnlyItsWordsChanged) {
  const auto want_event = [this](ConditionUpdater& updater, const std::string& words) {
    WantedCondition one = wanted("no room");
    one.event = failed_scheduling(*bench_.view.pods.find("default", "p"), "no room " + words, "d");
    updater.want(bench_.view, std::move(one), bench_.now);
  };
  const auto told = [this](ConditionUpdater& updater) {
    const client::Effects effects = updater.due(bench_.view, bench_.now);
    EXPECT_TRUE(effects.chains.empty());
    return effects.events.empty() ? "" : effects.events.front().message;
  };
  want_event(updater_, "at all");
  ASSERT_TRUE(written());
  want_event(updater_, "for 2");
  EXPECT_EQ(told(updater_), "") << "not without a pause";
  pass(kRewordAfter);
  EXPECT_EQ(told(updater_), "no room for 2");
  want_event(updater_, "for 2");
  pass(kRewordAfter);
  EXPECT_EQ(told(updater_), "") << "once";

  ConditionUpdater restarted;
  want_event(restarted, "for 3");
  EXPECT_EQ(told(restarted), "no room for 3") << "what was told before is not known";
}

TEST_F(Conditions, OfAPodThatIsGoneAreForgotten) {
  want("no room");
  bench_.erase(api::Kind::Pod, "p");
  EXPECT_FALSE(written());
  EXPECT_EQ(updater_.size(), 0u);
}

TEST(WordingClass, IgnoresNumbersAndTheOrderOfParts) {
  EXPECT_EQ(wording_class("1 Insufficient cpu, 3 node(s) were unschedulable"),
            wording_class("12 node(s) were unschedulable, 4 Insufficient cpu"));
  EXPECT_EQ(wording_class("0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods. preemption: none"),
            wording_class("0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu. preemption: none"))
      << "counts decide the order of the reasons";
  EXPECT_NE(wording_class("1 Insufficient cpu"), wording_class("1 Insufficient memory"));
}

EntityKey pod_entry(const std::string& name) {
  return {"default", name, EntityKind::Pod};
}

QueuedEntity queued(const std::string& name, std::int32_t priority, int age = 0) {
  return {pod_entry(name), priority, Time::from_seconds(1000 - age), 0};
}

model::Hold hold_on_node_three() {
  return {10, {{{model::NodeId(3), model::ResourceAmounts{{model::kCpu, 500}}, nullptr, {}}, {}}}, {}};
}

std::optional<EntityKey> starving(const OvertakingGuard& guard, Time now) {
  const std::optional<QueuedEntity> entry = guard.starving(now);
  return entry ? std::optional(entry->key) : std::nullopt;
}

TEST(OvertakingGuard, ReservesForAnEntryThatIsOvertakenTooLong) {
  model::Ledger ledger;
  const Duration limit = Duration::seconds(20);
  const Time start = Time::from_seconds(1000);
  OvertakingGuard guard(limit);
  guard.refused(queued("high", 10));
  guard.placed(queued("older", 10, 5), start);
  guard.placed(queued("higher", 11), start);
  EXPECT_FALSE(guard.starving(start + limit * 2)) << "those before it do not overtake it";
  guard.placed(queued("low", 0), start);
  EXPECT_FALSE(guard.starving(start + limit - Duration::seconds(1)));
  ASSERT_EQ(starving(guard, start + limit), pod_entry("high"));
  guard.keep(pod_entry("high"), {ledger, hold_on_node_three()}, {}, start + limit);
  const auto in_use = [&] { return model::amount_in(ledger.node(model::NodeId(3)).requested, model::kCpu); };
  EXPECT_EQ(in_use(), 500);
  EXPECT_FALSE(guard.expire(start + limit));
  EXPECT_TRUE(guard.forget(pod_entry("high")));
  EXPECT_EQ(in_use(), 0);
  EXPECT_FALSE(guard.forget(pod_entry("high")));
}

TEST(OvertakingGuard, AYoungerEqualOvertakesAndTheReservationIsOpenToOlderOnes) {
  model::Ledger ledger;
  const Duration limit = Duration::seconds(20);
  const Time start = Time::from_seconds(1000);
  OvertakingGuard guard(limit);
  guard.refused(queued("large", 10, 60));
  guard.placed(queued("small", 10), start);
  ASSERT_EQ(starving(guard, start + limit), pod_entry("large"));
  EXPECT_TRUE(guard.overtaken_by_equals(pod_entry("large")));
  guard.keep(pod_entry("large"), {ledger, hold_on_node_three()}, {}, start + limit);
  EXPECT_TRUE(guard.open_to(queued("large", 10, 60)));
  EXPECT_TRUE(guard.open_to(queued("older", 10, 61)));
  EXPECT_FALSE(guard.open_to(queued("younger", 10, 59)));
}

TEST(OvertakingGuard, AfterASearchInVainTheNextOneComesLater) {
  const Duration limit = Duration::seconds(20);
  const Time start = Time::from_seconds(1000);
  OvertakingGuard guard(limit);
  for (const char* name : {"first", "second"}) guard.refused(queued(name, 10));
  guard.placed(queued("low", 0), start - limit);
  guard.give_up(pod_entry("first"), start);
  EXPECT_FALSE(guard.starving(start));
  EXPECT_EQ(guard.next_time(), start + kSearchPause);
  EXPECT_EQ(starving(guard, start + kSearchPause), pod_entry("second"));
}

TEST(OvertakingGuard, AReservationLastsWhilePodsLeaveIt) {
  model::Ledger ledger;
  const Duration limit = Duration::seconds(20);
  const Time start = Time::from_seconds(1000);
  OvertakingGuard guard(limit);
  guard.refused(queued("high", 10));
  guard.placed(queued("low", 0), start - limit);
  guard.keep(pod_entry("high"), {ledger, hold_on_node_three()}, {}, start);
  const Duration step = kKeptStillMax - Duration::seconds(1);
  for (Time now = start + step; now < start + kKeptMax; now = now + step) {
    EXPECT_FALSE(guard.expire(now));
    guard.freed(model::NodeId(3), now);
  }
  EXPECT_FALSE(guard.expire(start + kKeptMax - Duration::millis(1)));
  EXPECT_TRUE(guard.expire(start + kKeptMax)) << "not for ever";
}

TEST(OvertakingGuard, AReservationWithAKnownBeginLastsUntilThenAndMakesWayForAHigherPriority) {
  model::Ledger ledger;
  const Duration limit = Duration::seconds(20);
  const Time start = Time::from_seconds(1000), free_at = start + Duration::minutes(60);
  OvertakingGuard guard(limit);
  guard.refused(queued("first", 10));
  guard.refused(queued("same", 10));
  guard.refused(queued("high", 20));
  guard.placed(queued("low", 0), start - limit);
  guard.keep(pod_entry("first"), {ledger, hold_on_node_three()}, free_at, start);
  ASSERT_TRUE(guard.later_use());
  EXPECT_EQ(guard.later_use()->from, free_at);
  EXPECT_FALSE(guard.expire(free_at + kKeptStillMax - Duration::millis(1)));
  EXPECT_EQ(starving(guard, start), pod_entry("high"));
  guard.forget(pod_entry("high"));
  EXPECT_FALSE(guard.starving(start)) << "one of the same priority waits for its turn";
  EXPECT_TRUE(guard.expire(free_at + kKeptStillMax));
  EXPECT_FALSE(guard.later_use());
}

TEST(OvertakingGuard, AKnownBeginIsBounded) {
  model::Ledger ledger;
  const Time start = Time::from_seconds(1000);
  OvertakingGuard guard(Duration::seconds(20));
  guard.refused(queued("first", 10));
  guard.keep(pod_entry("first"), {ledger, hold_on_node_three()}, start + kUsedFromMax * 2, start);
  EXPECT_EQ(guard.later_use()->from, start + kUsedFromMax);
}

TEST(OvertakingGuard, AnIdleReservationEndsAndTheNextComesLater) {
  model::Ledger ledger;
  const Duration limit = Duration::seconds(20);
  const Time start = Time::from_seconds(1000), over = start + kKeptStillMax;
  OvertakingGuard guard(limit);
  for (const char* name : {"first", "second"}) guard.refused(queued(name, 10));
  guard.placed(queued("low", 0), start - limit);
  guard.keep(pod_entry("first"), {ledger, hold_on_node_three()}, {}, start);
  guard.freed(model::NodeId(4), start + limit);
  EXPECT_FALSE(guard.expire(over - Duration::millis(1)));
  EXPECT_TRUE(guard.expire(over)) << "what is freed elsewhere does not count";
  EXPECT_FALSE(guard.starving(over)) << "first whoever fits is placed";
  EXPECT_EQ(starving(guard, over + limit), pod_entry("second"));
  guard.forget(pod_entry("second"));
  guard.placed(queued("low", 0), over);
  EXPECT_FALSE(guard.starving(over + limit)) << "twice as long as the first time";
  EXPECT_EQ(starving(guard, over + limit * 2), pod_entry("first"));
  ASSERT_EQ(guard.in_vain_nodes(pod_entry("first")).size(), 1u);
  EXPECT_EQ(guard.in_vain_nodes(pod_entry("first")).front(), model::NodeId(3)) << "other nodes first";
  guard.forget(pod_entry("first"));
  EXPECT_TRUE(guard.in_vain_nodes(pod_entry("first")).empty());
}

void put_request(TestBench& bench, const std::string& pod, const std::string& decision,
                 const std::string& more) {
  bench.put(api::Kind::BindRequest, R"({"metadata":{"name":")" + api::bind_request_name(pod, "uid-" + pod) +
                                        R"(","namespace":"default","uid":"uid-br-)" + pod +
                                        R"("},"spec":{"podName":")" + pod + R"(","podUID":"uid-)" + pod +
                                        R"(","selectedNode":"n1","decisionID":")" + decision + "\"" + more +
                                        "}}");
}

// A storm showed it: the pod was deleted, its BindRequest collected, and the view of pods lagged by 30 s.
TEST(Terms, ARequestDeletedBeforeItsPodCausesABackoff) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"p"});
  const auto lose_request = [&] {
    const auto requests = bench.view.bind_requests_of_pod("default", "p");
    ASSERT_EQ(requests.size(), 1u);
    bench.erase(api::Kind::BindRequest, requests.front()->meta.name);
  };
  bench.run();
  lose_request();
  bench.run();
  lose_request();
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "") << "once at once, for it may have been deleted; then with backoff";
  bench.now = bench.now + Duration::seconds(2);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Terms, ADecisionOfAnEarlierTermThatLandsLateIsWithdrawn) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"before"});
  bench.put_pod({"late"});
  put_request(bench, "before", "d1", R"(,"epoch":1)");
  bench.scheduler.begin_leading(bench.view, {2}, bench.now);
  const auto withdrawn = [&](const std::string& pod) {
    return bench.view.bind_requests_of_pod("default", pod).front()->withdrawn;
  };
  bench.decide();
  put_request(bench, "late", "d2", R"(,"epoch":1)");
  bench.run();
  EXPECT_TRUE(withdrawn("late"));
  EXPECT_FALSE(withdrawn("before")) << "it was listed when the term began";
}

TEST(Terms, WithoutALeaseADecisionOfAnEarlierProcessThatLandsLateIsWithdrawn) {
  SchedulerOptions options;
  options.process = "2";
  TestBench bench(std::move(options));
  bench.put_node({"n1"});
  bench.put_pod({"own"});
  bench.scheduler.begin_leading(bench.view, {}, bench.now);
  bench.run();
  for (const char* pod : {"late", "by-hand"}) bench.put_pod({pod});
  put_request(bench, "late", "d2@1", "");
  put_request(bench, "by-hand", "mine", "");
  bench.run();
  const auto request = [&](const std::string& pod) {
    return bench.view.bind_requests_of_pod("default", pod).front();
  };
  EXPECT_TRUE(request("late")->withdrawn);
  EXPECT_FALSE(request("by-hand")->withdrawn);
  EXPECT_EQ(api::process_of(request("own")->decision_id), "2");
}

TEST(Terms, AGangWhoseRequestsWereNeverAllWrittenIsWithdrawn) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_group("g", 2);
  bench.put_pod({"a", "1", "g"});
  bench.put_pod({"b", "1", "g"});
  put_request(bench, "a", "d1", R"(,"group":{"name":"g","uid":"uid-group-g","size":2})");
  bench.run();
  EXPECT_TRUE(bench.view.bind_requests_of_pod("default", "a").front()->withdrawn);
  EXPECT_EQ(bench.node_of("b"), "") << "one decision a group at a time";
}

}  // namespace
}  // namespace berth::scheduling
