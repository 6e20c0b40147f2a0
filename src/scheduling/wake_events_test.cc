// Which change wakes a refused pod, and which does not.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using Change = void (*)(TestBench&);

struct WakeRow {
  const char* name;
  const char* pod;  // more members of its spec
  Change wakes, does_not;
  const char* cpu = "4";  // of the node, of which 4 are in use
};

void put_on_node(TestBench& bench, const std::string& name, const std::string& cpu, const std::string& labels,
                 const std::string& container = "", int generation = 1, const std::string& node = "n1") {
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-)" +
                                name + R"(","generation":)" + std::to_string(generation) + R"(,"labels":{)" +
                                labels + R"(}},"spec":{"nodeName":")" + node +
                                R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                                "\"}}" + container + R"(}]},"status":{"phase":"Running"}})");
}

constexpr const char* kNear =
    R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":)"
    R"({"matchLabels":{"app":"db"}},"topologyKey":"kubernetes.io/hostname"}]}})";

constexpr WakeRow kWakeRows[] = {
    {"pod gone", "", [](TestBench& b) { b.erase(api::Kind::Pod, "large"); },
     [](TestBench& b) { b.erase(api::Kind::Pod, "small"); }},
    {"resize in place", "", [](TestBench& b) { put_on_node(b, "large", "1", "", "", 2); },
     [](TestBench& b) { put_on_node(b, "large", "2900m", "", "", 2); }},
    {"allocatable", "", [](TestBench& b) { b.put_node({"n1", "8"}); },
     [](TestBench& b) { b.put_node({"n1", "4500m"}); }},
    {"node added", "", [](TestBench& b) { b.put_node({"n2"}); },
     [](TestBench& b) { b.put_node({"n2", "1"}); }},
    {"label", R"(,"nodeSelector":{"disk":"ssd"})",
     [](TestBench& b) { b.put_node({"n1", "4", "8Gi", "110", {{"disk", "ssd"}}}); },
     [](TestBench& b) { b.put_node({"n1", "4", "8Gi", "110", {{"disk", "hdd"}}}); }},
    {"pod placed", kNear, [](TestBench& b) { put_on_node(b, "db", "100m", R"("app":"db")"); },
     [](TestBench& b) { put_on_node(b, "web", "100m", R"("app":"web")"); }, "16"},
    {"pod relabelled", kNear, [](TestBench& b) { put_on_node(b, "small", "1", R"("app":"db")"); },
     [](TestBench& b) { put_on_node(b, "small", "1", R"("app":"web")"); }, "16"},
    {"class", R"(,"resourceClaims":[{"name":"d","resourceClaimName":"c"}])",
     [](TestBench& b) { b.put_class("gpu", "true"); },
     [](TestBench& b) { put_on_node(b, "web", "100m", ""); }},
};

std::size_t decisions_after(const WakeRow& row, Change change) {
  TestBench bench;
  bench.put_node({"n1", row.cpu});
  put_on_node(bench, "large", "3", "");
  put_on_node(bench, "small", "1", "");
  bench.put_claim("c", "gpu");
  bench.put_pod({"p", "2", "", std::string(R"(,"preemptionPolicy":"Never")") + row.pod});
  bench.run();
  EXPECT_EQ(bench.decisions.records().size(), 1u) << row.name;
  change(bench);
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  return bench.decisions.records().size() - 1;
}

TEST(WakeEvents, TheOneThatMayHelpWakesAndTheOtherDoesNot) {
  for (const WakeRow& row : kWakeRows) {
    EXPECT_GE(decisions_after(row, row.wakes), 1u) << row.name;
    EXPECT_EQ(decisions_after(row, row.does_not), 0u) << row.name;
  }
}

}  // namespace
}  // namespace berth::scheduling
