#include "dashboard/pages.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/json.h"

namespace berth::dashboard {
namespace {

struct Exchange final : server::HttpExchange {
  std::optional<server::HttpResponse> answer;
  server::Headers stream_headers;
  std::string streamed;
  bool open = true;
  void respond(server::HttpResponse response) override { answer = std::move(response); }
  void begin_stream(int, server::Headers headers) override { stream_headers = std::move(headers); }
  bool send(std::string chunk) override {
    if (open) streamed += chunk;
    return open;
  }
  void end_stream() override { open = false; }
  void on_close(std::function<void()>) override {}
};

struct Site {
  SystemClock clock;
  SeededRandom random{1};
  Sessions sessions{random};
  Published published;
  std::shared_ptr<Pages> pages = std::make_shared<Pages>(
      published, clock,
      PagesOptions{.access =
                       [this](const std::string& authorization, auto done) {
                         done(sessions.knows(authorization, clock.monotonic()) ? Answer::Allowed
                                                                               : Answer::NoUser);
                       },
                   .sessions = &sessions,
                   .explain = [](const std::string& path, WhatIf,
                                 auto exchange) { exchange->respond(json_page(200, "\"" + path + "\"")); },
                   .history = [](const HistoryQuestion& question,
                                 auto done) { done(Json(static_cast<int>(question.index()))); }});

