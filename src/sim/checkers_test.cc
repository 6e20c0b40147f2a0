// The invariant checkers detect what they are for: each row breaks one thing by hand, in a world without
// deciders.
#include <gtest/gtest.h>

#include "client/decider.h"
#include "sim/hostile_world.h"
#include "sim/memory_checker.h"
#include "sim/naive_allocator.h"
#include "sim/rest_checker.h"
#include "sim/storm_needs.h"
#include "sim/storm_objects.h"

namespace berth::sim {
namespace {

using api::Kind;
using client::Verb;

struct RequestState {
  std::int64_t attempts = 0;
  std::int64_t group_size = 0;
  const char* phase = "Pending";
};

class Checked : public testing::Test {
 protected:
  Checked() {
    heard_ = world_->history().listen("", [this](const store::WatchEvent& event) {
      checker_.apply(event, world_->now(), {world_->network().landing_of, world_->now()});
    });
    for (const Json& object : storm_basics(cluster_)) world_->create(object);
    for (int node = 1; node <= 4; ++node) {
      world_->create(storm_node(cluster_, node));
      for (const Json& slice : storm_slices(cluster_, node, 1, {})) world_->create(slice);
      const Json ready = Json::object({{"type", "Ready"}, {"status", "True"}});
      Json body = Json::object();
      body["status"]["conditions"] = Json::array({ready});
      patch(Kind::Node, storm_node_name(node), body, "status");
    }
  }

  void patch(Kind kind, const std::string& name, const Json& body, const char* subresource = "") {
    const client::ApiReply reply =
        world_->call({Verb::MergePatch, api::ref_of(kind), kind == Kind::Node ? "" : "default", name,
                      subresource, to_string(body)});
    EXPECT_TRUE(reply.ok()) << reply.message;
  }
  std::string uid_of(Kind kind, const std::string& name) {
    return std::string(world_->read(kind, "default", name).part("metadata").string_at("uid"));
  }
  void make_pod(const std::string& name, const char* need = "", const char* group = "",
                std::int64_t cpu_millis = 100) {
    const client::ApiReply reply = world_->create(storm_pod(
        Json::object({{"name", name}, {"need", need}, {"group", group}, {"cpuMillis", cpu_millis}})));
    EXPECT_TRUE(reply.ok()) << reply.message;
  }
  void bind(const std::string& pod, int node) {
    const Json target = Json::object({{"kind", "Node"}, {"name", storm_node_name(node)}});
    const Json body = Json::object({{"apiVersion", "v1"},
                                    {"kind", "Binding"},
                                    {"metadata", Json::object({{"name", pod}})},
                                    {"target", target}});
    const client::ApiReply reply =
        world_->call({Verb::Create, api::ref_of(Kind::Pod), "default", pod, "binding", to_string(body)});
    EXPECT_TRUE(reply.ok()) << reply.message;
  }
  void evict(const std::string& pod) {
    const client::ApiReply reply =
        world_->call(client::evict({Kind::Pod, "default", pod, {}}, uid_of(Kind::Pod, pod)).request);
    EXPECT_TRUE(reply.ok()) << reply.message;
  }
  void make_claim(const std::string& name, const char* need = "one-gpu") {
    const client::ApiReply reply =
        world_->create(storm_claim(Json::object({{"name", name}, {"need", need}})));
    EXPECT_TRUE(reply.ok()) << reply.message;
  }
  // "gpu-1", "first=gpu-1" for a request other than the claim's first, "nic-0*40" for a share of that amount.
  static Json result(std::string device, const std::string& request, bool of_net) {
    Json result = Json::object({{"request", request}});
    if (const std::size_t at = device.find('='); at != std::string::npos) {
      result["request"] = device.substr(0, at);
      device.erase(0, at + 1);
    }
    result["driver"] = of_net ? "net.example.com" : "gpu.example.com";
    result["pool"] = of_net ? "net" : "node-1";
    const std::size_t star = device.find('*');
    result["device"] = device.substr(0, star);
    if (star == std::string::npos) return result;
    result["shareID"] = "00000000-0000-4000-8000-00000000000" + std::to_string(shares_++ % 10);
    result["consumedCapacity"] = Json::object({{"bandwidth", device.substr(star + 1)}});
    return result;
  }
  // On node-1, or on the network; usable on one node.
  void allocate(const std::string& claim, const std::vector<std::string>& devices, const std::string& pod,
                const std::string& request = "gpu", const char* node = "node-1") {
    JsonArray results;
    for (const std::string& device : devices)
      results.push_back(result(device, request, device.starts_with("uplink")));
    const Json fields =
        Json::object({{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({node})}});
    Json body = Json::object();
    body["status"]["allocation"]["devices"]["results"] = std::move(results);
    body["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"] =
        Json::array({Json::object({{"matchFields", Json::array({fields})}})});
    body["status"]["reservedFor"] =
        Json::array({Json::object({{"resource", "pods"}, {"name", pod}, {"uid", uid_of(Kind::Pod, pod)}})});
    Json kept = Json::object();
    kept["metadata"]["finalizers"] = Json::array({api::kClaimFinalizer});
    if (finalizer_) patch(Kind::ResourceClaim, claim, kept);
    patch(Kind::ResourceClaim, claim, body, "status");
  }
  // A BindRequest of the pod; a write of the store, which no rule of the server validates.
  void request(const std::string& name, const std::string& pod, std::int64_t epoch, RequestState state = {}) {
    const std::string decision = "d" + std::to_string(epoch) + "-" + name;
    Json object = Json::object({{"kind", "BindRequest"}});
    object["metadata"] = Json::object({{"name", name}, {"namespace", "default"}});
    object["spec"] = Json::object({{"podName", pod},
                                   {"podUID", uid_of(Kind::Pod, pod)},
                                   {"selectedNode", "node-1"},
                                   {"decisionID", decision},
                                   {"group", Json::object({{"size", state.group_size}})},
                                   {"epoch", epoch}});
    object["status"] =
        Json::object({{"phase", state.phase}, {"decisionID", decision}, {"failedAttempts", state.attempts}});
    auto written = std::make_shared<store::Object>();
    written->key = {"bindrequests.scheduling.berth.dev", "default", name};
    written->bytes = to_string(object);
    checker_.apply({store::WatchEvent::Kind::Modified, written, nullptr}, world_->now());
  }
  void expect_broken(const std::string& words) {
    ASSERT_EQ(checker_.broken().size(), 1u) << "expected: " << words;
    EXPECT_NE(checker_.broken().front().find(words), std::string::npos) << checker_.broken().front();
  }
  std::string all_at_rest() const {
    std::string all;
    for (const std::string& sentence : broken_at_rest(checker_)) all += sentence + "\n";
    return all;
  }
  void expect_at_rest(const std::string& words) const {
    EXPECT_NE(all_at_rest().find(words), std::string::npos) << all_at_rest();
  }

