// Custom objects in versions of other shapes: a webhook over TLS converts them, answers slowly, wrongly or
// not.
#include "server/conversion_webhooks.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>

#include "base/base64.h"
#include "server/test_bench.h"
#include "server/test_heard.h"
#include "server/transport/certificates.h"
#include "server/transport/transport.h"

namespace berth::server {
namespace {

constexpr std::string_view kOldGizmos = "/apis/ex.io/v1/namespaces/default/gizmos";
constexpr std::string_view kNewGizmos = "/apis/ex.io/v2/namespaces/default/gizmos";

// v1 has spec.size, a number; v2 has spec.length, its text.
Json gizmo_in(std::string_view version, Json object) {
  const std::string_view from = version == "ex.io/v2" ? "size" : "length";
  const std::string_view to = version == "ex.io/v2" ? "length" : "size";
  object["apiVersion"] = version;
  if (const Json* value = std::as_const(object).part("spec").find(from)) {
    const Json kept = *value;
    object["spec"].as_object().erase(from);
    object["spec"][to] =
        kept.is_int() ? Json(std::to_string(kept.as_int())) : Json(std::stoi(kept.as_string()));
  }
  object["metadata"]["labels"]["shape"] = version == "ex.io/v2" ? "new" : "old";
  return object;
}

// Answers ConversionReviews; a test changes the answer.
class TestWebhook final : public HttpHandler {
 public:
  using Lie = std::function<void(Json& review)>;

  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    const Json review = parse_json(request.body).value_or(Json());
    asked_ = request.method + " " + request.path + " " + std::string(review.string_at("apiVersion"));
    if (hangs_) {
      held_.push_back(std::move(exchange));
      heard.put("hangs");
      return;
    }
    if (!raw_.body.empty()) return exchange->respond(raw_);
    exchange->respond(json_response(200, to_string(answer_to(review))));
  }
  void lie(Lie lie) {
    const std::lock_guard lock(mutex_);
    lie_ = std::move(lie);
  }
  void answer_always(HttpResponse raw) {
    const std::lock_guard lock(mutex_);
    raw_ = std::move(raw);
  }
  void hang(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
  }
  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::string asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  Heard heard;

 private:
  Json answer_to(const Json& review) const {
    JsonArray objects;
    for (const Json& object : review.part("request").items_at("objects"))
      objects.push_back(gizmo_in(review.part("request").string_at("desiredAPIVersion"), object));
    Json answer = Json::object({{"kind", "ConversionReview"},
                                {"apiVersion", review.part("apiVersion")},
                                {"response", Json::object({{"uid", review.part("request").part("uid")},
                                                           {"result", Json::object({{"status", "Success"}})},
                                                           {"convertedObjects", std::move(objects)}})}});
    if (lie_) lie_(answer);
    return answer;
  }

  std::mutex mutex_;
  Lie lie_;
  HttpResponse raw_{200, {}, ""};
  bool hangs_ = false;
  int calls_ = 0;
  std::string asked_;
  std::vector<std::shared_ptr<HttpExchange>> held_;
};

// The response of a request, and the lines of a watch.
class AwaitedReply final : public HttpExchange {
 public:
  void respond(HttpResponse said) override {
    for (const auto& [name, value] : said.headers)
      if (name == "Warning") warning += value;
    heard.put(std::to_string(said.status) + said.body);
  }
  void begin_stream(int, Headers) override {}
  void begin_body(int status, Headers) override { body_ = std::to_string(status); }
  bool send(std::string chunk) override {
    if (body_)
      *body_ += chunk;
    else
      heard.put(std::move(chunk));
    return true;
  }
  void end_stream() override { heard.put(body_ ? *std::move(body_) : "end"); }
  void on_close(std::function<void()>) override {}

  Heard heard;
  std::string warning;

 private:
  std::optional<std::string> body_;  // of an answer in pieces, until it is whole
};

struct WebhookReply {
  int code = 0;
  Json body;

