// Pods without a group: the node, the sentences, the writes.
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr const char* kGpu = "gpu.example.com";
constexpr const char* kDriverIsGpu = "device.driver == 'gpu.example.com'";

std::string selector(const std::string& key, const std::string& value) {
  return R"(,"nodeSelector":{")" + key + "\":\"" + value + "\"}";
}
// Required node affinity to the node of this name.
std::string names_node(const std::string& name) {
  return R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[)"
         R"({"matchFields":[{"key":"metadata.name","operator":"In","values":[")" +
         name + R"("]}]}]}}})";
}
std::string taint(const std::string& key, const std::string& effect) {
  return R"({"taints":[{"key":")" + key + R"(","effect":")" + effect + "\"}]}";
}

// The condition is Kubernetes' sentence, as observed on kube-scheduler 1.37.0; the event adds ours.
struct MessageCase {
  std::string name;
  std::vector<NodeSpec> nodes;
  PodSpec pod;
  std::string kubernetes;
  std::string ours;
};

std::vector<MessageCase> room_cases() {
  return {
      {"cpu",
       {{"n1"}, {"n2"}},
       {"p", "8"},
       "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Preemption is "
       "not helpful "
       "for scheduling.",
       "pod default/p waits: 2 of 2 nodes lack cpu (n1, n2: it asks for 8; n1 comes closest with 4 free)."},
      {"cpu-and-memory",
       {{"n1", "1"}, {"n2", "4", "1Gi"}, {"n3", "1", "1Gi"}},
       {"p", "2", "", "", "4Gi"},
       "0/3 nodes are available: 2 Insufficient cpu, 2 Insufficient memory. preemption: 0/3 nodes are "
       "available: 3 "
       "Preemption is not helpful for scheduling.",
       "pod default/p waits: 2 of 3 nodes lack cpu (n1, n3: it asks for 2; n1 comes closest with 1 free); 2 "
       "of 3 nodes "
       "lack memory (n2, n3: it asks for 4Gi; n2 comes closest with 1Gi free)."},
      {"extended",
       {{"n1", "4", "8Gi", "110", {}, "{}", R"(,"example.com/gpu":"1")"}, {"n2"}},
       {"p", "", "", R"(,"initContainers":[{"name":"i","resources":{"requests":{"example.com/gpu":"2"}}}])"},
       "0/2 nodes are available: 2 Insufficient example.com/gpu. preemption: 0/2 nodes are available: 2 "
       "Preemption is "
       "not helpful for scheduling.",
       "pod default/p waits: 2 of 2 nodes lack example.com/gpu (n1, n2: it asks for 2; n1 comes closest with "
       "1 free)."},
  };
}

std::vector<MessageCase> node_cases() {
  return {
      {"selector",
       {{"n1", "4", "8Gi", "110", {{"a", "1"}}}},
       {"p", "", "", selector("a", "2")},
       "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes "
       "are "
       "available: 1 Preemption is not helpful for scheduling.",
       "pod default/p waits: 1 of 1 nodes does not match its node selector or affinity (n1: no node has "
       "label "
       "a=2, nodes have a=1)."},
      {"node-field",
       {{"n1"}},
       {"p", "", "", names_node("zz")},
       "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. preemption: 0/1 nodes "
       "are "
       "available: 1 Preemption is not helpful for scheduling.",
       "pod default/p waits: 1 of 1 nodes is not among the nodes its affinity names (n1)."},
      {"cordoned",
       {{"n1", "4", "8Gi", "110", {}, R"({"unschedulable":true})"}},
       {"p", ""},
       "0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes are available: 1 "
       "Preemption is not "
       "helpful for scheduling.",
       "pod default/p waits: 1 of 1 nodes is cordoned (n1)."},
      {"several",
       {{"n1", "1", "8Gi", "110", {{"disk", "hdd"}}},
        {"n2", "4", "8Gi", "110", {}, taint("k", "NoSchedule")},
        {"n3", "4", "8Gi", "110", {}, R"({"unschedulable":true})"},
        {"n4", "4", "8Gi", "110", {{"disk", "hdd"}}},
        {"n5", "4", "1Gi", "110", {{"disk", "ssd"}}}},
       {"p", "2", "", selector("disk", "ssd"), "2Gi"},
       "0/5 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 1 node(s) were "
       "unschedulable, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/5 nodes are "
       "available: 5 "
       "Preemption is not helpful for scheduling.",
       "pod default/p waits: 1 of 5 nodes lacks memory (n5: it asks for 2Gi; n5 comes closest with 1Gi "
       "free); 2 of 5 "
       "nodes do not match its node selector or affinity (n1, n4); 1 of 5 nodes has a taint it does not "
       "tolerate (n2: "
       "k:NoSchedule); 1 of 5 nodes is cordoned (n3)."},
      {"never",
       {{"n1"}},
       {"p", "8", "", R"(,"preemptionPolicy":"Never")"},
       "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
       "pod default/p waits: 1 of 1 nodes lacks cpu (n1: it asks for 8; n1 comes closest with 4 free)."},
      {"no-nodes",
       {},
       {"p", ""},
       "no nodes available to schedule pods",
       "pod default/p waits: the cluster has no node."},
  };
}

