#include "client/write_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::client {
namespace {

// Answers when it is asked to.
struct SlowClient final : ApiClient {
  std::vector<std::function<void(ApiReply)>> open;
  bool keeps_all = false;
  void submit(ApiRequest, std::function<void(ApiReply)> done) override { open.push_back(std::move(done)); }
  bool holds(const ApiRequest&) const override { return keeps_all; }
  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef, WatchReceiver&) override { return nullptr; }
};

std::int64_t micros_within(const DurationCounts& counts, std::uint64_t percent) {
  return counts.within(percent).value_or(Duration()).micros();
}

TEST(DurationCounts, AreKnownToAQuarterOfTheirPowerOfTwo) {
  const std::pair<std::int64_t, std::int64_t> rows[] = {{0, 1}, {1, 1},     {2, 2},       {3, 3},      {4, 5},
                                                        {7, 8}, {100, 112}, {1000, 1024}, {1024, 1280}};
  for (const auto& [took, within] : rows) {
    DurationCounts counts;
    counts.add(Duration::micros(took));
    EXPECT_EQ(micros_within(counts, 50), within) << took;
  }
  DurationCounts longest;
  longest.add(Duration::seconds(100'000));
  EXPECT_EQ(micros_within(longest, 50), std::int64_t{1} << 27);
}

TEST(DurationCounts, SayHowLongMostOfThemTook) {
  DurationCounts counts;
  EXPECT_FALSE(counts.within(50));
  for (int i = 0; i < 98; ++i) counts.add(Duration::micros(7));
  const DurationCounts earlier = counts;
  for (int i = 0; i < 2; ++i) counts.add(Duration::micros(1000));
  EXPECT_EQ(counts.count(), 100u);
  EXPECT_EQ(micros_within(counts, 98), 8);
  EXPECT_EQ(micros_within(counts, 99), 1024);
  EXPECT_EQ(counts.since(earlier).count(), 2u);
  EXPECT_EQ(micros_within(counts.since(earlier), 1), 1024);
}

TEST(WriteTimer, NotesAnsweredWritesAlone) {
  SlowClient server;
  ManualClock clock(Time::from_seconds(1));
  WriteTimer timer(server, clock);
  EXPECT_FALSE(timer.take());
  std::size_t answers = 0;
  for (const Verb verb : {Verb::Create, Verb::MergePatch, Verb::JsonPatch, Verb::Get, Verb::Delete})
    timer.submit({.verb = verb}, [&](const ApiReply&) { ++answers; });
  server.keeps_all = true;
  timer.submit({.verb = Verb::Create}, [&](const ApiReply&) { ++answers; });
  clock.advance(Duration::millis(1));
  for (std::size_t at = 0; at < server.open.size(); ++at) {
    ApiReply reply;
    if (at == 4) reply.delivery = Delivery::Lost;
    server.open[at](std::move(reply));
  }
  EXPECT_EQ(answers, 6u);
  const std::optional<WriteTimes> times = timer.take();
  ASSERT_TRUE(times);
  std::vector<std::uint64_t> counts;
  for (const DurationCounts& of_verb : *times) counts.push_back(of_verb.count());
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 0, 2, 0}));
  EXPECT_EQ(micros_within(all_of(*times), 100), 1024);
  EXPECT_FALSE(timer.take());
}

}  // namespace
}  // namespace berth::client