  std::string message() const { return std::string(body.string_at("message")); }
};

class ConversionWebhooksTest : public testing::Test {
 protected:
  ConversionWebhooksTest() { listen(); }

  void listen() {
    TransportOptions options{.insecure_user = {.name = "anyone", .groups = {}}};
    options.tls = TlsMaterial{.certificate_pem = certificates.server.certificate_pem,
                              .key_pem = certificates.server.key_pem,
                              .client_ca_pem = certificates.ca.certificate_pem};
    transport = Transport::listen(options, webhook).value();
    url = "https://127.0.0.1:" + std::to_string(transport->local().port) + "/convert";
  }
  Json client() const {
    return Json::object({{"url", url}, {"caBundle", base64_encode(certificates.ca.certificate_pem)}});
  }
  static Json version_of(std::string_view name, bool stored, std::string_view member, std::string_view type) {
    const std::string text =
        R"({"name":")" + std::string(name) + R"(","served":true,"storage":)" + (stored ? "true" : "false") +
        R"(,"subresources":{"status":{}},"selectableFields":[{"jsonPath":".spec.)" + std::string(member) +
        R"("}],"schema":{"openAPIV3Schema":{"type":"object","properties":{)" +
        R"("status":{"type":"object","x-kubernetes-preserve-unknown-fields":true},)" +
        R"("spec":{"type":"object","properties":{"color":{"type":"string","default":"red"},")" +
        std::string(member) + R"(":{"type":")" + std::string(type) + R"("}}}}}}})";
    return parse_json(text).value();
  }
  WebhookReply define(Json client_config) {
    Json crd = parse_json(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"gizmos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
      "names":{"plural":"gizmos","kind":"Gizmo"},
      "conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v2","v1"]}}}})")
                   .value();
    crd["spec"]["versions"] =
        JsonArray{version_of("v1", true, "size", "integer"), version_of("v2", false, "length", "string")};
    crd["spec"]["conversion"]["webhook"]["clientConfig"] = std::move(client_config);
    return ask("POST", kDefinitionsPath, to_string(crd));
  }
  std::shared_ptr<AwaitedReply> begin(std::string method, std::string path, std::string body = "",
                                      std::string type = "application/json") {
    HttpRequest request;
    request.method = std::move(method);
    const std::size_t question = path.find('?');
    if (question != std::string::npos) {
      const std::string pair = path.substr(question + 1);
      request.query.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
      if (request.query.back().first == "fieldManager") request.query.emplace_back("force", "true");
    }
    request.path = path.substr(0, question);
    request.body = std::move(body);
    request.headers = {{"Content-Type", type}};
    request.user = {"root", {"system:masters"}};
    auto exchange = std::make_shared<AwaitedReply>();
    bench.server.handle(std::move(request), exchange);
    return exchange;
  }
  WebhookReply ask(std::string method, std::string path, std::string body = "",
                   std::string type = "application/json") {
    const std::shared_ptr<AwaitedReply> exchange =
        begin(std::move(method), std::move(path), std::move(body), std::move(type));
    const std::string said = exchange->heard.take();
    warning = exchange->warning;
    return {std::stoi(said.substr(0, 3)), parse_json(said.substr(3)).value_or(Json())};
  }
  WebhookReply make(std::string_view name, std::string_view spec, std::string_view version = "v2") {
    return ask("POST", std::string(version == "v1" ? kOldGizmos : kNewGizmos),
               R"({"apiVersion":"ex.io/)" + std::string(version) +
                   R"(","kind":"Gizmo","metadata":{"name":")" + std::string(name) + R"("},"spec":)" +
                   std::string(spec) + "}");
  }
  static std::string at(std::string_view list, std::string_view name) {
    return std::string(list) + "/" + std::string(name);
  }

  SystemClock clock;
  Certificates certificates = generate_certificates({}, clock.now()).value();
  TestWebhook webhook;
  std::unique_ptr<Transport> transport;
  std::string url, warning;
  ServerBench bench{{}, {.conversion_timeout = Duration::seconds(1)}, nullptr, nullptr, StoreThread::Own};
};

