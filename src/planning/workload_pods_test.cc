#include "planning/workload_pods.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/type_table.h"
#include "api/yaml.h"
#include "dra/cel_selectors.h"

namespace berth::planning {
namespace {

const Time kPlannedAt = Time::from_seconds(1'800'000'000);

std::vector<Document> written(std::string_view yaml) {
  std::vector<Document> documents;
  const std::vector<api::YamlDocument> parsed = api::parse_yaml_documents(yaml, "test").value();
  for (const api::YamlDocument& one : parsed) {
    const auto* row =
        api::find_resource_of_kind(one.value.string_at("apiVersion"), one.value.string_at("kind"));
    Json object = one.value;
    const api::KindRules& rules = api::rules_of(row->group, row->plural);
    if (rules.set_defaults) rules.set_defaults(object);
    documents.push_back({api::kind_of_resource(row->group, row->plural), std::move(object)});
  }
  return documents;
}

// The names of the pods, sorted, of which only those of Indexed Jobs and StatefulSets are told whole.
std::vector<std::string> pod_names(const std::vector<Document>& documents) {
  std::vector<std::string> names;
  for (const Document& document : documents)
    if (document.kind == api::Kind::Pod)
      names.emplace_back(document.object.part("metadata").string_at("name"));
  std::sort(names.begin(), names.end());
  return names;
}

std::string workload(std::string_view version, std::string_view kind, std::string_view more) {
  return "---\n{apiVersion: " + std::string(version) + ", kind: " + std::string(kind) +
         ", metadata: {name: w, namespace: default}, spec: {selector: {matchLabels: {app: w}}, template: "
         "{metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "
         "'1'}}}]}}" +
         std::string(more) + "}}\n";
}

constexpr std::string_view kNodes = R"(
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
)";

TEST(WorkloadPods, AreMadeAsTheControllersMakeThem) {
  struct Case {
    std::string text;
    std::size_t pods;
  };
  for (const Case& one : std::vector<Case>{
           {workload("apps/v1", "Deployment", ", replicas: 3"), 3},
           {workload("apps/v1", "ReplicaSet", ", replicas: 40"), 40},
           {workload("apps/v1", "StatefulSet", ", serviceName: s, replicas: 3"), 3},
           {workload("apps/v1", "DaemonSet", ""), 2},
           {workload("batch/v1", "Job", ", parallelism: 2, completions: 5, manualSelector: true"), 2},
           {workload("batch/v1", "Job", ", parallelism: 2, suspend: true, manualSelector: true"), 0},
           {workload("apps/v1", "Deployment", ", replicas: 0"), 0},
       }) {
    const Result<WorkloadPods> made = with_workload_pods(written(std::string(kNodes) + one.text), kPlannedAt);
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(pod_names(made->documents).size(), one.pods) << one.text;
  }
}

TEST(WorkloadPods, OfAStatefulSetAreAllMade) {
  const auto made = with_workload_pods(
      written(std::string(kNodes) + workload("apps/v1", "StatefulSet", ", serviceName: s, replicas: 3")),
      kPlannedAt);
  EXPECT_EQ(pod_names(made->documents), (std::vector<std::string>{"w-0", "w-1", "w-2"}));
  for (const Document& document : made->documents)
    if (document.kind == api::Kind::Pod) {
      EXPECT_TRUE(document.object.part("status").part("phase").is_null()) << "nobody runs it yet";
    }
}

TEST(WorkloadPods, ThatExistAreNotMadeAgain) {
  const std::string text = std::string(kNodes) + workload("apps/v1", "ReplicaSet", ", replicas: 3");
  std::vector<Document> documents = with_workload_pods(written(text), kPlannedAt)->documents;
  const std::vector<std::string> names = pod_names(documents);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(pod_names(with_workload_pods(documents, kPlannedAt)->documents), names);
  // One fewer: the controller makes up for it.
  documents.pop_back();
  EXPECT_EQ(pod_names(with_workload_pods(documents, kPlannedAt)->documents).size(), 3u);
}

TEST(WorkloadPods, OfAGangJobComeWithTheirGroup) {
  const auto made = with_workload_pods(
      written(std::string(kNodes) +
              workload("batch/v1", "Job",
                       ", parallelism: 2, completions: 2, completionMode: Indexed, manualSelector: true, "
                       "scheduling: {schedulingPolicy: {gang: {minCount: 2}}}")),
      kPlannedAt);
  ASSERT_TRUE(made.ok()) << made.error().text();
  std::size_t groups = 0;
  std::string group;
  for (const Document& document : made->documents) {
    groups += document.kind == api::Kind::PodGroup ? 1 : 0;
    if (document.kind == api::Kind::PodGroup) group = document.object.part("metadata").string_at("name");
  }
  EXPECT_EQ(groups, 1u);
  for (const Document& document : made->documents)
    if (document.kind == api::Kind::Pod) {
      EXPECT_EQ(document.object.part("spec").part("schedulingGroup").string_at("podGroupName"), group);
    }
}

TEST(WorkloadPods, WhatIsLeftOutIsSaid) {
  const auto made = with_workload_pods(
      written("{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: default}, spec: "
              "{schedule: '0 0 * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: "
              "i}]}}}}}}\n" +
              workload("batch/v1", "Job", ", suspend: true, manualSelector: true")),
      kPlannedAt);
  EXPECT_EQ(made->notes,
            (std::vector<std::string>{
                "no pods are made for CronJob default/nightly: its Jobs are made when their time comes",
                "no pods are made for Job default/w: suspended"}));
}

// Its pods would not be its own: the controller would make more for ever.
TEST(WorkloadPods, AreNotMadeForAWorkloadThatAServerRefuses) {
  std::vector<Document> documents = written(workload("apps/v1", "ReplicaSet", ", replicas: 3"));
  documents.front().object["spec"]["selector"] =
      Json::object({{"matchLabels", Json::object({{"app", "x"}})}});
  documents.front().trouble = "spec.template.metadata.labels: `selector` does not match template `labels`";
  const auto made = with_workload_pods(std::move(documents), kPlannedAt);
  EXPECT_EQ(pod_names(made->documents).size(), 0u);
  EXPECT_EQ(made->notes, std::vector<std::string>{
                             "no pods are made for ReplicaSet default/w: an API server would refuse it"});
}

TEST(WorkloadPods, AreBounded) {
  const auto made =
      with_workload_pods(written(workload("apps/v1", "ReplicaSet", ", replicas: 2000000000")), kPlannedAt);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message(), "wants too many pods: a plan makes at most 50000 of workloads");
}

TEST(WorkloadPods, ArePlannedAfterThePodsThatExist) {
  static const api::Gates gates(api::GateDefaults::Up);
  PlanOptions options;
  options.gates = &gates;
  options.device_gates = dra::gates_of(gates);
  options.workloads = true;
  dra::CelSelectors selectors;
  const Result<Plan> plan = make_plan(
      written(
          std::string(kNodes) + workload("apps/v1", "Deployment", ", replicas: 9") +
          "---\n{apiVersion: v1, kind: Pod, metadata: {name: first}, spec: {containers: [{name: c, image: i, "
          "resources: {requests: {cpu: '1'}}}]}}\n"),
      options, selectors);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  ASSERT_EQ(plan->decisions.size(), 10u);
  EXPECT_EQ(plan->decisions.front().name, "first");
  const auto placed =
      std::count_if(plan->decisions.begin(), plan->decisions.end(),
                    [](const Decision& decision) { return decision.result == ResultKind::Placed; });
  EXPECT_EQ(placed, 8);
}

}  // namespace
}  // namespace berth::planning