  StormCluster cluster_;
  std::unique_ptr<HostileWorld> world_ = HostileWorld::make({}).value();
  SafetyChecker checker_;
  std::shared_ptr<void> heard_;
  static inline int shares_ = 0;
  bool finalizer_ = true;  // of claims that are allocated
};

TEST_F(Checked, AClaimThatNothingKeeps) {
  finalizer_ = false;
  make_claim("a");
  make_pod("p");
  allocate("a", {"gpu-1"}, "p");
  expect_broken("I3: claim a is allocated without the finalizer that keeps it");
}

TEST_F(Checked, AnAllRequestWithoutADevice) {
  make_claim("a", "all-nics");
  make_pod("p");
  allocate("a", {}, "p", "nic");
  expect_broken("I2: claim a is allocated and ");
}

TEST(Conduct, NumbersAreRewrittenSoOften) {
  ConductChecker checker;
  std::string broken;
  for (int i = 0; i <= static_cast<int>(kRewordingsAMinuteMax) + 1 && broken.empty(); ++i) {
    const std::string message = std::to_string(i) + "/9 nodes are available";
    broken = checker.told("pod p", {"False", "Unschedulable", message}, Time::from_micros(i));
    EXPECT_EQ(checker.told("pod q", {"False", i % 2 ? "Unschedulable" : "SchedulerError", message}, Time()),
              "");
  }
  EXPECT_EQ(broken, "I15: the numbers in a condition of pod p were rewritten 13 times in a minute");
}

TEST(Conduct, AFurtherAttemptIsCounted) {
  StoredRequest before, after;
  before.name = after.name = "r";
  before.failed_attempts = 1;
  before.next_attempt = "00:01";
  after.next_attempt = "00:02";
  after.failed_attempts = 2;
  EXPECT_EQ(ConductChecker::attempted(before, after), "");
  after.failed_attempts = 1;
  EXPECT_EQ(ConductChecker::attempted(before, after),
            "I17: request r is tried again and says 1 failed attempts, as before");
  after.decision = "another";
  EXPECT_EQ(ConductChecker::attempted(before, after), "");
}

TEST(Conduct, AGroupIsScheduledWhenItIs) {
  StoredGroup group;
  group.scheduled = "True";
  EXPECT_EQ(ConductChecker::group_told(nullptr, group, 2, 2), "");
  EXPECT_NE(ConductChecker::group_told(nullptr, group, 1, 2), "");
  EXPECT_EQ(ConductChecker::group_told(&group, group, 1, 2), "") << "it has been so before";
  group.committed = "d";
  EXPECT_EQ(ConductChecker::group_told(nullptr, group, 1, 2), "");
  group.scheduled_message = "pod group is unschedulable";
  EXPECT_NE(ConductChecker::group_told(nullptr, group, 2, 2), "");
}

TEST_F(Checked, ADeviceOfTwoClaims) {
  make_claim("a");
  make_claim("b");
  make_pod("p");
  allocate("a", {"gpu-1"}, "p");
  allocate("b", {"gpu-1"}, "p");
  expect_broken("I1: device gpu.example.com/node-1/gpu-1 is allocated to claim b and to claim a");
}

TEST_F(Checked, ARivalsDeviceIsNotHeldAgainstUs) {
  make_claim("a");
  make_claim("b");
  make_pod("p");
  checker_.excuse_claim(uid_of(Kind::ResourceClaim, "b"));
  allocate("a", {"gpu-1"}, "p");
  allocate("b", {"gpu-1"}, "p");
  EXPECT_TRUE(checker_.broken().empty());
}

TEST_F(Checked, PartitionsWithoutACommonGroup) {
  make_claim("a", "mig-1g");
  make_claim("b", "vgpu");
  make_pod("p");
  allocate("a", {"gpu-0-mig-1g-0"}, "p");
  allocate("b", {"gpu-0-vgpu-0"}, "p");
  expect_broken("held without a common compatibility group");
}

TEST_F(Checked, SharesBeyondTheCapacity) {
  make_pod("p");
  for (const char* claim : {"a", "b", "c"}) {
    make_claim(claim, "nic-share");
    EXPECT_TRUE(checker_.broken().empty());
    allocate(claim, {"nic-0*40"}, "p", "nic");
  }
  expect_broken("I1: capacity bandwidth of device gpu.example.com/node-1/nic-0 is overdrawn since claim c");
}

TEST_F(Checked, CountersOfASharedDeviceCount) {
  make_pod("p");
  make_claim("a", "nic-share");
  make_claim("b", "nic");
  allocate("a", {"nic-0*40"}, "p", "nic");
  allocate("b", {"nic-1"}, "p", "nic");
  expect_broken("I1: counter lanes of gpu.example.com/node-1/lane-counters is overdrawn");
}

TEST(NaiveAllocator, KnowsEverySelectorOfStorms) {
  std::vector<std::string> selectors;
  for (const StormNeed& need : storm_needs()) {
    Json claim = Json::object();
    claim["spec"]["devices"] = need.devices;
    for (const auto& alternatives : read_claim(claim).requests)
      for (const StoredWant& want : alternatives)
        selectors.insert(selectors.end(), want.selectors.begin(), want.selectors.end());
  }
  for (const Json& object : storm_basics({}))
    if (object.string_at("kind") == "DeviceClass")
      for (const std::string& selector : read_class(object)) selectors.push_back(selector);
  EXPECT_GE(selectors.size(), 12u);
  for (const std::string& selector : selectors) EXPECT_TRUE(knows_selector(selector)) << selector;
  EXPECT_FALSE(knows_selector("device.driver == 'other.example.com'"));
}

struct WrongAllocation {
  const char* need;
  std::vector<std::string> devices;
  const char* request;
  const char* fault;
  const char* node = "node-1";
};

class WrongAllocations : public Checked, public testing::WithParamInterface<WrongAllocation> {};

TEST_P(WrongAllocations, AreSeen) {
  const WrongAllocation& row = GetParam();
  make_pod("p");
  make_claim("a", row.need);
  allocate("a", row.devices, "p", row.request, row.node);
  ASSERT_FALSE(checker_.broken().empty()) << row.fault;
  EXPECT_TRUE(checker_.broken().front().starts_with("I2: claim a is allocated and "));
  EXPECT_NE(checker_.broken().front().find(row.fault), std::string::npos) << checker_.broken().front();
}

const WrongAllocation kWrong[] = {
    {"one-gpu", {"gpu-0-vgpu-0"}, "gpu", "is not what gpu selects"},
    {"large", {"gpu-2"}, "gpu", "is not what gpu selects"},
    {"new-firmware", {"gpu-2"}, "gpu", "is not what gpu selects"},
    {"one-gpu", {"gpu-9"}, "gpu", "has the taint example.com/degraded, which gpu does not tolerate"},
    {"two-gpus", {"gpu-1"}, "gpu", "request gpu has 1 of 2 devices"},
    {"two-gpus", {"gpu-1", "gpu-1"}, "gpu", "gpu-1 is there twice"},
    {"numa-pair", {"gpu-1", "gpu-3"}, "gpu", "matchAttribute gpu.example.com/numa does not hold"},
    {"linked-three", {"gpu-1", "gpu-2", "gpu-3"}, "gpu", "matchAttribute gpu.example.com/links"},
    {"two-boards", {"first=gpu-1", "second=gpu-2"}, "", "distinctAttribute gpu.example.com/board"},
    {"all-gpus", {"gpu-1", "gpu-2", "gpu-3", "gpu-4"}, "gpu", "is without gpu.example.com/node-1/gpu-9"},
    {"two-or-one", {"gpu/two=gpu-1", "gpu/one=gpu-2"}, "", "two alternatives of gpu are mixed"},
    {"uplink", {"uplink-0*25"}, "link", "the share of net.example.com/net/uplink-0 is not as large"},
    {"one-gpu", {"gpu-1"}, "gpu", "its node selector allows node-2, its devices are of node-1", "node-2"},
};
INSTANTIATE_TEST_SUITE_P(Rows, WrongAllocations, testing::ValuesIn(kWrong));

TEST_F(Checked, AllocationsThatAreRight) {
  make_pod("p");
  const WrongAllocation rows[] = {
      {"two-boards", {"first=gpu-1", "second=gpu-3"}, "", ""},
      {"degraded-gpu", {"gpu-9"}, "gpu", ""},
      {"mig-three", {"gpu-0-mig-1g-0", "gpu-0-mig-1g-1", "gpu-0-mig-1g-2"}, "gpu", ""},
      {"uplink", {"uplink-0*30"}, "link", ""},
      {"nic-share", {"nic-0*40"}, "nic", ""}};
  for (const WrongAllocation& row : rows) {
    make_claim(row.need, row.need);
    allocate(row.need, row.devices, "p", row.request);
    EXPECT_TRUE(checker_.broken().empty()) << row.need << ": " << checker_.broken().front();
  }
}

TEST_F(Checked, ABoundPodWithoutItsClaim) {
  make_claim("shared");
  make_pod("p", "claim/shared");
  bind("p", 1);
  expect_broken("I3: pod p is bound to node-1 and its claim shared is not allocated");
}

TEST_F(Checked, ABoundPodWhereItsClaimCannotBeUsed) {
  make_claim("shared");
  make_pod("p", "claim/shared");
  allocate("shared", {"gpu-1"}, "p");
  bind("p", 2);
  expect_broken("where its claim shared cannot be used");
}

TEST_F(Checked, AReservationThatABoundPodLoses) {
  make_claim("shared");
  make_pod("p", "claim/shared");
  allocate("shared", {"gpu-1"}, "p");
  bind("p", 1);
  Json body = Json::object();
  body["status"]["reservedFor"] = nullptr;
  patch(Kind::ResourceClaim, "shared", body, "status");
  expect_broken("I3: claim shared is no longer reserved for p");
}

TEST_F(Checked, AGangThatBeginsInPart) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"min", 2}})));
  make_pod("g-0", "", "g");
  make_pod("g-1", "", "g");
  bind("g-0", 1);
  expect_broken("I4: g-0 of gang g is bound while 1 of the 2 members");
}