TEST_F(ConversionWebhooksTest, EveryVersionIsReadInItsShape) {
  ASSERT_EQ(define(client()).code, 201);
  EXPECT_EQ(warning, "");
  const WebhookReply made = make("a", R"({"length":"3"})");
  ASSERT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.body.string_at("apiVersion"), "ex.io/v2");
  EXPECT_EQ(to_string(made.body.part("spec")), R"({"color":"red","length":"3"})");
  EXPECT_EQ(webhook.asked(), "POST /convert apiextensions.k8s.io/v1");
  const int calls = webhook.calls();
  const Json old = ask("GET", at(kOldGizmos, "a")).body;
  EXPECT_EQ(webhook.calls(), calls);  // it is stored so
  EXPECT_EQ(to_string(old.part("spec")), R"({"color":"red","size":3})");
  EXPECT_EQ(old.part("metadata").part("labels").string_at("shape"), "old");
  const Json shown = ask("GET", at(kNewGizmos, "a")).body;
  EXPECT_EQ(shown.part("spec").string_at("length"), "3");
  EXPECT_EQ(shown.part("metadata").string_at("uid"), old.part("metadata").string_at("uid"));
  EXPECT_EQ(shown.part("metadata").string_at("resourceVersion"),
            old.part("metadata").string_at("resourceVersion"));
}

TEST_F(ConversionWebhooksTest, WritesOfEveryKindAreConvertedBothWays) {
  define(client());
  make("a", R"({"size":3})", "v1");
  const std::string merge = "application/merge-patch+json";
  EXPECT_EQ(ask("PATCH", at(kNewGizmos, "a"), R"({"spec":{"length":"4"}})", merge)
                .body.part("spec")
                .string_at("length"),
            "4");
  EXPECT_EQ(ask("GET", at(kOldGizmos, "a")).body.part("spec").int_at("size"), 4);
  Json next = ask("GET", at(kNewGizmos, "a")).body;
  next["spec"]["length"] = "5";
  EXPECT_EQ(ask("PUT", at(kNewGizmos, "a"), to_string(next)).code, 200);
  EXPECT_EQ(ask("PATCH", at(kNewGizmos, "a") + "/status", R"({"status":{"n":7}})", merge).code, 200);
  const WebhookReply applied = ask("PATCH", at(kNewGizmos, "a") + "?fieldManager=me",
                                   R"({"apiVersion":"ex.io/v2","kind":"Gizmo","metadata":{"name":"a"},
                                "spec":{"length":"6"}})",
                                   "application/apply-patch+yaml");
  EXPECT_EQ(applied.code, 200) << applied.message();
  const Json old = ask("GET", at(kOldGizmos, "a")).body;
  EXPECT_EQ(old.part("spec").int_at("size"), 6);
  EXPECT_EQ(old.part("status").int_at("n"), 7);
  EXPECT_EQ(old.part("metadata").int_at("generation"), 4);
  // The owners of fields are known in the version that wrote them, so the manager of v1 takes over in v1.
  const WebhookReply forced = ask("PATCH", at(kOldGizmos, "a") + "?fieldManager=me",
                                  R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":"a"},
                               "spec":{"size":8}})",
                                  "application/apply-patch+yaml");
  EXPECT_EQ(forced.code, 200) << forced.message();
  EXPECT_EQ(ask("GET", at(kNewGizmos, "a")).body.part("spec").string_at("length"), "8");
  // Nothing changes, nothing is written.
  const Json before = ask("GET", at(kNewGizmos, "a")).body;
  EXPECT_EQ(ask("PATCH", at(kNewGizmos, "a"), R"({"spec":{"length":"8"}})", merge).body.part("metadata"),
            before.part("metadata"));
  EXPECT_EQ(ask("DELETE", at(kNewGizmos, "a")).code, 200);
  EXPECT_EQ(ask("GET", at(kNewGizmos, "a")).code, 404);
}

