// Inter-pod affinity in the loop: what ends the wait of a refused pod, and gangs whose members need each
// other's company or distance.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

std::string terms(const std::string& kind, const std::string& term) {
  return R"(,"affinity":{")" + kind + R"(":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term +
         "]}}";
}
std::string term_of(const std::string& app, const std::string& key, const std::string& more = "") {
  return R"({"labelSelector":{"matchLabels":{"app":")" + app + R"("}},"topologyKey":")" + key + "\"" + more +
         "}";
}

class AffinityTest : public testing::Test {
 protected:
  void put_nodes(int count) {
    for (int i = 1; i <= count; ++i) {
      const std::string n = "n" + std::to_string(i);
      bench_.put_node({n, "4", "8Gi", "110", {{"host", n}, {"zone", i % 2 == 1 ? "a" : "b"}}});
    }
  }
  void put_pod(const std::string& name, const std::string& app, const std::string& spec,
               const std::string& group = "", const std::string& ns = "default") {
    bench_.put(api::Kind::Pod,
               R"({"metadata":{"name":")" + name + R"(","namespace":")" + ns + R"(","uid":"u-)" + name +
                   R"(","generation":1,"labels":{"app":")" + app +
                   R"("}},"spec":{"schedulerName":"berth","containers":[{"name":"c"}])" +
                   (group.empty() ? "" : R"(,"schedulingGroup":{"podGroupName":")" + group + "\"}") + spec +
                   "}}");
  }
  // As another scheduler would have placed it.
  void put_placed(const std::string& name, const std::string& app, const std::string& node,
                  const std::string& ns = "default") {
    put_pod(name, app, R"(,"nodeName":")" + node + "\"", "", ns);
  }
  void put_namespace(const std::string& name, const std::string& team) {
    bench_.put(api::Kind::Namespace,
               R"({"metadata":{"name":")" + name + R"(","labels":{"team":")" + team + "\"}}}");
  }
  // Decides after the backoff.
  void run() {
    bench_.run();
    bench_.now = bench_.now + Duration::seconds(11);
    bench_.run();
  }
  std::string node_of(const std::string& pod) const { return bench_.node_of(pod); }

  TestBench bench_;
};

constexpr const char* kNoPeer =
    "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. preemption: 0/2 nodes are "
    "available: 2 Preemption is not helpful for scheduling.";
constexpr const char* kApart =
    "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. preemption: 0/2 nodes are "
    "available: 2 No preemption victims found for incoming pod.";
constexpr const char* kRepelled =
    "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules. preemption: 0/2 "
    "nodes are available: 2 No preemption victims found for incoming pod.";

TEST_F(AffinityTest, APodThatIsPlacedOrRelabelledEndsTheWaitForCompany) {
  put_nodes(2);
  put_pod("w", "w", terms("podAffinity", term_of("x", "host")));
  put_placed("peer", "y", "n2");
  run();
  EXPECT_EQ(bench_.message_of("w"), kNoPeer);
  put_placed("peer", "x", "n2");  // another label
  run();
  EXPECT_EQ(node_of("w"), "n2");

  put_pod("v", "v", terms("podAffinity", term_of("z", "host")));
  run();
  EXPECT_EQ(bench_.message_of("v"), kNoPeer);
  put_placed("new", "z", "n1");
  run();
  EXPECT_EQ(node_of("v"), "n1");
}

TEST_F(AffinityTest, APodThatIsGoneOrRelabelledEndsTheWaitForDistance) {
  put_nodes(2);
  put_placed("a", "x", "n1");
  put_placed("b", "x", "n2");
  put_pod("w", "w", terms("podAntiAffinity", term_of("x", "host")));
  run();
  EXPECT_EQ(bench_.message_of("w"), kApart);
  put_placed("b", "y", "n2");  // another label
  run();
  EXPECT_EQ(node_of("w"), "n2");

  put_placed("b", "x", "n2");
  put_pod("v", "v", terms("podAntiAffinity", term_of("x", "host")));
  run();
  EXPECT_EQ(bench_.message_of("v"), kApart);
  bench_.erase(api::Kind::Pod, "a");
  run();
  EXPECT_EQ(node_of("v"), "n1");
}

