// Room that is kept for an overtaken entry: what lower priorities may still use.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// Two nodes of 4 cores that pods of low priority fill, a gang of two pods of 3 cores, and a third node where
// a small pod overtakes the gang: 21 s later the gang has a hold on 3 cores of each large node.
class KeptRoom : public testing::Test {
 protected:
  KeptRoom() {
    for (const char* name : {"n1", "n2"}) bench.put_node({name});
    bench.put_node({"n3", "1"});
    for (const char* name : {"a", "b"}) place({name, "4"});
    bench.put_group("gang", 2, "", 10);
    for (const char* name : {"g1", "g2"}) bench.put_pod({name, "3", "gang", R"(,"priority":10)"});
    bench.run();
    place({"small", "1"});
    bench.now = bench.now + Duration::seconds(21);
    bench.run();
  }
  void place(const PodSpec& pod) {
    bench.put_pod(pod);
    bench.run();
    ASSERT_NE(bench.node_of(pod.name), "");
    bench.bind(pod.name);
    bench.run();
  }
  void end(const std::string& pod) {
    bench.erase(api::Kind::Pod, pod);
    bench.now = bench.now + Duration::seconds(1);
    bench.run();
  }

  TestBench bench;
};

TEST_F(KeptRoom, IsNotGivenToLowerPriorities) {
  ASSERT_EQ(bench.scheduler.cluster().ledger().holds().size(), 1u);
  end("a");
  bench.put_pod({"two-cores", "2"});
  bench.run();
  EXPECT_EQ(bench.node_of("two-cores"), "");
  EXPECT_EQ(bench.message_of("two-cores").substr(0, 51),
            "0/3 nodes are available: 3 Insufficient cpu. preemp");
}

TEST_F(KeptRoom, LeavesTheRestOfItsNodesToAll) {
  end("a");
  bench.put_pod({"one-core", "1"});
  bench.run();
  EXPECT_EQ(bench.node_of("one-core"), "n1") << "3 of 4 cores are kept";
}

TEST_F(KeptRoom, IsOpenToHigherPriorities) {
  end("a");
  bench.put_pod({"higher", "2", "", R"(,"priority":20)"});
  bench.run();
  EXPECT_EQ(bench.node_of("higher"), "n1");
}

TEST_F(KeptRoom, EndsWhenTheGangIsPlaced) {
  for (const char* name : {"a", "b"}) end(name);
  EXPECT_EQ(bench.node_of("g1"), "n1");
  EXPECT_EQ(bench.node_of("g2"), "n2");
  EXPECT_TRUE(bench.scheduler.cluster().ledger().holds().empty());
  bench.put_pod({"one-core", "1"});
  bench.run();
  EXPECT_NE(bench.node_of("one-core"), "");
}

TEST_F(KeptRoom, LeavesTheModelAsTheAuditSaysItIs) {
  bench.now = bench.now + kAuditEvery * 4;
  bench.run();
  EXPECT_EQ(bench.decisions.repairs(), 0u);
}

}  // namespace
}  // namespace berth::scheduling