  std::shared_ptr<Exchange> ask(std::string method, std::string path, server::Headers headers = {},
                                std::string body = "") {
    const auto exchange = std::make_shared<Exchange>();
    headers.emplace_back("Host", "127.0.0.1:80");
    pages->handle({.method = std::move(method),
                   .path = std::move(path),
                   .headers = std::move(headers),
                   .body = std::move(body)},
                  exchange);
    return exchange;
  }
  int status(std::string method, std::string path, server::Headers headers = {}, std::string body = "") {
    const auto exchange = ask(std::move(method), std::move(path), std::move(headers), std::move(body));
    return exchange->answer ? exchange->answer->status : 0;
  }
  std::string token() {
    const auto answer =
        ask("POST", "/berth/v1alpha1/session", {}, R"({"code":")" + sessions.make_code() + R"("})")->answer;
    return "Bearer " + std::string(parse_json(answer->body)->string_at("token"));
  }
};

// A review by the API server may end after the process began to stop.
TEST(Pages, ShowNothingOnceTheyAreShut) {
  Published published;
  const SystemClock clock;
  std::function<void(Answer)> review;
  const auto pages = std::make_shared<Pages>(
      published, clock,
      PagesOptions{.access = [&](const std::string&, auto done) { review = done; },
                   .explain = [](const std::string&, WhatIf, auto) { FAIL() << "what explains is gone"; }});
  const auto exchange = std::make_shared<Exchange>();
  pages->handle({.method = "GET", .path = "/berth/v1alpha1/explain/pods/ns/p"}, exchange);
  pages->shut();
  review(Answer::Allowed);
  ASSERT_TRUE(exchange->answer.has_value());
  EXPECT_EQ(exchange->answer->status, 503);
}

TEST(Pages, ThePageItselfIsForAnyone) {
  Site site;
  EXPECT_EQ(site.status("GET", "/"), 302);
  EXPECT_EQ(site.status("GET", "/ui/"), 200);
  EXPECT_EQ(site.status("GET", "/ui/app.js"), 200);
  EXPECT_EQ(site.status("GET", "/ui/../secret"), 404);
  const auto page = site.ask("GET", "/ui/")->answer;
  const auto policy = std::find_if(page->headers.begin(), page->headers.end(), [](const auto& header) {
    return header.first == "Content-Security-Policy";
  });
  ASSERT_NE(policy, page->headers.end());
  EXPECT_TRUE(policy->second.starts_with("default-src 'self'"));
}

TEST(Pages, DataIsForThoseWithAToken) {
  Site site;
  site.published.put("waiting", "{}");
  EXPECT_EQ(site.status("GET", "/berth/v1alpha1/waiting"), 401);
  EXPECT_EQ(site.status("GET", "/berth/v1alpha1/waiting", {{"Authorization", "Bearer x"}}), 401);
  const std::string token = site.token();
  EXPECT_EQ(site.status("GET", "/berth/v1alpha1/waiting", {{"Authorization", token}}), 200);
  EXPECT_EQ(site.status("GET", "/berth/v1alpha1/nothing", {{"Authorization", token}}), 404);
  EXPECT_EQ(site.status("PUT", "/berth/v1alpha1/waiting", {{"Authorization", token}}), 405);
  EXPECT_EQ(site.ask("GET", "/berth/v1alpha1/explain/pods/a/b", {{"Authorization", token}})->answer->body,
            "\"pods/a/b\"");
}

TEST(Pages, HistoryIsAskedByInstants) {
  Site site;
  const std::string token = site.token();
  const auto ask = [&](const char* page, std::vector<std::pair<std::string, std::string>> query = {}) {
    const auto exchange = std::make_shared<Exchange>();
    site.pages->handle({.method = "GET",
                        .path = std::string("/berth/v1alpha1/") + page,
                        .query = std::move(query),
                        .headers = {{"Authorization", token}, {"Host", "127.0.0.1:80"}}},
                       exchange);
    return std::to_string(exchange->answer->status) + " " + exchange->answer->body;
  };
  EXPECT_EQ(ask("history"), "200 0");
  EXPECT_EQ(ask("history/moment", {{"at", "7"}}), "200 1");
  EXPECT_EQ(ask("history/difference", {{"from", "7"}, {"to", "9"}}), "200 2");
  EXPECT_EQ(ask("history/difference", {{"from", "7"}}),
            R"(400 {"message":"to: must be a time in milliseconds since 1970"})");
  EXPECT_EQ(ask("history/moment", {{"at", "-7"}}),
            R"(400 {"message":"at: must be a time in milliseconds since 1970"})");
  EXPECT_TRUE(ask("history/other").starts_with("404"));
}

TEST(Pages, AnAnswerIsCompressedOnce) {
  const Content content(std::string(5000, 'x'));
  const std::string* first = &content.gzip();
  EXPECT_EQ(first, &content.gzip());
  EXPECT_EQ(*gunzipped(*first, 6000), content.bytes());
  EXPECT_EQ(gunzipped(*first, 10)->size(), 10u);
  EXPECT_FALSE(gunzipped(first->substr(0, first->size() / 2), 6000).ok());
  EXPECT_FALSE(gunzipped("plain", 6000).ok());
}

TEST(Pages, ACodeWorksOnce) {
  Site site;
  const std::string body = R"({"code":")" + site.sessions.make_code() + R"("})";
  EXPECT_EQ(site.status("POST", "/berth/v1alpha1/session", {}, body), 200);
  EXPECT_EQ(site.status("POST", "/berth/v1alpha1/session", {}, body), 403);
  EXPECT_EQ(site.status("POST", "/berth/v1alpha1/session", {}, "no JSON"), 403);
  EXPECT_EQ(site.status("POST", "/berth/v1alpha1/session", {}, std::string(kSessionBodyBytesMax + 1, ' ')),
            413);
}

TEST(Pages, RequestsOfOtherSitesAreRefused) {
  Site site;
  site.published.put("waiting", "{}");
  const std::string token = site.token();
  EXPECT_EQ(site.status("GET", "/berth/v1alpha1/waiting",
                        {{"Authorization", token}, {"Origin", "http://127.0.0.1:80"}}),
            200);
  EXPECT_EQ(
      site.status("GET", "/berth/v1alpha1/waiting", {{"Authorization", token}, {"Origin", "http://evil"}}),
      403);
  EXPECT_EQ(site.status("GET", "/berth/v1alpha1/waiting",
                        {{"Authorization", token}, {"Sec-Fetch-Site", "cross-site"}}),
            403);
  EXPECT_EQ(site.status("POST", "/berth/v1alpha1/session", {{"Origin", "null"}}, "{}"), 403);
}

TEST(Pages, ListenersHearEventsUntilTheyLeave) {
  Site site;
  const auto listener = site.ask("GET", "/berth/v1alpha1/events", {{"Authorization", site.token()}});
  site.published.tell("floor", "{}");
  EXPECT_EQ(listener->streamed, "event: hello\ndata: {}\n\nevent: floor\ndata: {}\n\n");
  listener->open = false;
  site.published.tell("floor", "{}");
  for (std::size_t i = 0; i < kListenersMax; ++i)
    EXPECT_TRUE(site.published.listen(std::make_shared<Exchange>(), {}));
  EXPECT_FALSE(site.published.listen(std::make_shared<Exchange>(), {}));
}

TEST(Pages, AStreamHasTheHeadersOfEveryAnswer) {
  Site site;
  const server::Headers stream =
      site.ask("GET", "/berth/v1alpha1/events", {{"Authorization", site.token()}})->stream_headers;
  const server::Headers refused = site.ask("GET", "/berth/v1alpha1/events")->answer->headers;
  EXPECT_NE(std::find(stream.begin(), stream.end(),
                      std::pair<std::string, std::string>("Content-Type", "text/event-stream")),
            stream.end());
  for (const auto& header : refused)
    if (header.first != "Content-Type" && header.first != "WWW-Authenticate") {
      EXPECT_NE(std::find(stream.begin(), stream.end(), header), stream.end()) << header.first;
    }
}

TEST(Sessions, TokensEnd) {
  SeededRandom random(1);
  Sessions sessions(random);
  const Time now = Time::from_seconds(1000);
  const auto token = sessions.exchange(sessions.make_code(), now);
  ASSERT_TRUE(token);
  EXPECT_TRUE(sessions.knows("Bearer " + *token, now));
  EXPECT_TRUE(sessions.knows("bearer  " + *token, now)) << "RFC 9110: the scheme has no case";
  EXPECT_FALSE(sessions.knows("Basic " + *token, now));
  EXPECT_FALSE(sessions.knows(*token, now));
  EXPECT_FALSE(sessions.knows("Bearer " + *token, now + kTokenLife));
  EXPECT_FALSE(sessions.exchange("", now));
}

}  // namespace
}  // namespace berth::dashboard
