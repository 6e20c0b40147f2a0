// Tokens of service accounts: what a request gets, as whom its bearer acts, and when they end to hold.
#include "server/service_account_tokens.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "server/test_bench.h"
#include "server/test_store.h"

namespace berth::server {
namespace {

constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";
constexpr const char* kTokenPath = "/api/v1/namespaces/default/serviceaccounts/robot/token";
constexpr const char* kWhoPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

ApiServerOptions with_key() {
  ApiServerOptions options;
  options.token_key = TokenKey::generate().value();
  return options;
}

class TokenTest : public testing::Test, protected ServerBench {
 protected:
  explicit TokenTest(store::StoreOptions options = {}, store::Disk* disk = nullptr)
      : ServerBench(std::move(options), with_key(), disk) {
    EXPECT_TRUE(server.make_bootstrap_roles().ok());
    make(kAccounts, R"({"metadata":{"name":"robot"}})");
    make("/api/v1/namespaces/default/pods",
         R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"robot","nodeName":"n",)"
         R"("containers":[{"name":"c","image":"i"}]}})");
    make("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  }

  struct Told {
    int code = 0;
    Json body;
  };
  Told ask(const std::string& method, const std::string& path, const std::string& body = "",
           const std::string& token = "") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    if (token.empty())
      request.user = {"root", {"system:masters"}};
    else
      request.headers.emplace_back("Authorization", "Bearer " + token);
    const auto exchange = std::make_shared<Said>();
    server.handle(std::move(request), exchange);
    return {exchange->response.status, parse_json(exchange->response.body).value_or(Json())};
  }
  void make(const std::string& path, const std::string& body) {
    const Told told = ask("POST", path, body);
    EXPECT_EQ(told.code, 201) << to_string(told.body);
  }
  std::string token(const std::string& spec = "{}") {
    const Told told = ask("POST", kTokenPath, "{\"spec\":" + spec + "}");
    EXPECT_EQ(told.code, 201) << to_string(told.body);
    return std::string(told.body.part("status").string_at("token"));
  }
  static std::string bound_to(const std::string& kind, const std::string& name) {
    return R"({"boundObjectRef":{"apiVersion":"v1","kind":")" + kind + R"(","name":")" + name + R"("}})";
  }
  int code_of(const std::string& token) { return ask("POST", kWhoPath, "{}", token).code; }
};

TEST_F(TokenTest, TheBearerIsTheAccount) {
  const std::string unbound = token();
  const Json who = ask("POST", kWhoPath, "{}", unbound).body.part("status").part("userInfo");
  EXPECT_EQ(who.string_at("username"), "system:serviceaccount:default:robot");
  EXPECT_EQ(to_string(who.part("groups")),
            R"(["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"])");
  EXPECT_FALSE(who.string_at("uid").empty());
  const Json extra = ask("POST", kWhoPath, "{}", token(bound_to("Pod", "p")))
                         .body.part("status")
                         .part("userInfo")
                         .part("extra");
  EXPECT_EQ(to_string(extra.part("authentication.kubernetes.io/pod-name")), R"(["p"])");
  EXPECT_EQ(to_string(extra.part("authentication.kubernetes.io/node-name")), R"(["n"])");
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/default/pods", "", unbound).code, 403);
  make("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
       R"({"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"edit"},)"
       R"("subjects":[{"kind":"ServiceAccount","name":"robot"}]})");
  make("/apis/rbac.authorization.k8s.io/v1/clusterroles",
       R"({"metadata":{"name":"podder","labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}})");
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/default/pods", "", unbound).code, 200);
}