TEST(SchedulerMessages, AreKubernetesSentenceAndInTheEventOursBehindIt) {
  std::vector<MessageCase> cases = room_cases();
  for (MessageCase& one : node_cases()) cases.push_back(std::move(one));
  for (const MessageCase& one : cases) {
    SCOPED_TRACE(one.name);
    TestBench bench;
    for (const NodeSpec& node : one.nodes) bench.put_node(node);
    bench.put_pod(one.pod);
    bench.run();
    EXPECT_EQ(bench.message_of("p"), one.kubernetes);
    EXPECT_EQ(bench.reason_of("p"), "Unschedulable");
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].message, one.kubernetes + " " + one.ours);
    EXPECT_EQ(bench.events[0].reason + "/" + bench.events[0].action, "FailedScheduling/Scheduling");
  }
}

TEST(SchedulerMessages, AFullNodeCouldBeHelpedByEviction) {
  TestBench bench;
  bench.put_node({"n1", "4", "8Gi", "1"});
  bench.put_pod({"a", ""});
  bench.run();
  bench.put_pod({"b", ""});
  bench.run();
  EXPECT_EQ(bench.node_of("a"), "n1");
  EXPECT_EQ(bench.message_of("b"),
            "0/1 nodes are available: 1 Too many pods. preemption: 0/1 nodes are "
            "available: 1 No preemption victims found for incoming pod.");
}

TEST(Scheduler, WritesOneBindRequestAndNeverABinding) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"p"});
  const std::vector<std::string> texts = bench.run();
  ASSERT_EQ(texts.size(), 1u);
  const std::string id = bench.decisions.records().back().id;
  EXPECT_EQ(texts[0],
            "decision " + id +
                "\nchain BindRequest default/p-uid-p\n"
                "  create scheduling.berth.dev/v1alpha1/bindrequests default/p-uid-p mark:" +
                id +
                R"( {"apiVersion":"scheduling.berth.dev/v1alpha1","kind":"BindRequest","metadata":)"
                R"({"name":"p-uid-p","namespace":"default","ownerReferences":[{"apiVersion":"v1",)"
                R"("kind":"Pod","name":"p","uid":"uid-p"}]},"spec":{"podName":"p","podUID":"uid-p",)"
                R"("selectedNode":"n1","decisionID":")" +
                id + R"(","schedulerName":"berth"}})" + "\n");
  const api::BindRequest& request = *bench.view.bind_requests_of_pod("default", "p").front();
  EXPECT_EQ(request.node, "n1");
  EXPECT_EQ(request.pod_uid, "uid-p");
  EXPECT_EQ(request.decision_id, id);
  ASSERT_EQ(request.meta.owners.size(), 1u);
  EXPECT_EQ(request.meta.owners[0].uid, "uid-p");
}

TEST(Scheduler, TakesTheEmptierNodeAndTheFirstNameOnATie) {
  TestBench bench;
  for (const char* name : {"n3", "n1", "n2"}) bench.put_node({name});
  for (int i = 0; i < 4; ++i) bench.put_pod({"p" + std::to_string(i)});
  bench.run();
  EXPECT_EQ(bench.node_of("p0") + bench.node_of("p1") + bench.node_of("p2") + bench.node_of("p3"),
            "n1n2n3n1");
}