// A single decision waits for no member, however late it is bound and whatever its group says by then.
TEST_F(Checked, AGangWhoseMinimumGrowsBehindADecision) {
  for (const std::int64_t size : {1, 2}) {
    const std::string group = "g" + std::to_string(size), member = group + "-0";
    world_->create(storm_group(Json::object({{"name", group}, {"min", 1}})));
    make_pod(member, "", group.c_str());
    request("of-" + member, member, 1, {.group_size = size});
    Json body = Json::object();
    body["spec"]["schedulingPolicy"]["gang"]["minCount"] = std::int64_t{2};
    patch(Kind::PodGroup, group, body);
    world_->run_until(world_->now() + Duration::minutes(4));
    EXPECT_TRUE(checker_.broken().empty());
    bind(member, 1);
    for (const std::string& sentence : broken_at_rest(checker_))
      EXPECT_EQ(sentence.find("I4: gang g1"), std::string::npos) << sentence;
  }
  expect_broken("I4: g2-0 of gang g2 is bound while 1 of the 2 members");
}

// The barrier commits once, by the minimum of that moment. Bindings may come minutes later.
TEST_F(Checked, AGangWhoseMinimumGrowsBehindItsCommit) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"min", 1}})));
  make_pod("g-0", "", "g");
  request("of-g-0", "g-0", 1, {.group_size = 2});
  Json outcome = Json::object();
  outcome["status"]["conditions"] =
      Json::array({Json::object({{"type", "scheduling.berth.dev/GangCommitted"},
                                 {"status", "True"},
                                 {"reason", "Committed"},
                                 {"message", "d1-of-g-0"},
                                 {"lastTransitionTime", "2026-01-01T00:00:00Z"}})});
  patch(Kind::PodGroup, "g", outcome, "status");
  Json body = Json::object();
  body["spec"]["schedulingPolicy"]["gang"]["minCount"] = std::int64_t{2};
  patch(Kind::PodGroup, "g", body);
  world_->run_until(world_->now() + Duration::minutes(4));
  bind("g-0", 1);
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
  for (const std::string& sentence : broken_at_rest(checker_))
    EXPECT_EQ(sentence.find("I4"), std::string::npos) << sentence;
}

