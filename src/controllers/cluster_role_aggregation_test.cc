#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

const api::ResourceRef kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles"};

struct AggregationWorld {
  AggregationWorld() { fixture.engine.add(make_cluster_role_aggregation()); }

  void put_role(const std::string& metadata, const std::string& rest) {
    fixture.api.put(kClusterRoles, *parse_json("{\"metadata\":{" + metadata + "}," + rest + "}"));
  }
  // Of a label that it collects.
  static std::string collecting(const std::string& label) {
    return R"("aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{")" + label + R"(":"true"}}]})";
  }
  std::string rules(const std::string& role) {
    return to_string(fixture.api.find(kClusterRoles, "", role)->part("rules"));
  }

  engine::testing::EngineFixture fixture;
};

constexpr const char* kReadsPods = R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})";
constexpr const char* kReadsNodes = R"({"verbs":["get"],"apiGroups":[""],"resources":["nodes"]})";

TEST(ClusterRoleAggregation, ARoleGetsTheRulesOfThoseThatItSelects) {
  AggregationWorld world;
  world.put_role(R"("name":"view")", AggregationWorld::collecting("to-view"));
  world.put_role(R"("name":"edit","labels":{"to-view":"true"})", AggregationWorld::collecting("to-edit"));
  world.put_role(R"("name":"nodes","labels":{"to-edit":"true"})",
                 "\"rules\":[" + std::string(kReadsNodes) + "]");
  world.put_role(R"("name":"pods","labels":{"to-view":"true"})",
                 "\"rules\":[" + std::string(kReadsPods) + "]");
  world.fixture.start();
  world.fixture.run_until_idle();
  EXPECT_EQ(world.rules("edit"), "[" + std::string(kReadsNodes) + "]");
  EXPECT_EQ(world.rules("view"), "[" + std::string(kReadsNodes) + "," + kReadsPods + "]")
      << "also of those that collect themselves";
  world.fixture.api.log.clear();
  world.put_role(R"("name":"other")", "\"rules\":[" + std::string(kReadsPods) + "]");
  world.fixture.run_until_idle();
  EXPECT_TRUE(world.fixture.api.log.empty()) << "what says it already is not written";
  world.fixture.api.remove(kClusterRoles, "", "nodes");
  world.fixture.run_until_idle();
  EXPECT_EQ(world.rules("edit"), "[]");
  EXPECT_EQ(world.rules("view"), "[" + std::string(kReadsPods) + "]");
}

}  // namespace
}  // namespace berth::controllers