std::string host_ports(const std::string& ports) {
  return R"(,"initContainers":[{"name":"s","restartPolicy":"Always","ports":[)" + ports + "]}]";
}

// Kubernetes' table of port conflicts: number, protocol, one address or all.
TEST(Ports, AreTakenOnceANode) {
  const struct {
    const char *name, *taken, *wanted;
    bool fits;
  } kCases[] = {
      {"equal", R"({"hostPort":80})", R"({"hostPort":80,"protocol":"TCP"})", false},
      {"another number", R"({"hostPort":80})", R"({"hostPort":81})", true},
      {"another protocol", R"({"hostPort":80})", R"({"hostPort":80,"protocol":"UDP"})", true},
      {"every address", R"({"hostPort":80,"hostIP":"10.0.0.1"})", R"({"hostPort":80})", false},
      {"another address", R"({"hostPort":80,"hostIP":"10.0.0.1"})", R"({"hostPort":80,"hostIP":"10.0.0.2"})",
       true},
      {"no port of the node", R"({"containerPort":80})", R"({"containerPort":80})", true},
      {"one of several", R"({"hostPort":80},{"hostPort":90})", R"({"hostPort":70},{"hostPort":90})", false},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.name);
    TestBench bench;
    bench.put_node({"n1"});
    bench.put_pod({"a", "", "", host_ports(one.taken)});
    bench.put_pod({"b", "", "", host_ports(one.wanted)});
    bench.run();
    EXPECT_EQ(bench.node_of("a"), "n1");
    EXPECT_EQ(bench.node_of("b"), one.fits ? "n1" : "");
    if (one.fits) continue;
    EXPECT_EQ(bench.message_of("b"),
              "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. "
              "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.");
    bench.erase(api::Kind::BindRequest, "a-uid-a");
    bench.erase(api::Kind::Pod, "a");
    bench.now = bench.now + Duration::seconds(1);
    bench.run();
    EXPECT_EQ(bench.node_of("b"), "n1") << "whoever goes gives its ports back";
  }
}

TEST(Features, ThatAPodsFieldsNeedMustBeDeclared) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod(
      {"p", "", "",
       R"(,"hostNetwork":true,"hostUsers":false,"initContainers":[{"name":"i","restartPolicyRules":)"
       R"([{"action":"RestartAllContainers"}]}])"});
  bench.run();
  EXPECT_EQ(bench.message_of("p"),
            "0/1 nodes are available: 1 node(s) didn't match Pod's required features. preemption: 0/1 nodes "
            "are available: 1 Preemption is not helpful for scheduling.");
  const auto declare = [&](const std::string& features) {
    bench.put(api::Kind::Node,
              R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"110"},)"
              R"("declaredFeatures":[)" +
                  features + "]}}");
    bench.now = bench.now + Duration::seconds(10);
    bench.run();
  };
  declare(R"("RestartAllContainersOnContainerExits")");
  EXPECT_EQ(bench.node_of("p"), "");
  declare(R"("RestartAllContainersOnContainerExits","UserNamespacesHostNetworkSupport")");
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Scheduler, TakesPodsOfOneSecondInTheOrderInWhichItSawThem) {
  TestBench bench;
  bench.put_node({"n1", "2"});
  bench.run();
  for (const char* name : {"z", "b", "a"}) bench.put_pod({name, "1"});
  bench.put_pod({"younger", "1", "", "", "", "", 1});
  bench.put_pod({"older", "1", "", "", "", "", -1});
  bench.run();
  EXPECT_EQ(bench.node_of("older") + bench.node_of("z"), "n1n1");
  EXPECT_EQ(bench.node_of("b") + bench.node_of("a") + bench.node_of("younger"), "");
}

TEST(Scheduler, LeavesPodsOfOtherSchedulersAlone) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put(api::Kind::Pod,
            R"({"metadata":{"name":"p","namespace":"default","uid":"u"},"spec":{"schedulerName":"x"}})");
  EXPECT_TRUE(bench.run().empty());
}

