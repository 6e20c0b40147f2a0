// What a watch sends to a peer that reads slowly, or that asks for a version that is not there.
#include <gtest/gtest.h>

#include "server/matcher.h"
#include "server/test_bench.h"
#include "server/transport/response_queue.h"
#include "server/watch_stream.h"

namespace berth::server {
namespace {

constexpr const char* kSlowMaps = "/api/v1/namespaces/default/configmaps";

// Takes as many chunks as it is allowed to.
class SlowPeer final : public HttpExchange {
 public:
  explicit SlowPeer(std::size_t room) : room_(room) {}
  void respond(HttpResponse said) override { chunks.push_back(std::move(said.body)); }
  void begin_stream(int, Headers) override {}
  bool send(std::string chunk) override {
    chunks.push_back(std::move(chunk));
    return true;
  }
  bool has_room() const override { return chunks.size() < room_; }
  void on_room(std::function<void()> callback) override { go_on_ = std::move(callback); }
  void end_stream() override { ended = true; }
  void on_close(std::function<void()>) override {}

  void make_room(std::size_t more) {
    room_ += more;
    if (auto go_on = std::exchange(go_on_, nullptr)) go_on();
  }

  // "ADDED a BOOKMARK ADDED b".
  std::string heard() const {
    std::string text;
    for (const std::string& chunk : chunks) {
      const Json event = parse_json(chunk).value_or(Json());
      const std::string_view name = event.find_path({"object", "metadata"})->string_at("name");
      text.append(text.empty() ? "" : " ").append(event.string_at("type"));
      if (!name.empty()) text.append(" ").append(name);
    }
    return text;
  }
  Json last() const { return parse_json(chunks.back()).value_or(Json()).part("object"); }

  std::vector<std::string> chunks;
  bool ended = false;

 private:
  std::size_t room_;
  std::function<void()> go_on_;
};

class WatchStreamTest : public testing::Test, protected ServerBench {
 protected:
  WatchStreamTest() : ServerBench({.watch_window_events = 20}) {}