TEST_F(TokenTest, TheAnswerIsTheCompletedRequest) {
  const Told told =
      ask("POST", kTokenPath, R"({"metadata":{"name":"robot"},"spec":{"expirationSeconds":601}})");
  EXPECT_EQ(told.body.string_at("kind"), "TokenRequest");
  EXPECT_EQ(told.body.string_at("apiVersion"), "authentication.k8s.io/v1");
  EXPECT_EQ(to_string(told.body.part("spec")),
            R"({"audiences":["https://kubernetes.default.svc.cluster.local"],"expirationSeconds":601})");
  EXPECT_EQ(told.body.part("status").string_at("expirationTimestamp"),
            format_time(clock.now() + Duration::seconds(601)));
  const std::string token(told.body.part("status").string_at("token"));
  const std::size_t first = token.find('.'), last = token.rfind('.');
  const Json claims = parse_json(*base64url_decode(token.substr(first + 1, last - first - 1))).value();
  EXPECT_EQ(claims.string_at("sub"), "system:serviceaccount:default:robot");
  EXPECT_EQ(claims.part("kubernetes.io").string_at("namespace"), "default");
  EXPECT_EQ(claims.int_at("exp") - claims.int_at("iat"), 601);
}

struct BadRequest {
  const char* path;
  const char* body;
  int code;
  const char* says;
};

TEST_F(TokenTest, RequestsThatCannotBeMetAreRefused) {
  const BadRequest rows[] = {
      {"/api/v1/namespaces/default/serviceaccounts/nobody/token", "{}", 404, "\"nobody\" not found"},
      {kTokenPath, R"({"metadata":{"name":"other"}})", 422, "must match the service account name"},
      {kTokenPath, R"({"metadata":{"uid":"1"}})", 409, "does not match the UID of the service account"},
      {kTokenPath, R"({"spec":{"expirationSeconds":10}})", 422, "less than 10 minutes"},
      {kTokenPath, R"({"spec":{"expirationSeconds":4294967297}})", 422, "larger than 2^32"},
      {kTokenPath, R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"q"}}})", 404, "pods \"q\" not found"},
      {kTokenPath, R"({"spec":{"boundObjectRef":{"kind":"ConfigMap","name":"q"}}})", 400,
       "cannot bind token"},
      {kTokenPath, R"({"spec":{"boundObjectRef":{"kind":"Secret","name":"s","uid":"1"}}})", 409,
       "does not match the UID in record"},
      {"/api/v1/namespaces/default/serviceaccounts/other/token",
       R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"p"}}})", 400, "different serviceaccount name"},
  };
  make(kAccounts, R"({"metadata":{"name":"other"}})");
  for (const BadRequest& row : rows) {
    const Told told = ask("POST", row.path, row.body);
    EXPECT_EQ(told.code, row.code) << row.body;
    EXPECT_NE(told.body.string_at("message").find(row.says), std::string_view::npos) << to_string(told.body);
  }
}

