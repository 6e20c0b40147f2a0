#include "engine/event_recorder.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/testing/fake_api.h"

namespace berth::engine {
namespace {

std::vector<Message> drained(Mailbox& mailbox) {
  std::vector<Message> messages;
  mailbox.drain(messages);
  return messages;
}

const api::ResourceRef kEvents{"", "v1", "events"};

struct Desk {
  ManualClock clock{Time::from_seconds(1800000000)};
  testing::FakeApi api{clock};
  std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>();
  EventRecorder recorder{api, mailbox, "berth-scheduler", "host-1"};

  void note(const client::EventNote& note) { recorder.note(note, clock.now()); }
  void run_until_idle() {
    while (api.answer())
      for (Message& message : drained(*mailbox))
        recorder.on_answer(std::get<ClientAnswer>(message), clock.now());
  }
};

client::EventNote waits(std::string message = "waits", std::string name = "a") {
  return {{api::Kind::Pod, "d", std::move(name), {}},
          "uid-1",
          true,
          "FailedScheduling",
          "Scheduling",
          std::move(message)};
}

TEST(EventRecorder, AnEventLooksAsKubectlDescribeExpects) {
  Desk desk;
  desk.note(waits());
  desk.run_until_idle();
  const auto events = desk.api.all(kEvents);
  ASSERT_EQ(events.size(), 1u);
  Json event = *events[0];
  const std::string name(event.find("metadata")->string_at("name"));
  EXPECT_EQ(name.substr(0, 2), "a.");
  EXPECT_EQ(name.size(), 18u);
  event.as_object().erase("metadata");
  EXPECT_EQ(to_string(event),
            R"({"apiVersion":"v1","kind":"Event",)"
            R"("involvedObject":{"kind":"Pod","namespace":"d","name":"a","uid":"uid-1","apiVersion":"v1"},)"
            R"("reason":"FailedScheduling","message":"waits","source":{"component":"berth-scheduler"},)"
            R"("firstTimestamp":"2027-01-15T08:00:00Z","lastTimestamp":"2027-01-15T08:00:00Z","count":1,)"
            R"("type":"Warning","reportingComponent":"berth-scheduler","reportingInstance":"host-1",)"
            R"("action":"Scheduling"})");
}

TEST(EventRecorder, ANoteMayNameWhoReports) {
  Desk desk;
  client::EventNote note = waits();
  note.component = "default-scheduler";
  desk.note(note);
  desk.run_until_idle();
  const auto events = desk.api.all(kEvents);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]->string_at("reportingComponent"), "default-scheduler");
  EXPECT_EQ(events[0]->part("source").string_at("component"), "default-scheduler");
}

TEST(EventRecorder, PartsOfAnObjectHaveEventsOfTheirOwn) {
  Desk desk;
  for (const char* part : {"spec.containers{a}", "spec.containers{b}", "spec.containers{a}"}) {
    client::EventNote note = waits();
    note.field_path = part;
    desk.note(note);
  }
  desk.run_until_idle();
  std::map<std::string, std::int64_t> counts;
  for (const Json* event : desk.api.all(kEvents))
    counts.emplace(event->part("involvedObject").string_at("fieldPath"), event->int_at("count"));
  EXPECT_EQ(counts,
            (std::map<std::string, std::int64_t>{{"spec.containers{a}", 2}, {"spec.containers{b}", 1}}));
}

TEST(EventRecorder, RepeatsAreFoldedAlsoWhileTheFirstIsUnderWay) {
  Desk desk;
  desk.note(waits());
  desk.note(waits());
  desk.clock.advance(Duration::seconds(5));
  desk.note(waits());
  EXPECT_EQ(desk.api.requests_waiting(), 1u);
  desk.run_until_idle();
  ASSERT_EQ(desk.api.all(kEvents).size(), 1u);
  EXPECT_EQ(desk.api.all(kEvents)[0]->int_at("count"), 3);
  EXPECT_EQ(desk.api.all(kEvents)[0]->string_at("lastTimestamp"), "2027-01-15T08:00:05Z");
  EXPECT_EQ(desk.api.log.size(), 2u);
}

