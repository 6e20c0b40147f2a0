// The client room's HttpFetcher with this server, plain and over TLS.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>

#include "client/http_fetch.h"
#include "server/test_heard.h"
#include "server/transport/certificates.h"
#include "server/transport/transport.h"

namespace berth::server {
namespace {

// /echo answers, /watch streams two events and then what the test sends, /hang never answers.
class TestApi final : public HttpHandler {
 public:
  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override {
    if (request.path == "/pre/echo")
      return exchange->respond({.status = 201,
                                .headers = {{"Warning", "299 - \"careful\""}},
                                .body = request.method + " " + request.body + " by " + request.user.name +
                                        " with " + std::string(request.header("authorization"))});
    if (request.path == "/pre/watch") {
      exchange->begin_stream(200, {{"Content-Type", "application/json"}});
      exchange->send("event");
    }
    exchange->on_close([this] { heard.put("closed"); });
    {
      const std::lock_guard lock(mutex_);
      held_ = std::move(exchange);
    }
    heard.put("began");
  }
  std::shared_ptr<HttpExchange> held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  Heard heard;

 private:
  std::mutex mutex_;
  std::shared_ptr<HttpExchange> held_;
};

enum class Wire { Plain, Tls };

class FetchOverTransport : public testing::TestWithParam<Wire> {
 protected:
  FetchOverTransport() {
    certificates = generate_certificates({}, clock.now()).value();
    TransportOptions options{.insecure_user = {.name = "insecure", .groups = {}}};
    if (is_tls())
      options.tls = TlsMaterial{.certificate_pem = certificates.server.certificate_pem,
                                .key_pem = certificates.server.key_pem,
                                .client_ca_pem = certificates.ca.certificate_pem};
    transport = Transport::listen(options, api).value();
  }
  bool is_tls() const { return GetParam() == Wire::Tls; }
  client::ClusterAccess admin() const {
    const std::string authority = "127.0.0.1:" + std::to_string(transport->local().port);
    client::ClusterAccess access;
    access.server = (is_tls() ? "https://" : "http://") + authority + "/pre";
    if (!is_tls()) return access;
    access.ca_pem = certificates.ca.certificate_pem;
    access.client_certificate_pem = certificates.admin.certificate_pem;
    access.client_key_pem = certificates.admin.key_pem;
    return access;
  }
  std::unique_ptr<client::HttpFetcher> fetcher(client::ClusterAccess access) {
    return client::HttpFetcher::open(std::move(access), {}, clock).value();
  }
  static std::string text_of(const client::HttpReply& reply) {
    const std::map<client::Delivery, std::string> names = {{client::Delivery::Answered, "answered"},
                                                           {client::Delivery::NotSent, "not sent"},
                                                           {client::Delivery::Lost, "lost"}};
    return names.at(reply.delivery) + " " + std::to_string(reply.status) + " " + reply.body;
  }
  std::string fetch(client::HttpFetcher& by, client::HttpFetch what) {
    Heard answer;
    by.submit(std::move(what), [&](client::HttpReply reply) { answer.put(text_of(reply)); });
    return answer.take();
  }
  client::StreamCallbacks listener(Heard& heard) {
    return {.on_status = [&heard](int status, const auto&) { heard.put(std::to_string(status)); },
            .on_bytes = [&heard](std::string_view bytes) { heard.put(std::string(bytes)); },
            .on_end = [&heard](std::string trouble) { heard.put("end " + trouble); }};
  }