TEST_F(TokenTest, HoldAsLongAsWhatTheyAreBoundTo) {
  const std::string unbound = token(), of_pod = token(bound_to("Pod", "p")),
                    of_secret = token(bound_to("Secret", "s")),
                    of_other = token(R"({"audiences":["vault"]})");
  EXPECT_EQ(code_of(unbound), 201);
  EXPECT_EQ(code_of(of_pod), 201);
  EXPECT_EQ(code_of(of_secret), 201);
  EXPECT_EQ(code_of(of_other), 401);
  EXPECT_EQ(ask("DELETE", "/api/v1/namespaces/default/secrets/s").code, 200);
  EXPECT_EQ(code_of(of_secret), 401);
  make("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  EXPECT_EQ(code_of(of_secret), 401);
  EXPECT_EQ(ask("DELETE", "/api/v1/namespaces/default/pods/p",
                R"({"gracePeriodSeconds":0,"apiVersion":"v1","kind":"DeleteOptions"})")
                .code,
            200);
  EXPECT_EQ(code_of(of_pod), 401);
  EXPECT_EQ(code_of(unbound), 201);
  clock.advance(Duration::seconds(kTokenSecondsDefault) + kTokenLeeway + Duration::seconds(1));
  EXPECT_EQ(code_of(unbound), 401);
  const std::string fresh = token();
  EXPECT_EQ(code_of(fresh), 201);
  EXPECT_EQ(ask("DELETE", std::string(kAccounts) + "/robot").code, 200);
  EXPECT_EQ(code_of(fresh), 401);
}

TEST_F(TokenTest, ForgedOnesDoNotHold) {
  const std::string good = token();
  const std::size_t first = good.find('.'), last = good.rfind('.');
  const std::string header = good.substr(0, first), claims = good.substr(first + 1, last - first - 1);
  std::string flipped = good;
  flipped[last + 5] = flipped[last + 5] == 'A' ? 'B' : 'A';
  const std::string none = base64url_encode(R"({"alg":"none"})") + "." + claims + ".";
  Json other = parse_json(*base64url_decode(claims)).value();
  other["sub"] = "system:serviceaccount:default:admin";
  const std::string changed = header + "." + base64url_encode(to_string(other)) + good.substr(last);
  const TokenKey strange = TokenKey::generate().value();
  const std::string signed_by_other =
      header + "." + claims + "." + base64url_encode(*strange.sign(header + "." + claims));
  for (const std::string& bad : {flipped, none, changed, signed_by_other, good + "A", std::string("a.b.c"),
                                 std::string("..."), std::string("x"), std::string(100'000, 'a')})
    EXPECT_EQ(code_of(bad), 401) << bad.substr(0, 100);
  EXPECT_EQ(code_of(good), 201);
}

TEST_F(TokenTest, ReviewsSayWhoseTokenItIs) {
  const auto review = [&](const std::string& token, const std::string& more = "") {
    return ask("POST", kTokenReviews, R"({"spec":{"token":")" + token + "\"" + more + "}}")
        .body.part("status");
  };
  const Json good = review(token());
  EXPECT_TRUE(good.bool_at("authenticated")) << to_string(good);
  EXPECT_EQ(good.part("user").string_at("username"), "system:serviceaccount:default:robot");
  EXPECT_EQ(to_string(good.part("audiences")), R"(["https://kubernetes.default.svc.cluster.local"])");
  const std::string of_vault = token(R"({"audiences":["vault","x"]})");
  EXPECT_FALSE(review(of_vault).bool_at("authenticated"));
  EXPECT_EQ(to_string(review(of_vault, R"(,"audiences":["vault","y"])").part("audiences")), R"(["vault"])");
  EXPECT_EQ(to_string(review("x")), R"({"user":{},"error":"invalid bearer token"})");
  EXPECT_EQ(ask("POST", kTokenReviews, "{}").code, 400);
}

TEST_F(TokenTest, OthersVerifyThemByThePublishedKey) {
  server.keep_own_objects({"127.0.0.1", 6443});
  const std::string bearer = token();
  const Json found = ask("GET", "/.well-known/openid-configuration", "", bearer).body;
  EXPECT_EQ(found.string_at("issuer"), kTokenIssuer);
  EXPECT_EQ(found.string_at("jwks_uri"), "https://127.0.0.1:6443/openid/v1/jwks");
  const Json keys = ask("GET", "/openid/v1/jwks", "", bearer).body;
  ASSERT_EQ(keys.items_at("keys").size(), 1u);
  const Json& key = keys.items_at("keys").front();
  EXPECT_EQ(key.string_at("alg"), "ES256");
  EXPECT_EQ(base64url_decode(key.string_at("x"))->size(), 32u);
  const Json header = parse_json(*base64url_decode(bearer.substr(0, bearer.find('.')))).value();
  EXPECT_EQ(header.string_at("kid"), key.string_at("kid"));
}

TEST_F(TokenTest, ANodeGetsThoseOfThePodsThatItRuns) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  make(pods, R"({"metadata":{"name":"elsewhere"},"spec":{"serviceAccountName":"robot","nodeName":"m",)"
             R"("containers":[{"name":"c","image":"i"}]}})");
  const auto told = [&](const std::string& reference) {
    HttpRequest request;
    request.method = "POST";
    request.path = kTokenPath;
    request.body = R"({"spec":{"boundObjectRef":)" + reference + "}}";
    request.user = {"system:node:n", {"system:nodes"}};
    const auto exchange = std::make_shared<Said>();
    server.handle(std::move(request), exchange);
    return Told{exchange->response.status, parse_json(exchange->response.body).value_or(Json())};
  };
  const auto pod = [&](const std::string& name, const std::string& uid) {
    return R"({"apiVersion":"v1","kind":"Pod","name":")" + name + R"(","uid":")" + uid + "\"}";
  };
  const auto uid_of = [&](const std::string& name) {
    return std::string(ask("GET", pods + "/" + name).body.part("metadata").string_at("uid"));
  };
  const std::pair<std::string, const char*> kRefused[] = {
      {"null", "node requested token not bound to a pod"},
      {R"({"apiVersion":"v1","kind":"Secret","name":"s"})", "node requested token not bound to a pod"},
      {pod("p", ""), "node requested token with a pod binding without a uid"},
      {pod("p", "u"),
       "the UID in the bound object reference (u) does not match the UID in record. The object might have "
       "been deleted and then recreated"},
      {pod("elsewhere", uid_of("elsewhere")),
       "node requested token bound to a pod scheduled on a different node"}};
  for (const auto& [reference, why] : kRefused)
    EXPECT_EQ(told(reference).body.string_at("message"),
              std::string("serviceaccounts \"robot\" is forbidden: ") + why);
  EXPECT_EQ(told(pod("p", uid_of("p"))).code, 201);
}

class TokenSecretTest : public TokenTest {
 protected:
  explicit TokenSecretTest(store::StoreOptions options = {}, store::Disk* disk = nullptr)
      : TokenTest(std::move(options), disk) {
    server.fill_token_secrets("the CA");
  }
  void run() {
    clock.advance(Duration::seconds(1));
    server.tick(clock.monotonic());
  }
  // The Secret for a token of the account, before it is looked at.
  void make_secret_of(const std::string& account) {
    const std::string metadata =
        R"("metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":")" + account + "\"}}";
    make(kSecrets, "{" + metadata + R"(,"type":"kubernetes.io/service-account-token"})");
  }
  // The same, once it was looked at.
  Told secret_of(const std::string& account) {
    make_secret_of(account);
    run();
    return ask("GET", kSecretPath);
  }
  static std::string content(const Json& secret, std::string_view key) {
    return base64_decode(secret.part("data").string_at(key)).value();
  }

  const std::string kSecrets = "/api/v1/namespaces/default/secrets", kSecretPath = kSecrets + "/t";
  const std::string kRobot = std::string(kAccounts) + "/robot";
};

TEST_F(TokenSecretTest, GetsATokenWithoutAnEnd) {
  const Json secret = secret_of("robot").body;
  EXPECT_EQ(content(secret, "ca.crt"), "the CA");
  EXPECT_EQ(content(secret, "namespace"), "default");
  EXPECT_EQ(secret.part("metadata").part("annotations").string_at("kubernetes.io/service-account.uid"),
            ask("GET", kRobot).body.part("metadata").string_at("uid"));
  const std::string token = content(secret, "token");
  clock.advance(Duration::minutes(365 * 24 * 60));
  const Json who = ask("POST", kWhoPath, "{}", token).body.part("status").part("userInfo");
  EXPECT_EQ(who.string_at("username"), "system:serviceaccount:default:robot");
  const Json review = ask("POST", kTokenReviews, R"({"spec":{"token":")" + token + "\"}}").body;
  EXPECT_TRUE(review.part("status").bool_at("authenticated")) << to_string(review);
  run();
  EXPECT_EQ(ask("GET", kSecretPath).body, secret) << "it is filled in once";
}

