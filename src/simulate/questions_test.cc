// What fits, what a failure costs, what an addition brings, when something starts, how many nodes are needed.
#include "simulate/questions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "dra/cel_selectors.h"
#include "planning/test_documents.h"
#include "simulate/test_scripts.h"
#include "simulate/workload_copies.h"

namespace berth::simulate {
namespace {

using planning::Document;
using planning::documents_of;

void put_on(Document& pod, const std::string& node) {
  pod.object["spec"]["nodeName"] = node;
}

void add_running(Script& script, const std::string& name, const std::string& node, std::int64_t gpus,
                 const std::string& duration = "") {
  Document pod = pod_document(name, {1000, 1024, gpus}, "");
  put_on(pod, node);
  if (!duration.empty())
    pod.object["metadata"]["annotations"]["scheduling.berth.dev/expected-duration"] = duration;
  script.objects.push_back(std::move(pod));
}

void add_waiting(Script& script, const std::string& name, std::int64_t gpus) {
  script.objects.push_back(pod_document(name, {1000, 1024, gpus}, ""));
}

std::vector<Document> gang(const std::string& name, std::int64_t pods, std::int64_t gpus,
                           const std::string& within = "") {
  return equal_pods(name, {1000, 1024, gpus}, pods, {within}).objects;
}

template <class Answer>
Answer value_of(Result<Answer> answer) {
  EXPECT_TRUE(answer.ok()) << (answer ? "" : answer.error().text());
  return answer ? *std::move(answer) : Answer{};
}

FitAnswer fit(const Script& script, std::vector<Document> workload, const StartChanges& changes = {}) {
  return value_of(copies_fit(script, changes, std::move(workload), options()));
}
FailAnswer fail(const Script& script, const std::vector<std::string>& nodes) {
  return value_of(nodes_fail(script, nodes, options()));
}
AddAnswer add(const Script& script, std::vector<Document> added) {
  return value_of(objects_come(script, {{}, std::move(added)}, options()));
}
StartAnswer eta(const Script& script, const std::string& name) {
  return value_of(expected_start(script, name, options()));
}
MinNodesAnswer least_nodes(const Script& script, std::vector<Document> documents) {
  const auto question = min_nodes_question(std::move(documents));
  EXPECT_TRUE(question.ok()) << (question ? "" : question.error().text());
  return question ? value_of(min_nodes(script, {}, *question, options())) : MinNodesAnswer{};
}

std::string node_of(const planning::Plan& plan, const std::string& pod) {
  for (const planning::Decision& decision : plan.decisions)
    for (const planning::PlannedPod& one : decision.pods)
      if (one.name == pod) return one.node;
  return "?";
}

TEST(Fit, CopiesAreCountedUntilOneIsRefused) {
  const FitAnswer answer = fit(two_nodes(), {pod_document("x", {1000, 1024, 2}, "")});
  EXPECT_EQ(answer.copies, 4u);
  EXPECT_EQ(answer.nodes, (std::map<std::string, std::size_t>{{"a", 2}, {"b", 2}}));
  ASSERT_EQ(answer.next.decisions.size(), 1u);
  EXPECT_EQ(answer.next.decisions[0].name, "copy-5-x");
  EXPECT_TRUE(answer.next.decisions[0].certificate().has_value());
}

TEST(Fit, AGangFitsAsAWholeWithinItsDomain) {
  const FitAnswer answer = fit(two_nodes(), gang("g", 3, 1, "rack"));
  EXPECT_EQ(answer.copies, 2u);
  EXPECT_EQ(answer.pods_per_copy, 3u);
}

TEST(Fit, WhatWaitsGoesFirstAndNothingIsEvicted) {
  Script script = two_nodes();
  add_running(script, "low", "a", 4);
  add_waiting(script, "waits", 1);
  PodShape high{1000, 1024, 1};
  high.priority = 100;
  EXPECT_EQ(fit(script, {pod_document("x", high, "")}).copies, 3u);
  EXPECT_EQ(fit(script, {pod_document("x", high, "")}, {{"a"}, {}}).copies, 0u) << "low takes all of b";
}

// As somebody writes it out of a cluster where it runs: its names are taken, its pods have nodes.
TEST(Fit, AGroupThatRunsMayBeAskedAbout) {
  Script script = two_nodes();
  std::vector<Document> running = gang("g", 2, 1);
  for (Document& document : running)
    if (document.kind == api::Kind::Pod) put_on(document, "a");
  script.objects.insert(script.objects.end(), running.begin(), running.end());
  EXPECT_EQ(fit(script, running).copies, 3u);
}

constexpr std::string_view kDevices = R"(
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s},
 spec: {driver: d.io, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1},
        devices: [{name: d0}, {name: d1}, {name: d2}]}}
)";
constexpr std::string_view kClaimant = R"(
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: default},
 spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: dev, resourceClaimTemplateName: one}]}}
)";