  SystemClock clock;
  Certificates certificates;
  TestApi api;
  std::unique_ptr<Transport> transport;
};

INSTANTIATE_TEST_SUITE_P(Wires, FetchOverTransport, testing::Values(Wire::Plain, Wire::Tls),
                         [](const auto& info) { return info.param == Wire::Tls ? "Tls" : "Plain"; });

TEST_P(FetchOverTransport, AnswersRequestsAsTheRightUser) {
  const auto client = fetcher(admin());
  const std::string by = is_tls() ? "kubernetes-admin" : "insecure";
  EXPECT_EQ(fetch(*client, {.target = "/echo"}), "answered 201 GET  by " + by + " with ");
  EXPECT_EQ(fetch(*client, {.method = "PATCH", .target = "/echo", .headers = {}, .body = "{}"}),
            "answered 201 PATCH {} by " + by + " with ");
  EXPECT_EQ(transport->connection_count(), 1u);
}

TEST_P(FetchOverTransport, ATokenGoesOverTlsOnly) {
  client::ClusterAccess access = admin();
  access.client_certificate_pem.clear();
  access.client_key_pem.clear();
  access.token = "secret";
  access.tls_server_name = "kubernetes.default.svc";
  EXPECT_EQ(fetch(*fetcher(access), {.target = "/echo"}),
            is_tls() ? "answered 201 GET  by  with Bearer secret" : "answered 201 GET  by insecure with ");
}

TEST_P(FetchOverTransport, AServerThatIsNotTrustedGetsNothing) {
  client::ClusterAccess access = admin();
  access.ca_pem = generate_certificates({}, clock.now()).value().ca.certificate_pem;
  EXPECT_EQ(fetch(*fetcher(access), {.target = "/echo"}).starts_with("not sent"), is_tls());
  access.insecure_skip_tls_verify = true;
  EXPECT_TRUE(fetch(*fetcher(access), {.target = "/echo"}).starts_with("answered"));
  access = admin();
  access.tls_server_name = "elsewhere.example.com";
  EXPECT_EQ(fetch(*fetcher(access), {.target = "/echo"}).starts_with("not sent"), is_tls());
}

TEST_P(FetchOverTransport, ANewIdentityIsForLaterConnections) {
  const Certificates others = generate_certificates({}, clock.now()).value();
  const TlsMaterial next{others.server.certificate_pem, others.server.key_pem, ""};
  if (!is_tls()) return;
  const auto before = fetcher(admin());
  EXPECT_TRUE(fetch(*before, {.target = "/echo"}).starts_with("answered"));
  EXPECT_FALSE(transport->use_identity({others.server.certificate_pem, "no key", ""}).ok());
  EXPECT_TRUE(fetch(*fetcher(admin()), {.target = "/echo"}).starts_with("answered"));
  ASSERT_TRUE(transport->use_identity(next).ok());
  EXPECT_TRUE(fetch(*before, {.target = "/echo"}).starts_with("answered"));
  EXPECT_TRUE(fetch(*fetcher(admin()), {.target = "/echo"}).starts_with("not sent"));
  client::ClusterAccess access = admin();
  access.ca_pem = others.ca.certificate_pem;
  EXPECT_TRUE(fetch(*fetcher(access), {.target = "/echo"}).starts_with("answered"));
}

TEST_P(FetchOverTransport, StreamsUntilEitherSideEnds) {
  const auto client = fetcher(admin());
  Heard heard;
  client->stream({.target = "/watch"}, listener(heard));
  EXPECT_EQ(api.heard.take(), "began");
  EXPECT_EQ(heard.take(), "200");
  EXPECT_EQ(heard.take(), "event");
  EXPECT_TRUE(api.held()->send("more"));
  EXPECT_EQ(heard.take(), "more");
  api.held()->end_stream();
  EXPECT_EQ(heard.take(), "end ");
  EXPECT_EQ(api.heard.take(), "closed");

  const auto id = client->stream({.target = "/watch"}, listener(heard));
  EXPECT_EQ(api.heard.take(), "began");
  EXPECT_EQ(heard.take(), "200");
  EXPECT_EQ(heard.take(), "event");
  client->cancel(id);
  EXPECT_EQ(heard.take(), "end cancelled");
  EXPECT_EQ(api.heard.take(), "closed");
}

TEST_P(FetchOverTransport, AnAnswerThatNeverComesIsLost) {
  const auto client = fetcher(admin());
  Heard answer;
  client->submit({.method = "POST", .target = "/hang", .headers = {}, .body = "{}"},
                 [&](client::HttpReply reply) { answer.put(text_of(reply)); });
  EXPECT_EQ(api.heard.take(), "began");
  transport->stop(Duration());
  EXPECT_EQ(answer.take(), "lost 0 ");
  EXPECT_EQ(fetch(*client, {.method = "POST", .target = "/hang", .headers = {}, .body = "{}"}),
            "not sent 0 ");
}

TEST_P(FetchOverTransport, AStoppingServerEndsWatchesCleanly) {
  const auto client = fetcher(admin());
  Heard heard;
  client->stream({.target = "/watch"}, listener(heard));
  EXPECT_EQ(heard.take(), "200");
  EXPECT_EQ(heard.take(), "event");
  transport->stop(Duration::seconds(10));
  EXPECT_EQ(heard.take(), "end ");
}

}  // namespace
}  // namespace berth::server