TEST(Scheduler, AGatedPodIsToldOnceAndScheduledWhenTheGateGoes) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"p", "1", "", R"(,"schedulingGates":[{"name":"ex.io/wait"}])"});
  EXPECT_EQ(bench.run().size(), 1u);
  EXPECT_EQ(bench.message_of("p"), "Scheduling is blocked due to non-empty scheduling gates");
  EXPECT_EQ(bench.reason_of("p"), "SchedulingGated");
  EXPECT_TRUE(bench.events.empty());
  bench.put_pod({"p"});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Scheduler, ABoundPodThatGoesMakesRoomForOneThatWaits) {
  TestBench bench;
  bench.put_node({"n1", "1"});
  bench.put_pod({"a"});
  bench.run();
  bench.bind("a");
  bench.put_pod({"b"});
  bench.run();
  EXPECT_EQ(bench.node_of("b"), "");
  bench.erase(api::Kind::BindRequest, "a-uid-a");
  bench.erase(api::Kind::Pod, "a");
  bench.run();
  EXPECT_EQ(bench.node_of("b"), "n1");
}

// Where BindRequests are in memory, each goes when its pod is bound.
TEST(Scheduler, ARequestThatGoesAfterItsBindingMakesNoRoom) {
  TestBench bench;
  bench.put_node({"n1", "1"});
  bench.put_pod({"a"});
  bench.put_pod({"b"});
  bench.run();
  bench.now = bench.now + Duration::seconds(30);  // beyond the backoff of "b"
  bench.bind("a");
  bench.run();
  const std::size_t attempts = bench.decisions.records().size();
  bench.erase(api::Kind::BindRequest, "a-uid-a");
  bench.run();
  EXPECT_EQ(bench.decisions.records().size(), attempts);
}

TEST(Scheduler, ABindRequestHoldsItsPlaceAfterARestart) {
  TestBench before;
  before.put_node({"n1", "1"});
  before.put_pod({"a"});
  before.run();
  TestBench after;
  after.put(api::Kind::Node, *before.view.nodes.find("", "n1")->raw);
  after.put(api::Kind::BindRequest, *before.view.bind_requests.find("default", "a-uid-a")->raw);
  after.put(api::Kind::Pod, *before.view.pods.find("default", "a")->raw);
  after.put_pod({"b"});
  after.run();
  EXPECT_EQ(after.decisions.records().size(), 1u);
  EXPECT_TRUE(after.message_of("b").starts_with("0/1 nodes are available: 1 Insufficient cpu."));
}

TEST(Scheduler, AFailedBindRequestIsReplacedAndItsNodeAvoidedForAWhile) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_node({"n2"});
  bench.put_pod({"p"});
  bench.run();
  ASSERT_EQ(bench.node_of("p"), "n1");
  Json failed = *parse_json(*bench.view.bind_requests.find("default", "p-uid-p")->raw);
  failed["status"] = Json::object({{"phase", "Failed"}, {"failedAttempts", 9}});
  bench.put(api::Kind::BindRequest, to_string(failed));
  const std::vector<std::string> texts = bench.run();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("update scheduling.berth.dev"), std::string::npos) << texts[0];
  EXPECT_EQ(bench.node_of("p"), "n2");
}

// A claim that was made anew, a pod or a request that the binder refuses, a driver that asks to choose again.
TEST(Scheduler, ANodeIsNotAvoidedForWhatAnotherNodeWouldNotChange) {
  for (const char* reason : {"ClaimNotFound", "InvalidPod", "InvalidRequest", "BenignConditionsFailed"}) {
    TestBench bench;
    bench.put_node({"n1"});
    bench.put_node({"n2"});
    bench.put_pod({"p"});
    bench.run();
    ASSERT_EQ(bench.node_of("p"), "n1");
    Json failed = *parse_json(*bench.view.bind_requests.find("default", "p-uid-p")->raw);
    failed["status"] = Json::object({{"phase", "Failed"}, {"failedAttempts", 9}, {"reason", reason}});
    bench.put(api::Kind::BindRequest, to_string(failed));
    ASSERT_EQ(bench.run().size(), 1u) << reason;
    EXPECT_EQ(bench.node_of("p"), "n1") << reason;
  }
}

