#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

const api::ResourceRef kQuotas{"", "v1", "resourcequotas"};
const api::ResourceRef kSecrets{"", "v1", "secrets"};

struct QuotaWorld {
  EngineFixture fixture;

  QuotaWorld() { fixture.engine.add(make_resource_quota()); }

  void put_quota(const char* spec) {
    Json quota = *parse_json(R"({"metadata":{"namespace":"d","name":"q"}})");
    quota["spec"] = *parse_json(spec);
    fixture.api.put(kQuotas, std::move(quota));
  }
  void put_secret(const std::string& name) {
    fixture.api.put(kSecrets, *parse_json(R"({"metadata":{"namespace":"d","name":")" + name + R"("}})"));
  }
  void put_pod(const std::string& name, const char* cpu, const char* phase) {
    fixture.api.put(Kind::Pod,
                    R"({"metadata":{"namespace":"d","name":")" + name +
                        R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                        R"("}}}]},"status":{"phase":")" + phase + R"(","qosClass":"Burstable"}})");
  }
  std::string status() { return to_string(fixture.api.find(kQuotas, "d", "q")->part("status")); }
};

TEST(ResourceQuota, CountsWhatStandsAndWhatComes) {
  QuotaWorld world;
  world.put_secret("a");
  world.put_pod("done", "4", "Succeeded");
  world.put_quota(R"({"hard":{"secrets":"5","pods":"2","requests.cpu":"3","requests.memory":"1Gi"}})");
  world.fixture.start();
  world.fixture.run_until_idle();
  EXPECT_EQ(world.status(),
            R"({"hard":{"secrets":"5","pods":"2","requests.cpu":"3","requests.memory":"1Gi"},)"
            R"("used":{"pods":"0","requests.cpu":"0","requests.memory":"0","secrets":"1"}})");
  world.put_secret("b");
  world.put_pod("runs", "500m", "Running");
  world.fixture.advance(Duration::seconds(1));
  EXPECT_NE(
      world.status().find(R"("used":{"pods":"1","requests.cpu":"500m","requests.memory":"0","secrets":"2"})"),
      std::string::npos)
      << world.status();
}

TEST(ResourceQuota, FreesWhatIsGoneAfterAMoment) {
  QuotaWorld world;
  world.put_pod("p", "1", "Running");
  world.put_quota(R"({"hard":{"pods":"2"}})");
  world.fixture.start();
  world.fixture.run_until_idle();
  world.fixture.api.remove(api::ref_of(Kind::Pod), "d", "p");
  world.fixture.advance(Duration::seconds(2));
  EXPECT_NE(world.status().find(R"("pods":"0")"), std::string::npos) << world.status();
}

// The server charges the quota before the pod is there.
TEST(ResourceQuota, AChargeOfWhatIsNotSeenYetStaysForAMoment) {
  QuotaWorld world;
  world.put_quota(R"({"hard":{"pods":"2"}})");
  world.fixture.start();
  world.fixture.advance(Duration::seconds(5));
  Json charged = *world.fixture.api.find(kQuotas, "d", "q");
  charged["status"]["used"]["pods"] = "1";
  world.fixture.api.put(kQuotas, charged);
  world.fixture.run_until_idle();
  EXPECT_NE(world.status().find(R"("used":{"pods":"1"})"), std::string::npos) << world.status();
  world.fixture.advance(Duration::seconds(2));
  EXPECT_NE(world.status().find(R"("used":{"pods":"0"})"), std::string::npos) << world.status();
}

TEST(ResourceQuota, AChangedLimitIsInTheStatus) {
  QuotaWorld world;
  world.put_quota(R"({"hard":{"pods":"2","secrets":"1"}})");
  world.fixture.start();
  world.fixture.run_until_idle();
  Json quota = *world.fixture.api.find(kQuotas, "d", "q");
  quota["spec"] = *parse_json(R"({"hard":{"pods":"7"}})");
  world.fixture.api.put(kQuotas, quota);
  world.fixture.advance(Duration::seconds(2));
  EXPECT_EQ(world.status(), R"({"hard":{"pods":"7"},"used":{"pods":"0"}})");
}

TEST(ResourceQuota, ScopesChooseThePods) {
  QuotaWorld world;
  world.put_pod("p", "1", "Running");
  world.put_secret("a");
  world.put_quota(R"({"hard":{"pods":"2","secrets":"1"},"scopes":["Terminating"]})");
  world.fixture.start();
  world.fixture.run_until_idle();
  EXPECT_NE(world.status().find(R"("used":{"pods":"0","secrets":"0"})"), std::string::npos) << world.status();
}

TEST(ResourceQuota, ABindRequestInMemoryCountsNothing) {
  const std::unique_ptr<client::Reconciler> controller = make_resource_quota();
  client::View view;
  std::vector<api::ObjectKey> keys;
  const auto tell = [&](const client::Delta& delta) {
    for (const client::Interest& interest : controller->interests())
      if (interest.kind == delta.key.kind &&
          (interest.kind != Kind::Other || interest.resource == delta.key.resource))
        interest.keys(view, delta, keys);
  };
  const api::ObjectKey quota_key{Kind::Other, "d", "q", kQuotas};
  const auto text =
      std::make_shared<const std::string>(R"({"metadata":{"namespace":"d","name":"q"},"spec":{}})");
  const api::TypedObject quota = api::decode_typed(Kind::Other, text).value();
  view.put(quota_key, quota);
  tell({quota_key, std::nullopt, quota});
  EXPECT_FALSE(keys.empty());
  keys.clear();
  auto request = std::make_shared<api::BindRequest>();
  request->in_memory = true;  // such a request has no text
  tell({{Kind::BindRequest, "d", "p", {}}, std::nullopt, api::BindRequestPtr(std::move(request))});
  EXPECT_TRUE(keys.empty());
}

}  // namespace
}  // namespace berth::controllers
