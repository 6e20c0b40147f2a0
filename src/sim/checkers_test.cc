// The invariant checkers see what they are for: each row breaks one thing by hand, in a world without
// deciders.
#include <gtest/gtest.h>

#include "sim/hostile_world.h"
#include "sim/rest_checker.h"
#include "sim/storm_objects.h"

namespace berth::sim {
namespace {

using api::Kind;
using client::Verb;

class Checked : public testing::Test {
 protected:
  Checked() {
    heard_ = world_->history().listen(
        "", [this](const store::Event& event) { checker_.apply(event, world_->now()); });
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
  void make_claim(const std::string& name) { world_->create(storm_claim(Json::object({{"name", name}}))); }
  void allocate(const std::string& claim, const std::string& device, const std::string& pod) {
    const Json result = Json::object(
        {{"request", "gpu"}, {"driver", "gpu.example.com"}, {"pool", "node-1"}, {"device", device}});
    const Json fields =
        Json::object({{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({"node-1"})}});
    Json body = Json::object();
    body["status"]["allocation"]["devices"]["results"] = Json::array({result});
    body["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"] =
        Json::array({Json::object({{"matchFields", Json::array({fields})}})});
    body["status"]["reservedFor"] =
        Json::array({Json::object({{"resource", "pods"}, {"name", pod}, {"uid", uid_of(Kind::Pod, pod)}})});
    patch(Kind::ResourceClaim, claim, body, "status");
  }
  void expect_broken(const std::string& words) {
    ASSERT_EQ(checker_.broken().size(), 1u) << "expected: " << words;
    EXPECT_NE(checker_.broken().front().find(words), std::string::npos) << checker_.broken().front();
  }
  void expect_at_rest(const std::string& words) {
    std::string all;
    for (const std::string& sentence : broken_at_rest(checker_)) all += sentence + "\n";
    EXPECT_NE(all.find(words), std::string::npos) << all;
  }

  StormCluster cluster_;
  std::unique_ptr<HostileWorld> world_ = HostileWorld::make({}).value();
  SafetyChecker checker_;
  std::shared_ptr<void> heard_;
};

TEST_F(Checked, ADeviceOfTwoClaims) {
  make_claim("a");
  make_claim("b");
  make_pod("p");
  allocate("a", "gpu-1", "p");
  allocate("b", "gpu-1", "p");
  expect_broken("I1: device gpu.example.com/node-1/gpu-1 is allocated to claim b and to claim a");
}

TEST_F(Checked, ARivalsDeviceIsNotHeldAgainstUs) {
  make_claim("a");
  make_claim("b");
  make_pod("p");
  checker_.excuse_claim(uid_of(Kind::ResourceClaim, "b"));
  allocate("a", "gpu-1", "p");
  allocate("b", "gpu-1", "p");
  EXPECT_TRUE(checker_.broken().empty());
}

TEST_F(Checked, PartitionsWithoutACommonGroup) {
  make_claim("a");
  make_claim("b");
  make_pod("p");
  allocate("a", "gpu-0-mig-1g-0", "p");
  allocate("b", "gpu-0-vgpu-0", "p");
  expect_broken("held without a common compatibility group");
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
  allocate("shared", "gpu-1", "p");
  bind("p", 2);
  expect_broken("where its claim shared cannot be used");
}

TEST_F(Checked, AReservationThatABoundPodLoses) {
  make_claim("shared");
  make_pod("p", "claim/shared");
  allocate("shared", "gpu-1", "p");
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

TEST_F(Checked, ANodeThatIsAskedForTooMuch) {
  make_pod("p", "", "", 9000);
  make_pod("q", "", "", 9000);
  bind("p", 1);
  bind("q", 1);
  expect_broken("I7: node node-1 is asked for 18000m cpu");
}

TEST_F(Checked, AtRestAPodThatWouldFit) {
  make_pod("p");
  expect_at_rest("I10: pod p waits and would fit");
}

TEST_F(Checked, AtRestAPodThatFitsNowhereMayWait) {
  make_pod("p", "", "", 17'000);
  EXPECT_TRUE(broken_at_rest(checker_).empty());
}

TEST_F(Checked, AtRestAGangThatWouldFitInOneRack) {
  world_->create(storm_group(Json::object({{"name", "g"}, {"min", 2}, {"topology", "example.com/rack"}})));
  make_pod("g-0", "", "g", 9000);
  make_pod("g-1", "", "g", 9000);
  expect_at_rest("I10: gang g waits with 2 members and would fit");
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
  allocate("a", "gpu-1", "p");
  expect_at_rest("I6: claim a is reserved for pod p, which waits");
}

}  // namespace
}  // namespace berth::sim
