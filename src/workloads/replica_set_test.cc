#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "workloads/conditions.h"
#include "workloads/objects.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;
using engine::testing::InjectedFault;

void put_set(EngineFixture& fixture, std::int64_t replicas) {
  Json set = *parse_json(R"({"apiVersion":"apps/v1","kind":"ReplicaSet",
    "metadata":{"namespace":"d","name":"web","uid":"set-uid","generation":1},
    "spec":{"selector":{"matchLabels":{"app":"web"}},
      "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[]}}}})");
  set["spec"]["replicas"] = replicas;
  fixture.api.put(replica_sets(), std::move(set));
}

// A quota that is used up at 1,000 pods: more than one run may create.
TEST(ReplicaSet, TellsThatPodsAreRefused) {
  constexpr std::size_t kQuota = 1000;
  EngineFixture fixture;
  fixture.engine.add(make_replica_set());
  bool full = true;
  fixture.api.fault = [&](const client::ApiRequest& request) {
    const bool makes_pod = request.verb == client::Verb::Create && request.resource.resource == "pods";
    return makes_pod && full && fixture.api.all(api::ref_of(Kind::Pod)).size() >= kQuota
               ? InjectedFault::Refused
               : InjectedFault::None;
  };
  put_set(fixture, 2000);
  fixture.start();
  fixture.advance(Duration::seconds(20));
  const auto status = [&]() -> const Json& {
    return fixture.api.find(replica_sets(), "d", "web")->part("status");
  };
  EXPECT_EQ(status().int_at("replicas"), static_cast<std::int64_t>(kQuota));
  const Json* failure = find_condition(status().items_at("conditions"), "ReplicaFailure");
  ASSERT_TRUE(failure) << to_string(status());
  EXPECT_EQ(failure->string_at("reason"), "FailedCreate");
  full = false;
  fixture.advance(Duration::minutes(2));
  EXPECT_EQ(status().int_at("replicas"), 2000);
  EXPECT_FALSE(find_condition(status().items_at("conditions"), "ReplicaFailure"));
}

}  // namespace
}  // namespace berth::workloads
