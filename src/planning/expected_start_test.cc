#include "planning/expected_start.h"

#include <gtest/gtest.h>

#include "dra/cel_selectors.h"
#include "planning/test_documents.h"

namespace berth::planning {
namespace {

std::string start_node(const std::string& name, int cpu) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name + "}, status: {allocatable: {cpu: \"" +
         std::to_string(cpu) + "\", memory: 8Gi, pods: \"9\"}}}\n---\n";
}

// `more`: of metadata and spec.
std::string start_pod(const std::string& name, int cpu, const std::string& metadata, const std::string& spec,
                      const std::string& status = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default, uid: u-" + name +
         metadata + "}, spec: {" + spec + "containers: [{name: c, image: i, resources: {requests: {cpu: \"" +
         std::to_string(cpu) + "\"}}}]}, status: {" + status + "}}\n---\n";
}
std::string runs_for(const std::string& duration) {
  return ", annotations: {scheduling.berth.dev/expected-duration: " + duration + "}";
}
const std::string kStartedAtNoon = "startTime: \"2026-01-01T12:00:00Z\"";

class ExpectedStarts : public testing::Test {
 protected:
  ExpectedStarts() {
    options_.gates = &gates_;
    options_.device_gates = dra::gates_of(gates_);
    options_.now = parse_time("2026-01-01T12:10:00Z").value();
  }
  // "12:30:00 after b a", "unknown of 2".
  std::string ask(const std::string& input, const std::string& name = "x", bool group = false) {
    const std::string whole = input.substr(0, input.size() - 5);
    const auto kind = group ? placement::EntityKind::Group : placement::EntityKind::Pod;
    std::vector<Document> documents = documents_of(whole);
    inherit_expected_durations(documents);
    const auto offline = OfflineCluster::make(std::move(documents), options_).value();
    const ExpectedStart start = expected_start(*offline, {kind, {"default", name}}, options_, selectors_);
    if (!start.at)
      return (start.out_of_budget ? "budget of " : "unknown of ") + std::to_string(start.running);
    std::string text = format_time(*start.at).substr(11, 8) + " after";
    for (const Ending& one : start.after) text += " " + one.pod.name;
    return text;
  }

  const api::Gates gates_{api::GateDefaults::Up};
  PlanOptions options_;
  dra::CelSelectors selectors_;
};

TEST_F(ExpectedStarts, IsWhenTheNodeHasRoom) {
  const std::string input = start_node("n1", 4) +
                            start_pod("a", 2, runs_for("30m"), "nodeName: n1, ", kStartedAtNoon) +
                            start_pod("b", 2, runs_for("1h"), "nodeName: n1, ", kStartedAtNoon);
  EXPECT_EQ(ask(input + start_pod("x", 2, "", "")), "12:30:00 after a");
  EXPECT_EQ(ask(input + start_pod("x", 3, "", "")), "13:00:00 after b a");
}

TEST_F(ExpectedStarts, IsUnknownWithoutRunTimes) {
  const std::string input = start_node("n1", 4) + start_pod("a", 2, runs_for("30m"), "nodeName: n1, ") +
                            start_pod("b", 2, "", "nodeName: n1, ");
  EXPECT_EQ(ask(input + start_pod("x", 3, "", "")), "unknown of 1");
}

TEST_F(ExpectedStarts, CountsPodsThatEndTogether) {
  const std::string input = start_node("n1", 4) +
                            start_pod("a", 1, runs_for("30m"), "nodeName: n1, ", kStartedAtNoon) +
                            start_pod("b", 1, runs_for("30m"), "nodeName: n1, ", kStartedAtNoon);
  EXPECT_EQ(ask(input + start_pod("x", 5, "", "")), "unknown of 2");
  EXPECT_EQ(ask(start_node("n1", 4) + start_pod("x", 5, "", "")), "unknown of 0");
}

// w has the higher priority and takes the first room, for 20 minutes.
TEST_F(ExpectedStarts, CountsWhoComesBefore) {
  const std::string input = start_node("n1", 2) + start_pod("a", 2, runs_for("30m"),
                                                            "nodeName: n1, priority: 100, ", kStartedAtNoon);
  EXPECT_EQ(ask(input + start_pod("w", 2, runs_for("20m"), "priority: 10, ") + start_pod("x", 2, "", "")),
            "12:50:00 after w a");
  EXPECT_EQ(ask(input + start_pod("w", 2, "", "priority: 10, ") + start_pod("x", 2, "", "")), "unknown of 1");
}

// It should have ended ten minutes ago: any moment.
TEST_F(ExpectedStarts, OfALatePodIsNow) {
  const std::string input =
      start_node("n1", 2) + start_pod("a", 2, runs_for("1m"), "nodeName: n1, ", kStartedAtNoon);
  EXPECT_EQ(ask(input + start_pod("x", 2, "", "")), "12:10:00 after a");
}

TEST_F(ExpectedStarts, ComesFromTheOwner) {
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: default, uid: u-j" + runs_for("45m") +
      "}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}\n---\n";
  const std::string owned = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u-j}]";
  EXPECT_EQ(ask(start_node("n1", 2) + job + start_pod("a", 2, owned, "nodeName: n1, ", kStartedAtNoon) +
                start_pod("x", 2, "", "")),
            "12:45:00 after a");
}

