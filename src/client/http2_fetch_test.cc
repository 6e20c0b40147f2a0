// The HttpFetcher over HTTP/2, with servers that behave and others.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "client/fetch_job.h"
#include "client/testing/fetching.h"
#include "client/testing/http2_server.h"

namespace berth::client {
namespace {

constexpr std::uint32_t kRefusedStream = 7, kCancel = 8, kInternalError = 2, kNoError = 0;  // RFC 9113, 7

HttpFetch post(std::string target, std::string body = "{}") {
  return {.method = "POST", .target = std::move(target), .headers = {}, .body = std::move(body)};
}

Http2Server::Script answers() {
  return [](Http2Peer& peer, const Http2Request& request) {
    peer.respond(request.stream, 200, request.method + " " + request.path + " " + request.body);
  };
}

std::string text_of(const HttpReply& reply) {
  const std::map<Delivery, std::string> names = {
      {Delivery::Answered, "answered"}, {Delivery::NotSent, "not sent"}, {Delivery::Lost, "lost"}};
  return names.at(reply.delivery) + " " + std::to_string(reply.status) + " " + reply.body;
}

TEST(Http2Fetch, ARequestBearsWhatItNeeds) {
  Inbox<Http2Request> seen;
  Http2Server server([&](Http2Peer& peer, const Http2Request& request) {
    seen.put(request);
    peer.respond(request.stream, 201, "made", {{"x-seen", "yes"}});
  });
  ClusterAccess access = server.access();
  access.server += "/pre/fix";
  access.token = "secret";
  Fetching fetching(access, {.user_agent = "berth/test"});
  const HttpReply reply = fetching.fetch(
      {.method = "PATCH", .target = "/api?a=b%20c", .headers = {{"Accept", "x/y"}}, .body = "{\"a\":1}"});
  EXPECT_EQ(text_of(reply), "answered 201 made") << reply.trouble;
  EXPECT_EQ(reply.header("x-seen"), "yes");
  const Http2Request request = seen.take();
  EXPECT_EQ(request.method + " " + request.path + " " + request.body, "PATCH /pre/fix/api?a=b%20c {\"a\":1}");
  EXPECT_EQ("https://" + std::string(request.header(":authority")), server.access().server);
  EXPECT_EQ(request.header(":scheme"), "https");
  EXPECT_EQ(request.header("accept"), "x/y");
  EXPECT_EQ(request.header("user-agent"), "berth/test");
  EXPECT_EQ(request.header("authorization"), "Bearer secret");
  EXPECT_EQ(request.header("content-length"), "7");
}

TEST(Http2Fetch, EverythingGoesOverOneConnection) {
  Http2Server server(answers());
  Fetching fetching(server.access());
  for (const std::string method : {"GET", "DELETE", "POST"})
    for (const std::string body : {"", "{}"}) {
      if (method == "GET" && !body.empty()) continue;
      EXPECT_EQ(text_of(fetching.fetch({.method = method, .target = "/x", .headers = {}, .body = body})),
                "answered 200 " + method + " /x " + body);
    }
  EXPECT_EQ(server.connections(), 1);
}

TEST(Http2Fetch, ManyAreUnderWayAndAnsweredInAnyOrder) {
  constexpr int kRequests = 256, kTogether = 32;
  std::vector<Http2Request> held;
  Http2Server server([&](Http2Peer& peer, const Http2Request& request) {
    held.push_back(request);
    if (held.size() < kTogether) return;
    for (auto one = held.rbegin(); one != held.rend(); ++one) peer.respond(one->stream, 200, one->body);
    held.clear();
  });
  Fetching fetching(server.access());
  for (int i = 0; i < kRequests; ++i) {
    const std::string number = std::to_string(i);
    fetching.begin(post("/" + number, number));
  }
  for (int i = 0; i < kRequests; ++i) {
    const auto [target, reply] = fetching.ended.take();
    EXPECT_EQ("/" + reply.body, target);
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_GE(server.streams_max(), kTogether);
  EXPECT_LE(server.streams_max(), static_cast<int>(kFetchesUnderWayMax));
}

TEST(Http2Fetch, NoMoreAreUnderWayThanTheServerAllows) {
  Http2Server server(answers(), {.streams_max = 2});
  Fetching fetching(server.access());
  for (int i = 0; i < 40; ++i) fetching.begin(post("/x"));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(text_of(fetching.ended.take().second), "answered 200 POST /x {}");
  EXPECT_LE(server.streams_max(), 2);
  EXPECT_EQ(server.connections(), 1);
}

TEST(Http2Fetch, OnlyARefusedStreamIsNotSent) {
  const std::map<std::uint32_t, std::string> cases = {{kRefusedStream, "not sent 0 "},
                                                      {kCancel, "lost 0 "},
                                                      {kInternalError, "lost 0 "},
                                                      {kNoError, "lost 0 "}};
  for (const auto& [code, expected] : cases) {
    Http2Server server([&, code = code](Http2Peer& peer, const Http2Request& request) {
      if (request.number == 1) return peer.reset(request.stream, code);
      peer.respond(request.stream, 200, "good");
    });
    Fetching fetching(server.access());
    const HttpReply reply = fetching.fetch(post("/x"));
    EXPECT_EQ(text_of(reply), expected) << code;
    EXPECT_NE(reply.trouble, "");
    EXPECT_EQ(text_of(fetching.fetch(post("/x"))), "answered 200 good");
    EXPECT_EQ(server.connections(), 1);
  }
}

TEST(Http2Fetch, AGoAwayEndsWhatItLeavesOut) {
  std::vector<std::int32_t> streams;
  Http2Server server([&](Http2Peer& peer, const Http2Request& request) {
    if (request.number > 4) return peer.respond(request.stream, 200, "again");
    streams.push_back(request.stream);
    if (streams.size() < 4) return;
    peer.go_away(streams[1]);
    peer.respond(streams[0], 200, "first");
    peer.respond(streams[1], 200, "second");
  });
  Fetching fetching(server.access());
  for (const char* target : {"/1", "/2", "/3", "/4"}) fetching.begin(post(target));
  std::map<std::string, std::string> ends;
  for (int i = 0; i < 4; ++i) {
    const auto [target, reply] = fetching.ended.take();
    ends[target] = text_of(reply);
  }
  const std::map<std::string, std::string> expected = {{"/1", "answered 200 first"},
                                                       {"/2", "answered 200 second"},
                                                       {"/3", "not sent 0 "},
                                                       {"/4", "not sent 0 "}};
  EXPECT_EQ(ends, expected);
  EXPECT_EQ(text_of(fetching.fetch(post("/5"))), "answered 200 again");
  EXPECT_EQ(server.connections(), 2);
}

TEST(Http2Fetch, WhatADrainingConnectionCarriesDoesNotHoldUpOthers) {
  std::int32_t held = 0;
  Http2Peer* first = nullptr;
  Http2Server server([&](Http2Peer& peer, const Http2Request& request) {
    if (request.number == 1) {
      first = &peer;
      held = request.stream;
      return peer.go_away(request.stream);
    }
    peer.respond(request.stream, 200, "new");
    if (first) std::exchange(first, nullptr)->respond(held, 200, "old");
  });
  Fetching fetching(server.access());
  fetching.begin(post("/old"));
  while (server.requests() == 0) std::this_thread::yield();
  fetching.begin(post("/new"));
  std::set<std::string> ends;
  while (ends.size() < 2) {
    const HttpReply reply = fetching.ended.take().second;
    // One that left before the GOAWAY came was refused with it.
    if (reply.delivery == Delivery::NotSent)
      fetching.begin(post("/new"));
    else
      ends.insert(text_of(reply));
  }
  EXPECT_EQ(ends, (std::set<std::string>{"answered 200 new", "answered 200 old"}));
}

TEST(Http2Fetch, ACutConnectionLosesWhatWasSentAndNothingIsSentTwice) {
  Http2Server server([](Http2Peer& peer, const Http2Request& request) {
    if (request.path == "/cut") return peer.cut();
    if (request.path == "/half") {
      peer.respond_head(request.stream, 10);
      return peer.cut();
    }
    peer.respond(request.stream, 200, "good");
  });
  Fetching fetching(server.access());
  EXPECT_EQ(text_of(fetching.fetch(post("/x"))), "answered 200 good");
  for (const char* target : {"/cut", "/half"})
    for (const char* body : {"{}", ""}) {
      const int before = server.requests();
      EXPECT_EQ(text_of(fetching.fetch(post(target, body))), "lost 0 ");
      EXPECT_EQ(text_of(fetching.fetch(post("/x"))), "answered 200 good");
      EXPECT_EQ(server.requests(), before + 2);
    }
}

TEST(Http2Fetch, AServerThatCannotBeReachedWasNotSentAnything) {
  ClusterAccess access;
  access.server = "https://127.0.0.1:1";
  EXPECT_EQ(text_of(Fetching(access).fetch(post("/x"))), "not sent 0 ");
  access.server = "https://no.such.host.invalid";
  const HttpReply reply = Fetching(access).fetch(post("/x"));
  EXPECT_EQ(text_of(reply), "not sent 0 ");
  EXPECT_NE(reply.trouble.find("no.such.host.invalid"), std::string::npos) << reply.trouble;
}

TEST(Http2Fetch, AServerWithoutSettingsWasNotSentAnything) {
  Http2Server server(answers(), {.speaks = false});
  Fetching fetching(server.access(), {.connect_timeout = Duration::millis(50)});
  const HttpReply reply = fetching.fetch(post("/x"));
  EXPECT_EQ(text_of(reply), "not sent 0 ");
  EXPECT_EQ(reply.trouble, "no connection in time");
  EXPECT_EQ(server.requests(), 0);
}

TEST(Http2Fetch, ASilentServerIsGivenUp) {
  Http2Server server([](Http2Peer& peer, const Http2Request& request) {
    if (request.number == 1) return peer.fall_silent();
    peer.respond(request.stream, 200, "good");
  });
  Fetching fetching(server.access(),
                    {.ping_after_silence = Duration::millis(30), .ping_timeout = Duration::millis(30)});
  const HttpReply reply = fetching.fetch(post("/x"));
  EXPECT_EQ(text_of(reply), "lost 0 ");
  EXPECT_EQ(reply.trouble, "the server is silent: a PING was not answered");
  EXPECT_EQ(text_of(fetching.fetch(post("/x"))), "answered 200 good");
  EXPECT_EQ(server.connections(), 2);
}

TEST(Http2Fetch, AnAnswerThatNeverComesIsLost) {
  Http2Server server([](Http2Peer& peer, const Http2Request& request) {
    if (request.path != "/never") peer.respond(request.stream, 200, "good");
  });
  Fetching fetching(server.access(),
                    {.reply_timeout = Duration::millis(60), .ping_after_silence = Duration::millis(10)});
  const HttpReply reply = fetching.fetch(post("/never"));
  EXPECT_EQ(text_of(reply), "lost 0 ");
  EXPECT_EQ(reply.trouble, "no answer in time");
  EXPECT_EQ(text_of(fetching.fetch(post("/x"))), "answered 200 good");
  EXPECT_EQ(server.connections(), 1) << "the connection is good: PINGs were answered";
}

TEST(Http2Fetch, WhatHasNoTurnIsNotSent) {
  Http2Server server(answers(), {.streams_max = 0});
  Fetching fetching(server.access(), {.reply_timeout = Duration::millis(60)});
  const HttpReply reply = fetching.fetch(post("/x"));
  EXPECT_EQ(text_of(reply), "not sent 0 ");
  EXPECT_EQ(reply.trouble, "no turn on the connection in time");
  EXPECT_EQ(server.requests(), 0);
}

TEST(Http2Fetch, AnswersAreBounded) {
  Http2Server server([](Http2Peer& peer, const Http2Request& request) {
    HttpHeaders headers;  // in the dynamic table once, then an octet each
    for (int i = 0; request.path == "/headers" && i < 120; ++i)
      headers.emplace_back("x-bomb", std::string(2500, 'x'));
    peer.respond(request.stream, 200, std::string(request.path == "/body" ? 300000 : 3, 'y'), headers);
  });
  Fetching fetching(server.access(), {.reply_bytes_max = 200000});
  for (const char* target : {"/headers", "/body"}) {
    const HttpReply reply = fetching.fetch(post(target));
    EXPECT_EQ(text_of(reply), "lost 0 ") << target;
    EXPECT_EQ(reply.trouble, "the answer is too large");
    EXPECT_EQ(text_of(fetching.fetch(post("/x"))), "answered 200 yyy");
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(Http2Fetch, LargeBodiesPassThroughSmallWindows) {
  const std::size_t length = 20u << 20;
  Http2Server server(
      [&](Http2Peer& peer, const Http2Request& request) {
        if (request.method == "GET") return peer.respond(request.stream, 200, std::string(length, 'a'));
        peer.respond(request.stream, 200, std::to_string(request.body.size()));
      },
      {.stream_window_bytes = 10000});
  Fetching fetching(server.access());
  fetching.begin({.target = "/list"});
  fetching.begin(post("/write", std::string(1u << 20, 'b')));
  std::map<std::string, HttpReply> ends;
  for (int i = 0; i < 2; ++i) {
    auto [target, reply] = fetching.ended.take();
    ends[target] = std::move(reply);
  }
  EXPECT_EQ(ends["/list"].body, std::string(length, 'a'));
  EXPECT_EQ(ends["/write"].body, std::to_string(1u << 20));
}

TEST(Http2Fetch, AWriteWhosePermitEndsBeforeItLeavesIsNotSent) {
  struct Case {
    std::string method, body;
    int checks;  // when begun, before the head, before the body
  };
  for (const Case& test : {Case{"DELETE", "", 2}, Case{"POST", "{}", 3}})
    for (int granted = 0; granted <= test.checks; ++granted) {
      SCOPED_TRACE(test.method + " " + std::to_string(granted));
      Http2Server server(answers());
      Fetching fetching(server.access());
      EXPECT_EQ(fetching.fetch(post("/warm")).status, 200);
      const HttpReply reply = fetching.fetch({.method = test.method,
                                              .target = "/x",
                                              .headers = {},
                                              .body = test.body,
                                              .permit = std::make_shared<CountingPermit>(granted)});
      const bool all = granted == test.checks;
      EXPECT_EQ(reply.delivery, all ? Delivery::Answered : Delivery::NotSent) << reply.trouble;
      EXPECT_EQ(fetching.fetch(post("/after")).status, 200);
      EXPECT_EQ(server.requests(), all ? 3 : 2);
      EXPECT_EQ(server.connections(), 1);
    }
}

// Granted until it is revoked, which waits for the first question.
class RevocablePermit final : public SendPermit {
 public:
  bool granted() const override {
    const bool granted = granted_;
    asked_.put(true);
    return granted;
  }
  void revoke() {
    asked_.take();
    granted_ = false;
  }

 private:
  mutable Inbox<bool> asked_;
  std::atomic<bool> granted_ = true;
};

TEST(Http2Fetch, APermitIsAskedWhenItsTurnComes) {
  const auto permit = std::make_shared<RevocablePermit>();
  Http2Server server(
      [&](Http2Peer& peer, const Http2Request& request) {
        permit->revoke();
        peer.respond(request.stream, 200, "good");
      },
      {.streams_max = 1});
  Fetching fetching(server.access());
  HttpFetch second = post("/second");
  second.permit = permit;
  fetching.begin(post("/first"));
  fetching.begin(std::move(second));
  EXPECT_EQ(text_of(fetching.ended.take().second), "answered 200 good");
  EXPECT_EQ(text_of(fetching.ended.take().second), "not sent 0 ");
  EXPECT_EQ(server.requests(), 1);
}

TEST(Http2Fetch, OnlyATrustedServerIsSentAnything) {
  Http2Server server(answers()), other(answers());
  struct Case {
    const char* name;
    std::function<void(ClusterAccess&)> change;
    bool is_sent;
  };
  const Case cases[] = {
      {"its own certificate", [](ClusterAccess&) {}, true},
      {"another's", [&](ClusterAccess& access) { access.ca_pem = other.access().ca_pem; }, false},
      {"the machine's authorities", [](ClusterAccess& access) { access.ca_pem.clear(); }, false},
      {"unverified",
       [](ClusterAccess& access) {
         access.ca_pem.clear();
         access.insecure_skip_tls_verify = true;
       },
       true},
      {"by another name of it", [](ClusterAccess& access) { access.tls_server_name = "server.test"; }, true},
      {"by no name of it", [](ClusterAccess& access) { access.tls_server_name = "other.test"; }, false},
  };
  for (const Case& test : cases) {
    ClusterAccess access = server.access();
    test.change(access);
    const int before = server.requests();
    const HttpReply reply = Fetching(access).fetch(post("/x"));
    EXPECT_EQ(reply.delivery, test.is_sent ? Delivery::Answered : Delivery::NotSent) << test.name;
    EXPECT_EQ(reply.trouble.find("certificate") != std::string::npos, !test.is_sent) << reply.trouble;
    EXPECT_EQ(server.requests(), before + (test.is_sent ? 1 : 0));
  }
}

TEST(Http2Fetch, MaterialThatDoesNotParseIsRefused) {
  const SystemClock clock;
  Http2Server server(answers());
  for (const auto member : {&ClusterAccess::ca_pem, &ClusterAccess::client_certificate_pem}) {
    ClusterAccess access = server.access();
    access.*member = "no certificate";
    const auto refused = HttpFetcher::open(access, {}, clock);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::Invalid);
  }
}

TEST(Http2Fetch, ADateComesWithTheTimesAroundIt) {
  Http2Server server([](Http2Peer& peer, const Http2Request& request) {
    peer.respond(request.stream, 200, "", {{"date", "Tue, 15 Nov 1994 08:12:31 GMT"}});
  });
  Fetching fetching(server.access());
  const Time before = fetching.clock.monotonic();
  const HttpReply reply = fetching.fetch({.target = "/"});
  EXPECT_EQ(format_time(reply.date), "1994-11-15T08:12:31Z");
  EXPECT_LE(before, reply.begun_at);
  EXPECT_LE(reply.begun_at, reply.headed_at);
  EXPECT_LE(reply.headed_at, fetching.clock.monotonic());
}

TEST(Http2Fetch, TheEndTellsEveryone) {
  Http2Server server([](Http2Peer&, const Http2Request&) {}, {.streams_max = 10});
  Fetching fetching(server.access());
  const int count = static_cast<int>(kFetchesUnderWayMax) + 20;
  for (int i = 0; i < count; ++i) fetching.begin(post("/x"));
  while (server.requests() < 10) std::this_thread::yield();
  fetching.fetcher.reset();
  std::map<Delivery, int> ends;
  for (int i = 0; i < count; ++i) ++ends[fetching.ended.take().second.delivery];
  EXPECT_EQ(ends[Delivery::Lost], 10);
  EXPECT_EQ(ends[Delivery::NotSent], count - 10);
}

}  // namespace
}  // namespace berth::client
