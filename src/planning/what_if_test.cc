#include "planning/what_if.h"

#include <gtest/gtest.h>

#include "dra/cel_selectors.h"
#include "planning/test_documents.h"

namespace berth::planning {
namespace {

const api::Gates kGates(api::GateDefaults::Up);

Result<Plan> what_if(std::string_view input, const std::vector<Change>& changes) {
  PlanOptions options;
  options.gates = &kGates;
  options.device_gates = dra::gates_of(kGates);
  options.workloads = true;
  dra::CelSelectors selectors;
  return make_what_if(documents_of(input), changes, options, selectors);
}

// Two nodes of 4 cpu; n1 has a pod of 3, and its ReplicaSet wants another one.
constexpr std::string_view kInput = R"(
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: default, uid: u-web},
 spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
        spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-a, namespace: default, uid: u-a, labels: {app: web},
   ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u-web, controller: true}]},
 spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: low, namespace: default},
 spec: {nodeName: n2, priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: default},
 spec: {priority: 10, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}
)";
constexpr std::string_view kNode3 =
    R"({apiVersion: v1, kind: Node, metadata: {name: n3}, status: {allocatable: {cpu: "4", pods: "10"}}})";

std::string outcome(const Decision& decision) {
  std::string text(name_of(decision.result));
  for (const PlannedPod& pod : decision.pods) text += pod.node.empty() ? "" : " " + pod.node;
  for (const PlannedVictim& victim : decision.victims) text += " -" + victim.name;
  return text;
}

// "x: Placed n2 > Preempting n2 -low", one line a decision that differs; names of made pods are cut.
std::string differences(const Plan& plan) {
  std::string text;
  const auto line = [&](const std::string& name, const std::string& was, const std::string& now) {
    text += (text.empty() ? "" : "; ") + name.substr(0, 3) + ": " + was + " > " + now;
  };
  for (const WhatIf::Changed& one : plan.what_if->changed) {
    const Decision& now = plan.decisions[one.now];
    line(now.name, one.was ? outcome(*one.was) : "-", outcome(now));
  }
  for (const Decision& was : plan.what_if->gone) line(was.name, outcome(was), "-");
  return text;
}

struct WhatIfCase {
  std::string name;
  std::vector<Change> changes;
  std::string differs;
};

const ObjectName kWeb{"replicaset", "", "web"};

const std::vector<WhatIfCase> kCases = {
    {"preemption off", {{"", SetPreemption{false}}}, ""},
    {"a cordoned node", {{"", CordonNode{"n2"}}}, "x: Placed n2 > Preempting n1 -web-a"},
    {"a cordoned node without preemption",
     {{"", CordonNode{"n2"}}, {"", SetPreemption{false}}},
     "x: Placed n2 > Unschedulable"},
    // Its pod is gone with it; the ReplicaSet makes another one, which finds 2 of 4 cpu taken by low and x.
    {"a node that is gone", {{"", RemoveObject{{"node", "", "n1"}}}}, "web: - > Unschedulable"},
    {"its pod alone",
     {{"", RemoveObject{{"pod", "", "web-a"}}}},
     "x: Placed n2 > Placed n1; web: - > Unschedulable"},
    // Room for x on n1 too, and n1 is the emptier one.
    {"a workload that is gone", {{"", RemoveObject{kWeb}}}, "x: Placed n2 > Placed n1"},
    {"scaled to nothing", {{"", ScaleWorkload{kWeb, 0}}}, "x: Placed n2 > Placed n1"},
    {"scaled to three", {{"", ScaleWorkload{kWeb, 3}}}, "web: - > Unschedulable; web: - > Unschedulable"},
    {"in their order",
     {{"", AddObjects{documents_of(kNode3)}}, {"", CordonNode{"n3"}}, {"", CordonNode{"n2"}}},
     "x: Placed n2 > Preempting n1 -web-a"},
    {"a new node", {{"", AddObjects{documents_of(kNode3)}}}, "x: Placed n2 > Placed n3"},
};