TEST(Fit, EveryCopyHasClaimsOfItsOwn) {
  Script script;
  script.objects = documents_of(kDevices);
  EXPECT_EQ(fit(script, documents_of(kClaimant)).copies, 3u);
  const std::vector<Document> claimant = documents_of(kClaimant);
  script.objects.push_back(claimant.front());
  EXPECT_EQ(fit(script, claimant).copies, 3u) << "the template is in the cluster already";
  std::vector<Document> shared = documents_of(R"(
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: both, namespace: default},
 spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: dev, resourceClaimName: both}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: default},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: dev, resourceClaimName: both}]}}
)");
  EXPECT_EQ(fit(script, shared).copies, 3u) << "one device for two pods";
}

TEST(Fit, ATreeOfGroupsIsCopiedWhole) {
  const std::vector<Document> tree = documents_of(R"(
{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: t, namespace: default},
 spec: {schedulingPolicy: {gang: {minGroupCount: 2}}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: t-a, namespace: default},
 spec: {parentCompositePodGroupName: t, schedulingPolicy: {gang: {minCount: 1}}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: t-b, namespace: default},
 spec: {parentCompositePodGroupName: t, schedulingPolicy: {gang: {minCount: 1}}}}
)");
  std::vector<Document> workload = tree;
  workload.push_back(pod_document("p", {1000, 1024, 2}, "t-a"));
  workload.push_back(pod_document("q", {1000, 1024, 1}, "t-b"));
  EXPECT_EQ(fit(two_nodes(), workload).copies, 2u);
}

TEST(Fit, AFileWithoutPodsIsRefused) {
  const auto answer = copies_fit(two_nodes(), {}, {group_document("g", 2, "", 0)}, options());
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().text(), "has no pod: give a pod, or a group with its pods");
}

// The slow way: a plan with n copies places all of them, and one with n + 1 places n.
TEST(Fit, EqualsPlansOfThatManyCopies) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SeededRandom random(seed);
    Script script;
    for (int i = 0; i < 3; ++i)
      script.objects.push_back(
          node_document("n" + std::to_string(i), {static_cast<std::int64_t>(random.below(9)) * 1000,
                                                  65'536,
                                                  static_cast<std::int64_t>(random.below(9)),
                                                  {}}));
    const PodShape shape{static_cast<std::int64_t>(random.below(3)) * 500 + 500, 1024,
                         static_cast<std::int64_t>(random.below(3)) + 1};
    const FitAnswer answer = fit(script, {pod_document("x", shape, "")});
    for (const std::size_t copies : {answer.copies, answer.copies + 1}) {
      std::vector<Document> documents = script.objects;
      for (std::size_t i = 0; i < copies; ++i)
        documents.push_back(pod_document("x" + std::to_string(i), shape, ""));
      dra::CelSelectors selectors;
      const auto plan = planning::make_plan(documents, options(), selectors);
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(
          std::ranges::count(plan->decisions, planning::ResultKind::Placed, &planning::Decision::result),
          static_cast<std::ptrdiff_t>(answer.copies))
          << "seed " << seed;
    }
  }
}

TEST(Fail, LostPodsFindRoomAgainOrWait) {
  Script script = two_nodes();
  add_running(script, "x", "b", 3);
  add_running(script, "y", "b", 1);
  add_running(script, "stays", "a", 1);
  FailAnswer answer = fail(script, {"b"});
  EXPECT_EQ(answer.pods.size(), 2u);
  EXPECT_EQ(answer.placed, 1u);
  EXPECT_EQ(answer.waiting, 1u);
  EXPECT_EQ(node_of(answer.plan, "x"), "a");
  answer = fail(script, {"a", "b"});
  EXPECT_EQ(answer.pods.size(), 3u);
  EXPECT_EQ(answer.placed, 0u);
}

TEST(Fail, PodsOfDaemonSetsGoWithTheirNode) {
  Script script = two_nodes();
  add_running(script, "agent", "b", 0);
  script.objects.back().object["metadata"]["ownerReferences"] =
      Json::array({Json::object({{"apiVersion", "apps/v1"},
                                 {"kind", "DaemonSet"},
                                 {"name", "agent"},
                                 {"uid", "u"},
                                 {"controller", true}})});
  const FailAnswer answer = fail(script, {"b"});
  EXPECT_EQ(answer.gone, 1u);
  EXPECT_TRUE(answer.plan.decisions.empty());
}