TEST_F(ConversionWebhooksTest, AListIsConvertedInFewCallsAndSelectedAfterwards) {
  define(client());
  for (int i = 0; i < 300; ++i) make("g" + std::to_string(i), R"({"size":)" + std::to_string(i) + "}", "v1");
  const int calls = webhook.calls();
  const WebhookReply list = ask("GET", std::string(kNewGizmos));
  EXPECT_EQ(list.body.items_at("items").size(), 300u);
  EXPECT_EQ(list.body.items_at("items").back().string_at("apiVersion"), "ex.io/v2");
  EXPECT_EQ(webhook.calls() - calls, 2);
  EXPECT_EQ(ask("GET", std::string(kNewGizmos) + "?labelSelector=shape=new").body.items_at("items").size(),
            300u);
  EXPECT_EQ(ask("GET", std::string(kOldGizmos) + "?labelSelector=shape=new").body.items_at("items").size(),
            0u);
  EXPECT_EQ(
      ask("GET", std::string(kNewGizmos) + "?fieldSelector=spec.length=7").body.items_at("items").size(), 1u);
  EXPECT_EQ(ask("DELETE", std::string(kNewGizmos) + "?fieldSelector=spec.length=7").code, 200);
  EXPECT_EQ(ask("GET", std::string(kOldGizmos)).body.items_at("items").size(), 299u);
  EXPECT_EQ(ask("GET", at(kOldGizmos, "g7")).code, 404);
}

TEST_F(ConversionWebhooksTest, AWatchShowsItsVersion) {
  define(client());
  make("a", R"({"size":3})", "v1");
  const auto lines = begin("GET", std::string(kNewGizmos) + "?watch=true");
  const auto next = [&] { return parse_json(lines->heard.take()).value_or(Json()); };
  const Json first = next();
  EXPECT_EQ(first.string_at("type"), "ADDED");
  EXPECT_EQ(first.part("object").part("spec").string_at("length"), "3");
  make("b", R"({"length":"4"})");
  EXPECT_EQ(next().part("object").part("spec").string_at("length"), "4");
  ask("DELETE", at(kOldGizmos, "b"));
  const Json last = next();
  EXPECT_EQ(last.string_at("type"), "DELETED");
  EXPECT_EQ(last.part("object").part("spec").string_at("length"), "4");
  webhook.answer_always({500, {}, "no"});
  ask("DELETE", at(kOldGizmos, "a"));
  const Json error = next();
  EXPECT_EQ(error.string_at("type"), "ERROR");
  EXPECT_EQ(
      error.part("object").string_at("message"),
      "conversion webhook for ex.io/v1, Kind=Gizmo failed: an error on the server (\"no\") has prevented "
      "the request from succeeding");
  EXPECT_EQ(lines->heard.take(), "end");
}

TEST_F(ConversionWebhooksTest, ADeadWebhookFailsWhatNeedsItAndNothingElse) {
  define(client());
  make("a", R"({"size":3})", "v1");
  transport.reset();
  const WebhookReply refused = ask("GET", at(kNewGizmos, "a"));
  EXPECT_EQ(refused.code, 500);
  EXPECT_TRUE(refused.message().starts_with("conversion webhook for ex.io/v1, Kind=Gizmo failed: Post \"" +
                                            url + "?timeout=1s\": "))
      << refused.message();
  EXPECT_EQ(ask("GET", std::string(kNewGizmos)).code, 500);
  EXPECT_EQ(make("b", R"({"length":"4"})").code, 500);
  EXPECT_EQ(ask("GET", at(kOldGizmos, "b")).code, 404);
  EXPECT_EQ(ask("GET", at(kOldGizmos, "a")).code, 200);
  EXPECT_EQ(ask("GET", std::string(kOldGizmos)).code, 200);
  EXPECT_EQ(ask("DELETE", at(kOldGizmos, "a")).code, 200);
  EXPECT_EQ(ask("DELETE", kDefinitionsPath + "/gizmos.ex.io").code, 200);
}

