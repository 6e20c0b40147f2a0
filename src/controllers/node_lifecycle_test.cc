#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

class NodeLifecycle : public testing::Test {
 protected:
  NodeLifecycle() { fixture_.engine.add(make_node_lifecycle()); }

  // A node that a kubelet keeps, in a zone.
  void put(const std::string& name, const std::string& zone = "a", int lease_s = 40) {
    fixture_.api.put(Kind::Node, R"({"metadata":{"name":")" + name +
                                     R"(","labels":{"topology.kubernetes.io/zone":")" + zone +
                                     R"("}},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
    fixture_.api.put(Kind::Lease, R"({"metadata":{"namespace":"kube-node-lease","name":")" + name +
                                      R"("},"spec":{"leaseDurationSeconds":)" + std::to_string(lease_s) +
                                      R"(,"renewTime":"2020-01-01T00:00:00.000000Z"}})");
  }
  void put_many(const std::string& prefix, int count, const std::string& zone) {
    for (int i = 0; i < count; ++i) put(prefix + std::to_string(i), zone);
  }
  void renew(const std::string& name) {
    fixture_.api.change(Kind::Lease, "kube-node-lease", name,
                        R"({"spec":{"renewTime":")" + format_micro_time(fixture_.clock.now()) + R"("}})");
  }
  void say_ready(const std::string& name, const std::string& status) {
    fixture_.api.change(Kind::Node, "", name,
                        R"({"status":{"conditions":[{"type":"Ready","status":")" + status + R"("}]}})");
  }
  // As time passes, in steps of 5 s; these nodes renew their leases.
  void pass(int seconds, const std::vector<std::string>& alive = {}) {
    for (; seconds > 0; seconds -= 5) {
      for (const std::string& name : alive) renew(name);
      fixture_.advance(Duration::seconds(std::min(seconds, 5)));
    }
  }
  const api::Node& node(const std::string& name) const {
    return *fixture_.engine.view().nodes.find("", name);
  }
  std::string status(const std::string& name, const char* type = "Ready") const {
    const api::Condition* found = api::find_condition(node(name).conditions, type);
    return found ? found->status + " " + found->reason : "";
  }
  // "not-ready:NoSchedule unreachable:NoExecute"
  std::string taints(const std::string& name) const {
    std::string text;
    for (const api::Taint& taint : node(name).taints)
      text.append(text.empty() ? "" : " ")
          .append(taint.key.substr(taint.key.find('/') + 1))
          .append(":")
          .append(taint.effect);
    return text;
  }
  std::size_t evicting(const std::string& prefix, int count) const {
    std::size_t tainted = 0;
    for (int i = 0; i < count; ++i)
      tainted += taints(prefix + std::to_string(i)).find("NoExecute") != std::string::npos ? 1 : 0;
    return tainted;
  }

  EngineFixture fixture_;
};

TEST_F(NodeLifecycle, ASilentNodeBecomesUnknownAndIsTainted) {
  put("n");
  put("m");
  fixture_.start();
  pass(45, {"m"});
  EXPECT_EQ(status("n"), "True ");
  EXPECT_EQ(taints("n"), "");
  pass(10, {"m"});
  EXPECT_EQ(status("n"), "Unknown NodeStatusUnknown");
  EXPECT_EQ(status("n", "DiskPressure"), "Unknown NodeStatusNeverUpdated");
  EXPECT_EQ(taints("n"), "unreachable:NoSchedule unreachable:NoExecute");
  EXPECT_TRUE(node("n").taints.front().added.is_set());
  EXPECT_EQ(status("m"), "True ");
  EXPECT_EQ(taints("m"), "");
}

TEST_F(NodeLifecycle, ANodeThatComesBackLosesItsTaintsAndNoOthers) {
  put("n");
  put("m");
  fixture_.api.change(Kind::Node, "", "n",
                      R"({"spec":{"taints":[{"key":"own","value":"x","effect":"NoExecute"}]}})");
  fixture_.start();
  pass(60, {"m"});
  EXPECT_EQ(taints("n"), "own:NoExecute unreachable:NoSchedule unreachable:NoExecute");
  renew("n");
  say_ready("n", "True");
  pass(10, {"m", "n"});
  EXPECT_EQ(taints("n"), "own:NoExecute");
  EXPECT_EQ(node("n").taints.front().value, "x");
}

TEST_F(NodeLifecycle, ALongLeaseIsGivenItsTimeAndNoLeaseIsNotWatched) {
  put("slow", "a", 200);
  put("m");
  fixture_.api.put(Kind::Node,
                   R"({"metadata":{"name":"plain"},"spec":)"
                   R"({"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}})");
  fixture_.start();
  pass(195, {"m"});
  EXPECT_EQ(status("slow"), "True ");
  pass(10, {"m"});
  EXPECT_EQ(status("slow"), "Unknown NodeStatusUnknown");
  EXPECT_TRUE(node("plain").conditions.empty());
  EXPECT_EQ(taints("plain"), "not-ready:NoSchedule") << "as it was created";
}