TEST(WhatIf, ComparesWithThePlanWithoutTheChanges) {
  for (const WhatIfCase& one : kCases) {
    const Result<Plan> plan = what_if(kInput, one.changes);
    ASSERT_TRUE(plan.ok()) << one.name << ": " << plan.error().text();
    EXPECT_EQ(differences(*plan), one.differs) << one.name << "\n" << to_table(*plan, Verdicts::None);
    EXPECT_EQ(plan->what_if->base, (std::map<ResultKind, std::size_t>{{ResultKind::Placed, 1}})) << one.name;
  }
}

TEST(WhatIf, SaysWhoWouldBeEvicted) {
  const std::vector<Change> changes = {{"cordon=n1", CordonNode{"n1"}},
                                       {"scale=replicaset/web:0", ScaleWorkload{kWeb, 0}},
                                       {"remove=pod/low", RemoveObject{{"pod", "", "low"}}}};
  const Result<Plan> plan = what_if(kInput, changes);
  ASSERT_TRUE(plan.ok());
  const Json json = to_json(*plan, Verdicts::None).part("whatIf");
  EXPECT_EQ(to_string(json.part("base")),
            R"({"Placed":1,"Preempting":0,"Unschedulable":0,"Error":0,"Gated":0,"Unknown":0})");
  EXPECT_EQ(json.items_at("changes").size(), 3u);
  EXPECT_TRUE(json.items_at("changed").empty()) << "x stays on n2";
  EXPECT_NE(to_table(*plan, Verdicts::None)
                .find("Without cordon=n1, scale=replicaset/web:0, remove=pod/low: "
                      "1 Placed\nNo decision differs.\n"),
            std::string::npos)
      << to_table(*plan, Verdicts::None);
}

// The device of the removed pod's claim is free again, and the claim that was made for the pod is gone.
TEST(WhatIf, ARemovedPodGivesItsDevicesBack) {
  const Result<Plan> plan = what_if(R"(
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu},
 spec: {selectors: [{cel: {expression: device.driver == "d.io"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s1},
 spec: {driver: d.io, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1},
        devices: [{name: gpu-0}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: shared, namespace: default},
 spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}},
 status: {reservedFor: [{resource: pods, name: a, uid: u-a}],
          allocation: {devices: {results: [{request: r, driver: d.io, pool: n1, device: gpu-0}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, uid: u-a},
 spec: {nodeName: n1, containers: [{name: c, image: i}],
        resourceClaims: [{name: d, resourceClaimName: shared}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: default},
 spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: d, resourceClaimTemplateName: one}]}}
)",
                                    {{"", RemoveObject{{"po", "", "a"}}}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(differences(*plan), "b: Unschedulable > Placed n1");
}

TEST(WhatIf, RefusesWhatTheInputDoesNotHave) {
  const std::pair<Change, std::string> cases[] = {
      {{"cordon=n9", CordonNode{"n9"}}, "--what-if cordon=n9: the input has no node n9"},
      {{"remove=pod/prod/low", RemoveObject{{"pod", "prod", "low"}}},
       "--what-if remove=pod/prod/low: the input has no pod prod/low; one of that name is in namespace "
       "default; "
       "pods that the plan makes cannot be named: scale their workload"},
      {{"scale=pod/low:2", ScaleWorkload{{"pod", "", "low"}, 2}},
       "--what-if scale=pod/low:2: a Pod has no number of pods: scale a Deployment, ReplicaSet, StatefulSet "
       "or "
       "Job"},
      {{"add=f", AddObjects{documents_of(kInput)}},
       "--what-if add=f: the input has node n1 already: remove it first (remove=node/n1)"},
  };
  for (const auto& [change, text] : cases) {
    const Result<Plan> plan = what_if(kInput, {change});
    ASSERT_FALSE(plan.ok()) << text;
    EXPECT_EQ(plan.error().text(), text);
  }
  const Result<Plan> plan = what_if(kInput, std::vector<Change>(kChangesMax + 1, {"", CordonNode{"n1"}}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().text(), "--what-if: at most 64 changes; there are 65");
}

}  // namespace
}  // namespace berth::planning