TEST_F(ConversionWebhooksTest, OthersDoNotWaitForASlowWebhook) {
  define(client());
  make("a", R"({"size":3})", "v1");
  webhook.hang(true);
  std::vector<std::shared_ptr<AwaitedReply>> waiting;
  // Each second four of them may end: on a busy machine the lane is full a little later.
  constexpr std::size_t kEndedSoonMax = 64;
  for (std::size_t i = 0; i < kLaneWorkMax + kLaneThreadsMax + kEndedSoonMax; ++i)
    waiting.push_back(begin("GET", at(kNewGizmos, "a")));
  for (int i = 0; i < kLaneThreadsMax; ++i) EXPECT_EQ(webhook.heard.take(), "hangs");
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/default").code, 200);
  EXPECT_EQ(ask("GET", kDefinitionsPath).code, 200);
  EXPECT_EQ(waiting.back()->heard.take().substr(0, 3), "429");
  const std::string refused = waiting.front()->heard.take();
  EXPECT_EQ(refused.substr(0, 3), "500");
  EXPECT_NE(refused.find("?timeout=1s"), std::string::npos) << refused;
}

// Definitions whose webhooks are dead: each call makes a connection, and those of others are given up.
TEST(ConversionWebhooks, KeepSoManyConnections) {
  SeededRandom random(7);
  ConversionWebhooks webhooks(random, {}, Duration::seconds(1));
  crd::Definition definition;
  definition.webhook = crd::ConversionWebhook{{.url = "https://127.0.0.1:1/convert"}, "v1"};
  const Json object = *parse_json(R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":"a"}})");
  for (std::size_t i = 0; i < kConversionClientsMax + 3; ++i) {
    definition.name = "gizmos" + std::to_string(i) + ".ex.io";
    EXPECT_FALSE(webhooks.convert(definition, {object}, "ex.io/v2"));
    EXPECT_EQ(webhooks.clients(), std::min(i + 1, kConversionClientsMax));
  }
  // The newest is not the one that was given up.
  EXPECT_FALSE(webhooks.convert(definition, {object}, "ex.io/v2"));
  EXPECT_EQ(webhooks.clients(), kConversionClientsMax);
}

struct LieCase {
  const char* name;
  TestWebhook::Lie lie;
  const char* message;
};