TEST_F(TokenSecretTest, TheTokenEndsWithItsSecret) {
  const std::string first = content(secret_of("robot").body, "token");
  EXPECT_EQ(ask("DELETE", kSecretPath).code, 200);
  EXPECT_EQ(code_of(first), 401);
  const std::string second = content(secret_of("robot").body, "token");
  EXPECT_EQ(code_of(second), 201);
  EXPECT_EQ(code_of(first), 401) << "the Secret of that name has another one";
}

TEST_F(TokenSecretTest, TheSecretEndsWithItsAccount) {
  EXPECT_EQ(secret_of("nobody").code, 404) << "as Kubernetes removes what precedes its account";
  const std::string token = content(secret_of("robot").body, "token");
  EXPECT_EQ(ask("DELETE", kRobot).code, 200);
  EXPECT_EQ(code_of(token), 401);
  run();
  EXPECT_EQ(ask("GET", kSecretPath).code, 404);
}

TEST_F(TokenSecretTest, AnAccountDoesNotNameASecretThatIsGone) {
  EXPECT_EQ(ask("DELETE", kRobot).code, 200);
  make(kAccounts, R"({"metadata":{"name":"robot"},"secrets":[{"name":"other"},{"name":"t"}]})");
  secret_of("robot");
  EXPECT_EQ(ask("DELETE", kSecretPath).code, 200);
  run();
  EXPECT_EQ(to_string(ask("GET", kRobot).body.part("secrets")), R"([{"name":"other"}])");
}

