// The HTTPS client with this server on loopback, and with scripted responses.
#include "client/https_client.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "api/gates.h"
#include "api/serialized.h"
#include "api/test_cel.h"
#include "base/json.h"
#include "client/testing/protobuf_answers.h"
#include "server/api_server.h"
#include "server/test_heard.h"
#include "server/transport/transport.h"

namespace berth::server {
namespace {

// "kind/name" of objects as a decoder sees them.
std::string name_of(const api::RawPtr& raw) {
  const Json object = api::parse_object(*raw).value();
  return std::string(object.string_at("kind")) + "/" +
         std::string(object.find("metadata")->string_at("name"));
}

class Listener final : public client::WatchReceiver {
 public:
  void on_list(client::RawList list) override {
    std::string line = "list";
    for (const api::RawPtr& object : list.objects) line += " " + name_of(object);
    heard.put(std::move(line));
  }
  void on_changes(std::vector<client::RawChange> changes) override {
    const char* const kinds[] = {"added ", "modified ", "deleted "};
    for (const client::RawChange& change : changes)
      heard.put(kinds[static_cast<int>(change.kind)] + name_of(change.object));
  }
  void on_trouble(std::string text) override { trouble.put(std::move(text)); }

  Heard heard;
  Heard trouble;
};

// Blocks in the first event until `go_on`, or for 10 s.
class SlowListener final : public client::WatchReceiver {
 public:
  void on_list(client::RawList) override { heard.put("list"); }
  void on_changes(std::vector<client::RawChange>) override {
    heard.put("change");
    std::unique_lock lock(mutex_);
    in_time_ = changed_.wait_for(lock, std::chrono::seconds(10), [this] { return may_go_on_; });
  }
  void on_trouble(std::string) override {}

  void go_on() {
    const std::lock_guard lock(mutex_);
    may_go_on_ = true;
    changed_.notify_all();
  }
  bool in_time() {
    const std::lock_guard lock(mutex_);
    return in_time_;
  }

