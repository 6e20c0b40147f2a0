#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/simulated.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

TEST(SimulatedNodes, ANodeBecomesReadyAndItsLeaseStaysFresh) {
  EngineFixture fixture;
  fixture.engine.add(make_simulated_nodes());
  fixture.api.put(api::ref_of(Kind::Node), simulated_node_object(1));
  fixture.api.put(Kind::Node, R"({"metadata":{"name":"real"}})");
  fixture.start();
  fixture.run_until_idle();
  const api::Node* node = fixture.engine.view().nodes.find("", "node-1");
  EXPECT_TRUE(api::condition_is_true(node->conditions, "Ready"));
  EXPECT_EQ(node->conditions.size(), 4u);
  EXPECT_EQ(node->allocatable.at("cpu").text(), "32");
  EXPECT_EQ(node->allocatable.at("memory").text(), "128Gi");
  EXPECT_EQ(node->allocatable.at("pods").text(), "110");
  EXPECT_EQ(node->declared_features, std::vector<std::string>{"RestartAllContainersOnContainerExits"});
  EXPECT_TRUE(fixture.engine.view().nodes.find("", "real")->conditions.empty());

  const api::Lease* lease = fixture.engine.view().leases.find("kube-node-lease", "node-1");
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(lease->duration_s, 40);
  EXPECT_EQ(fixture.engine.view().leases.size(), 1u);
  fixture.api.log.clear();
  fixture.advance(Duration::seconds(35));
  EXPECT_EQ(fixture.api.log.size(), 3u) << "one renewal every ten seconds, nothing else";
  EXPECT_LT(fixture.clock.now() - fixture.engine.view().leases.find("kube-node-lease", "node-1")->renewed,
            Duration::seconds(10));
  fixture.api.remove(api::ref_of(Kind::Lease), "kube-node-lease", "node-1");
  fixture.run_until_idle();
  EXPECT_EQ(fixture.engine.view().leases.size(), 1u) << "a deleted lease is made again";
}

TEST(SimulatedNodes, TheRenewalsOfManyNodesStayBounded) {
  EngineFixture fixture;
  fixture.engine.add(make_simulated_nodes());
  for (std::size_t n = 1; n <= 400; ++n) fixture.api.put(api::ref_of(Kind::Node), simulated_node_object(n));
  fixture.start();
  fixture.run_until_idle();
  fixture.api.log.clear();
  fixture.advance(Duration::seconds(60));
  EXPECT_EQ(fixture.api.log.size(), 1200u) << "400 nodes renew every 20 s";
  EXPECT_EQ(fixture.engine.view().leases.find("kube-node-lease", "node-7")->duration_s, 80);
}

TEST(SimulatedNodes, CapacityThatSomebodyGaveIsKept) {
  EngineFixture fixture;
  fixture.engine.add(make_simulated_nodes());
  fixture.api.put(Kind::Node, R"({"metadata":{"name":"n","labels":{"berth.dev/simulated":"true"}},)"
                              R"("status":{"capacity":{"cpu":"4","example.com/gpu":"8"}}})");
  fixture.start();
  fixture.run_until_idle();
  const api::Node* node = fixture.engine.view().nodes.find("", "n");
  EXPECT_EQ(node->capacity.at("cpu").text(), "4");
  EXPECT_EQ(node->allocatable.at("example.com/gpu").text(), "8");
}

TEST(SimulatedNodes, AResourceInTheCapacityBecomesAllocatable) {
  EngineFixture fixture;
  fixture.engine.add(make_simulated_nodes());
  fixture.api.put(api::ref_of(Kind::Node), simulated_node_object(1));
  fixture.start();
  fixture.run_until_idle();
  fixture.api.change(Kind::Node, "", "node-1", R"({"status":{"capacity":{"example.com/dongle":"4"}}})");
  fixture.run_until_idle();
  EXPECT_EQ(fixture.engine.view().nodes.find("", "node-1")->allocatable.at("example.com/dongle").text(), "4");
  fixture.api.log.clear();
  fixture.api.change(Kind::Node, "", "node-1", R"({"status":{"allocatable":{"example.com/dongle":"0"}}})");
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.api.log.empty()) << "who says that it is taken keeps that";
}

TEST(SimulatedNodes, AddressesAreStable) {
  EXPECT_EQ(simulated_host_ip("node-1"), simulated_host_ip("node-1"));
  EXPECT_NE(simulated_host_ip("node-1"), simulated_host_ip("node-2"));
  EXPECT_EQ(simulated_pod_ip("u").substr(0, 3), "10.");
}

}  // namespace
}  // namespace berth::controllers