TEST_F(Checked, ABasicGroupMayBeginInPart) {
  world_->create(storm_group(Json::object({{"name", "g"}})));
  make_pod("g-0", "", "g");
  make_pod("g-1", "", "g");
  bind("g-0", 1);
  EXPECT_TRUE(checker_.broken().empty());
}

TEST_F(Checked, AGroupInTwoDomains) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"topology", "example.com/rack"}})));
  make_pod("g-0", "", "g");
  make_pod("g-1", "", "g");
  bind("g-0", 1);
  bind("g-1", 4);
  expect_broken("I5: members of group g are bound in rack-0, rack-1");
}

TEST_F(Checked, AGroupOutsideOfTheDomainThatItsPolicyRequires) {
  world_->create(storm_topology(Json::object({{"levels", "rack,host"}})));
  world_->create(storm_group(Json::object({{"name", "g"}})));
  world_->create(storm_policy(Json::object({{"name", "one"},
                                            {"target", "g"},
                                            {"kind", "PodGroup"},
                                            {"preferred", "host"},
                                            {"required", "rack"}})));
  for (const char* pod : {"g-0", "g-1", "g-2"}) make_pod(pod, "", "g");
  request("of-0", "g-0", 1);
  bind("g-0", 1);
  world_->run_until(world_->now() + Duration::minutes(4));
  request("of-1", "g-1", 1);
  request("of-2", "g-2", 1);
  bind("g-1", 2);
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
  bind("g-2", 4);
  expect_broken("I5: pod g-2 is bound in rack-1, and PlacementPolicy one requires rack-0 for its group");
}

// Decisions that no request records; a Topology comes between them.
class CheckedInMemory : public Checked {
 protected:
  void bind_in_two_racks(const char* levels_in_between) {
    world_->create(storm_group(Json::object({{"name", "g"}})));
    world_->create(storm_policy(Json::object({{"name", "one"},
                                              {"target", "g"},
                                              {"kind", "PodGroup"},
                                              {"preferred", "example.com/rack"},
                                              {"required", "example.com/rack"}})));
    world_->run_until(world_->now() + Duration::minutes(4));
    make_pod("g-0", "", "g");
    bind("g-0", 1);
    world_->create(storm_topology(Json::object({{"levels", levels_in_between}})));
    make_pod("g-1", "", "g");
    bind("g-1", 4);
  }
};

TEST_F(CheckedInMemory, AGroupOutsideOfTheDomainThatItsPolicyRequires) {
  bind_in_two_racks("rack,host");
  expect_broken("I5: pod g-1 is bound in rack-1, and PlacementPolicy one requires rack-0 for its group");
}

TEST_F(CheckedInMemory, AGroupWhoseDomainsChangedTheirMeaningIsExcused) {
  bind_in_two_racks("host,rack");
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
}

// Of members of an elastic gang.
class CheckedMoves : public Checked {
 protected:
  CheckedMoves() {
    world_->create(storm_group(Json::object({{"name", "g"}, {"min", 1}})));
    for (const char* name : {"g-0", "g-1"}) {
      Json pod = storm_pod(Json::object({{"name", name}, {"group", "g"}}));
      pod["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "apps/v1"},
                                                                      {"kind", "ReplicaSet"},
                                                                      {"name", "set"},
                                                                      {"uid", "uid-of-set"},
                                                                      {"controller", true}})});
      const client::ApiReply reply = world_->create(pod);
      EXPECT_TRUE(reply.ok()) << reply.message;
    }
    for (const char* name : {"g-0", "g-1"}) bind(name, 1);
  }
};