  Heard heard;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_go_on_ = false, in_time_ = true;
};

client::WatchPacing quick() {
  client::WatchPacing pacing;
  pacing.page_objects = 2;
  pacing.first_pause = pacing.absent_pause = Duration::millis(10);
  pacing.longest_pause = Duration::millis(50);
  pacing.short_watch = Duration();
  return pacing;
}

client::ApiReply call(client::ApiClient& client, client::ApiRequest request) {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<client::ApiReply> got;
  client.submit(std::move(request), [&](client::ApiReply reply) {
    const std::lock_guard lock(mutex);
    got = std::move(reply);
    answered.notify_all();
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return got.has_value(); });
  return *got;
}

std::unique_ptr<client::ApiClient> connect(std::uint16_t port, const Clock& clock) {
  client::ClusterAccess access;
  access.server = "http://127.0.0.1:" + std::to_string(port);
  return client::make_https_client(access, {}, clock, quick()).value();
}

TransportOptions plain(std::uint16_t port = 0) {
  TransportOptions options;
  options.port = port;
  options.insecure_user = {"test", {"system:masters"}};
  return options;
}

const api::ResourceRef kConfigMaps{"", "v1", "configmaps"};

client::ApiRequest create(const std::string& name) {
  return {client::Verb::Create, kConfigMaps, "default", name, "", R"({"metadata":{"name":")" + name + "\"}}"};
}

// Reserves a port of loopback for one test while no server listens on it: bound, so that no other socket gets
// it, but not listening, so that connections are refused and a server may bind it (SO_REUSEADDR).
class HeldPort {
 public:
  HeldPort() : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    EXPECT_EQ(::setsockopt(file_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(file_, any, size), 0);
    EXPECT_EQ(::getsockname(file_, any, &size), 0);
    number = ntohs(address.sin_port);
  }
  ~HeldPort() { ::close(file_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  std::uint16_t number = 0;

 private:
  int file_;
};

class HttpsClient : public testing::Test {
 protected:
  HttpsClient() {
    EXPECT_TRUE(server.make_default_objects().ok());
    start();
  }
  ~HttpsClient() override {
    subscription.reset();
    client.reset();
    stop();
    pool->stop();
    store.reset();
  }
  void start() {
    server.set_ready(true);
    transport = Transport::listen(plain(port), server).value();
  }
  void stop() {
    server.close_watches();
    transport->stop(Duration::seconds(1));
  }
  void follow() {
    client = connect(port, clock);
    subscription = client->list_and_watch(kConfigMaps, listener);
  }
  static std::unique_ptr<store::Store> open() {
    store::StoreOptions options;
    options.watch_window_events = 4;
    return store::open_store(options).value();
  }

  SystemClock clock;
  SystemRandom random;
  std::unique_ptr<store::Store> store = open();
  std::unique_ptr<ThreadPool> pool = make_thread_pool(1);
  api::Gates gates{api::GateDefaults::Up};
  ApiServer server{{*store, *pool, clock, random, gates, api::accept_any_cel}, {}};
  const HeldPort usual, other;
  std::uint16_t port = usual.number;
  std::unique_ptr<Transport> transport;
  Listener listener;
  std::unique_ptr<client::ApiClient> client;
  std::unique_ptr<client::Subscription> subscription;
};

TEST_F(HttpsClient, ListsInPagesThenWatches) {
  const auto writer = connect(port, clock);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(call(*writer, create(name)).code, 201);
  follow();
  EXPECT_EQ(listener.heard.take(), "list ConfigMap/a ConfigMap/b ConfigMap/c");
  EXPECT_TRUE(call(*writer, create("d")).ok());
  EXPECT_EQ(listener.heard.take(), "added ConfigMap/d");
  EXPECT_TRUE(
      call(*writer, {client::Verb::MergePatch, kConfigMaps, "default", "d", "", R"({"data":{"k":"1"}})"})
          .ok());
  EXPECT_EQ(listener.heard.take(), "modified ConfigMap/d");
  EXPECT_TRUE(call(*writer, {client::Verb::Delete, kConfigMaps, "default", "d", "", ""}).ok());
  EXPECT_EQ(listener.heard.take(), "deleted ConfigMap/d");
}

TEST_F(HttpsClient, ARequestDoesNotWaitForWhoReadsAWatch) {
  SlowListener slow;
  client = connect(port, clock);
  subscription = client->list_and_watch(kConfigMaps, slow);
  EXPECT_EQ(slow.heard.take(), "list");
  EXPECT_TRUE(call(*client, create("a")).ok());
  EXPECT_EQ(slow.heard.take(), "change");
  EXPECT_TRUE(call(*client, create("b")).ok());
  slow.go_on();
  subscription.reset();
  EXPECT_TRUE(slow.in_time()) << "the second answer came while the first event was being read";
}

TEST_F(HttpsClient, CarriesEveryVerbAndItsRefusals) {
  const auto client = connect(port, clock);
  const client::ApiReply made = call(*client, create("a"));
  ASSERT_TRUE(made.object);
  const auto ask = [&](client::Verb verb, std::string body) {
    return call(*client, {verb, kConfigMaps, "default", "a", "", std::move(body)});
  };
  EXPECT_EQ(call(*client, create("a")).reason, "AlreadyExists");
  const std::string first = to_string(*api::parse_object(*made.object));
  const client::ApiReply put = ask(client::Verb::Update, first);
  EXPECT_EQ(put.code, 200) << put.message;
  const client::ApiReply json =
      ask(client::Verb::JsonPatch, R"([{"op":"add","path":"/data","value":{"k":"1"}}])");
  EXPECT_EQ(json.code, 200) << json.message;
  EXPECT_EQ(ask(client::Verb::StrategicPatch, R"({"data":{"j":"2"}})").code, 200);
  const client::ApiReply stale = ask(client::Verb::Update, first);
  EXPECT_EQ(stale.code, 409);
  EXPECT_EQ(stale.reason, "Conflict");
  const Json now = api::parse_object(*ask(client::Verb::Get, "").object).value();
  EXPECT_EQ(to_string(*now.find("data")), R"({"j":"2","k":"1"})");
  EXPECT_TRUE(ask(client::Verb::Delete, "").ok());
  EXPECT_EQ(ask(client::Verb::Get, "").reason, "NotFound");
}

TEST_F(HttpsClient, ResumesAfterTheServerCameBack) {
  follow();
  EXPECT_EQ(listener.heard.take(), "list");
  EXPECT_TRUE(call(*client, create("a")).ok());
  EXPECT_EQ(listener.heard.take(), "added ConfigMap/a");
  stop();
  EXPECT_NE(call(*client, create("b")).delivery, client::Delivery::Answered);
  start();
  EXPECT_TRUE(call(*client, create("c")).ok());
  EXPECT_EQ(listener.heard.take(), "added ConfigMap/c");
}

TEST_F(HttpsClient, ListsAgainWhenHistoryIsGone) {
  follow();
  EXPECT_EQ(listener.heard.take(), "list");
  stop();
  port = other.number;
  start();  // on another port than the listener
  const auto writer = connect(port, clock);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
    EXPECT_TRUE(call(*writer, create(name)).ok());
  EXPECT_TRUE(call(*writer, {client::Verb::Delete, kConfigMaps, "default", "a", "", ""}).ok());
  stop();
  port = usual.number;
  start();
  std::string line = listener.heard.take();
  EXPECT_TRUE(line.starts_with("list ConfigMap/b") && line.ends_with("ConfigMap/h")) << line;
}

// Answers each request by the next function of a script; the last one answers all further ones.
class ScriptedApi final : public HttpHandler {
 public:
  using Step = std::function<void(const HttpRequest&, HttpExchange&)>;
  explicit ScriptedApi(std::vector<Step> steps) : steps_(std::move(steps)) {
    transport_ = Transport::listen(plain(), *this).value();
  }
  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override {
    std::string line = request.path;
    for (const auto& [name, value] : request.query)
      if (name != "timeoutSeconds" && name != "allowWatchBookmarks") line += " " + name + "=" + value;
    Step step;
    {
      const std::lock_guard lock(mutex_);
      step = steps_[std::min(next_++, steps_.size() - 1)];
      held_.push_back(exchange);
    }
    asked.put(std::move(line));
    step(request, *exchange);
  }
  void stop() { transport_->stop(Duration()); }
  std::uint16_t port() const { return transport_->local().port; }

  Heard asked;

 private:
  std::mutex mutex_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::vector<std::shared_ptr<HttpExchange>> held_;
  std::unique_ptr<Transport> transport_;  // last, so that its threads end before the members they use
};

ScriptedApi::Step gives(int code, std::string body, Headers headers = {}) {
  return [=](const HttpRequest&, HttpExchange& exchange) { exchange.respond({code, headers, body}); };
}
ScriptedApi::Step streams(std::vector<std::string> chunks, bool ends, Headers headers = {}) {
  return [=](const HttpRequest&, HttpExchange& exchange) {
    exchange.begin_stream(200, headers);
    for (const std::string& chunk : chunks) exchange.send(chunk);
    if (ends) exchange.end_stream();
  };
}
const ScriptedApi::Step kSilence = [](const HttpRequest&, HttpExchange&) {};

std::string page(const std::string& names, const std::string& version, const std::string& next) {
  std::string items;
  for (const char name : names)
    items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"name":")" + name + "\"}}";
  return R"({"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
         R"(","continue":")" + next + R"("},"items":[)" + items + "]}";
}