TEST(EventRecorder, AnEventThatWasSweptIsMadeAgain) {
  Desk desk;
  desk.note(waits());
  desk.run_until_idle();
  const std::string name(desk.api.all(kEvents)[0]->find("metadata")->string_at("name"));
  desk.api.remove(kEvents, "d", name);
  desk.note(waits());
  desk.run_until_idle();
  ASSERT_EQ(desk.api.all(kEvents).size(), 1u);
  EXPECT_EQ(desk.api.all(kEvents)[0]->int_at("count"), 2);
}

// 100 events while writes are in flight, then none.
TEST(EventRecorder, EventsStandBackBehindWrites) {
  Desk desk;
  EventRecorder paced(desk.api, desk.mailbox, "berth-scheduler", "host-1", {.per_second = 50});
  const auto answer_all = [&] {
    while (desk.api.answer())
      for (Message& message : drained(*desk.mailbox))
        paced.on_answer(std::get<ClientAnswer>(message), desk.clock.now());
  };
  for (int i = 0; i < 100; ++i) paced.note(waits("waits", "pod-" + std::to_string(i)), desk.clock.now());
  paced.note(waits("waits", "pod-0"), desk.clock.now());  // folded into the waiting one
  for (int i = 0; i < 100; ++i) {
    paced.send_waiting({desk.clock.now()}, desk.clock.now());
    ASSERT_TRUE(paced.next_wake().has_value());
    desk.clock.advance(Duration::millis(10));
  }
  EXPECT_EQ(desk.api.requests_waiting(), 50u) << "in one second";
  answer_all();
  paced.send_waiting({}, desk.clock.now());
  EXPECT_EQ(desk.api.requests_waiting(), 1u);
  desk.clock.advance(Duration::millis(100));
  paced.send_waiting({}, desk.clock.now());
  EXPECT_EQ(desk.api.requests_waiting(), 50u);
  answer_all();
  EXPECT_EQ(paced.unsent(), 0u);
  EXPECT_FALSE(paced.next_wake().has_value());
  EXPECT_EQ(desk.api.all(kEvents).size(), 100u);
  EXPECT_EQ(desk.api.all(kEvents)[0]->int_at("count"), 2);
}

// Many events in a pause of the writes: the rate holds beyond a burst, which returns with time.
// 10 seconds with so many writes a second, and an event for each.
std::size_t sent_beside(std::uint64_t writes_per_second) {
  Desk desk;
  EventRecorder paced(desk.api, desk.mailbox, "berth-scheduler", "host-1", {.per_second = 50});
  const Duration step = Duration::micros(1'000'000 / static_cast<std::int64_t>(writes_per_second));
  for (std::uint64_t n = 1; n <= writes_per_second * 10; ++n) {
    desk.clock.advance(step);
    paced.note(waits("waits", "pod-" + std::to_string(n)), desk.clock.now());
    paced.send_waiting({desk.clock.now(), n}, desk.clock.now());
    while (desk.api.answer())
      for (Message& message : drained(*desk.mailbox))
        paced.on_answer(std::get<ClientAnswer>(message), desk.clock.now());
  }
  return desk.api.log.size();
}

TEST(EventRecorder, ABusyApiServerGetsAFifthOfTheEvents) {
  EXPECT_NEAR(sent_beside(100), 50 * 10, 5);
  EXPECT_NEAR(sent_beside(1000), 50 + 10 * 9, 5);  // the first second is not measured yet
}

TEST(EventRecorder, APauseOfTheWritesPermitsOneBurst) {
  Desk desk;
  EventRecorder paced(desk.api, desk.mailbox, "berth-scheduler", "host-1", {.per_second = 50, .burst = 20});
  for (int i = 0; i < 500; ++i) paced.note(waits("waits", "pod-" + std::to_string(i)), desk.clock.now());
  const auto sent_in = [&](Duration time) {
    std::size_t sent = 0;
    for (const Time end = desk.clock.now() + time; desk.clock.now() < end;) {
      paced.send_waiting({}, desk.clock.now());
      EXPECT_GT(*paced.next_wake(), desk.clock.now());
      desk.clock.advance(Duration::millis(10));
      for (; desk.api.answer(); ++sent)
        for (Message& message : drained(*desk.mailbox))
          paced.on_answer(std::get<ClientAnswer>(message), desk.clock.now());
    }
    return sent;
  };
  EXPECT_EQ(sent_in(Duration::millis(10)), 21u) << "the burst, and one in its turn";
  EXPECT_EQ(sent_in(Duration::millis(1000)), 100u);
}

