// NodePorts: what is placed and not yet written counts, and what is undone does not.
#include <gtest/gtest.h>

#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

constexpr const char* kPortTaken =
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.";

void put_port_pod(PluginBench& bench, const std::string& name) {
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                                R"("},"spec":{"containers":[{"name":"c","ports":[{"hostPort":80}]}]}})");
}

TEST(NodePorts, ATentativePodHasItsPortsWhileItIsPlaced) {
  PluginBench bench;
  bench.put_node("n1", "");
  for (const char* name : {"a", "b"}) put_port_pod(bench, name);
  const auto pod = [&](const char* name) -> const api::Pod& { return *bench.view.pods.find("ns", name); };
  const auto place_a = [&](model::Ledger::Transaction& transaction) {
    bench.begin(pod("a"));
    const NodeId node = bench.index.choose(bench.state, {});
    ASSERT_TRUE(node.valid());
    ASSERT_TRUE(bench.pods.reserve(bench.state, node, transaction));
  };
  {
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    const auto before = transaction.savepoint();
    place_a(transaction);
    EXPECT_EQ(bench.choose(pod("b")), kPortTaken);
    EXPECT_EQ(bench.choose_anew(pod("b")), kPortTaken);
    transaction.roll_back_to(before);
    EXPECT_EQ(bench.choose(pod("b")), "n1");
    place_a(transaction);
    bench.cluster.commit(transaction, "d1");
  }
  EXPECT_EQ(bench.choose(pod("b")), kPortTaken) << "an assumption";
  bench.cluster.forget("d1");
  EXPECT_EQ(bench.choose(pod("b")), "n1");
}

}  // namespace
}  // namespace berth::placement
