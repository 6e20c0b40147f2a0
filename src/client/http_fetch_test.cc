#include "client/http_fetch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <map>
#include <thread>

#include "client/testing/fetching.h"

namespace berth::client {
namespace {

// A server that reads whole requests and answers each by a script, connection after connection.
class ScriptedServer {
 public:
  // The answer to the request with this number, counted from one; empty: closes the connection instead.
  using Script = std::function<std::string(int number, const std::string& request)>;

  explicit ScriptedServer(Script script)
      : script_(std::move(script)), file_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(file_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ::listen(file_, 16);
    ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    stopping_ = true;
    thread_.join();
    ::close(file_);
  }
  ClusterAccess access() const {
    ClusterAccess access;
    access.server = "http://127.0.0.1:" + std::to_string(port_);
    return access;
  }
  int requests() const { return requests_; }
  int connections() const { return connections_; }

 private:
  void run() {
    std::vector<pollfd> files = {{.fd = file_, .events = POLLIN, .revents = 0}};
    std::map<int, std::string> heard;
    while (!stopping_) {
      ::poll(files.data(), files.size(), 10);
      for (std::size_t i = files.size(); i-- > 1;) {
        if (!files[i].revents || serve(files[i].fd, heard[files[i].fd])) continue;
        heard.erase(files[i].fd);
        ::close(files[i].fd);
        files.erase(files.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (!files[0].revents) continue;
      files.push_back({.fd = ::accept(file_, nullptr, nullptr), .events = POLLIN, .revents = 0});
      ++connections_;
    }
    for (std::size_t i = 1; i < files.size(); ++i) ::close(files[i].fd);
  }
  // False when the connection is to be closed.
  bool serve(int peer, std::string& in) {
    char bytes[4096];
    const ssize_t size = ::recv(peer, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    in.append(bytes, static_cast<std::size_t>(size));
    if (!is_whole(in)) return true;
    const std::string answer = script_(++requests_, std::exchange(in, {}));
    if (answer.empty()) return false;
    return ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }
  static bool is_whole(const std::string& request) {
    const std::size_t head = request.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const std::size_t length = request.find("Content-Length: ");
    return length == std::string::npos ||
           request.size() >= head + 4 + std::stoul(request.substr(length + 16));
  }

  Script script_;
  int file_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> requests_ = 0;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nX-Seen: yes \r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

TEST(HttpFetcher, SendsAndHearsOnAKeptConnection) {
  Inbox<std::string> seen;
  ScriptedServer server([&](int number, const std::string& request) {
    seen.put(request);
    return ok("answer " + std::to_string(number));
  });
  ClusterAccess access = server.access();
  access.server += "/pre/fix";
  access.token = "secret";
  Fetching fetching(access, {.user_agent = "berth/test"});
  const HttpReply first =
      fetching.fetch({.method = "GET", .target = "/api?a=b%20c", .headers = {{"Accept", "x/y"}}});
  EXPECT_EQ(first.delivery, Delivery::Answered);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "answer 1");
  EXPECT_EQ(first.header("x-seen"), "yes");
  const std::string get = seen.take();
  EXPECT_TRUE(get.starts_with("GET /pre/fix/api?a=b%20c HTTP/1.1\r\n")) << get;
  EXPECT_NE(get.find("Accept: x/y\r\n"), std::string::npos);
  EXPECT_NE(get.find("User-Agent: berth/test\r\n"), std::string::npos);
  EXPECT_EQ(get.find("secret"), std::string::npos) << "no credential over plain HTTP";

  const HttpReply second = fetching.fetch({.method = "PATCH", .target = "/x", .headers = {}, .body = "{}"});
  EXPECT_EQ(second.body, "answer 2");
  const std::string patch = seen.take();
  EXPECT_TRUE(patch.starts_with("PATCH /pre/fix/x HTTP/1.1\r\n")) << patch;
  EXPECT_TRUE(patch.ends_with("\r\n\r\n{}")) << patch;
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpFetcher, AnswersOfAllKindsAreAnswers) {
  ScriptedServer server([](int, const std::string&) {
    return std::string("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  });
  Fetching fetching(server.access());
  const HttpReply reply = fetching.fetch({.target = "/moved"});
  EXPECT_EQ(reply.delivery, Delivery::Answered);
  EXPECT_EQ(reply.status, 302);
}

TEST(HttpFetcher, AnUnreachableServerWasNotSentAnything) {
  ClusterAccess access;
  access.server = "http://127.0.0.1:1";
  Fetching fetching(access);
  const HttpReply reply = fetching.fetch({.method = "POST", .target = "/x", .headers = {}, .body = "{}"});
  EXPECT_EQ(reply.delivery, Delivery::NotSent);
  EXPECT_NE(reply.trouble, "");
}

TEST(HttpFetcher, ALostAnswerIsNeverSentTwice) {
  for (const std::string method : {"POST", "PUT", "DELETE"})
    for (const std::string body : {"{\"a\":1}", ""}) {
      SCOPED_TRACE(method + " " + body);
      ScriptedServer server([](int number, const std::string&) { return number == 1 ? ok("warm") : ""; });
      Fetching fetching(server.access());
      EXPECT_EQ(fetching.fetch({.target = "/warm"}).body, "warm");
      const HttpReply reply = fetching.fetch({.method = method, .target = "/x", .headers = {}, .body = body});
      EXPECT_EQ(reply.delivery, Delivery::Lost);
      EXPECT_EQ(server.requests(), 2);
    }
}

TEST(HttpFetcher, AWriteWhosePermitEndsBeforeItLeavesIsNotSent) {
  struct Case {
    std::string method, body;
    int checks;  // when begun, when connected, before the body
  };
  for (const Case& test : {Case{"DELETE", "", 2}, Case{"POST", "{}", 3}, Case{"PATCH", "{\"a\":1}", 3}})
    for (int granted = 0; granted <= test.checks; ++granted) {
      SCOPED_TRACE(test.method + " " + std::to_string(granted));
      ScriptedServer server([](int, const std::string&) { return ok("done"); });
      Fetching fetching(server.access());
      EXPECT_EQ(fetching.fetch({.target = "/warm"}).body, "done");
      const HttpReply reply = fetching.fetch({.method = test.method,
                                              .target = "/x",
                                              .body = test.body,
                                              .permit = std::make_shared<CountingPermit>(granted)});
      const bool all = granted == test.checks;
      EXPECT_EQ(reply.delivery, all ? Delivery::Answered : Delivery::NotSent) << reply.trouble;
      EXPECT_EQ(server.requests(), all ? 2 : 1);
    }
}

TEST(HttpFetcher, ADateComesWithTheTimesAroundIt) {
  ScriptedServer server([](int number, const std::string&) {
    const std::string date = number == 1 ? "Tue, 15 Nov 1994 08:12:31 GMT" : "yesterday";
    return "HTTP/1.1 200 OK\r\nDate: " + date + "\r\nContent-Length: 0\r\n\r\n";
  });
  Fetching fetching(server.access());
  const Time before = fetching.clock.monotonic();
  const HttpReply reply = fetching.fetch({.target = "/"});
  EXPECT_EQ(format_time(reply.date), "1994-11-15T08:12:31Z");
  EXPECT_LE(before, reply.begun_at);
  EXPECT_LE(reply.begun_at, reply.headed_at);
  EXPECT_LE(reply.headed_at, fetching.clock.monotonic());
  EXPECT_FALSE(fetching.fetch({.target = "/"}).date.is_set());
}

TEST(HttpFetcher, AHalfAnswerIsLost) {
  ScriptedServer server([](int, const std::string&) {
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nabc");
  });
  Fetching fetching(server.access(), {.reply_timeout = Duration::millis(100)});
  const HttpReply reply = fetching.fetch({.method = "POST", .target = "/x", .headers = {}, .body = "{}"});
  EXPECT_EQ(reply.delivery, Delivery::Lost);
  EXPECT_EQ(reply.status, 0);
  EXPECT_EQ(reply.body, "");
}

TEST(HttpFetcher, StreamsAndEnds) {
  ScriptedServer server([](int number, const std::string&) {
    return number == 1
               ? std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n0\r\n\r\n")
               : std::string("HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone");
  });
  Fetching fetching(server.access());
  fetching.fetcher->stream({.target = "/watch"}, fetching.listener());
  for (const char* line : {"status 200", "bytes one\n", "end "}) EXPECT_EQ(fetching.heard.take(), line);
  fetching.fetcher->stream({.target = "/watch"}, fetching.listener());
  for (const char* line : {"status 410", "bytes gone", "end "}) EXPECT_EQ(fetching.heard.take(), line);
}

TEST(HttpFetcher, AStreamIsCancelledOrEndsWhenSilent) {
  const auto hanging = [](int, const std::string&) {
    return std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  };
  {
    ScriptedServer server(hanging);
    Fetching fetching(server.access());
    const HttpFetcher::StreamId id = fetching.fetcher->stream({.target = "/watch"}, fetching.listener());
    EXPECT_EQ(fetching.heard.take(), "status 200");
    fetching.fetcher->cancel(id);
    EXPECT_EQ(fetching.heard.take(), "end cancelled");
  }
  ScriptedServer server(hanging);
  Fetching fetching(server.access(), {.stream_idle_timeout = Duration::millis(60)});
  fetching.fetcher->stream({.target = "/watch"}, fetching.listener());
  EXPECT_EQ(fetching.heard.take(), "status 200");
  EXPECT_EQ(fetching.heard.take(), "end nothing was heard for too long");
}

TEST(HttpFetcher, MoreStreamsMayEndAtOnceThanOneWaitReports) {
  auto server = std::make_unique<ScriptedServer>([](int, const std::string&) {
    return std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  });
  Fetching fetching(server->access());
  constexpr int kStreams = 150;
  for (int i = 0; i < kStreams; ++i) {
    fetching.fetcher->stream({.target = "/watch"}, fetching.listener());
    EXPECT_EQ(fetching.heard.take(), "status 200");
  }
  std::promise<void> all_have_ended;
  StreamCallbacks holds_the_thread;
  holds_the_thread.on_status = [&](int, const HttpHeaders&) {
    fetching.heard.put("held");
    all_have_ended.get_future().wait();
  };
  holds_the_thread.on_bytes = [](std::string_view) {};
  holds_the_thread.on_end = [](const std::string&) {};
  fetching.fetcher->stream({.target = "/watch"}, std::move(holds_the_thread));
  EXPECT_EQ(fetching.heard.take(), "held");
  server.reset();
  all_have_ended.set_value();
  for (int i = 0; i < kStreams; ++i) EXPECT_TRUE(fetching.heard.take().starts_with("end ")) << i;
}

TEST(HttpFetcher, TheEndTellsEveryone) {
  std::atomic<bool> reached = false;
  ScriptedServer server([&](int, const std::string&) {
    reached = true;
    return std::string("HTTP/1.1 100 Continue\r\n\r\n");
  });
  Fetching fetching(server.access());
  Inbox<Delivery> ends;
  const std::size_t count = kFetchesUnderWayMax + 10;
  for (std::size_t i = 0; i < count; ++i)
    fetching.fetcher->submit({.method = "POST", .target = "/x", .headers = {}, .body = "{}"},
                             [&](HttpReply reply) { ends.put(reply.delivery); });
  fetching.fetcher->stream({.target = "/watch"}, fetching.listener());
  while (!reached) ::poll(nullptr, 0, 1);
  fetching.fetcher.reset();
  std::size_t lost = 0;
  for (std::size_t i = 0; i < count; ++i) lost += ends.take() == Delivery::Lost;
  EXPECT_LE(lost, kFetchesUnderWayMax);
  EXPECT_GE(lost, 1u);
  EXPECT_EQ(fetching.heard.take(), "end stopped");
}

TEST(HttpFetcher, TheQueueIsBounded) {
  ScriptedServer server([](int, const std::string&) { return std::string("HTTP/1.1 100 Continue\r\n\r\n"); });
  Inbox<Delivery> ends;
  Fetching fetching(server.access());
  for (std::size_t i = 0; i < kFetchesQueuedMax + kFetchesUnderWayMax + 1; ++i)
    fetching.fetcher->submit({.target = "/x"}, [&](HttpReply reply) { ends.put(reply.delivery); });
  EXPECT_EQ(ends.take(), Delivery::NotSent);
  fetching.fetcher.reset();
}

}  // namespace
}  // namespace berth::client