TEST_F(CheckedMoves, TakeNoGangBelowItsMinimum) {
  evict("g-0");
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
  evict("g-1");
  expect_broken("I18: pod g-1 is moved, and its gang g has 0 of 1 members");
}

// The Eviction API writes its own condition over the preemption's.
TEST_F(CheckedMoves, AreNotPreemptions) {
  for (const char* name : {"g-0", "g-1"}) {
    Json body = Json::object();
    body["status"]["conditions"] =
        Json::array({Json::object({{"type", "DisruptionTarget"},
                                   {"status", "True"},
                                   {"reason", "PreemptionByScheduler"},
                                   {"lastTransitionTime", "2026-01-01T00:00:00Z"}})});
    patch(Kind::Pod, name, body, "status");
    evict(name);
  }
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
  EXPECT_EQ(checker_.moves_since({}), 0u);
}

TEST_F(CheckedMoves, AreCounted) {
  const Time begin = world_->now();
  EXPECT_EQ(checker_.moves_since(begin), 0u);
  evict("g-0");
  EXPECT_EQ(checker_.moves_since(begin), 1u);
  EXPECT_EQ(checker_.moves_since(world_->now() + Duration::seconds(1)), 0u);
}

// A gang in one rack, on the nodes 1 and 2. Node 3 is free.
class CheckedReplacements : public Checked {
 protected:
  CheckedReplacements() {
    world_->create(storm_group(Json::object({{"name", "g"}, {"topology", "example.com/rack"}})));
    world_->create(storm_policy(policy_));
    for (const char* name : {"g-0", "g-1"}) make_pod(name, "", "g", 9000);
    bind("g-0", 1);
    bind("g-1", 2);
    world_->run_until(world_->now() + Duration::minutes(4));
  }
  void fail(int node) {
    Json body = Json::object();
    body["spec"]["taints"] =
        Json::array({Json::object({{"key", "example.com/broken"}, {"effect", "NoExecute"}})});
    patch(Kind::Node, storm_node_name(node), body);
  }

  Json policy_ = Json::object({{"name", "one"}, {"target", "g"}, {"kind", "PodGroup"}, {"replace", "Wait"}});
};

TEST_F(CheckedReplacements, LeaveFailedNodesAlone) {
  fail(1);
  evict("g-0");
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
  evict("g-1");
  expect_broken("I19: pod g-1 of group g is evicted from node-2, which has not failed");
}

TEST_F(CheckedReplacements, AskTheBudget) {
  const StoredPod& pod = checker_.state().pods.at("g-0");
  const ReplacementChecker& replacements = checker_.replacements();
  EXPECT_TRUE(replacements.is_about("g", world_->now()));
  EXPECT_EQ(replacements.deleted(pod, "controllers", world_->now()), "");
  EXPECT_EQ(replacements.deleted(pod, "scheduler-1", world_->now()),
            "I19: pod g-0 of group g is deleted by scheduler-1, which asked no budget");
}

TEST_F(CheckedReplacements, AtRestAMemberLeavesWhereThereIsRoom) {
  fail(1);
  const std::string stays =
      "I19: pod g-0 stays on node-1, which has failed, and 1 members would fit elsewhere in rack-0";
  expect_at_rest(stays);
  Json body = Json::object();
  body["status"]["conditions"] =
      Json::array({Json::object({{"type", "FailedNodesReplaced"},
                                 {"status", "False"},
                                 {"reason", "BudgetRefuses"},
                                 {"message", "a budget refuses"},
                                 {"lastTransitionTime", "2026-01-01T00:00:00Z"}})});
  patch(Kind::PlacementPolicy, "one", body, "status");
  EXPECT_EQ(all_at_rest().find("I19"), std::string::npos) << all_at_rest();
  body["status"]["conditions"].as_array().front()["reason"] = "NoSpareRoom";
  patch(Kind::PlacementPolicy, "one", body, "status");
  expect_at_rest(stays);
  fail(3);
  EXPECT_EQ(all_at_rest().find("I19"), std::string::npos) << all_at_rest();
}

TEST_F(CheckedReplacements, AtRestOneOfAllLeavesWhereThereIsRoomForOne) {
  fail(1);
  fail(2);
  expect_at_rest(
      "I19: pod g-0 stays on node-1, which has failed, and 1 members would fit elsewhere in rack-0");
  fail(3);
  fail(4);
  EXPECT_EQ(all_at_rest().find("I19"), std::string::npos) << all_at_rest();
}

TEST_F(CheckedReplacements, AtRestAFinishedMemberExcusesNobody) {
  make_pod("g-2", "", "g");
  bind("g-2", 2);
  Json body = Json::object();
  body["status"]["phase"] = "Succeeded";
  patch(Kind::Pod, "g-2", body, "status");
  fail(1);
  expect_at_rest("I19: pod g-0 stays on node-1");
}

TEST_F(Checked, ANodeThatIsAskedForTooMuch) {
  make_pod("p", "", "", 9000);
  make_pod("q", "", "", 9000);
  bind("p", 1);
  bind("q", 1);
  expect_broken("I7: node node-1 is asked for 18000m cpu");
}