class TokenSecretOnADisk : protected OneDisk, public TokenSecretTest {
 protected:
  TokenSecretOnADisk() : TokenSecretTest({.directory = "store"}, &disk) {}
};

TEST_F(TokenSecretOnADisk, IsFilledInWhenTheStoreCouldNotTakeIt) {
  make_secret_of("robot");
  disk.fill(true);
  const std::string large = R"({"metadata":{"name":"a"},"data":{"k":")" + std::string(500'000, 'x') + "\"}}";
  ASSERT_EQ(ask("POST", "/api/v1/namespaces/default/configmaps", large).code, 500);
  run();
  EXPECT_EQ(content(ask("GET", kSecretPath).body, "token"), "");
  disk.fill(false);
  clock.advance(kTokenSecretsRetry);
  run();
  EXPECT_EQ(code_of(content(ask("GET", kSecretPath).body, "token")), 201);
}

// A look at all Secrets finds those that nobody named.
TEST_F(TokenTest, MoreNamesThanTheBoundAreALookAtAllSecrets) {
  Registry registry({*store, executor, clock, *random, gates, api::accept_any_cel}, 0);
  const ServiceAccountTokens tokens(registry, TokenKey::generate().value());
  TokenSecrets secrets(registry, tokens);
  secrets.begin("");
  secrets.tick(clock.monotonic());
  const std::string path = "/api/v1/namespaces/default/secrets";
  make(path, R"({"metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":"robot"}},)"
             R"("type":"kubernetes.io/service-account-token"})");
  const auto is_filled_after = [&](std::size_t names) {
    for (std::size_t n = 0; n < names; ++n)
      secrets.noted({api::find_resource("", "v1", "secrets"), "default", "absent-" + std::to_string(n), ""});
    for (std::size_t looked = 0; looked <= names; looked += kTokenSecretsPerRunMax)
      secrets.tick(clock.monotonic());
    return ask("GET", path + "/t").body.part("data").find("token") != nullptr;
  };
  EXPECT_FALSE(is_filled_after(kWrittenSecretsMax));
  EXPECT_TRUE(is_filled_after(kWrittenSecretsMax + 1));
}

TEST(TokenKey, IsTheSameAfterAReadOfItsFile) {
  const TokenKey key = TokenKey::generate().value();
  const TokenKey again = TokenKey::parse(key.pem().value()).value();
  EXPECT_EQ(again.id(), key.id());
  EXPECT_TRUE(again.verifies("text", key.sign("text").value()));
  EXPECT_FALSE(again.verifies("texts", key.sign("text").value()));
  EXPECT_FALSE(TokenKey::parse("no key"));
}

}  // namespace
}  // namespace berth::server