TEST_F(ConversionWebhooksTest, ALyingWebhookIsRefused) {
  define(client());
  make("a", R"({"size":3})", "v1");
  const auto first = [](Json& review) -> Json& {
    return review["response"]["convertedObjects"].as_array().front();
  };
  const LieCase cases[] = {
      {"uid of the request", [](Json& review) { review["response"]["uid"] = "x"; },
       "failed: expected response.uid="},
      {"its own failure",
       [](Json& review) {
         review["response"]["result"] = Json::object({{"status", "Failed"}, {"message", "cannot"}});
       },
       "failed: cannot"},
      {"no status", [](Json& review) { review["response"].as_object().erase("result"); },
       "failed: response.result.status was '', not 'Success'"},
      {"no response", [](Json& review) { review.as_object().erase("response"); },
       "failed: no response provided"},
      {"another kind of answer", [](Json& review) { review["kind"] = "Pod"; },
       "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got "
       "apiextensions.k8s.io/v1, Kind=Pod"},
      {"fewer objects", [](Json& review) { review["response"]["convertedObjects"] = JsonArray(); },
       "returned 0 objects, expected 1"},
      {"another version", [&](Json& review) { first(review)["apiVersion"] = "ex.io/v3"; },
       "returned invalid object at index 0: invalid groupVersion (expected ex.io/v2, received ex.io/v3)"},
      {"another kind", [&](Json& review) { first(review)["kind"] = "Gadget"; },
       "returned invalid object at index 0: invalid kind (expected Gizmo, received Gadget)"},
      {"another name", [&](Json& review) { first(review)["metadata"]["name"] = "b"; },
       "returned invalid object: must have the same name: a != b"},
      {"another namespace", [&](Json& review) { first(review)["metadata"]["namespace"] = "b"; },
       "returned invalid object: must have the same namespace: default != b"},
      {"another UID", [&](Json& review) { first(review)["metadata"]["uid"] = "1"; },
       "returned invalid object: must have the same UID: "},
      {"no metadata", [&](Json& review) { first(review)["metadata"] = 3; },
       "returned invalid object: must have the same name: a != "},
      {"a label that is none", [&](Json& review) { first(review)["metadata"]["labels"]["b"] = 3; },
       "returned invalid metadata: metadata.labels[b] must be a string, but is int64 in converted object"},
      {"labels that are none", [&](Json& review) { first(review)["metadata"]["labels"] = "x"; },
       "returned invalid metadata: invalid metadata.labels of type string in converted object"},
      {"a label with a bad value", [&](Json& review) { first(review)["metadata"]["labels"]["b"] = "-"; },
       "returned invalid metadata: metadata.labels: Invalid value: \"-\": "},
      {"no object", [&](Json& review) { first(review) = Json(); },
       "returned invalid object at index 0: invalid groupVersion"},
  };
  for (const LieCase& row : cases) {
    SCOPED_TRACE(row.name);
    webhook.lie(row.lie);
    const WebhookReply refused = ask("GET", at(kNewGizmos, "a"));
    EXPECT_EQ(refused.code, 500);
    EXPECT_TRUE(refused.message().starts_with("conversion webhook for ex.io/v1, Kind=Gizmo " +
                                              std::string(row.message)))
        << refused.message();
  }
}

TEST_F(ConversionWebhooksTest, AWebhookChangesLabelsAndAnnotationsOnly) {
  define(client());
  make("a", R"({"size":3})", "v1");
  webhook.lie([](Json& review) {
    for (Json& object : review["response"]["convertedObjects"].as_array()) {
      object["metadata"]["annotations"]["by"] = "webhook";
      object["metadata"]["finalizers"] = JsonArray{"ex.io/mine"};
      object["metadata"]["resourceVersion"] = "1";
      object["spec"]["junk"] = true;
    }
  });
  const Json shown = ask("GET", at(kNewGizmos, "a")).body;
  EXPECT_EQ(shown.part("metadata").part("annotations").string_at("by"), "webhook");
  EXPECT_EQ(shown.part("metadata").find("finalizers"), nullptr);
  EXPECT_NE(shown.part("metadata").string_at("resourceVersion"), "1");
  EXPECT_EQ(shown.part("spec").find("junk"), nullptr);
}

TEST_F(ConversionWebhooksTest, OtherAnswersAreNamed) {
  define(client());
  make("a", R"({"size":3})", "v1");
  const std::string failed = "conversion webhook for ex.io/v1, Kind=Gizmo failed: ";
  webhook.answer_always({404, {}, "no such page"});
  EXPECT_EQ(ask("GET", at(kNewGizmos, "a")).message(),
            failed + "the server could not find the requested resource");
  webhook.answer_always({200, {}, "hello"});
  EXPECT_TRUE(ask("GET", at(kNewGizmos, "a")).message().starts_with(failed + "the answer is no JSON: "));
  webhook.answer_always({200, {}, std::string(kConversionAnswerBytesMax + 1, ' ')});
  EXPECT_TRUE(ask("GET", at(kNewGizmos, "a")).message().starts_with(failed + "Post \"" + url));
}