TEST(HttpsClientScript, AListWhosePagesExpiredIsTakenWhole) {
  ScriptedApi api({gives(200, page("ab", "5", "x+/=")),
                   gives(410, R"({"kind":"Status","code":410,"reason":"Expired"})"),
                   gives(200, page("abc", "6", "")), kSilence});
  SystemClock clock;
  Listener listener;
  const auto client = connect(api.port(), clock);
  const auto subscription = client->list_and_watch(kConfigMaps, listener);
  EXPECT_EQ(listener.heard.take(), "list ConfigMap/a ConfigMap/b ConfigMap/c");
  for (const char* line : {"/api/v1/configmaps limit=2", "/api/v1/configmaps limit=2 continue=x+/=",
                           "/api/v1/configmaps", "/api/v1/configmaps watch=1 resourceVersion=6"})
    EXPECT_EQ(api.asked.take(), line);
}

TEST(HttpsClientScript, EventsComeInAnyPiecesAndBookmarksMoveTheVersion) {
  ScriptedApi api(
      {gives(200, page("", "5", "")),
       streams(
           {R"({"type":"ADDED","obj)", R"(ect":{"kind":"K","metadata":{"name":"a","resourceVersion":"6"}}})",
            "\n{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n"},
           true),
       streams(
           {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}}\n"},
           false),
       gives(200, page("z", "20", "")), kSilence});
  SystemClock clock;
  Listener listener;
  const auto client = connect(api.port(), clock);
  const auto subscription = client->list_and_watch(kConfigMaps, listener);
  for (const char* line : {"list", "added K/a", "list ConfigMap/z"}) EXPECT_EQ(listener.heard.take(), line);
  for (const char* version :
       {"", " watch=1 resourceVersion=5", " watch=1 resourceVersion=9", "", " watch=1 resourceVersion=20"})
    EXPECT_EQ(api.asked.take(), "/api/v1/configmaps" + std::string(*version ? version : " limit=2"));
}