TEST(Scheduler, AFailedWriteTakesTheDecisionBackAndTriesAgainLater) {
  TestBench bench;
  bench.put_node({"n1", "1"});
  bench.put_pod({"p"});
  const std::string empty = bench.scheduler.cluster().to_text();
  const client::Effects effects = bench.decide();
  EXPECT_NE(bench.scheduler.cluster().to_text(), empty);
  bench.scheduler.on_outcome(bench.view, {effects.decision_id, {{effects.chains[0].key, false, 0, {}}}},
                             bench.now);
  EXPECT_EQ(bench.scheduler.cluster().to_text(), empty);
  EXPECT_TRUE(bench.run().empty());
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Devices, AClaimIsAllocatedOnTheNodeThatHasTheDevice) {
  TestBench bench;
  for (const char* name : {"n1", "n2"}) bench.put_node({name});
  bench.put_class(kGpu, kDriverIsGpu);
  bench.put_slice("s", "n2", 1);
  bench.put_claim("c", kGpu);
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  ASSERT_EQ(bench.node_of("p"), "n2") << bench.message_of("p");
  const api::BindRequest& request = *bench.view.bind_requests_of_pod("default", "p").front();
  ASSERT_EQ(request.claims.size(), 1u);
  EXPECT_EQ(request.claims[0].name + "/" + request.claims[0].claim_name + "/" + request.claims[0].claim_uid,
            "dev/c/uid-claim-c");
  EXPECT_EQ(request.claims[0].allocation.results.at(0).device, "d0");
}

TEST(Devices, AnAssumedDeviceIsNotGivenTwice) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_class(kGpu, kDriverIsGpu);
  bench.put_slice("s", "n1", 1);
  bench.put_claim("c1", kGpu);
  bench.put_claim("c2", kGpu);
  bench.put_pod({"p", "1", "", claim_of("c1")});
  bench.put_pod({"q", "1", "", claim_of("c2")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
  const std::string sentence =
      "0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are available: 1 "
      "Preemption is not helpful for scheduling.";
  EXPECT_EQ(bench.message_of("q"), sentence);
  EXPECT_TRUE(bench.event_of("q").starts_with(
      sentence + " pod default/q waits: 1 of 1 nodes has no devices for its claims (n1: needs "))
      << bench.event_of("q");
}

TEST(Devices, APodWhoseClaimIsMissingIsGatedSilently) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"p", "1", "", claim_of("c")});
  EXPECT_TRUE(bench.run().empty());
  bench.put_class(kGpu, "true");
  bench.put_slice("s", "n1", 1);
  bench.put_claim("c", kGpu);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Devices, AMissingClassIsUnschedulableAndWakesThePodWhenItComes) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_slice("s", "n1", 1);
  bench.put_claim("c", kGpu);
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.message_of("p"),
            "0/1 nodes are available: request r: device class gpu.example.com does not exist. preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
  bench.put_class(kGpu, "true");
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

TEST(Devices, ABrokenSelectorIsASchedulerError) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_class(kGpu, "broken");
  bench.put_slice("s", "n1", 1);
  bench.put_claim("c", kGpu);
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.reason_of("p"), "SchedulerError");
  const std::string sentence =
      "running \"DynamicResources\" filter plugin: class gpu.example.com: selector #0 on device "
      "gpu.example.com/pool-s/d0: no such key: nosuch";
  EXPECT_EQ(bench.message_of("p"), sentence);
  EXPECT_EQ(bench.event_of("p"), sentence + " pod default/p waits: nearest is 'such'.");
}

// n1 has a device for the pod, n2 one for which the selector fails.
std::string node_next_to_an_error(int nodes, SchedulerOptions options = {}) {
  TestBench bench(std::move(options));
  bench.put_class(kGpu, "sound");
  for (int i = 1; i <= nodes; ++i) bench.put_node({"n" + std::to_string(i)});
  bench.put_slice("s1", "n1", 1);
  bench.put(api::Kind::ResourceSlice,
            R"({"metadata":{"name":"s2","uid":"us2"},"spec":{"driver":"gpu.example.com","nodeName":"n2",)"
            R"("pool":{"name":"s2","generation":1,"resourceSliceCount":1},)"
            R"("devices":[{"name":"d0","attributes":{"broken":{"bool":true}}}]}})");
  bench.put_claim("c", kGpu);
  bench.put_pod({"p", "1", "", claim_of("c")});
  bench.run();
  return bench.node_of("p");
}