TEST(EventRecorder, WarningsDoNotWaitForOtherEvents) {
  Desk desk;
  EventRecorder paced(desk.api, desk.mailbox, "berth-scheduler", "host-1", {.per_second = 50, .burst = 1});
  client::EventNote note = waits("waits", "pod-1");
  note.warning = false;
  paced.note(note, desk.clock.now());
  paced.note(waits("waits", "pod-2"), desk.clock.now());
  paced.send_waiting({desk.clock.now()}, desk.clock.now());
  while (desk.api.answer()) continue;
  ASSERT_EQ(desk.api.all(kEvents).size(), 1u);
  EXPECT_EQ(desk.api.all(kEvents)[0]->string_at("type"), "Warning");
}

TEST(EventRecorder, EventsThatWaitAreBounded) {
  Desk desk;
  EventRecorder paced(desk.api, desk.mailbox, "berth-scheduler", "host-1", {.per_second = 50});
  for (std::size_t i = 0; i < 2 * kEventsWaitingMax; ++i)
    paced.note(waits("waits", "pod-" + std::to_string(i)), desk.clock.now());
  EXPECT_EQ(paced.unsent(), kEventsWaitingMax);
  EXPECT_EQ(paced.counters().dropped, kEventsWaitingMax);
  EXPECT_EQ(desk.api.requests_waiting(), 0u) << "none passes those that wait";
}

TEST(EventRecorder, EventsOfClusterScopedObjectsLieInDefault) {
  Desk desk;
  desk.note({{api::Kind::Node, "", "n1", {}}, "", false, "NodeReady", "", "ready"});
  desk.run_until_idle();
  EXPECT_EQ(desk.api.log.at(0).substr(0, 27), "create v1/events default/n1");
}

TEST(EventRecorder, OneObjectMayNotFloodTheServer) {
  Desk desk;
  for (int i = 0; i < 40; ++i) {
    desk.note(waits("message " + std::to_string(i)));
    desk.run_until_idle();
  }
  desk.note(waits("waits", "another"));
  desk.run_until_idle();
  EXPECT_EQ(desk.api.all(kEvents).size(), 26u);
  EXPECT_EQ(desk.recorder.counters().dropped, 15u);
  desk.clock.advance(Duration::minutes(11));
  for (int i = 0; i < 5; ++i) desk.note(waits("later " + std::to_string(i)));
  desk.run_until_idle();
  EXPECT_EQ(desk.api.all(kEvents).size(), 28u) << "one more every five minutes";
}

TEST(EventRecorder, LongTextsAreCutBetweenCharacters) {
  Desk desk;
  std::string text = "a";
  while (text.size() < 1030) text += "é";
  desk.note(waits(text));
  desk.run_until_idle();
  EXPECT_EQ(desk.api.all(kEvents)[0]->string_at("message"), text.substr(0, 1023));
}

TEST(EventRecorder, NotesThatReadAlikeOnceCutAreOneSeries) {
  Desk desk;
  const std::string long_text(kEventMessageBytesMax, 'x');
  desk.note(waits(long_text + "1"));
  desk.note(waits(long_text + "2"));
  desk.run_until_idle();
  const auto events = desk.api.all(kEvents);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]->string_at("message"), long_text);
  EXPECT_EQ(events[0]->int_at("count"), 2);
}

TEST(LruMap, ForgetsWhatWasUsedLeastRecently) {
  LruMap<int> map(2);
  map.at("a") = 1;
  map.at("b") = 2;
  map.at("a") = 3;
  map.at("c") = 4;
  EXPECT_EQ(map.find("b"), nullptr);
  ASSERT_NE(map.find("a"), nullptr);
  EXPECT_EQ(*map.find("a"), 3);
  EXPECT_EQ(map.size(), 2u);
}

}  // namespace
}  // namespace berth::engine