TEST(HttpsClientScript, AnswersMayComeInProtobuf) {
  const Headers body = {{"Content-Type", "application/vnd.kubernetes.protobuf"}};
  const Headers watch = {{"Content-Type", "application/vnd.kubernetes.protobuf;stream=watch"}};
  const std::string added = client::protobuf_frame(
      "ADDED", R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","resourceVersion":"6"}})");
  const std::string expired = client::protobuf_frame(
      "ERROR", R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"message":"too old"})");
  const auto accepts = [](ScriptedApi::Step step) {
    return [step](const HttpRequest& request, HttpExchange& exchange) {
      EXPECT_EQ(request.header("accept"), "application/vnd.kubernetes.protobuf, application/json");
      step(request, exchange);
    };
  };
  ScriptedApi api({accepts(gives(200, client::protobuf_body(page("a", "5", "")), body)),
                   accepts(streams({added.substr(0, 9), added.substr(9) + expired}, false, watch)),
                   gives(200, page("z", "20", "")), kSilence});
  SystemClock clock;
  Listener listener;
  const auto client = connect(api.port(), clock);
  const auto subscription = client->list_and_watch(kConfigMaps, listener);
  for (const char* line : {"list ConfigMap/a", "added ConfigMap/b", "list ConfigMap/z"})
    EXPECT_EQ(listener.heard.take(), line);
}

TEST(HttpsClientScript, CreatesOfBuiltInKindsAreProtobuf) {
  const auto answers = [](const HttpRequest& request, HttpExchange& exchange) {
    EXPECT_EQ(request.header("content-type"), "application/vnd.kubernetes.protobuf");
    EXPECT_EQ(api::parse_object(request.body)->part("data").string_at("k"), "v");
    exchange.respond({409,
                      {},
                      client::protobuf_body(R"({"kind":"Status","apiVersion":"v1","reason":"AlreadyExists",)"
                                            R"("message":"it exists","code":409})")});
  };
  ScriptedApi api({answers});
  SystemClock clock;
  const auto client = connect(api.port(), clock);
  client::ApiRequest request{
      client::Verb::Create,
      kConfigMaps,
      "default",
      "a",
      "",
      R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"v"}})"};
  const client::ApiReply reply = call(*client, std::move(request));
  EXPECT_EQ(reply.code, 409);
  EXPECT_EQ(reply.reason, "AlreadyExists");
  EXPECT_EQ(reply.message, "it exists");
}

const api::ResourceRef kClaims{"resource.k8s.io", "v1", "resourceclaims"};

client::ApiRequest finalizer_patch() {
  return {client::Verb::MergePatch,
          kClaims,
          "ns",
          "c",
          "",
          R"({"metadata":{"uid":"u","resourceVersion":"6","finalizers":["f"]}})"};
}

// What a client's watch of claims is given first.
ScriptedApi::Step one_claim() {
  const std::string list =
      R"({"kind":"ResourceClaimList","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"6"},)"
      R"("items":[{"metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"6"}}]})";
  return gives(200, client::protobuf_body(list), {{"Content-Type", "application/vnd.kubernetes.protobuf"}});
}