TEST(Devices, AnErrorOnANodeThatIsNotNeededFailsThePodInASmallCluster) {
  EXPECT_EQ(node_next_to_an_error(2), "");
  EXPECT_EQ(node_next_to_an_error(100), "");
  EXPECT_EQ(node_next_to_an_error(101), "n1");
}

TEST(Devices, AnErrorOnANodeThatIsNotNeededFailsThePodOfAProfileWithoutScores) {
  placement::Profile profile;
  profile.enabled.emplace();
  for (const auto point : {placement::ExtensionPoint::PreFilter, placement::ExtensionPoint::Filter,
                           placement::ExtensionPoint::Reserve})
    profile.enabled->at(point) = {{"DynamicResources"}};
  SchedulerOptions options;
  options.profiles = {profile};
  EXPECT_EQ(node_next_to_an_error(2, options), "");
  EXPECT_EQ(node_next_to_an_error(101, options), "n1");
}

// The binder ends the pod's BindRequest, which has one device of claim c, with this step and reason.
void end_binding(TestBench& bench, const std::string& step, const std::string& reason) {
  Json request = *parse_json(*bench.view.bind_requests_of_pod("default", "p").front()->raw);
  const bool over = step == "RolledBack";
  request["status"] = Json::object({{"phase", over ? "Failed" : "Pending"},
                                    {"step", step},
                                    {"reason", reason},
                                    {"message", "the binder's words"},
                                    {"terminal", over},
                                    {"decisionID", request.part("spec").string_at("decisionID")}});
  bench.put(api::Kind::BindRequest, to_string(request));
}

void put_claim_whose_device_says(TestBench& bench, const std::string& condition) {
  bench.put(
      api::Kind::ResourceClaim,
      R"({"metadata":{"name":"c","namespace":"default","uid":"uid-claim-c"},"spec":{"devices":{"requests":[)"
      R"({"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}},"status":{"allocation":{"devices":)"
      R"({"results":[{"request":"r","driver":"gpu.example.com","pool":"pool-s","device":"d0",)"
      R"("bindingConditions":["Ready"],"bindingFailureConditions":["Broken"]}]}},"devices":[{"driver":)"
      R"("gpu.example.com","pool":"pool-s","device":"d0","conditions":[{"type":")" +
          condition + R"(","status":"True","reason":"R","message":"told by the driver"}]}]}})");
}

struct DeviceWaitCase {
  const char* reason;
  const char* sentence;
};

TEST(Devices, AFailedWaitSetsKubernetesConditionForASecond) {
  for (const auto& [reason, sentence] :
       {DeviceWaitCase{"BindingTimeout", "device binding timeout: context deadline exceeded"},
        DeviceWaitCase{"BindingConditionsFailed",
                       R"(device binding failed: claim=c, reason=R, message="told by the driver")"}}) {
    TestBench bench;
    bench.put_node({"n1"});
    bench.put_class(kGpu, "true");
    bench.put_slice("s", "n1", 1);
    bench.put_claim("c", kGpu);
    bench.put_pod({"p", "1", "", claim_of("c")});
    bench.run();
    put_claim_whose_device_says(bench, "Broken");
    end_binding(bench, "RollingBack", reason);
    bench.put_claim("c", kGpu);  // the binder deallocated it
    end_binding(bench, "RolledBack", reason);
    bench.run();
    EXPECT_EQ(bench.reason_of("p"), "SchedulerError");
    const std::string whole = std::string("running PreBind plugin \"DynamicResources\": ") + sentence;
    EXPECT_EQ(bench.message_of("p"), whole);
    EXPECT_EQ(bench.event_of("p"), whole + " pod default/p waits: the binder's words.");
    const std::size_t decided = bench.decisions.records().size();
    bench.now = bench.now + Duration::seconds(1);
    bench.run();
    EXPECT_GT(bench.decisions.records().size(), decided);
    EXPECT_EQ(bench.scheduler.remembered(), 0u);
  }
}