TEST(Fail, AGangKeepsItsDomainAndHigherPrioritiesEvict) {
  Script script = two_nodes();
  script.objects.push_back(node_document("c", {32'000, 65'536, 4, {{"rack", "rack-a"}}}));
  std::vector<Document> running = gang("g", 2, 4, "rack");
  put_on(running[1], "a");
  put_on(running[2], "c");
  script.objects.insert(script.objects.end(), running.begin(), running.end());
  EXPECT_EQ(fail(script, {"c"}).waiting, 1u) << "b is free, but in another rack";
  Script crowded = two_nodes();
  add_running(crowded, "low", "a", 4);
  PodShape high{1000, 1024, 4};
  high.priority = 10;
  crowded.objects.push_back(pod_document("high", high, ""));
  put_on(crowded.objects.back(), "b");
  const FailAnswer answer = fail(crowded, {"b"});
  EXPECT_EQ(answer.placed, 1u);
  EXPECT_EQ(answer.evicted, 1u);
}

TEST(Fail, DevicesOfLostPodsAreAskedForAgain) {
  Script script;
  script.objects = documents_of(kDevices);
  script.objects.push_back(documents_of(R"(
{apiVersion: v1, kind: Node, metadata: {name: m}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}}
)")
                               .front());
  Document slice = script.objects[2];
  slice.object["metadata"]["name"] = "t";
  slice.object["spec"]["nodeName"] = "m";
  slice.object["spec"]["pool"]["name"] = "m";
  script.objects.push_back(std::move(slice));
  for (Document& document : documents_of(kClaimant)) script.objects.push_back(std::move(document));
  const FailAnswer first = fail(script, {"n1"}), other = fail(script, {"m"});
  EXPECT_EQ(first.pods.size() + other.pods.size(), 1u) << "it is placed on one of them at the start";
  const FailAnswer& moved = first.pods.empty() ? other : first;
  EXPECT_EQ(moved.placed, 1u);
}