// A client that has heard of the claim; `answers` is the server's answer to everything that follows.
struct ClientOfAClaim {
  explicit ClientOfAClaim(ScriptedApi::Step answers)
      : api({one_claim(), kSilence, std::move(answers)}),
        client(connect(api.port(), clock)),
        subscription(client->list_and_watch(kClaims, listener)) {
    EXPECT_EQ(listener.heard.take(), "list ResourceClaim/c");
    api.asked.take(), api.asked.take();
  }

  ScriptedApi api;
  SystemClock clock;
  Listener listener;
  std::unique_ptr<client::ApiClient> client;
  std::unique_ptr<client::Subscription> subscription;
};

TEST(HttpsClientScript, APatchOfAKnownClaimIsAPutInProtobuf) {
  const auto takes_put = [](const HttpRequest& request, HttpExchange& exchange) {
    EXPECT_EQ(request.method, "PUT");
    EXPECT_EQ(request.header("content-type"), "application/vnd.kubernetes.protobuf");
    const Json object = *api::parse_object(request.body);
    EXPECT_EQ(to_string(object.part("metadata").part("finalizers")), R"(["f"])");
    EXPECT_EQ(object.part("metadata").string_at("name"), "c");
    EXPECT_EQ(object.part("metadata").string_at("resourceVersion"), "6");
    exchange.respond({200, {}, request.body});
  };
  const ClientOfAClaim one(takes_put);
  EXPECT_EQ(call(*one.client, finalizer_patch()).code, 200);
}

TEST(HttpsClientScript, AClientThatMayNotReplaceObjectsPatchesThem) {
  std::vector<std::string> methods;
  const auto refuses_put = [&](const HttpRequest& request, HttpExchange& exchange) {
    methods.push_back(request.method);
    const bool put = request.method == "PUT";
    exchange.respond({put ? 403 : 200, {}, put ? R"({"kind":"Status","reason":"Forbidden"})" : "{}"});
  };
  const ClientOfAClaim one(refuses_put);
  EXPECT_EQ(call(*one.client, finalizer_patch()).code, 200);
  EXPECT_EQ(call(*one.client, finalizer_patch()).code, 200);
  EXPECT_EQ(methods, (std::vector<std::string>{"PUT", "PATCH", "PATCH"}));
}

TEST(HttpsClientScript, BrokenAnswersAreToldAndTriedAgain) {
  ScriptedApi api({gives(500, "oops"), gives(200, "{}"), gives(404, "{}"), gives(200, page("a", "5", "")),
                   gives(500, R"({"kind":"Status","reason":"InternalError","message":"m"})"),
                   streams({"not json\n"}, false), kSilence});
  SystemClock clock;
  Listener listener;
  const auto client = connect(api.port(), clock);
  const auto subscription = client->list_and_watch(kConfigMaps, listener);
  EXPECT_EQ(listener.heard.take(), "list");
  EXPECT_EQ(listener.heard.take(), "list ConfigMap/a");
  for (const char* line : {"list: 500 : oops", "list: the answer is no list that can be read",
                           "watch: 500 InternalError: m", "watch: an event cannot be read"})
    EXPECT_EQ(listener.trouble.take(), line);
}

const std::string kRefused = R"({"kind":"Status","reason":"NotFound","message":"m"})";
const std::string kTooOld =
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}}\n";

// A server that restarts, or a proxy in front of it, may return 404 for what it served a moment ago.
TEST(HttpsClientScript, ARefusedListAfterAGoodOneTakesNothingAway) {
  for (const int code : {404, 403, 500, 503}) {
    SCOPED_TRACE(code);
    ScriptedApi api({gives(200, page("ab", "5", "")), streams({kTooOld}, false), gives(code, kRefused),
                     gives(code, kRefused), gives(200, page("b", "9", "")), kSilence});
    SystemClock clock;
    Listener listener;
    const auto client = connect(api.port(), clock);
    const auto subscription = client->list_and_watch(kConfigMaps, listener);
    EXPECT_EQ(listener.heard.take(), "list ConfigMap/a ConfigMap/b");
    EXPECT_EQ(listener.heard.take(), "list ConfigMap/b");
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(listener.trouble.take(), "list: " + std::to_string(code) + " NotFound: m");
  }
}