TEST(Nominated, ItsNodeIsTakenWhenItFitsThoughAnotherScoresBetter) {
  struct Case {
    std::string group, nominated, expected;
  };
  // n1 is empty and scores best, n2 is half full, n3 is full.
  for (const auto& [group, nominated, expected] :
       {Case{"", "", "n1"}, Case{"", "n2", "n2"}, Case{"", "n3", "n1"}, Case{"", "elsewhere", "n1"},
        Case{"g", "", "n1"}, Case{"g", "n2", "n2"}, Case{"g", "n3", "n1"}, Case{"g", "elsewhere", "n1"}}) {
    TestBench bench;
    for (const char* name : {"n1", "n2", "n3"}) bench.put_node({name});
    bench.put_pod({"half", "2", "", R"(,"nodeName":"n2")"});
    bench.put_pod({"full", "4", "", R"(,"nodeName":"n3")"});
    if (!group.empty()) bench.put_group(group, 1);
    bench.put_pod({"p", "1", group});
    if (!nominated.empty()) bench.nominate("p", nominated);
    bench.run();
    EXPECT_EQ(bench.node_of("p"), expected) << group << " " << nominated;
  }
}

TEST(Nominated, ARefusedPodLosesItsNodeAlsoWhenItsWordsStayTheSame) {
  TestBench bench;
  bench.put_node({"n1"});
  bench.put_pod({"p", "8"});
  bench.nominate("p", "n1");
  bench.run();
  EXPECT_EQ(bench.reason_of("p"), "Unschedulable");
  EXPECT_EQ(bench.view.pods.find("default", "p")->nominated_node, "");
  bench.nominate("p", "n1");
  bench.now = bench.now + kUnschedulableMax;
  for (int i = 0; i < 40; ++i, bench.now = bench.now + Duration::seconds(1)) bench.run();
  EXPECT_EQ(bench.view.pods.find("default", "p")->nominated_node, "");
}

TEST(Devices, AFailedWaitIsReportedByThePodsOwnScheduler) {
  SchedulerOptions options;
  options.scheduler_names = {"another"};
  TestBench bench(options);
  bench.put_pod({"p"});
  bench.run();
  bench.put(api::Kind::BindRequest,
            R"({"metadata":{"name":"p-uid-p","namespace":"default","uid":"b"},"spec":{"podName":"p",)"
            R"("podUID":"uid-p","selectedNode":"n1","decisionID":"d"},"status":{"phase":"Failed",)"
            R"("terminal":true,"reason":"BindingTimeout","decisionID":"d"}})");
  bench.run();
  EXPECT_EQ(bench.message_of("p"), "");
}

TEST(Devices, AnAllocatedClaimBindsThePodToItsNode) {
  TestBench bench;
  for (const char* name : {"n1", "n2"}) bench.put_node({name, "2", "8Gi", "110", {{"name", name}}});
  bench.put_class(kGpu, "true");
  bench.put_slice("s", "n1", 1);
  bench.put(
      api::Kind::ResourceClaim,
      R"({"metadata":{"name":"c","namespace":"default","uid":"uc"},"spec":{"devices":{"requests":[)"
      R"({"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}},"status":{"allocation":{"devices":)"
      R"({"results":[{"request":"r","driver":"gpu.example.com","pool":"pool-s","device":"d0"}]},)"
      R"("nodeSelector":{"nodeSelectorTerms":[{"matchFields":[)"
      R"({"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}})");
  bench.put_pod({"p", "1", "", claim_of("c") + selector("name", "n2")});
  bench.run();
  EXPECT_EQ(bench.message_of("p"),
            "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 resourceclaim "
            "not available on the node. preemption: 0/2 nodes are available: 2 Preemption is not helpful "
            "for scheduling.");
  bench.put_pod({"q", "1", "", claim_of("c")});
  bench.run();
  EXPECT_EQ(bench.node_of("q"), "n1");
}

}  // namespace
}  // namespace berth::scheduling