TEST(Fail, DomainsAreLabelsOrLevels) {
  Script script = two_nodes();
  for (Document& document : documents_of(R"(
{apiVersion: scheduling.berth.dev/v1alpha1, kind: Topology, metadata: {name: default},
 spec: {levels: [{name: row, nodeLabel: rack}]}}
)"))
    script.objects.push_back(std::move(document));
  const std::vector<std::string> b{"b"};
  for (const char* text : {"b", "rack=rack-b", "row=rack-b"})
    EXPECT_EQ(value_of(nodes_of_domain(script.objects, text)), b) << text;
  for (const char* text : {"c", "rack=b", "zone=x", "=", ""}) {
    const auto none = nodes_of_domain(script.objects, text);
    ASSERT_FALSE(none.ok()) << text;
    EXPECT_EQ(none.error().path(), std::string("--fail ") + text);
  }
}

TEST(Add, WaitingPodsArePlacedBecauseOfIt) {
  Script script = two_nodes();
  for (const char* name : {"p", "q", "r"}) add_waiting(script, name, 4);
  add_waiting(script, "huge", 9);
  const AddAnswer answer =
      add(script, {node_document("c", {32'000, 65'536, 4, {}}), pod_document("late", {1000, 1024, 1}, "")});
  EXPECT_EQ(answer.waited, 2u);
  EXPECT_EQ(answer.placed, 1u);
  EXPECT_EQ(answer.added, 1u);
  EXPECT_EQ(answer.added_placed, 0u);
  EXPECT_EQ(node_of(answer.plan, "r"), "c");
  EXPECT_EQ(node_of(answer.plan, "huge"), "");
}

TEST(Eta, WhatWaitsStartsWhenPodsEnd) {
  Script script = two_nodes();
  add_running(script, "x", "a", 4, "60s");
  add_running(script, "y", "b", 4, "90s");
  add_waiting(script, "next", 4);
  add_waiting(script, "other", 4);
  StartAnswer answer = eta(script, "next");
  EXPECT_EQ(answer.result, StartResult::Starts);
  EXPECT_EQ(answer.at, Duration::seconds(60));
  ASSERT_EQ(answer.after.size(), 1u);
  EXPECT_EQ(answer.after[0].key.name, "x");
  answer = eta(script, "default/other");
  EXPECT_EQ(answer.at, Duration::seconds(90));
  EXPECT_EQ(answer.nodes, std::vector<std::string>{"b"});
  EXPECT_EQ(answer.ended, 2u);
}

TEST(Eta, ArrivalsCompeteAndMayBeAskedAbout) {
  Script script = two_nodes();
  script.objects.pop_back();
  add_running(script, "x", "a", 4, "60s");
  add_waiting(script, "low", 4);
  PodShape high{1000, 1024, 4};
  high.priority = 10;
  arrive(script, "high", 10, 100, high);
  EXPECT_EQ(eta(script, "low").at, Duration::seconds(10 + 100)) << "high evicts x";
  const StartAnswer arrival = eta(script, "high");
  EXPECT_EQ(arrival.arrives, Duration::seconds(10));
  EXPECT_EQ(arrival.at, Duration::seconds(10));
}

TEST(Eta, SaysWhyItDoesNotKnow) {
  Script script = two_nodes();
  script.objects.pop_back();
  add_running(script, "known", "a", 2, "60s");
  add_running(script, "endless", "a", 2);
  add_waiting(script, "next", 4);
  add_waiting(script, "huge", 5);
  const StartAnswer unknown = eta(script, "next");
  EXPECT_EQ(unknown.result, StartResult::Unknown);
  EXPECT_EQ(unknown.endless, 1u);
  EXPECT_EQ(unknown.on_nodes, 2u);
  EXPECT_EQ(unknown.endless_pods, std::vector<std::string>{"default/endless"});
  const StartAnswer never = eta(script, "huge");
  EXPECT_EQ(never.result, StartResult::Never);
  ASSERT_EQ(never.plan.decisions.size(), 1u);
}

TEST(Eta, AGroupIsNamedByItselfOrAMember) {
  Script script = two_nodes();
  add_running(script, "x", "a", 4, "60s");
  for (Document& document : gang("g", 2, 4)) script.objects.push_back(std::move(document));
  for (const char* name : {"g", "default/g", "g-1"}) {
    const StartAnswer answer = eta(script, name);
    EXPECT_EQ(answer.key.kind, placement::EntityKind::Group) << name;
    EXPECT_EQ(answer.at, Duration::seconds(60)) << name;
    EXPECT_EQ(answer.nodes.size(), 2u) << name;
  }
  for (const char* name : {"x", "other/g", "nobody"}) {
    const auto answer = expected_start(script, name, options());
    ASSERT_FALSE(answer.ok()) << name;
    EXPECT_EQ(answer.error().path(), std::string("--eta ") + name);
  }
}

Document spare(std::int64_t gpus) {
  return node_document("spare", {32'000, 65'536, gpus, {}});
}

TEST(MinNodes, TheSumOfRequestsIsTheLeast) {
  Script script = two_nodes();
  for (int i = 0; i < 6; ++i) add_waiting(script, "w" + std::to_string(i), 4);
  const MinNodesAnswer answer = least_nodes(script, {spare(8)});
  EXPECT_EQ(answer.pods, 4u) << "a and b take two";
  EXPECT_EQ(answer.nodes, 2u);
  EXPECT_TRUE(answer.exact());
  EXPECT_EQ(answer.tried.size(), 1u);
}

TEST(MinNodes, AFileMayHaveAWorkloadOfItsOwn) {
  Script script;
  add_waiting(script, "others", 1);
  std::vector<Document> documents = gang("g", 4, 3);
  documents.push_back(spare(4));
  const MinNodesAnswer answer = least_nodes(script, documents);
  EXPECT_EQ(answer.pods, 4u);
  EXPECT_EQ(answer.lower_bound, 3u);
  EXPECT_EQ(answer.nodes, 4u) << "one pod a node";
  EXPECT_FALSE(answer.exact());
}

TEST(MinNodes, SaysWhenNoNumberHelps) {
  Script script;
  add_waiting(script, "huge", 5);
  const MinNodesAnswer answer = least_nodes(script, {spare(4)});
  EXPECT_FALSE(answer.possible);
  EXPECT_FALSE(answer.refused.decisions.empty());
  const MinNodesAnswer nothing = least_nodes(two_nodes(), {spare(4)});
  EXPECT_TRUE(nothing.exact());
  EXPECT_EQ(nothing.nodes, 0u);
}

TEST(MinNodes, DevicesComeWithTheirNodes) {
  std::vector<Document> type = documents_of(kDevices);
  Script script;
  script.objects.push_back(type[1]);
  type.erase(type.begin() + 1);
  const std::vector<Document> claimant = documents_of(kClaimant);
  script.objects.push_back(claimant[0]);
  for (int i = 0; i < 7; ++i) {
    script.objects.push_back(claimant[1]);
    script.objects.back().object["metadata"]["name"] = "p" + std::to_string(i);
  }
  EXPECT_EQ(least_nodes(script, type).nodes, 3u);
}

TEST(MinNodes, AFileHasOneNodeAndItsObjects) {
  const auto none = min_nodes_question({pod_document("p", {}, "")});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text(), "has 0 Nodes: one is needed, the type of which nodes are added");
  std::vector<Document> other = documents_of(kDevices);
  other[0].object["metadata"]["name"] = "m";
  const auto foreign = min_nodes_question(other);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().text(),
            "ResourceSlice s is of node \"n1\": only objects of Node m can be added with it");
}

}  // namespace
}  // namespace berth::simulate
