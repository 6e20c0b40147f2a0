#include <gtest/gtest.h>

#include <algorithm>

#include "control/controllers/controllers.h"
#include "control/controllers/simulated.h"
#include "control/testing/engine_fixture.h"

namespace berth::control {
namespace {

using api::Kind;
using testing::World;

TEST(SimulatedNodes, ANodeBecomesReadyAndItsLeaseStaysFresh) {
  World world;
  world.engine.add(make_simulated_nodes());
  world.api.put(api::ref_of(Kind::Node), simulated_node_object(1));
  world.api.put(Kind::Node, R"({"metadata":{"name":"real"}})");
  world.start();
  world.settle();
  const api::Node* node = world.engine.view().nodes.find("", "node-1");
  EXPECT_TRUE(api::condition_is_true(node->conditions, "Ready"));
  EXPECT_EQ(node->conditions.size(), 4u);
  EXPECT_EQ(node->allocatable.at("cpu").text(), "32");
  EXPECT_EQ(node->allocatable.at("memory").text(), "128Gi");
  EXPECT_EQ(node->allocatable.at("pods").text(), "110");
  EXPECT_TRUE(world.engine.view().nodes.find("", "real")->conditions.empty());

  const api::Lease* lease = world.engine.view().leases.find("kube-node-lease", "node-1");
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(lease->duration_s, 40);
  EXPECT_EQ(world.engine.view().leases.size(), 1u);
  world.api.log.clear();
  world.advance(Duration::seconds(35));
  EXPECT_EQ(world.api.log.size(), 3u) << "one renewal every ten seconds, nothing else";
  EXPECT_LT(world.clock.now() - world.engine.view().leases.find("kube-node-lease", "node-1")->renewed,
            Duration::seconds(10));
  world.api.remove(api::ref_of(Kind::Lease), "kube-node-lease", "node-1");
  world.settle();
  EXPECT_EQ(world.engine.view().leases.size(), 1u) << "a deleted lease is made again";
}

TEST(SimulatedNodes, TheRenewalsOfManyNodesStayBounded) {
  World world;
  world.engine.add(make_simulated_nodes());
  for (std::size_t n = 1; n <= 400; ++n) world.api.put(api::ref_of(Kind::Node), simulated_node_object(n));
  world.start();
  world.settle();
  world.api.log.clear();
  world.advance(Duration::seconds(60));
  EXPECT_EQ(world.api.log.size(), 1200u) << "400 nodes renew every 20 s";
  EXPECT_EQ(world.engine.view().leases.find("kube-node-lease", "node-7")->duration_s, 80);
}

TEST(SimulatedNodes, CapacityThatSomebodyGaveIsKept) {
  World world;
  world.engine.add(make_simulated_nodes());
  world.api.put(Kind::Node, R"({"metadata":{"name":"n","labels":{"berth.dev/simulated":"true"}},)"
                            R"("status":{"capacity":{"cpu":"4","example.com/gpu":"8"}}})");
  world.start();
  world.settle();
  const api::Node* node = world.engine.view().nodes.find("", "n");
  EXPECT_EQ(node->capacity.at("cpu").text(), "4");
  EXPECT_EQ(node->allocatable.at("example.com/gpu").text(), "8");
}

TEST(SimulatedNodes, AddressesAreStable) {
  EXPECT_EQ(simulated_host_ip("node-1"), simulated_host_ip("node-1"));
  EXPECT_NE(simulated_host_ip("node-1"), simulated_host_ip("node-2"));
  EXPECT_EQ(simulated_pod_ip("u").substr(0, 3), "10.");
}

}  // namespace
}  // namespace berth::control