// The gang needs both nodes; the annotation of the group that runs is that of its pods.
TEST_F(ExpectedStarts, OfAGangIsWhenAllMembersFit) {
  const auto group = [](const std::string& name, const std::string& more) {
    return "{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: " + name +
           ", namespace: default, uid: u-" + name + more +
           "}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}\n---\n";
  };
  const std::string in_old = "schedulingGroup: {podGroupName: old}, ",
                    in_new = "schedulingGroup: {podGroupName: g}, ";
  EXPECT_EQ(ask(start_node("n1", 2) + start_node("n2", 2) + group("old", runs_for("1h")) + group("g", "") +
                    start_pod("a", 2, "", in_old + "nodeName: n1, ", kStartedAtNoon) +
                    start_pod("b", 2, runs_for("2h"), in_old + "nodeName: n2, ", kStartedAtNoon) +
                    start_pod("x1", 2, "", in_new) + start_pod("x2", 2, "", in_new),
                "g", true),
            "14:00:00 after b a");
}

// Each time a pod ends, all that wait are decided again: those that are alike by one decision.
TEST_F(ExpectedStarts, IsKnownBehindThousandsOfGroupsThatWait) {
  constexpr int kEnds = 9, kGroups = 2'500;
  static_assert(std::size_t{kEnds} * kGroups > kStartDecisionsMax);
  std::string input = start_node("n1", kEnds);
  for (int i = 1; i <= kEnds; ++i)
    input += start_pod("a" + std::to_string(i), 1, runs_for(std::to_string(i) + "h"),
                       "nodeName: n1, priority: 9, ", kStartedAtNoon);
  for (int i = 0; i < kGroups; ++i) {
    const std::string group = "g" + std::to_string(i);
    input += "{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: " + group +
             ", namespace: default, uid: u-" + group +
             "}, spec: {schedulingPolicy: {gang: {minCount: 1}}}}\n---\n" +
             start_pod(group, kEnds + 1, "", "schedulingGroup: {podGroupName: " + group + "}, ");
  }
  EXPECT_EQ(ask(input + start_pod("x", kEnds, "", "")), "21:00:00 after a9 a8 a7 a6");
}

TEST_F(ExpectedStarts, WaitsForTheDeviceOfAClaim) {
  const std::string devices = R"(
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu},
 spec: {selectors: [{cel: {expression: "true"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: d, nodeName: n1,
   pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: held, namespace: default, uid: u-held},
 spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}},
 status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: gpu-0}]}},
          reservedFor: [{resource: pods, name: a, uid: u-a}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim,
 metadata: {name: wanted, namespace: default, uid: u-wanted},
 spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
)";
  const std::string holds = "nodeName: n1, resourceClaims: [{name: c, resourceClaimName: held}], ";
  const std::string wants = "resourceClaims: [{name: c, resourceClaimName: wanted}], ";
  EXPECT_EQ(ask(devices + start_node("n1", 8) + start_pod("a", 1, runs_for("30m"), holds, kStartedAtNoon) +
                start_pod("x", 1, "", wants)),
            "12:30:00 after a");
}

}  // namespace
}  // namespace berth::planning
