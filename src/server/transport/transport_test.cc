#include "server/transport/transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "server/transport/certificates.h"

namespace berth::server {
namespace {

constexpr int kHearMillisMax = 20000;  // a test that waits longer has failed

// A peer of the transport: a blocking socket that sends exactly the given bytes.
class TestPeer {
 public:
  explicit TestPeer(const Endpoint& endpoint, int receive_buffer_bytes = 0);
  ~TestPeer();
  TestPeer(TestPeer&& other) noexcept : file_(other.file_), read_(std::move(other.read_)) {
    other.file_ = -1;
  }
  TestPeer(const TestPeer&) = delete;
  TestPeer& operator=(const TestPeer&) = delete;

  // False when the other side has closed.
  bool say(std::string_view bytes);
  // Everything up to and including `mark`; what was read before when the connection ended first.
  std::string hear_through(std::string_view mark);
  // One whole response with Content-Length.
  std::string hear_answer();
  // Everything until the connection ends.
  std::string hear_all();
  void end_sending();
  int file() const { return file_; }

 private:
  bool receive();
  std::string take(std::size_t size);

  int file_;
  std::string read_;
};

TestPeer::TestPeer(const Endpoint& endpoint, int receive_buffer_bytes)
    : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer_bytes > 0)
    ::setsockopt(file_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  ::inet_pton(AF_INET, endpoint.address.c_str(), &address.sin_addr);
  EXPECT_EQ(::connect(file_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

TestPeer::~TestPeer() {
  if (file_ >= 0) ::close(file_);
}

bool TestPeer::say(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TestPeer::receive() {
  pollfd waiting{.fd = file_, .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, kHearMillisMax) != 1) {
    ADD_FAILURE() << "nothing came, and the connection did not end";
    return false;
  }
  char bytes[65536];
  const ssize_t size = ::recv(file_, bytes, sizeof bytes, 0);
  if (size <= 0) return false;
  read_.append(bytes, static_cast<std::size_t>(size));
  return true;
}

std::string TestPeer::take(std::size_t size) {
  std::string taken = read_.substr(0, size);
  read_.erase(0, size);
  return taken;
}

std::string TestPeer::hear_through(std::string_view mark) {
  std::size_t at;
  while ((at = read_.find(mark)) == std::string::npos)
    if (!receive()) return take(read_.size());
  return take(at + mark.size());
}

std::string TestPeer::hear_answer() {
  std::string head = hear_through("\r\n\r\n");
  const std::size_t length = head.find("Content-Length: ");
  if (length == std::string::npos) return head;
  const std::size_t size = std::stoul(head.substr(length + 16));
  while (read_.size() < size)
    if (!receive()) break;
  return head + take(size);
}

std::string TestPeer::hear_all() {
  while (receive()) {
  }
  return take(read_.size());
}

void TestPeer::end_sending() {
  ::shutdown(file_, SHUT_WR);
}

// The part after the empty line.
std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : answer.substr(end + 4);
}

using Work = std::function<void(HttpRequest, std::shared_ptr<HttpExchange>)>;

// Runs the given function as its response; counts requests.
class WorkHandler final : public HttpHandler {
 public:
  explicit WorkHandler(Work work) : work_(std::move(work)) {}
  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override {
    ++count;
    work_(std::move(request), std::move(exchange));
  }
  std::atomic<int> count = 0;

 private:
  Work work_;
};

// A message from threads of the transport to the test.
class Signal {
 public:
  void raise() {
    const std::lock_guard lock(mutex_);
    ++raised_;
    changed_.notify_all();
  }
  bool wait(int count = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(kHearMillisMax),
                             [&] { return raised_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int raised_ = 0;
};

std::string describe(const HttpRequest& request) {
  std::string text = request.method + " " + request.path;
  for (const auto& [key, value] : request.query) text += " [" + key + "]=[" + value + "]";
  if (!request.body.empty()) text += " body " + std::to_string(request.body.size());
  if (!request.user.name.empty()) text += " by " + request.user.name;
  for (const std::string& group : request.user.groups) text += " of " + group;
  return text;
}

void echo(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  exchange->respond({.status = 200, .headers = {{"Content-Type", "text/plain"}}, .body = describe(request)});
}

TransportLimits short_limits() {
  return {.header_timeout = Duration::millis(80),
          .body_timeout = Duration::millis(80),
          .idle_timeout = Duration::seconds(60),
          .stall_timeout = Duration::seconds(60),
          .linger_timeout = Duration::millis(300)};
}

class Serving {
 public:
  explicit Serving(Work work, TransportOptions options = {}) : handler(std::move(work)) {
    Result<std::unique_ptr<Transport>> made = Transport::listen(options, handler);
    EXPECT_TRUE(made.ok());
    transport = std::move(made).value();
  }
  TestPeer peer() { return TestPeer(transport->local()); }
  void wait_for_connections(std::size_t count) {
    for (int i = 0; i < kHearMillisMax && transport->connection_count() != count; ++i) ::usleep(1000);
    EXPECT_EQ(transport->connection_count(), count);
  }

  WorkHandler handler;
  std::unique_ptr<Transport> transport;
};

TEST(Transport, AnswersOneRequestAfterAnotherOnOneConnection) {
  Serving serving(echo, {.insecure_user = {.name = "admin", .groups = {"system:masters"}}});
  TestPeer peer = serving.peer();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        peer.say("GET /api/v1/pods%2Fx?watch=1&labelSelector=a%3Db+c&flag HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(body_of(peer.hear_answer()),
              "GET /api/v1/pods/x [watch]=[1] [labelSelector]=[a=b c] [flag]=[] by admin of system:masters");
  }
  EXPECT_EQ(serving.transport->connection_count(), 1u);
}

TEST(Transport, AnswersPipelinedRequestsInOrder) {
  Serving serving(echo);
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say(
      "POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcDELETE /two HTTP/1.1\r\nHost: x\r\n\r\n"
      "FROB /three HTTP/1.1\r\nHost: x\r\n"));
  EXPECT_EQ(body_of(peer.hear_answer()), "POST /one body 3");
  EXPECT_EQ(body_of(peer.hear_answer()), "DELETE /two");
  ASSERT_TRUE(peer.say("\r\n"));
  EXPECT_EQ(body_of(peer.hear_answer()), "FROB /three");
}

TEST(Transport, TakesChunkedBodiesAndExpectations) {
  Serving serving(echo);
  TestPeer peer = serving.peer();
  ASSERT_TRUE(
      peer.say("PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
  EXPECT_EQ(body_of(peer.hear_answer()), "PUT /a body 5");
  ASSERT_TRUE(peer.say("PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(peer.hear_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(peer.say("abcd"));
  EXPECT_EQ(body_of(peer.hear_answer()), "PUT /b body 4");
}

TEST(Transport, AnswersBearTheDateWhenThereIsAClock) {
  const ManualClock clock(parse_time("1994-11-15T08:12:31.9Z").value());
  Serving dated(echo, {.clock = &clock});
  Serving plain(echo);
  for (Serving* serving : {&dated, &plain}) {
    TestPeer peer = serving->peer();
    ASSERT_TRUE(peer.say("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string head = peer.hear_through("\r\n\r\n");
    EXPECT_EQ(head.find("Date: Tue, 15 Nov 1994 08:12:31 GMT\r\n") != std::string::npos, serving == &dated)
        << head;
  }
}

TEST(Transport, HeadAndUpgradeAreOrdinaryRequests) {
  Serving serving(echo);
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string head = peer.hear_through("\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 13\r\n"), std::string::npos) << head;
  ASSERT_TRUE(peer.say("POST /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"));
  EXPECT_EQ(body_of(peer.hear_answer()), "POST /exec");
}

struct RefusedRequest {
  std::string name;
  std::string request;
  int code;
  std::string reason;
};

TEST(Transport, RefusesWithAStatus) {
  Serving serving(echo);
  const RefusedRequest refusals[] = {
      {"bad escape", "GET /api/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "BadRequest"},
      {"bad escape in the query", "GET /api?a=%1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "BadRequest"},
      {"no path", "GET api HTTP/1.1\r\nHost: x\r\n\r\n", 400, "BadRequest"},
      {"no HTTP", "\x16\x03\x01\x02 hello there\r\n\r\n", 400, "BadRequest"},
      {"long header", "GET / HTTP/1.1\r\nX: " + std::string(kHeaderBytesMax, 'x') + "\r\n\r\n", 431,
       "BadRequest"},
      {"large body",
       "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(kBodyBytesMax + 1) + "\r\n\r\n" +
           std::string(kBodyBytesMax + 1, 'x'),
       413, "RequestEntityTooLarge"},
      {"two codings", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501,
       "NotImplemented"},
      {"an unknown coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nx", 501,
       "NotImplemented"},
      {"another origin", "POST / HTTP/1.1\r\nHost: x\r\nOrigin: http://evil.example\r\n\r\n", 403,
       "Forbidden"},
      {"a name that only looks like ours",
       "POST / HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost.evil.example:80\r\n\r\n", 403, "Forbidden"},
      {"no origin to speak of", "POST / HTTP/1.1\r\nHost: x\r\nOrigin: null\r\n\r\n", 403, "Forbidden"},
  };
  for (const RefusedRequest& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    TestPeer peer = serving.peer();
    ASSERT_TRUE(peer.say(refusal.request));
    const std::string answer = peer.hear_answer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(refusal.code) + " ")) << answer;
    const Result<Json> status = parse_json(body_of(answer));
    ASSERT_TRUE(status.ok()) << answer;
    EXPECT_EQ(status->string_at("kind"), "Status");
    EXPECT_EQ(status->string_at("reason"), refusal.reason);
    EXPECT_EQ(status->int_at("code"), refusal.code);
  }
  EXPECT_EQ(serving.handler.count, 0);
}

TEST(Transport, ABodyOfTheLargestSizePasses) {
  Serving serving(echo);
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(kBodyBytesMax) + "\r\n\r\n" +
                       std::string(kBodyBytesMax, 'x')));
  EXPECT_EQ(body_of(peer.hear_answer()), "POST / body " + std::to_string(kBodyBytesMax));
}

TEST(Transport, ClosesHalfARequestThatIsFollowedBySilence) {
  Serving serving(echo, {.limits = short_limits()});
  for (const std::string_view half :
       {"GET /api HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"}) {
    TestPeer peer = serving.peer();
    ASSERT_TRUE(peer.say(half));
    EXPECT_EQ(peer.hear_all(), "");
  }
  EXPECT_EQ(serving.handler.count, 0);
}

TEST(Transport, ClosesAnIdleConnectionOnlyAfterTheIdleTimeout) {
  TransportLimits limits = short_limits();
  limits.idle_timeout = Duration::millis(100);
  Serving serving(echo, {.limits = limits});
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(body_of(peer.hear_all()), "GET /");
}

TEST(Transport, StreamsChunksAndKeepsTheConnection) {
  std::shared_ptr<HttpExchange> stream;
  Signal begun, closed;
  Serving serving([&](HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
    if (request.path != "/watch") return echo(std::move(request), std::move(exchange));
    exchange->on_close([&] { closed.raise(); });
    exchange->begin_stream(200, {{"Content-Type", "application/json"}});
    stream = std::move(exchange);
    begun.raise();
  });
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(begun.wait());
  EXPECT_TRUE(stream->send("first\n"));
  EXPECT_NE(peer.hear_through("6\r\nfirst\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_TRUE(stream->send(std::string(17, 'x')));
  EXPECT_EQ(peer.hear_through("\r\n"), "11\r\n");
  stream->end_stream();
  EXPECT_EQ(peer.hear_through("0\r\n\r\n"), std::string(17, 'x') + "\r\n0\r\n\r\n");
  EXPECT_TRUE(closed.wait());
  EXPECT_FALSE(stream->send("late"));
  ASSERT_TRUE(peer.say("GET /next HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(body_of(peer.hear_answer()), "GET /next");
}

TEST(Transport, AStreamToAnOldClientEndsWithTheConnection) {
  Serving serving([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
    exchange->begin_stream(200, {});
    exchange->send("whole");
    exchange->end_stream();
  });
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(body_of(peer.hear_all()), "whole");
}

TEST(Transport, TellsAStreamThatItsPeerIsGone) {
  std::shared_ptr<HttpExchange> stream;
  Signal begun, closed;
  Serving serving([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
    exchange->begin_stream(200, {});
    stream = exchange;
    begun.raise();
  });
  {
    TestPeer peer = serving.peer();
    ASSERT_TRUE(peer.say("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_TRUE(begun.wait());
    stream->on_close([&] { closed.raise(); });
    peer.hear_through("\r\n\r\n");
  }
  EXPECT_TRUE(closed.wait());
  EXPECT_FALSE(stream->send("to nobody"));
  stream->on_close([&] { closed.raise(); });
  EXPECT_TRUE(closed.wait(2));
}

TEST(Transport, CutsOffAPeerThatNeverReadsItsWatch) {
  Signal closed;
  std::atomic<std::size_t> accepted_bytes = 0;
  std::thread producer;
  Serving serving([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
    exchange->on_close([&] { closed.raise(); });
    exchange->begin_stream(200, {});
    producer = std::thread([&accepted_bytes, exchange] {
      const std::string event(64 << 10, 'e');
      while (exchange->send(event)) accepted_bytes += event.size();
    });
  });
  TestPeer peer(serving.transport->local(), 4096);
  ASSERT_TRUE(peer.say("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(closed.wait());
  producer.join();
  EXPECT_GE(accepted_bytes, kStreamBufferBytesMax - (64 << 10));
  EXPECT_EQ(peer.hear_all().find("0\r\n\r\n"), std::string::npos) << "a cut stream must not look complete";
  serving.wait_for_connections(0);
}

TEST(Transport, CutsOffAPeerThatTakesNothing) {
  TransportLimits limits = short_limits();
  limits.stall_timeout = Duration::millis(80);
  Signal answered;
  Serving serving(
      [&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->respond({.status = 200, .headers = {}, .body = std::string(64 << 20, 'x')});
        answered.raise();
      },
      {.limits = limits});
  TestPeer peer(serving.transport->local(), 4096);
  ASSERT_TRUE(peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(answered.wait());
  serving.wait_for_connections(0);
}

TEST(Transport, AnswersForAHandlerThatDropsTheExchange) {
  Serving serving([](HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
    if (request.path == "/stream") exchange->begin_stream(200, {});
  });
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(peer.hear_answer().starts_with("HTTP/1.1 500 "));
  ASSERT_TRUE(peer.say("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(peer.hear_all().find("0\r\n\r\n"), std::string::npos);
}

TEST(Transport, HeaderValuesCannotBreakOut) {
  Serving serving([](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
    exchange->respond({.status = 200, .headers = {{"Warning", "a\r\nEvil: b"}}, .body = "ok"});
  });
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(peer.hear_answer().find("Warning: a  Evil: b\r\n"), std::string::npos);
}

bool is_answered(TestPeer& peer) {
  return peer.say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n") && body_of(peer.hear_answer()) == "GET /a";
}

TEST(Transport, TheLongestSilentGoesWhenAllSlotsAreTaken) {
  TransportLimits limits;
  limits.connections_max = 2;
  Serving serving(echo, {.limits = limits});
  TestPeer silent = serving.peer(), two = serving.peer();
  serving.wait_for_connections(2);
  TestPeer three = serving.peer();
  EXPECT_EQ(silent.hear_all(), "");
  EXPECT_TRUE(is_answered(three));
  EXPECT_TRUE(is_answered(two));
  EXPECT_EQ(serving.peer().hear_all(), "") << "whoever has asked stays";
  EXPECT_TRUE(is_answered(two));
}

TEST(Transport, AnswersByNamesThatNoOtherSiteCanHave) {
  Serving serving(echo, {.names = {"berth.example.com"}});
  struct Case {
    const char* host;
    int status;
  };
  for (const Case& c : {Case{"localhost", 200}, Case{"127.0.0.1:1", 200}, Case{"berth.example.com:80", 200},
                        Case{"evil.example", 403}, Case{"evil.example:80", 403}}) {
    TestPeer peer = serving.peer();
    ASSERT_TRUE(peer.say("GET /secrets HTTP/1.1\r\nHost: " + std::string(c.host) + "\r\n\r\n"));
    EXPECT_TRUE(peer.hear_answer().starts_with("HTTP/1.1 " + std::to_string(c.status))) << c.host;
  }
  TestPeer old = serving.peer();
  ASSERT_TRUE(old.say("GET /old HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(body_of(old.hear_all()), "GET /old") << "no browser";
}

TEST(Transport, UnreadAnswersAreBoundedOverAllConnections) {
  constexpr std::size_t kLargeBytes = 32u << 20;  // more than any socket takes
  TransportLimits limits;
  limits.unsent_bytes_max = 1u << 20;
  Signal given;
  Serving serving(
      [&](HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
        if (request.path != "/large") return echo(std::move(request), std::move(exchange));
        exchange->respond({.status = 200, .headers = {}, .body = std::string(kLargeBytes, 'x')});
        given.raise();
      },
      {.limits = limits});
  TestPeer unread = serving.peer();
  ASSERT_TRUE(unread.say("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(given.wait());
  TestPeer other = serving.peer();
  ASSERT_TRUE(other.say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(other.hear_answer().starts_with("HTTP/1.1 429 "));
  ASSERT_TRUE(other.say("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(body_of(other.hear_answer()), "GET /readyz");
  EXPECT_EQ(body_of(unread.hear_answer()).size(), kLargeBytes);
  EXPECT_TRUE(is_answered(other)) << "it was read";
}

TEST(Transport, ConnectionsWaitUntilItAccepts) {
  Serving serving(echo, {.accepts = Accepts::Later});
  TestPeer early = serving.peer();
  ASSERT_TRUE(early.say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
  ::usleep(20'000);  // time in which threads without work would end
  EXPECT_EQ(serving.transport->connection_count(), 0u);
  serving.transport->accept_now();
  EXPECT_EQ(body_of(early.hear_answer()), "GET /a");
}

// A list is wanted by a peer that has nothing more to say, and when the server stops; a part of one says so.
TEST(Transport, BodiesInPiecesEndByThemselves) {
  std::shared_ptr<HttpExchange> body;
  Signal begun;
  Serving serving([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
    exchange->begin_body(200, {});
    body = std::move(exchange);
    begun.raise();
  });
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET /list HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(begun.wait());
  peer.end_sending();
  EXPECT_TRUE(body->send("one "));
  EXPECT_TRUE(body->send("two"));
  body->end_stream();
  EXPECT_TRUE(peer.hear_all().ends_with("two\r\n0\r\n\r\n"));

  TestPeer other = serving.peer();
  ASSERT_TRUE(other.say("GET /list HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(begun.wait(2));
  EXPECT_TRUE(body->send("half"));
  body->cut_stream();
  EXPECT_FALSE(body->send("more"));
  EXPECT_EQ(other.hear_all().find("0\r\n\r\n"), std::string::npos);
}

TEST(Transport, TakesRequestsOfItsOwnPages) {
  Serving serving(echo);
  for (const char* origin : {"http://localhost:8001", "http://127.0.0.1:6443", "http://[::1]:6443"}) {
    TestPeer peer = serving.peer();
    ASSERT_TRUE(peer.say("POST /a HTTP/1.1\r\nHost: x\r\nOrigin: " + std::string(origin) +
                         "\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(body_of(peer.hear_answer()), "POST /a") << origin;
  }
}

// Whoever has asked for something is no stranger, and neither is one that is gone.
TEST(Transport, SilentPeersOfAnAddressMakeRoom) {
  TransportLimits limits;
  limits.strangers_per_address_max = 2;
  Serving serving(echo, {.limits = limits});
  TestPeer known = serving.peer();
  EXPECT_TRUE(is_answered(known));
  TestPeer one = serving.peer(), two = serving.peer();
  serving.wait_for_connections(3);
  TestPeer later = serving.peer();
  EXPECT_EQ(one.hear_all(), "") << "the longest silent";
  EXPECT_TRUE(is_answered(later));
  EXPECT_TRUE(is_answered(two));
  EXPECT_TRUE(is_answered(known));
}

TEST(Transport, HoldsAThousandIdleWatches) {
  constexpr int kWatches = 1000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2 * kWatches + 100) GTEST_SKIP() << "too few files allowed";

  std::mutex mutex;
  std::vector<std::shared_ptr<HttpExchange>> streams;
  Serving serving([&](HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
    if (request.path != "/watch") return echo(std::move(request), std::move(exchange));
    exchange->begin_stream(200, {});
    const std::lock_guard lock(mutex);
    streams.push_back(std::move(exchange));
  });
  std::vector<TestPeer> peers;
  for (int i = 0; i < kWatches; ++i) {
    peers.push_back(serving.peer());
    ASSERT_TRUE(peers.back().say("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  for (TestPeer& peer : peers) peer.hear_through("\r\n\r\n");
  TestPeer other = serving.peer();
  ASSERT_TRUE(other.say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(body_of(other.hear_answer()), "GET /healthz");
  for (const auto& stream : streams) EXPECT_TRUE(stream->send("event\n"));
  for (TestPeer& peer : peers) EXPECT_EQ(peer.hear_through("event\n\r\n"), "6\r\nevent\n\r\n");
}

TEST(Transport, StopsAfterTheAnswersUnderWay) {
  std::shared_ptr<HttpExchange> slow, stream;
  Signal waiting, closed;
  Serving serving([&](HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
    if (request.path == "/watch") {
      exchange->on_close([&] { closed.raise(); });
      exchange->begin_stream(200, {});
      stream = std::move(exchange);
    } else {
      slow = std::move(exchange);
    }
    waiting.raise();
  });
  TestPeer idle = serving.peer(), watching = serving.peer(), asking = serving.peer();
  ASSERT_TRUE(watching.say("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(asking.say("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(waiting.wait(2));
  serving.wait_for_connections(3);

  std::thread stopping([&] { serving.transport->stop(Duration::seconds(20)); });
  EXPECT_EQ(idle.hear_all(), "");
  EXPECT_TRUE(watching.hear_all().ends_with("\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(closed.wait());
  slow->respond({.status = 200, .headers = {}, .body = "done"});
  EXPECT_EQ(body_of(asking.hear_all()), "done");
  stopping.join();
  EXPECT_EQ(serving.transport->connection_count(), 0u);
}

TEST(Transport, ExchangesOutliveTheTransport) {
  std::vector<std::shared_ptr<HttpExchange>> held;
  Signal arrived;
  auto serving = std::make_unique<Serving>([&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
    held.push_back(std::move(exchange));
    arrived.raise();
  });
  TestPeer peer = serving->peer();
  ASSERT_TRUE(peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(arrived.wait());
  serving.reset();
  EXPECT_EQ(peer.hear_all(), "");
  held.front()->respond({.status = 200, .headers = {}, .body = "to nobody"});
  bool told = false;
  held.front()->on_close([&] { told = true; });
  EXPECT_TRUE(told);
}

TEST(Transport, AnswersAPeerThatEndedItsSide) {
  Serving serving(echo);
  TestPeer peer = serving.peer();
  ASSERT_TRUE(peer.say("GET /late HTTP/1.1\r\nHost: x\r\n\r\n"));
  peer.end_sending();
  EXPECT_EQ(body_of(peer.hear_all()), "GET /late");
}

TEST(Transport, ListensOnlyWhereItMay) {
  WorkHandler handler(echo);
  struct Case {
    std::string address;
    ErrorCode code;
  };
  for (const Case& refused : {Case{"0.0.0.0", ErrorCode::Forbidden}, Case{"::", ErrorCode::Forbidden},
                              Case{"example.com", ErrorCode::Invalid}}) {
    const auto made = Transport::listen({.address = refused.address}, handler);
    ASSERT_FALSE(made.ok()) << refused.address;
    EXPECT_EQ(made.error().code(), refused.code) << refused.address;
  }
  Serving serving(echo);
  const auto taken = Transport::listen({.port = serving.transport->local().port}, handler);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code(), ErrorCode::Unavailable);
  const auto no_tls = Transport::listen(
      {.tls = TlsMaterial{.certificate_pem = "x", .key_pem = "y", .client_ca_pem = {}}}, handler);
  ASSERT_FALSE(no_tls.ok());
  EXPECT_EQ(no_tls.error().code(), ErrorCode::Invalid);
}

// --- TLS

const Certificates& certificates() {
  static const Certificates made = generate_certificates({}, SystemClock().now()).value();
  return made;
}

TransportOptions tls_options(TransportLimits limits = {}) {
  return {.tls = TlsMaterial{.certificate_pem = certificates().server.certificate_pem,
                             .key_pem = certificates().server.key_pem,
                             .client_ca_pem = certificates().ca.certificate_pem},
          .limits = limits};
}

// A blocking TLS client on a TestPeer's socket.
class TlsPeer {
 public:
  struct Options {
    const Identity* identity = nullptr;
    int newest_version = 0;
    std::string protocols;  // ALPN wire form
  };
  TlsPeer(TestPeer& peer, const Options& options)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free), ssl_(nullptr, SSL_free) {
    if (options.newest_version) {
      SSL_CTX_set_max_proto_version(context_.get(), options.newest_version);
      SSL_CTX_set_security_level(context_.get(), 0);
    }
    trust(certificates().ca.certificate_pem);
    if (options.identity) use(*options.identity);
    ssl_.reset(SSL_new(context_.get()));
    if (!options.protocols.empty())
      SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(options.protocols.data()),
                          static_cast<unsigned>(options.protocols.size()));
    SSL_set1_host(ssl_.get(), "localhost");
    SSL_set_fd(ssl_.get(), peer.file());
    shaken_ = SSL_connect(ssl_.get()) == 1;
  }
  bool shaken() const { return shaken_; }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return std::string(reinterpret_cast<const char*>(name), size);
  }
  bool say(std::string_view text) {
    return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size());
  }
  // Everything up to and including `mark`, and what came with it; less when the connection ended first.
  std::string hear_through(std::string_view mark) {
    std::string heard;
    char bytes[4096];
    while (heard.find(mark) == std::string::npos) {
      const int size = SSL_read(ssl_.get(), bytes, sizeof bytes);
      if (size <= 0) break;
      heard.append(bytes, static_cast<std::size_t>(size));
    }
    return heard;
  }
  // The response to one request that closes the connection; empty when TLS or HTTP failed.
  std::string ask(std::string_view path) {
    if (!say("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")) return {};
    std::string answer;
    char bytes[4096];
    for (int size; (size = SSL_read(ssl_.get(), bytes, sizeof bytes)) > 0;)
      answer.append(bytes, static_cast<std::size_t>(size));
    return answer;
  }

 private:
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
  static Bio reader(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), -1), BIO_free_all); }
  void trust(const std::string& pem) {
    X509* ca = PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), ca);
    X509_free(ca);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  void use(const Identity& identity) {
    X509* leaf = PEM_read_bio_X509(reader(identity.certificate_pem).get(), nullptr, nullptr, nullptr);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(reader(identity.key_pem).get(), nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_.get(), leaf);
    SSL_CTX_use_PrivateKey(context_.get(), key);
    X509_free(leaf);
    EVP_PKEY_free(key);
  }
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool shaken_ = false;
};

TEST(TransportTls, TheClientCertificateIsTheUser) {
  Serving serving(echo, tls_options());
  const Certificates strangers = generate_certificates({}, SystemClock().now()).value();
  struct Case {
    std::string name;
    const Identity* identity;
    std::string answer;
  };
  const Case cases[] = {
      {"admin", &certificates().admin, "GET /api by kubernetes-admin of system:masters"},
      {"nobody", nullptr, "GET /api"},
      {"signed by a stranger", &strangers.admin, ""},
      {"a server's certificate", &certificates().server, ""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    TestPeer peer = serving.peer();
    TlsPeer tls(peer, {.identity = one.identity, .newest_version = 0, .protocols = "\x02h2\x08http/1.1"});
    EXPECT_EQ(body_of(tls.ask("/api")), one.answer);
    EXPECT_EQ(one.answer.empty() ? "http/1.1" : tls.protocol(), "http/1.1");
  }
}

// OpenSSL's allocations, but for those of the threads on which peers of the test run.
class OpensslBytes {
 public:
  static bool count() { return CRYPTO_set_mem_functions(allocate, reallocate, release) == 1; }
  static std::size_t now() { return bytes_; }
  static thread_local bool is_peer;

 private:
  struct alignas(std::max_align_t) Block {
    std::size_t counted;
  };
  static void* allocate(std::size_t size, const char*, int) {
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
    if (!block) return nullptr;
    block->counted = is_peer ? 0 : size;
    bytes_ += block->counted;
    return block + 1;
  }
  static void* reallocate(void* old, std::size_t size, const char* file, int line) {
    if (!old) return allocate(size, file, line);
    auto* block = static_cast<Block*>(old) - 1;
    bytes_ -= block->counted;
    block = static_cast<Block*>(std::realloc(block, sizeof(Block) + size));
    if (!block) return nullptr;
    block->counted = is_peer ? 0 : size;
    bytes_ += block->counted;
    return block + 1;
  }
  static void release(void* old, const char*, int) {
    if (!old) return;
    auto* block = static_cast<Block*>(old) - 1;
    bytes_ -= block->counted;
    std::free(block);
  }
  static inline std::atomic<std::size_t> bytes_ = 0;
};
thread_local bool OpensslBytes::is_peer = false;
const bool openssl_is_counted = OpensslBytes::count();  // before OpenSSL allocates anything

// Watches that have sent a request, and heard events larger than a record.
TEST(TransportTls, ASilentConnectionHoldsNoBuffer) {
  ASSERT_TRUE(openssl_is_counted);
  constexpr std::size_t kWatches = 8;
  constexpr std::size_t kSessionBytesMax = 26u << 10;  // state, keys, certificate: 22 KiB and no record of 16
  std::vector<std::shared_ptr<HttpExchange>> streams;
  std::mutex mutex;
  Serving serving(
      [&](HttpRequest, std::shared_ptr<HttpExchange> exchange) {
        exchange->begin_stream(200, {});
        const std::lock_guard lock(mutex);
        streams.push_back(std::move(exchange));
      },
      tls_options());
  OpensslBytes::is_peer = true;
  std::deque<TestPeer> peers;
  std::deque<TlsPeer> sessions;
  std::size_t before = 0;
  for (std::size_t i = 0; i < kWatches + 1; ++i) {  // the first brings what OpenSSL keeps once
    TestPeer& peer = peers.emplace_back(serving.peer());
    TlsPeer& tls = sessions.emplace_back(peer, TlsPeer::Options{.identity = &certificates().admin});
    ASSERT_TRUE(
        tls.say("GET /watch HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(20'000, 'x') + "\r\n\r\n"));
    tls.hear_through("\r\n\r\n");
    serving.transport->buffered_bytes();  // what the connection's strand was doing is done
    if (before == 0) before = OpensslBytes::now();
  }
  for (const auto& stream : streams) ASSERT_TRUE(stream->send(std::string(100'000, 'e') + "end\n"));
  for (TlsPeer& tls : sessions) EXPECT_TRUE(tls.hear_through("end\n").ends_with("end\n\r\n"));
  EXPECT_EQ(serving.transport->buffered_bytes(), (kWatches + 1) * 2 * std::string().capacity());
  EXPECT_LE((OpensslBytes::now() - before) / kWatches, kSessionBytesMax);
  OpensslBytes::is_peer = false;
}

TEST(TransportTls, TakesRequestsThatComeInOneRecordOrInMany) {
  Serving serving(echo, tls_options());
  TestPeer peer = serving.peer();
  TlsPeer tls(peer, {});
  ASSERT_TRUE(tls.say("GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(tls.hear_through("/two").find("/one"), std::string::npos);
  const std::string body(200'000, 'b');
  ASSERT_TRUE(tls.say("POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n"));
  ASSERT_TRUE(tls.say(body));
  EXPECT_TRUE(tls.hear_through("body 200000").ends_with("POST /big body 200000"));
  for (const char piece : std::string_view("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"))
    ASSERT_TRUE(tls.say(std::string(1, piece)));
  EXPECT_TRUE(tls.hear_through("/slow").ends_with("GET /slow"));
}

TEST(TransportTls, RefusesOldVersionsAndOtherProtocols) {
  Serving serving(echo, tls_options());
  TestPeer old_peer = serving.peer();
  EXPECT_FALSE(TlsPeer(old_peer, {.newest_version = TLS1_1_VERSION}).shaken());
  TestPeer new_peer = serving.peer();
  EXPECT_TRUE(TlsPeer(new_peer, {.newest_version = TLS1_2_VERSION}).shaken());
  TestPeer h2_peer = serving.peer();
  EXPECT_FALSE(TlsPeer(h2_peer, {.protocols = "\x02h2"}).shaken());
}

TEST(TransportTls, SurvivesGarbageAndTruncation) {
  Serving serving(echo, tls_options(short_limits()));
  TestPeer plain = serving.peer();
  ASSERT_TRUE(plain.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string told = plain.hear_all();
  EXPECT_EQ(told.rfind("HTTP/1.0 400 Bad Request\r\n", 0), 0u) << told;
  EXPECT_EQ(body_of(told), "Client sent an HTTP request to an HTTPS server.\n");
  TestPeer half = serving.peer();
  ASSERT_TRUE(half.say(std::string_view("\x16\x03\x01\x02\x00\x01", 6)));
  half.hear_all();
  {
    TestPeer cut = serving.peer();
    TlsPeer tls(cut, {});
    ASSERT_TRUE(tls.shaken());
  }
  serving.wait_for_connections(0);
  TestPeer peer = serving.peer();
  EXPECT_EQ(body_of(TlsPeer(peer, {}).ask("/after")), "GET /after");
}

}  // namespace
}  // namespace berth::server