TEST_F(Checked, ANodeWhosePodsGrowBehindADecision) {
  make_pod("p", "", "", 1000);
  make_pod("q", "", "", 1000);
  bind("p", 1);
  request("of-q", "q", 1);
  Json body = Json::object();
  body["spec"]["containers"] = Json::array({Json::object(
      {{"name", "work"}, {"resources", Json::object({{"requests", Json::object({{"cpu", "16"}})}})}})});
  const client::ApiReply reply =
      world_->call({Verb::StrategicPatch, api::ref_of(Kind::Pod), "default", "p", "resize", to_string(body)});
  ASSERT_TRUE(reply.ok()) << reply.message;
  world_->run_until(world_->now() + Duration::minutes(4));
  bind("q", 1);
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
  make_pod("r", "", "", 100);
  request("of-r", "r", 1);
  bind("r", 1);
  expect_broken("I7: node node-1 is asked for 17100m cpu");
}

TEST_F(Checked, AWriteThatLeftWithoutTheLease) {
  world_->network().landing_of = "scheduler-1";
  make_pod("p");
  expect_broken("I8: scheduler-1 sent a write of pods p while nobody held the Lease berth-scheduler");
}

TEST_F(Checked, ABindingByARequestOfAnOlderTerm) {
  make_pod("p");
  make_pod("q");
  request("newer", "q", 2);
  request("older", "p", 1);
  world_->run_until(world_->now() + Duration::minutes(4));
  bind("p", 1);
  expect_broken("I8: pod p is bound by request older of an older term");
}

TEST_F(Checked, TwoRequestsOfOnePod) {
  make_pod("p");
  request("one", "p", 1);
  request("two", "p", 1);
  expect_broken("I15: pod p has 2 bind requests");
}

TEST_F(Checked, AttemptsThatAreForgotten) {
  make_pod("p");
  request("one", "p", 1, {.attempts = 3});
  request("one", "p", 1, {.attempts = 2});
  expect_broken("I17: attempts of request one went from 3 to 2");
}

TEST_F(Checked, AnObjectThatIsWrittenAllTheTime) {
  make_pod("p");
  for (std::uint32_t i = 0; i < kWritesAMinuteMax; ++i) {
    Json body = Json::object();
    body["metadata"]["annotations"]["example.com/count"] = std::to_string(i);
    patch(Kind::Pod, "p", body);
  }
  expect_broken("I15: pods p was written 60 times in a minute");
}

TEST_F(Checked, AnEntryThatIsOvertakenForTooLong) {
  world_->create(storm_pod(
      Json::object({{"name", "first"}, {"cpuMillis", 9000}, {"priority", "critical"}, {"runS", 10}})));
  for (int i = 0; i < 5; ++i) {
    const std::string name = "lower-" + std::to_string(i);
    world_->create(storm_pod(Json::object({{"name", name}, {"cpuMillis", 100}, {"runS", 10}})));
    EXPECT_TRUE(checker_.broken().empty());
    bind(name, 1 + i % 4);
    world_->run_until(world_->now() + Duration::minutes(1));
  }
  expect_broken("I12: pod first has waited for");
}

// The scheduler's order does not depend on what happens to a decision.
TEST_F(Checked, AnEntryThatWasTriedInBetweenIsNotOvertaken) {
  world_->create(storm_pod(
      Json::object({{"name", "first"}, {"cpuMillis", 9000}, {"priority", "critical"}, {"runS", 10}})));
  for (int i = 0; i < 8; ++i) {
    const std::string name = "lower-" + std::to_string(i);
    world_->create(storm_pod(Json::object({{"name", name}, {"cpuMillis", 100}, {"runS", 10}})));
    if (i % 3 == 0) request("of-first", "first", i + 1, {.phase = "Failed"});
    bind(name, 1 + i % 4);
    world_->run_until(world_->now() + Duration::minutes(1));
  }
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
}

// An entry needs all GPUs of a node, and the other nodes are full for ever.
class BesideAGroup : public Checked {
 protected:
  void overtake_beside_a_member() {
    bind("member", 1);
    for (int node = 2; node <= 4; ++node) {
      make_pod("endless-" + std::to_string(node), "", "", 9000);
      bind("endless-" + std::to_string(node), node);
    }
    make_claim("all", "all-gpus");
    world_->create(storm_pod(Json::object({{"name", "first"},
                                           {"need", "claim/all"},
                                           {"cpuMillis", 9000},
                                           {"priority", "critical"},
                                           {"runS", 10}})));
    for (int i = 0; i < 10 && checker_.broken().empty(); ++i) {
      const std::string name = "lower-" + std::to_string(i);
      world_->create(storm_pod(Json::object({{"name", name}, {"cpuMillis", 100}, {"runS", 10}})));
      bind(name, 1 + i % 4);
      world_->run_until(world_->now() + Duration::minutes(1));
    }
  }
  BesideAGroup() {
    world_->create(storm_group(Json::object({{"name", "group"}})));
    make_claim("used");
    world_->create(storm_pod(
        Json::object({{"name", "member"}, {"group", "group"}, {"need", "claim/used"}, {"runS", 10}})));
    allocate("used", {"gpu-1"}, "member");
  }
};

TEST_F(BesideAGroup, AClaimOfAPodEndsWithIt) {
  overtake_beside_a_member();
  expect_broken("I12: pod first has waited for");
}

TEST_F(BesideAGroup, AClaimOfTheGroupOutlivesItsPods) {
  const Json consumer = Json::object({{"apiGroup", "scheduling.k8s.io"},
                                      {"resource", "podgroups"},
                                      {"name", "group"},
                                      {"uid", uid_of(Kind::PodGroup, "group")}});
  patch(Kind::ResourceClaim, "used",
        Json::object({{"status", Json::object({{"reservedFor", Json::array({consumer})}})}}), "status");
  overtake_beside_a_member();
  EXPECT_TRUE(checker_.broken().empty()) << checker_.broken().front();
}

