// A resize in place that the kubelet puts off for lack of room has pods of lower priority evicted.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

class DeferredResize : public testing::Test {
 protected:
  void run_pod(const std::string& name, int priority, const std::string& cpu, const std::string& rest = "",
               const std::string& node = "n1") {
    bench.put_pod(
        {name, cpu, "", R"(,"nodeName":")" + node + R"(","priority":)" + std::to_string(priority) + rest});
    set_status(name, "");
  }
  // `reason` of the condition PodResizePending; "": there is none.
  void set_status(const std::string& name, const std::string& reason) {
    Json pod = *parse_json(*bench.view.pods.find("default", name)->raw);
    pod["status"]["phase"] = "Running";
    pod["status"]["startTime"] = format_time(bench.now);
    if (!reason.empty())
      pod["status"]["conditions"] =
          Json::array({Json::object({{"type", "PodResizePending"}, {"status", "True"}, {"reason", reason}})});
    bench.put_json(api::Kind::Pod, std::move(pod));
  }
  std::vector<std::string> evictions_later() {
    bench.now = bench.now + Duration::seconds(20);
    bench.run();
    return bench.evictions;
  }

  TestBench bench{{.deferred_resizes = true}};
};

using Names = std::vector<std::string>;

struct ResizeCase {
  const char* name;
  const char* node_spec;
  const char* reason;  // of PodResizePending
  const char* grows;   // what the pod asks for, of 4 CPUs; 2 of priority 5 and 1 of priority 3 are in use
  const char* rest;    // more members of its spec
  Names evicted;
};

const ResizeCase kResizes[] = {
    {"the least important pod is enough", "{}", "Deferred", "2", "", {"evict low"}},
    {"both pods go", "{}", "Deferred", "4", "", {"evict low", "evict mid"}},
    {"it fits", "{}", "Deferred", "1", "", {}},
    {"no resize waits", "{}", "", "2", "", {}},
    {"the node is too small", "{}", "Infeasible", "2", "", {}},
    {"preemptionPolicy", "{}", "Deferred", "2", R"(,"preemptionPolicy":"Never")", {}},
    {"the node says no",
     R"({"podPreemptionPolicy":{"disableResizePreemption":["vpa"]}})",
     "Deferred",
     "2",
     "",
     {}},
    {"more than the node has", "{}", "Deferred", "5", "", {}},
};

TEST_F(DeferredResize, HasLowerPrioritiesEvictedOnItsNode) {
  for (const ResizeCase& row : kResizes) {
    bench.put_node({"n1", "4", "8Gi", "110", {}, row.node_spec});
    run_pod("mid", 5, "2");
    run_pod("low", 3, "1");
    run_pod("grows", 10, row.grows, row.rest);
    set_status("grows", row.reason);
    bench.evictions.clear();
    EXPECT_EQ(evictions_later(), row.evicted) << row.name;
    EXPECT_EQ(bench.view.pods.find("default", "grows")->nominated_node, "") << row.name;
    for (const char* pod : {"mid", "low", "grows"}) bench.erase(api::Kind::Pod, pod);
    bench.run();
    EXPECT_EQ(bench.scheduler.cluster().ledger().holds().size(), 0u) << row.name;
  }
}

TEST_F(DeferredResize, ChangesOfItsNodeWakeIt) {
  bench.put_node({"n1", "4"});
  bench.put_node({"n2", "4"});
  run_pod("other", 20, "2");
  run_pod("far", 0, "2", "", "n2");
  run_pod("grows", 10, "2");
  set_status("grows", "Deferred");
  EXPECT_EQ(evictions_later(), Names{}) << "it fits";
  run_pod("late", 3, "1", "", "n1");
  EXPECT_EQ(evictions_later(), Names{"evict late"}) << "a pod came";
  run_pod("little", 3, "1", "", "n2");
  EXPECT_EQ(evictions_later(), Names{"evict late"}) << "it waits for its victim";
  bench.erase(api::Kind::Pod, "late");
  EXPECT_EQ(evictions_later(), Names{"evict late"});
  run_pod("later", 3, "1", "", "n1");
  EXPECT_EQ(evictions_later(), (Names{"evict late", "evict later"})) << "the kubelet has not acted yet";
  EXPECT_EQ(bench.scheduler.cluster().ledger().holds().size(), 1u);
  run_pod("grows", 10, "2");
  bench.run();
  EXPECT_EQ(bench.scheduler.cluster().ledger().holds().size(), 0u) << "the resize is over";
}

TEST_F(DeferredResize, ThePolicyOfItsNodeWakesItAndThatOfAnotherDoesNot) {
  for (const char* node : {"n1", "n2"})
    bench.put_node(
        {node, "4", "8Gi", "110", {}, R"({"podPreemptionPolicy":{"disableResizePreemption":["vpa"]}})"});
  run_pod("low", 3, "3");
  run_pod("grows", 10, "2");
  set_status("grows", "Deferred");
  EXPECT_EQ(evictions_later(), Names{});
  bench.now = bench.now + Duration::seconds(20);
  bench.put_node({"n2", "4"});
  EXPECT_EQ(bench.scheduler.queue().active_count(), 0u);
  bench.put_node({"n1", "4"});
  EXPECT_EQ(bench.scheduler.queue().active_count(), 1u);
  EXPECT_EQ(evictions_later(), Names{"evict low"});
}

TEST_F(DeferredResize, APodOfAnotherSchedulerEvictsNobody) {
  bench.put_node({"n1", "4"});
  run_pod("low", 3, "3");
  run_pod("grows", 10, "2");
  Json pod = *parse_json(*bench.view.pods.find("default", "grows")->raw);
  pod["spec"]["schedulerName"] = "other";
  bench.put_json(api::Kind::Pod, std::move(pod));
  set_status("grows", "Deferred");
  EXPECT_EQ(evictions_later(), Names{});
}

// The pod runs: its group is not decided again, and the victims are those of its node.
TEST_F(DeferredResize, AMemberOfAGroupIsDecidedAlone) {
  bench.put_node({"n1", "4"});
  bench.put_group("g", 1, "", 10);
  bench.put_pod({"grows", "3", "g", R"(,"nodeName":"n1","priority":10)"});
  run_pod("low", 3, "2");
  set_status("grows", "Deferred");
  EXPECT_EQ(evictions_later(), Names{"evict low"});
}

TEST_F(DeferredResize, WithoutTheGateNobodyGoes) {
  TestBench off;
  off.put_node({"n1", "4"});
  off.put_pod({"low", "2", "", R"(,"nodeName":"n1","priority":1)"});
  off.put(
      api::Kind::Pod,
      R"({"metadata":{"name":"grows","namespace":"default","uid":"g"},"spec":{"nodeName":"n1","priority":5,)"
      R"("schedulerName":"berth","containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]},)"
      R"("status":{"conditions":[{"type":"PodResizePending","status":"True","reason":"Deferred"}]}})");
  off.run();
  EXPECT_EQ(off.evictions, Names{});
}

}  // namespace
}  // namespace berth::scheduling