// Pauses of a minute: a test that waits for one fails.
TEST(HttpsClientScript, AWatchThatToldSomethingIsResumedAtOnce) {
  const auto event = [](const std::string& name, int version) {
    return R"({"type":"ADDED","object":{"kind":"K","metadata":{"name":")" + name +
           R"(","resourceVersion":")" + std::to_string(version) + "\"}}}\n";
  };
  const auto cut = [&](const std::string& name, int version) {
    return streams({event(name, version), "not json\n"}, false);
  };
  ScriptedApi api({gives(200, page("", "5", "")), streams({event("a", 6)}, true), cut("b", 7), cut("c", 8),
                   streams({event("d", 9), kTooOld}, false), gives(200, page("z", "20", "")), kSilence});
  SystemClock clock;
  Listener listener;
  client::ClusterAccess access;
  access.server = "http://127.0.0.1:" + std::to_string(api.port());
  client::WatchPacing pacing;
  pacing.first_pause = pacing.longest_pause = pacing.short_watch = Duration::minutes(1);
  const auto client = client::make_https_client(access, {}, clock, pacing).value();
  const auto subscription = client->list_and_watch(kConfigMaps, listener);
  for (const char* line : {"list", "added K/a", "added K/b", "added K/c", "added K/d", "list ConfigMap/z"})
    EXPECT_EQ(listener.heard.take(), line);
}

TEST(HttpsClientScript, TheServersDateMovesTheClock) {
  ScriptedApi api({gives(200, page("", "5", ""), {{"Date", "Tue, 15 Nov 1994 08:12:31 GMT"}}), kSilence});
  SystemClock machine;
  SteadyClock clock(machine);
  client::ServerTime server_time(clock);
  Listener listener;
  client::ClusterAccess access;
  access.server = "http://127.0.0.1:" + std::to_string(api.port());
  const auto client = client::make_https_client(access, {}, machine, quick(), &server_time).value();
  const auto subscription = client->list_and_watch(kConfigMaps, listener);
  EXPECT_EQ(listener.heard.take(), "list");
  EXPECT_TRUE(format_time(clock.now()).starts_with("1994-11-15T08:1")) << format_time(clock.now());
}

// A write without a body takes a fresh HTTP/1.1 connection (client/http_fetch.h), a handshake each.
TEST(HttpsClientScript, ADeleteWithoutOptionsHasABody) {
  Heard bodies;
  ScriptedApi api({[&](const HttpRequest& request, HttpExchange& exchange) {
    bodies.put(request.method + " " + request.body);
    exchange.respond({200, {}, "{}"});
  }});
  SystemClock clock;
  const auto client = connect(api.port(), clock);
  EXPECT_TRUE(call(*client, {client::Verb::Delete, kConfigMaps, "default", "a", "", ""}).ok());
  EXPECT_TRUE(call(*client, {client::Verb::Get, kConfigMaps, "default", "a", "", ""}).ok());
  EXPECT_EQ(bodies.take(), "DELETE {}");
  EXPECT_EQ(bodies.take(), "GET ");
}

TEST(HttpsClientScript, LostAnswersAndRetryAfter) {
  ScriptedApi api(
      {gives(429, R"({"kind":"Status","reason":"TooManyRequests"})", {{"Retry-After", "3"}}), kSilence});
  SystemClock clock;
  const auto client = connect(api.port(), clock);
  const client::ApiReply busy = call(*client, create("a"));
  EXPECT_EQ(busy.reason, "TooManyRequests");
  EXPECT_EQ(busy.retry_after_s, 3);
  Heard answer;
  client->submit(create("a"), [&](client::ApiReply reply) {
    answer.put(reply.delivery == client::Delivery::Lost && reply.code == 0 ? "lost" : reply.message);
  });
  for (int i = 0; i < 2; ++i) api.asked.take();
  api.stop();
  EXPECT_EQ(answer.take(), "lost");
  EXPECT_EQ(call(*client, create("a")).delivery, client::Delivery::NotSent);
}

}  // namespace
}  // namespace berth::server