TEST_F(Checked, AModelThatWasRepaired) {
  checker_.repaired("place of pod default/p", "node-1", "nowhere");
  expect_broken("I16: a scheduler's model was wrong in place of pod default/p");
}

TEST_F(Checked, AnEntryThatOnlyTheSweepFound) {
  checker_.swept("p");
  expect_broken("I10: p waited until the sweep");
}

TEST_F(Checked, AtRestAProcessThatBelievesSomethingElse) {
  ProcessOptions options;
  options.name = "all";
  options.parts.binder = options.parts.controllers = options.parts.simulated_nodes = false;
  Process& process = world_->add(std::move(options));
  process.start();
  make_claim("a");
  make_pod("p", "claim/a");
  allocate("a", {"gpu-1"}, "p");
  world_->run_until(world_->now() + Duration::seconds(5));
  EXPECT_TRUE(broken_memories(*world_, checker_).empty()) << broken_memories(*world_, checker_).front();
  auto& cluster = const_cast<model::Cluster&>(process.plane()->scheduler().cluster());
  cluster.ledger().update_claim(cluster.find_claim("default", "a"), nullptr);
  ASSERT_FALSE(broken_memories(*world_, checker_).empty());
  EXPECT_EQ(broken_memories(*world_, checker_).front(),
            "I16: all believes that device gpu.example.com/node-1/gpu-1 is free; it is held by claim a");
  process.pause();
  make_pod("unseen");
  const std::vector<std::string> broken = broken_memories(*world_, checker_);
  EXPECT_NE(broken.front().find("I16: all sees version none of "), std::string::npos) << broken.front();
}

TEST_F(Checked, AtRestAPodThatWouldFit) {
  make_pod("p");
  expect_at_rest("I10: pod p waits and would fit");
}

TEST_F(Checked, AtRestAPodThatFitsNowhereMayWait) {
  make_pod("p", "", "", 17'000);
  EXPECT_TRUE(broken_at_rest(checker_).empty());
}

TEST_F(Checked, AtRestATreeThatWouldFit) {
  const auto with_children = [&](const std::string& name, int children) {
    world_->create(storm_composite(Json::object({{"name", name}, {"min", 2}})));
    for (int i = 0; i < children; ++i) {
      const std::string group = name + "-" + std::to_string(i);
      world_->create(storm_group(Json::object({{"name", group}, {"min", 1}, {"parent", name}})));
      make_pod(std::string(group + "-0").c_str(), "", group.c_str(), 1000);
    }
  };
  with_children("one-is-gone", 1);
  EXPECT_TRUE(broken_at_rest(checker_).empty());
  with_children("t", 2);
  expect_at_rest("I10: the tree of CompositePodGroup t waits and would fit");
}

// Free are 7, 3 and 0 cpus in one rack, 2 in the other.
TEST_F(Checked, AtRestATreeWhoseGroupsFitOnNodesOfARackInOneWay) {
  const auto fill = [&](int node, std::int64_t cpu_millis) {
    const std::string name = "other-" + std::to_string(node);
    make_pod(name, "", "", cpu_millis);
    bind(name, node);
  };
  fill(1, 9000);
  fill(2, 13'000);
  fill(3, 16'000);
  fill(4, 14'000);
  const auto add_tree = [&](const std::string& root, int groups) {
    world_->create(
        storm_composite(Json::object({{"name", root}, {"min", groups}, {"topology", "example.com/rack"}})));
    for (int i = 0; i < groups; ++i)
      world_->create(storm_group(Json::object({{"name", root + "-" + std::to_string(i)},
                                               {"min", 1},
                                               {"parent", root},
                                               {"topology", "kubernetes.io/hostname"}})));
  };
  const auto waits_in_vain = [&] {
    return std::ranges::any_of(broken_at_rest(checker_),
                               [](const std::string& one) { return one.starts_with("I10: the tree of"); });
  };
  add_tree("of-three", 1);
  for (const char* pod : {"of-three-0-a", "of-three-0-b", "of-three-0-c"})
    make_pod(pod, "", "of-three-0", 3000);
  EXPECT_FALSE(waits_in_vain());
  add_tree("of-two", 2);
  make_pod("of-two-0-a", "", "of-two-0", 3000);
  make_pod("of-two-1-a", "", "of-two-1", 7000);
  expect_at_rest("I10: the tree of CompositePodGroup of-two waits and would fit");
}

TEST_F(Checked, AtRestAGangThatWouldFitInOneRack) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"min", 2}, {"topology", "example.com/rack"}})));
  make_pod("g-0", "", "g", 9000);
  make_pod("g-1", "", "g", 9000);
  expect_at_rest("I10: gang g waits with 2 members and would fit");
}

TEST_F(Checked, AtRestALateMemberGoesToTheRecordedDomain) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"min", 1}, {"topology", "example.com/rack"}})));
  make_pod("g-0", "", "g");
  make_pod("g-1", "", "g");
  bind("g-0", 1);
  const auto waits_in_vain = [&] {
    return std::ranges::any_of(broken_at_rest(checker_),
                               [](const std::string& one) { return one.starts_with("I10: gang g"); });
  };
  EXPECT_TRUE(waits_in_vain());
  Json body = Json::object();
  body["metadata"]["annotations"]["scheduling.berth.dev/domain"] = "example.com/rack=nowhere";
  patch(Kind::Pod, "g-0", body);
  EXPECT_FALSE(waits_in_vain());
}

TEST_F(Checked, AtRestAGangTooLargeForARackMayWait) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"min", 4}, {"topology", "example.com/rack"}})));
  for (int i = 0; i < 4; ++i) make_pod("g-" + std::to_string(i), "", "g", 9000);
  EXPECT_TRUE(broken_at_rest(checker_).empty());
}

