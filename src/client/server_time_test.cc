#include "client/server_time.h"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

// Both clocks of a machine, set apart.
class Machine final : public Clock {
 public:
  Time now() const override { return wall; }
  Time monotonic() const override { return uptime; }
  void pass(Duration span) {
    wall = wall + span;
    uptime = uptime + span;
  }
  Time wall = Time::from_seconds(1'700'000'000);
  Time uptime = Time::from_seconds(77);
};

class ServerTimeTest : public testing::Test {
 protected:
  // An answer of a server whose clock is so far ahead, made in the middle of the round trip.
  HttpReply answer(Duration ahead, Duration round_trip = Duration()) {
    HttpReply reply;
    reply.begun_at = machine.uptime;
    machine.pass(Duration::micros(round_trip.micros() / 2));
    reply.date = (machine.wall + ahead).to_second();
    machine.pass(Duration::micros(round_trip.micros() / 2));
    reply.headed_at = machine.uptime;
    return reply;
  }
  Duration off(Duration ahead) const {
    const Duration difference = clock.now() - (machine.wall + ahead);
    return difference < Duration() ? Duration() - difference : difference;
  }

  Machine machine;
  SteadyClock clock{machine};
  ServerTime server{clock};
};

TEST_F(ServerTimeTest, TheSteadyClockIgnoresStepsOfTheWallClock) {
  const Time began = clock.now();
  EXPECT_EQ(began, machine.wall);
  machine.pass(Duration::seconds(5));
  machine.wall = machine.wall + Duration::minutes(60);
  EXPECT_EQ(clock.now() - began, Duration::seconds(5));
}

TEST_F(ServerTimeTest, TheFirstAnswerSetsTheOffsetWithinItsBound) {
  for (const int seconds : {20, -600, 86400})
    for (const int millis : {0, 1, 499, 999})
      for (const int trip : {0, 40, 1900}) {
        const Duration ahead = Duration::millis(seconds * 1000 + millis);
        machine.pass(Duration::millis(137));
        SteadyClock fresh(machine);
        ServerTime first(fresh);
        first.heard(answer(ahead, Duration::millis(trip)), ServerTime::Answer::Any);
        const Duration wrong = fresh.now() - (machine.wall + ahead);
        EXPECT_LE(std::abs(wrong.millis()), (1000 + trip) / 2 + 1) << seconds << " " << millis << " " << trip;
      }
}

TEST_F(ServerTimeTest, ClocksThatAgreeAreLeftAlone) {
  for (const int millis : {0, 300, 700}) {
    machine.pass(Duration::millis(millis));
    server.heard(answer(Duration(), Duration::millis(5)), ServerTime::Answer::List);
    EXPECT_EQ(clock.offset(), Duration());
  }
}

TEST_F(ServerTimeTest, OnlyListsCorrectLaterAndOnlyWhatIsMuchTooFar) {
  server.heard(answer(Duration::seconds(20)), ServerTime::Answer::Any);
  const Duration first = clock.offset();
  server.heard(answer(Duration::seconds(22)), ServerTime::Answer::List);
  EXPECT_EQ(clock.offset(), first);
  server.heard(answer(Duration::seconds(60)), ServerTime::Answer::Any);
  EXPECT_EQ(clock.offset(), first);
  server.heard(answer(Duration::seconds(60)), ServerTime::Answer::List);
  EXPECT_LE(off(Duration::seconds(60)), Duration::seconds(1));
}

TEST_F(ServerTimeTest, SlowAnswersAndThoseWithoutADateAreNotMeasured) {
  server.heard(answer(Duration::seconds(20), kDatedRoundTripMax + Duration::millis(2)),
               ServerTime::Answer::List);
  HttpReply undated = answer(Duration::seconds(20));
  undated.date = Time();
  server.heard(undated, ServerTime::Answer::List);
  EXPECT_EQ(clock.offset(), Duration());
  server.heard(answer(Duration::seconds(20)), ServerTime::Answer::Any);
  EXPECT_NE(clock.offset(), Duration());
}

}  // namespace
}  // namespace berth::client
