#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

TEST(EventTtl, EventsLiveAnHourAfterTheyLastHappened) {
  const api::ResourceRef events{"", "v1", "events"};
  engine::testing::EngineFixture fixture;
  fixture.engine.add(make_event_ttl());
  const auto put = [&](const std::string& name, const std::string& fields) {
    fixture.api.put(events, *parse_json(R"({"metadata":{"namespace":"d","name":")" + name +
                                        R"(","creationTimestamp":"2027-01-15T07:30:00Z"})" + fields + "}"));
  };
  put("created", "");
  put("repeated", R"(,"lastTimestamp":"2027-01-15T07:50:00Z")");
  put("series",
      R"(,"eventTime":"2027-01-15T07:40:00.000000Z","series":{"lastObservedTime":"2027-01-15T08:00:00.5Z"})");
  fixture.start();
  const auto left = [&] { return fixture.api.all(events).size(); };
  fixture.advance(Duration::minutes(29));
  EXPECT_EQ(left(), 3u);
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(left(), 2u);
  fixture.advance(Duration::minutes(20));
  EXPECT_EQ(left(), 1u);
  fixture.advance(Duration::minutes(11));
  EXPECT_EQ(left(), 0u);
}

TEST(EventTtl, AnEventThatHappensAgainMeanwhileStays) {
  const api::ResourceRef events{"", "v1", "events"};
  engine::testing::EngineFixture fixture;
  fixture.engine.add(make_event_ttl());
  const auto put = [&](const std::string& time) {
    fixture.api.put(
        events, *parse_json(R"({"metadata":{"namespace":"d","name":"e"},"lastTimestamp":")" + time + "\"}"));
  };
  put("2027-01-15T07:00:00Z");
  fixture.start();
  fixture.api.deliver_all();
  fixture.step();
  ASSERT_EQ(fixture.api.requests_waiting(), 1u);
  put("2027-01-15T08:00:00Z");
  fixture.run_until_idle();
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(fixture.api.all(events).size(), 1u);
}

}  // namespace
}  // namespace berth::controllers