TEST_F(Checked, AtRestABoundPodThatDoesNotRun) {
  make_pod("p");
  bind("p", 1);
  expect_at_rest("I10: pod p is bound and does not run");
}

TEST_F(Checked, AtRestAClaimThatNobodyHas) {
  make_claim("a");
  make_pod("p");
  allocate("a", {"gpu-1"}, "p");
  expect_at_rest("I6: claim a is reserved for pod p, which waits");
}

TEST_F(Checked, AtRestRoomMayBeKeptForAHigherPriority) {
  make_pod("p");
  world_->create(storm_pod(Json::object({{"name", "high"}, {"cpuMillis", 17'000}, {"priority", "high"}})));
  EXPECT_TRUE(broken_at_rest(checker_, KeptRoom::Possible).empty());
  expect_at_rest("I10: pod p waits and would fit");
}

TEST_F(Checked, AtRestAPodWhoseDevicesAreThere) {
  make_pod("holder");
  make_claim("taken");
  allocate("taken", {"gpu-2"}, "holder");
  make_claim("pair", "linked-three");
  make_pod("p", "claim/pair");
  expect_at_rest("I10: pod p waits and would fit");
}

// --- volumes and ill devices ---

class CheckedVolumes : public Checked {
 protected:
  CheckedVolumes() {
    for (const Json& object : storm_volume_classes()) world_->create(object);
    for (const char* disk : {"disk-1", "disk-2"}) {
      const std::int64_t node = disk[5] - '0';
      world_->create(storm_volume(Json::object({{"name", disk}, {"node", node}})));
    }
    for (const char* claim : {"a", "b"})
      world_->create(storm_volume_claim(Json::object({{"name", claim}, {"class", "local"}})));
    EXPECT_TRUE(world_->create(storm_pod(Json::object({{"name", "p"}, {"volumes", "a"}}))).ok());
  }
  void change_volume(const char* name, const Json& body) {
    EXPECT_TRUE(
        world_->call({Verb::MergePatch, api::ref_of(Kind::PersistentVolume), "", name, "", to_string(body)})
            .ok());
  }
  void reserve(const char* volume, const char* claim) {
    Json body = Json::object();
    body["spec"]["claimRef"] = Json::object(
        {{"namespace", "default"}, {"name", claim}, {"uid", uid_of(Kind::PersistentVolumeClaim, claim)}});
    change_volume(volume, body);
  }
  void complete(const char* claim, const char* volume) {
    Json body = Json::object();
    body["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
    body["spec"]["volumeName"] = volume;
    patch(Kind::PersistentVolumeClaim, claim, body);
  }
};

TEST_F(CheckedVolumes, APodThatIsBoundBeforeItsVolumeClaim) {
  reserve("disk-1", "a");
  bind("p", 1);
  expect_broken("I3: pod p is bound to node-1 and its volume claim a is not bound");
}

TEST_F(CheckedVolumes, APodThatIsBoundWhereItsVolumeIsNot) {
  reserve("disk-1", "a");
  complete("a", "disk-1");
  bind("p", 2);
  expect_broken("I3: pod p is bound to node-2 and its volume disk-1 is elsewhere");
}

TEST_F(CheckedVolumes, APodThatIsBoundWhereItsVolumeIs) {
  reserve("disk-1", "a");
  complete("a", "disk-1");
  bind("p", 1);
  EXPECT_EQ(checker_.broken(), std::vector<std::string>());
}

TEST_F(CheckedVolumes, AVolumeOfTwoClaims) {
  reserve("disk-1", "a");
  complete("a", "disk-1");
  complete("b", "disk-1");
  expect_broken("I1: volume disk-1 is bound to claim b and to claim a");
}

TEST_F(CheckedVolumes, AVolumeThatIsTakenFromItsClaim) {
  reserve("disk-1", "a");
  complete("a", "disk-1");
  reserve("disk-1", "b");
  expect_broken("I1: volume disk-1 is taken from claim a");
}

TEST_F(CheckedVolumes, AtRestWhatIsLeft) {
  reserve("disk-1", "a");
  Json selected = Json::object();
  selected["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = "node-3";
  patch(Kind::PersistentVolumeClaim, "b", selected);
  const Json spec =
      Json::object({{"deviceSelector", Json::object({{"driver", "gpu.example.com"}})},
                    {"taint", Json::object({{"key", "berth.dev/device-health"}, {"effect", "NoExecute"}})}});
  world_->create(Json::object({{"apiVersion", api::ref_of(Kind::DeviceTaintRule).api_version()},
                               {"kind", "DeviceTaintRule"},
                               {"metadata", Json::object({{"name", "ill"}})},
                               {"spec", spec}}));
  expect_at_rest("I6: volume disk-1 is reserved for claim a, which did not get it");
  expect_at_rest("I6: volume claim b names node-3, and no pod is being bound with it");
  expect_at_rest("I6: the taint rule ill is left although its device is well");
}

TEST_F(CheckedVolumes, AtRestAPodWhoseVolumeIsFree) {
  expect_at_rest("I10: pod p waits and would fit");
}

TEST_F(CheckedVolumes, AtRestAPodWithoutAVolumeMayWait) {
  reserve("disk-1", "b");
  complete("b", "disk-1");
  EXPECT_EQ(broken_at_rest(checker_).size(), 1u) << "disk-2 is free";
  EXPECT_TRUE(world_->call({Verb::Delete, api::ref_of(Kind::PersistentVolume), "", "disk-2", "", ""}).ok());
  EXPECT_EQ(broken_at_rest(checker_), std::vector<std::string>());
}

}  // namespace
}  // namespace berth::sim