TEST_F(AffinityTest, ItsOwnNewLabelEndsTheWait) {
  put_nodes(2);
  for (const char* node : {"n1", "n2"})
    put_pod(std::string("on-") + node, "x",
            R"(,"nodeName":")" + std::string(node) + "\"" + terms("podAntiAffinity", term_of("w", "host")));
  put_pod("p", "w", "");
  run();
  EXPECT_EQ(bench_.message_of("p"), kRepelled);
  put_pod("p", "v", "");
  run();
  EXPECT_NE(node_of("p"), "");
}

TEST_F(AffinityTest, LabelsOfANamespaceEndTheWait) {
  put_nodes(2);
  put_namespace("default", "a");
  put_namespace("other", "b");
  put_placed("peer", "x", "n2", "other");
  const std::string selected = R"(,"namespaceSelector":{"matchLabels":{"team":"a"}})";
  put_pod("w", "w", terms("podAffinity", term_of("x", "host", selected)));
  run();
  EXPECT_EQ(bench_.message_of("w"), kNoPeer);
  put_namespace("other", "c");  // still not selected: nothing is tried again
  const std::uint64_t tried = bench_.decisions.count(DecisionResult::Unschedulable);
  run();
  EXPECT_EQ(bench_.decisions.count(DecisionResult::Unschedulable), tried);
  put_namespace("other", "a");
  run();
  EXPECT_EQ(node_of("w"), "n2");
}

TEST_F(AffinityTest, SixReplicasApartTakeFourNodes) {
  put_nodes(4);
  for (int i = 1; i <= 6; ++i)
    put_pod("web-" + std::to_string(i), "web", terms("podAntiAffinity", term_of("web", "host")));
  run();
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(node_of("web-" + std::to_string(i)), "n" + std::to_string(i));
  for (const char* name : {"web-5", "web-6"}) {
    EXPECT_EQ(node_of(name), "");
    EXPECT_EQ(bench_.message_of(name),
              "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules. preemption: 0/4 "
              "nodes are available: 4 No preemption victims found for incoming pod.");
  }
  bench_.bind("web-2");
  bench_.erase(api::Kind::Pod, "web-2");
  run();
  EXPECT_EQ(node_of("web-5") + node_of("web-6"), "n2");
}

class AffineGangTest : public AffinityTest {
 protected:
  void put_gang(int members, const std::string& spec) {
    bench_.put_group("g", members);
    for (int i = 1; i <= members; ++i) put_pod("m" + std::to_string(i), "m", spec, "g");
  }
};

TEST_F(AffineGangTest, MembersKeepApartFromEachOther) {
  put_nodes(3);
  put_gang(3, terms("podAntiAffinity", term_of("m", "host")));
  run();
  EXPECT_EQ(node_of("m1") + node_of("m2") + node_of("m3"), "n1n2n3");
}

TEST_F(AffineGangTest, TooManyToKeepApartWaitWithoutAProof) {
  put_nodes(2);
  put_gang(3, terms("podAntiAffinity", term_of("m", "host")));
  run();
  EXPECT_EQ(node_of("m1") + node_of("m2") + node_of("m3"), "");
  EXPECT_NE(bench_.message_of("m3").find("2 node(s) didn't match pod anti-affinity rules"), std::string::npos)
      << bench_.message_of("m3");
  EXPECT_NE(bench_.event_of("m1").find("so this proves nothing"), std::string::npos) << bench_.event_of("m1");
}

// In their own order the first member finds no company; other orders are not all tried.
TEST_F(AffineGangTest, AMemberThatNeedsALaterOneWaitsWithoutAProof) {
  put_nodes(2);
  bench_.put_group("g", 2);
  put_pod("m1", "client", terms("podAffinity", term_of("server", "zone")), "g");
  put_pod("m2", "server", "", "g");
  run();
  EXPECT_EQ(node_of("m1") + node_of("m2"), "");
  EXPECT_NE(bench_.event_of("m1").find("so this proves nothing"), std::string::npos) << bench_.event_of("m1");
}

TEST_F(AffineGangTest, MembersStayWithTheFirstOne) {
  put_nodes(4);
  put_gang(3, terms("podAffinity", term_of("m", "zone")));
  run();
  EXPECT_EQ(node_of("m1"), "n1");
  for (const char* name : {"m2", "m3"}) EXPECT_TRUE(node_of(name) == "n1" || node_of(name) == "n3");
}

}  // namespace
}  // namespace berth::scheduling
