#include "client/lease_fence.h"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

// Keeps requests until the test answers them.
class HeldClient final : public ApiClient {
 public:
  void submit(ApiRequest request, std::function<void(ApiReply)> done) override {
    requests.push_back(std::move(request));
    answers.push_back(std::move(done));
  }
  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef, WatchReceiver&) override {
    ++watches;
    return nullptr;
  }
  std::vector<ApiRequest> requests;
  std::vector<std::function<void(ApiReply)>> answers;
  int watches = 0;
};

class LeaseFenceTest : public testing::Test {
 protected:
  // How far a request of this verb got; Answered: it was handed on.
  Delivery send(Verb verb) {
    const auto delivery = std::make_shared<Delivery>(Delivery::Answered);  // answers may come later
    ApiRequest request;
    request.verb = verb;
    client.submit(std::move(request), [delivery](ApiReply reply) { *delivery = reply.delivery; });
    return *delivery;
  }
  Time in(int seconds) const { return clock.monotonic() + Duration::seconds(seconds); }

  ManualClock clock{Time::from_seconds(1000)};
  HeldClient inner;
  std::shared_ptr<LeaseFence> fence = std::make_shared<LeaseFence>(clock);
  FencedClient client{inner, fence};
};

TEST_F(LeaseFenceTest, WritesNeedALeaseAndReadsDoNot) {
  for (const Verb verb :
       {Verb::Create, Verb::Update, Verb::MergePatch, Verb::StrategicPatch, Verb::JsonPatch, Verb::Delete})
    EXPECT_EQ(send(verb), Delivery::NotSent);
  EXPECT_TRUE(inner.requests.empty());
  class Nobody final : public WatchReceiver {
    void on_list(RawList) override {}
    void on_changes(std::vector<RawChange>) override {}
    void on_trouble(std::string) override {}
  } nobody;
  client.list_and_watch(api::ref_of(api::Kind::Pod), nobody);
  EXPECT_EQ(inner.watches, 1);
  EXPECT_EQ(send(Verb::Get), Delivery::Answered);
  EXPECT_FALSE(inner.requests.back().permit) << "a read may always leave";

  fence->open_until(in(10));
  EXPECT_EQ(send(Verb::Create), Delivery::Answered);
  EXPECT_EQ(inner.requests.back().permit, fence) << "asked again when it leaves";
}

TEST_F(LeaseFenceTest, APassedDeadlineStopsWritesForEver) {
  fence->open_until(in(10));
  clock.advance(Duration::seconds(9));
  EXPECT_EQ(send(Verb::Delete), Delivery::Answered);
  fence->open_until(in(10));
  clock.advance(Duration::seconds(10));
  EXPECT_EQ(send(Verb::Delete), Delivery::NotSent);
  EXPECT_TRUE(fence->closed());
  fence->open_until(in(10));
  EXPECT_EQ(send(Verb::Delete), Delivery::NotSent);
}

// Nobody may have asked between the end of the term and the answer to a renewal sent before.
TEST_F(LeaseFenceTest, ALateRenewalDoesNotOpenIt) {
  fence->open_until(in(10));
  clock.advance(Duration::seconds(11));
  fence->open_until(in(5));
  EXPECT_TRUE(fence->closed());
  EXPECT_FALSE(fence->granted());
}

TEST_F(LeaseFenceTest, WritesUnderWayAreCounted) {
  fence->open_until(in(10));
  (void)send(Verb::Get);
  for (int i = 0; i < 2; ++i) (void)send(Verb::Create);
  EXPECT_EQ(client.writes_under_way(), 2u);
  for (const auto& answer : inner.answers) answer({});
  EXPECT_EQ(client.writes_under_way(), 0u);
  fence->close();
  (void)send(Verb::Create);
  EXPECT_EQ(client.writes_under_way(), 0u);
}

}  // namespace
}  // namespace berth::client