  void make(const std::string& name, const std::string& value = "") {
    ask("POST", kSlowMaps, {}, R"({"metadata":{"name":")" + name + R"("},"data":{"k":")" + value + "\"}}",
        std::make_shared<SlowPeer>(1));
  }
  void remove(const std::string& name) {
    ask("DELETE", std::string(kSlowMaps) + "/" + name, {}, "", std::make_shared<SlowPeer>(1));
  }
  std::shared_ptr<SlowPeer> watch(Headers query, std::size_t room) {
    auto peer = std::make_shared<SlowPeer>(room);
    query.emplace_back("watch", "true");
    ask("GET", kSlowMaps, std::move(query), "", peer);
    return peer;
  }
  static Headers initial_events() {
    return {{"sendInitialEvents", "true"},
            {"resourceVersionMatch", "NotOlderThan"},
            {"allowWatchBookmarks", "true"}};
  }
};

TEST_F(WatchStreamTest, TheStateGoesOutAsThePeerReadsIt) {
  for (const char* name : {"a", "b", "c"}) make(name);
  const auto peer = watch(initial_events(), 1);
  EXPECT_EQ(peer->heard(), "ADDED a");
  make("d");
  remove("b");
  EXPECT_EQ(peer->heard(), "ADDED a");
  peer->make_room(2);
  EXPECT_EQ(peer->heard(), "ADDED a ADDED b ADDED c");
  peer->make_room(1);
  EXPECT_EQ(peer->heard(), "ADDED a ADDED b ADDED c BOOKMARK") << "one state, without what came later";
  peer->make_room(1);
  EXPECT_EQ(peer->heard(), "ADDED a ADDED b ADDED c BOOKMARK ADDED d");
  peer->make_room(9);
  EXPECT_EQ(peer->heard(), "ADDED a ADDED b ADDED c BOOKMARK ADDED d DELETED b");
  make("e");
  EXPECT_EQ(peer->heard(), "ADDED a ADDED b ADDED c BOOKMARK ADDED d DELETED b ADDED e");
}

// Informers of such a kind never got their first state.
TEST_F(WatchStreamTest, AStateLargerThanAnyBufferArrivesWhole) {
  constexpr std::size_t kValueBytes = 900'000;
  constexpr std::size_t kCount = 12;
  static_assert(kCount * kValueBytes > kStreamBufferBytesMax);
  for (std::size_t i = 0; i < kCount; ++i) make("m" + std::to_string(10 + i), std::string(kValueBytes, 'x'));
  std::atomic<std::size_t> unsent = 0;
  const auto queue = std::make_shared<ResponseQueue>(AnswerForm{}, nullptr, unsent, [] {});
  Headers query = initial_events();
  query.emplace_back("watch", "true");
  ask("GET", kSlowMaps, std::move(query), "", std::make_shared<Exchange>(queue));
  std::size_t largest = 0;
  std::string all;
  for (;;) {
    std::size_t taken = 0;
    for (std::string bytes; queue->next(bytes) == ResponseQueue::Next::Bytes; all += bytes)
      taken += bytes.size();
    if (taken == 0) break;
    largest = std::max(largest, taken);
    queue->sent(taken);
  }
  EXPECT_FALSE(queue->is_cut());
  EXPECT_NE(all.find("k8s.io/initial-events-end"), std::string::npos);
  EXPECT_GT(all.size(), kCount * kValueBytes);
  EXPECT_LT(largest, kStreamFillBytes + 2 * kValueBytes) << "unsent at once";
  queue->close();
}

TEST_F(WatchStreamTest, LinesHaveNoSlack) {
  constexpr std::size_t kSlackBytesMax = 1000;
  make("a", std::string(900'000, 'x'));
  const auto peer = watch(initial_events(), 1);
  ASSERT_EQ(peer->chunks.size(), 1u);
  EXPECT_LT(peer->chunks[0].capacity(), peer->chunks[0].size() + kSlackBytesMax);
}

TEST_F(WatchStreamTest, APeerThatTheWindowOvertakesIsTold) {
  for (const char* name : {"a", "b"}) make(name);
  const auto peer = watch(initial_events(), 1);
  const auto of_events = watch({{"resourceVersion", std::to_string(store->revision())}}, 1);
  for (int i = 0; i < 30; ++i) make("more" + std::to_string(i));
  peer->make_room(9);
  EXPECT_EQ(peer->heard(), "ADDED a ERROR");
  EXPECT_EQ(peer->last().int_at("code"), 410);
  EXPECT_TRUE(peer->ended);
  of_events->make_room(9);
  EXPECT_EQ(of_events->heard(), "ADDED more0 ERROR");
  EXPECT_TRUE(of_events->ended);
}

// A quiet watch is not overtaken by events that do not concern it.
TEST_F(WatchStreamTest, AWatchAtRestKeepsUpWithOtherEvents) {
  const auto peer = watch({{"resourceVersion", std::to_string(store->revision())}}, 9);
  for (int i = 0; i < 40; ++i)
    ask("POST", "/api/v1/namespaces", {}, R"({"metadata":{"name":"n)" + std::to_string(i) + "\"}}",
        std::make_shared<SlowPeer>(1));
  make("a");
  EXPECT_EQ(peer->heard(), "ADDED a");
  EXPECT_FALSE(peer->ended);
}

// Ten thousand kubelets each watch the pods of their node: an event of one wakes no other.
TEST_F(WatchStreamTest, AWatchWithASelectorKeepsUpWithWhatItDoesNotSelect) {
  const auto labelled = [this](const std::string& name, const std::string& labels) {
    ask("PUT", std::string(kSlowMaps) + "/" + name, {},
        R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + "}}", std::make_shared<SlowPeer>(1));
  };
  for (const char* name : {"a", "b"}) make(name);
  const std::string from = std::to_string(store->revision());
  const auto peer = watch({{"resourceVersion", from}, {"labelSelector", "tier=front,x!=y"}}, 9);
  for (int i = 0; i < 40; ++i) labelled("b", R"({"tier":"back)" + std::to_string(i) + "\"}");
  EXPECT_EQ(peer->heard(), "");
  labelled("a", R"({"tier":"front"})");
  labelled("b", R"({"tier":"front","x":"y"})");
  labelled("a", R"({"tier":"back"})");
  EXPECT_EQ(peer->heard(), "ADDED a DELETED a") << "one that left the selection is told";
  EXPECT_FALSE(peer->ended);
}

TEST_F(WatchStreamTest, WhatIsSelectedMayBeSelected) {
  const auto object_of = [](const std::string& bytes) {
    store::Object object;
    object.key.name = "p";
    object.bytes = bytes;
    return object;
  };
  const api::ResourceInfo& pods = *api::find_resource("", "v1", "pods");
  const auto here = make_matcher(pods, "", "spec.nodeName=n1", "").value();
  EXPECT_TRUE(here.may_select(object_of(R"({"spec":{"nodeName":"n1"}})")));
  EXPECT_TRUE(here.selects(object_of(R"({"spec":{"nodeName":"n1"}})")));
  EXPECT_FALSE(here.may_select(object_of(R"({"spec":{"nodeName":"n12"}})")));
  // Pods without a node, absence and sets are found in no text.
  for (const char* fields : {"spec.nodeName=", "spec.nodeName!=n1"})
    EXPECT_TRUE(make_matcher(pods, "", fields, "").value().selects(object_of(R"({"spec":{}})"))) << fields;
  for (const char* labels : {"!a", "a notin (b)", "a!=b"})
    EXPECT_TRUE(make_matcher(pods, labels, "", "").value().selects(object_of(R"({"spec":{}})"))) << labels;
  EXPECT_TRUE(make_matcher(pods, "a in (b,c)", "", "")
                  .value()
                  .selects(object_of(R"({"metadata":{"labels":{"a":"c"}}})")));
}

TEST_F(WatchStreamTest, AVersionThatIsNotThereYetIsRefused) {
  Headers future = initial_events();
  future.emplace_back("resourceVersion", "99999999");
  const auto state = watch(future, 9);
  EXPECT_EQ(state->heard(), "ERROR");
  EXPECT_TRUE(state->ended);
  EXPECT_EQ(state->last().string_at("message"),
            "Timeout: Too large resource version: 99999999, current: " + std::to_string(store->revision()));
  EXPECT_EQ(state->last().int_at("code"), 504);

  // One that asks for news alone is silent for as long as the reference waits.
  const auto news = watch({{"resourceVersion", "99999999"}, {"allowWatchBookmarks", "true"}}, 9);
  const auto soon = watch({{"resourceVersion", std::to_string(store->revision() + 2)}}, 9);
  clock.advance(Duration::seconds(kFutureVersionWaitS - 1));
  server.tick(clock.monotonic());
  EXPECT_EQ(news->heard(), "");
  for (const char* name : {"a", "b", "c"}) make(name);
  EXPECT_EQ(soon->heard(), "ADDED c");
  clock.advance(Duration::seconds(2));
  server.tick(clock.monotonic());
  EXPECT_EQ(news->heard(), "ERROR");
  EXPECT_EQ(news->last().string_at("reason"), "Timeout");
  EXPECT_TRUE(news->ended);
  EXPECT_FALSE(soon->ended);
}

}  // namespace
}  // namespace berth::server