TEST_F(NodeLifecycle, ARestartCountsFromItsBeginning) {
  put("n");
  put("m");
  fixture_.clock.advance(Duration::minutes(60));
  fixture_.start();
  pass(45, {"m"});
  EXPECT_EQ(status("n"), "True ");
}

TEST_F(NodeLifecycle, ConditionsAndCordonsAreTaints) {
  put("n");
  put("m");
  fixture_.start();
  fixture_.run_until_idle();
  fixture_.api.change(Kind::Node, "", "n",
                      R"({"spec":{"unschedulable":true},"status":{"conditions":[)"
                      R"({"type":"DiskPressure","status":"True"},)"
                      R"({"type":"Ready","status":"False"}]}})");
  pass(5, {"n", "m"});
  EXPECT_EQ(taints("n"),
            "disk-pressure:NoSchedule not-ready:NoSchedule unschedulable:NoSchedule not-ready:NoExecute");
  fixture_.api.change(Kind::Node, "", "n",
                      R"({"spec":{"unschedulable":null},"status":{"conditions":[)"
                      R"({"type":"Ready","status":"Unknown"}]}})");
  fixture_.run_until_idle();
  EXPECT_EQ(taints("n"), "unreachable:NoExecute unreachable:NoSchedule");
}

TEST_F(NodeLifecycle, OneNodeInTenSecondsHasItsPodsEvicted) {
  put_many("n", 4, "a");
  put_many("m", 6, "a");
  put_many("o", 1, "b");
  fixture_.start();
  fixture_.run_until_idle();
  for (int i = 0; i < 4; ++i) say_ready("n" + std::to_string(i), "False");
  pass(5);
  EXPECT_EQ(evicting("n", 4), 1u);
  EXPECT_EQ(taints("n3"), "not-ready:NoSchedule") << "new pods stay away at once";
  for (std::size_t after = 2; after <= 4; ++after) {
    pass(10, {"m0", "m1", "m2", "m3", "m4", "m5", "o0", "n0", "n1", "n2", "n3"});
    EXPECT_EQ(evicting("n", 4), after);
  }
}

TEST_F(NodeLifecycle, ASmallUnhealthyZoneKeepsItsPods) {
  put_many("n", 3, "a");
  put_many("m", 2, "a");
  put_many("o", 1, "b");
  fixture_.start();
  fixture_.run_until_idle();
  for (int i = 0; i < 3; ++i) say_ready("n" + std::to_string(i), "False");
  pass(40, {"n0", "n1", "n2", "m0", "m1", "o0"});
  EXPECT_EQ(evicting("n", 3), 0u) << "60 % of the zone is not ready";
}

TEST_F(NodeLifecycle, ALargeUnhealthyZoneHasOneTurnInAHundredSeconds) {
  put_many("n", 40, "a");
  put_many("m", 20, "a");
  put_many("o", 1, "b");
  std::vector<std::string> alive = {"o0"};
  for (int i = 0; i < 40; ++i) alive.push_back("n" + std::to_string(i));
  for (int i = 0; i < 20; ++i) alive.push_back("m" + std::to_string(i));
  fixture_.start();
  fixture_.run_until_idle();
  for (int i = 0; i < 40; ++i) say_ready("n" + std::to_string(i), "False");
  pass(5, alive);
  EXPECT_EQ(evicting("n", 40), 1u);
  pass(90, alive);
  EXPECT_EQ(evicting("n", 40), 1u);
  pass(15, alive);
  EXPECT_EQ(evicting("n", 40), 2u);
}

TEST_F(NodeLifecycle, WhereEveryZoneIsDownNobodyIsEvicted) {
  put_many("n", 2, "a");
  put_many("o", 1, "b");
  fixture_.start();
  pass(60);
  EXPECT_EQ(evicting("n", 2) + evicting("o", 1), 0u);
  EXPECT_EQ(taints("o0"), "unreachable:NoSchedule");
  say_ready("n0", "True");
  pass(10, {"n0"});
  EXPECT_EQ(evicting("o", 1), 1u);
}

TEST_F(NodeLifecycle, PodsOfASilentNodeAreNotReady) {
  put("n");
  put("m");
  for (const char* on : {"n", "m"})
    fixture_.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"on-)" + std::string(on) +
                                    R"("},"spec":{"nodeName":")" + on +
                                    R"("},"status":{"phase":"Running","conditions":[)"
                                    R"({"type":"Ready","status":"True"}]}})");
  fixture_.start();
  pass(60, {"m"});
  const client::View& view = fixture_.engine.view();
  EXPECT_FALSE(api::condition_is_true(view.pods.find("d", "on-n")->conditions, "Ready"));
  EXPECT_TRUE(api::condition_is_true(view.pods.find("d", "on-m")->conditions, "Ready"));
}

}  // namespace
}  // namespace berth::controllers
