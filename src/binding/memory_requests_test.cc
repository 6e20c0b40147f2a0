#include "binding/memory_requests.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "binding/testing/binder_fixture.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::add_claim;
using testing::BinderFixture;
using testing::InjectedFault;
using testing::kNodeN1;
using testing::pod_key;
using testing::request_key;
using testing::Requests;
using Log = std::vector<std::string>;

// A pod "p", with the claim "c" where devices are given: `device` is the rest of its device result.
struct Decided : BinderFixture {
  explicit Decided(const std::string& device = "", const std::string& group = "")
      : BinderFixture({}, Requests::InMemory) {
    put(Kind::Node, kNodeN1);
    if (!device.empty()) add_claim(*this, "c");
    put(Kind::Pod,
        R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"spec":{)" +
            std::string(device.empty() ? "" : R"("resourceClaims":[{"name":"c","resourceClaimName":"c"}])") +
            "}}");
    deliver();
    std::string claims;
    if (!device.empty())
      claims = R"(,"resourceClaimAllocations":[{"name":"c","claimName":"c","claimUID":"u-c","allocation":)"
               R"({"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",)" +
               device + "}]}}}]";
    decide(R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p","podUID":"u-p",)"
           R"("selectedNode":"n1","decisionID":"d1")" +
           group + claims + "}}");
    deliver();
  }

  void settle(Duration time = Duration()) { run_until_idle(now() + time); }
  // The binding is refused for now, and the binder looks at it again.
  void fail_binding() {
    answer("create pods p/binding", InjectedFault::ServerError);
    advance_to(now() + Duration::millis(200));
    deliver();
  }
};

TEST(MemoryRequests, APlainPodCostsItsBinding) {
  Decided cluster;
  EXPECT_EQ(cluster.kept_in_memory(), 1u);
  cluster.settle();
  EXPECT_EQ(cluster.log, Log{"create pods p/binding"});
  ASSERT_EQ(cluster.events.size(), 1u);
  EXPECT_EQ(cluster.events[0].reason, "Scheduled");
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->phase, api::BindPhase::Succeeded);
  cluster.settle(kMemoryRequestGrace);
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.view().bind_requests.size(), 0u);
}

TEST(MemoryRequests, MembersOfGangsAndPodsWithClaimsHaveAnObjectFromTheStart) {
  Decided gang("", R"(,"group":{"name":"g","uid":"u-g","size":2})");
  Decided claim(R"("device":"gpu")");
  for (Decided* cluster : {&gang, &claim}) {
    EXPECT_EQ(cluster->kept_in_memory(), 0u);
    ASSERT_EQ(cluster->in_flight(), 1u);
    cluster->answer("create bindrequests p");
    EXPECT_NE(cluster->find(request_key("p")), nullptr);
  }
}

TEST(MemoryRequests, BeyondTheirBytesObjectsAreMade) {
  BinderFixture cluster({}, Requests::InMemory);
  const std::string text(kMemoryRequestBytesMax / 4, 'x');
  for (int i = 0; i < 4; ++i)
    cluster.decide(R"({"metadata":{"namespace":"d","name":"p)" + std::to_string(i) +
                   R"("},"spec":{"podName":"p","text":")" + text + R"("}})");
  EXPECT_EQ(cluster.kept_in_memory(), 3u);
  EXPECT_EQ(cluster.in_flight(), 1u);
}

TEST(MemoryRequests, AListOfObjectsDoesNotForgetThem) {
  Decided cluster;
  cluster.relist_requests();
  cluster.deliver();
  EXPECT_NE(cluster.view().bind_requests.find("d", "p"), nullptr);
  cluster.settle();
  EXPECT_EQ(cluster.log, Log{"create pods p/binding"});
}

TEST(MemoryRequests, TheFirstFailureMakesAnObjectWithItsStatus) {
  Decided cluster;
  cluster.fail_binding();
  cluster.answer("create bindrequests p");
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.find(request_key("p"))->part("metadata").find("annotations"), nullptr);
  cluster.answer("patch bindrequests p/status");
  const Json& status = cluster.find(request_key("p"))->part("status");
  EXPECT_EQ(status.int_at("failedAttempts"), 1);
  EXPECT_EQ(status.string_at("decisionID"), "d1");
  cluster.settle(Duration::seconds(60));
  EXPECT_EQ(cluster.log.back(), "patch bindrequests p/status");
  EXPECT_EQ(cluster.find(request_key("p"))->part("status").string_at("phase"), "Succeeded");
  EXPECT_EQ(cluster.find(pod_key("p"))->part("spec").string_at("nodeName"), "n1");
}

// Whatever becomes of the two writes that make the object, the pod is bound in the end, once.
TEST(MemoryRequests, MakingTheObjectSurvivesEveryFault) {
  for (const InjectedFault fault :
       {InjectedFault::NotSent, InjectedFault::LostDone, InjectedFault::LostNotDone, InjectedFault::Throttled,
        InjectedFault::ServerError, InjectedFault::Conflict}) {
    for (const char* write : {"create bindrequests p", "patch bindrequests p/status"}) {
      Decided cluster;
      cluster.fail_binding();
      if (write != std::string_view("create bindrequests p")) cluster.answer("create bindrequests p");
      cluster.answer(write, fault);
      cluster.settle(Duration::seconds(600));
      EXPECT_EQ(cluster.find(pod_key("p"))->part("spec").string_at("nodeName"), "n1")
          << write << " " << static_cast<int>(fault);
      EXPECT_EQ(cluster.kept_in_memory(), 0u) << write << " " << static_cast<int>(fault);
      // None where the create failed and the next attempt went well.
      const Json* object = cluster.find(request_key("p"));
      EXPECT_TRUE(!object || object->part("status").string_at("phase") == "Succeeded");
      EXPECT_EQ(std::count(cluster.log.begin(), cluster.log.end(), "create pods p/binding"), 1);
    }
  }
}

TEST(MemoryRequests, AnObjectOfTheSameNameTakesItsPlace) {
  Decided cluster;
  cluster.put(Kind::BindRequest,
              R"({"metadata":{"namespace":"d","name":"p","uid":"theirs"},"spec":{"podName":"p",)"
              R"("podUID":"u-p","selectedNode":"n1","decisionID":"d0"}})");
  cluster.deliver();
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->meta.uid, "theirs");
  cluster.settle(Duration::seconds(60));
  EXPECT_EQ(cluster.find(request_key("p"))->part("status").string_at("phase"), "Succeeded");
}

TEST(MemoryRequests, APodThatIsGoneLeavesNothing) {
  Decided cluster;
  cluster.remove(pod_key("p"));
  cluster.settle(Duration::seconds(60));
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
  EXPECT_EQ(cluster.find(request_key("p")), nullptr);
}

TEST(MemoryRequests, ACrashForgetsThem) {
  Decided cluster;
  cluster.crash();
  cluster.deliver();
  EXPECT_EQ(cluster.view().bind_requests.size(), 0u);
  EXPECT_EQ(cluster.kept_in_memory(), 0u);
}

}  // namespace
}  // namespace berth::binding