TEST_F(ConversionWebhooksTest, AServerThatIsNotTrustedIsNotAsked) {
  Json stranger = client();
  stranger["caBundle"] = base64_encode(generate_certificates({}, clock.now()).value().ca.certificate_pem);
  define(stranger);
  make("a", R"({"size":3})", "v1");
  const WebhookReply refused = ask("GET", at(kNewGizmos, "a"));
  EXPECT_EQ(refused.code, 500);
  EXPECT_TRUE(refused.message().starts_with("conversion webhook for ex.io/v1, Kind=Gizmo failed: Post "))
      << refused.message();
  EXPECT_EQ(webhook.calls(), 0);
}

TEST_F(ConversionWebhooksTest, ABundleWithoutCertificatesIsNamedAndTheServerEnds) {
  ASSERT_EQ(define(Json::object({{"url", url}, {"caBundle", base64_encode("no certificate")}})).code, 201);
  ASSERT_EQ(make("a", R"({"size":3})", "v1").code, 201);
  for (int again = 0; again < 2; ++again) {
    const WebhookReply reply = ask("GET", at(kNewGizmos, "a"));
    EXPECT_EQ(reply.code, 500);
    EXPECT_NE(reply.message().find("conversion webhook for ex.io/v1, Kind=Gizmo failed: Post"),
              std::string::npos)
        << reply.message();
  }
}

TEST_F(ConversionWebhooksTest, AServiceIsNotReachedAndEveryAnswerSaysSo) {
  ASSERT_EQ(
      define(Json::object({{"service", Json::object({{"name", "w"}, {"namespace", "n"}, {"path", "/c"}})}}))
          .code,
      201);
  EXPECT_NE(warning.find("this server does not reach Services"), std::string::npos);
  EXPECT_EQ(make("a", R"({"size":3})", "v1").code, 201);
  EXPECT_EQ(
      ask("GET", at(kNewGizmos, "a")).message(),
      "conversion webhook for ex.io/v1, Kind=Gizmo failed: Post \"https://w.n.svc:443/c?timeout=1s\": this "
      "server does not reach Services: start it with --webhook-service n/w=https://HOST:PORT, or name a URL "
      "in "
      "clientConfig.url");
}

TEST_F(ConversionWebhooksTest, AUrlHasOneForm) {
  for (const char* bad : {"http://127.0.0.1/c", "https:///c", "https://me@h/c", "https://h/c?a=b",
                          "https://h/c#d", "h/c", "https://h /c"}) {
    const WebhookReply refused = define(Json::object({{"url", bad}}));
    EXPECT_EQ(refused.code, 422) << bad;
    EXPECT_NE(refused.message().find("spec.conversion.webhookClientConfig.url: "), std::string::npos);
  }
}

TEST(WebhookEndpoints, HaveThePathThatClientsOfTheReferenceSend) {
  const WebhookServices services = *WebhookServices::parse({"n/w=https://127.0.0.1:9443"});
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"", "/"},          {"/", "/"},         {"/a", "/a"},    {"//a//b", "/a/b"}, {"/a/", "/a"},
      {"/a/./b", "/a/b"}, {"/a/../b/", "/b"}, {"/../..", "/"}, {"/a..b", "/a..b"}};
  for (const auto& [path, sent] : kCases) {
    const WebhookEndpoint by_url = endpoint_of({.url = std::string("https://h:1") + path}, services);
    EXPECT_EQ(by_url.server + by_url.target, std::string("https://h:1") + sent) << path;
    EXPECT_EQ(by_url.shown_url, by_url.server + by_url.target);
    const WebhookEndpoint by_service =
        endpoint_of({.service_ns = "n", .service_name = "w", .service_path = path}, services);
    EXPECT_EQ(by_service.server + by_service.target, std::string("https://127.0.0.1:9443") + sent) << path;
    EXPECT_EQ(by_service.shown_url, std::string("https://w.n.svc:443") + sent);
  }
}

}  // namespace
}  // namespace berth::server
