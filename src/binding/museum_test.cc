// Defects of the museum (base/known_defects.h) that storms meet too rarely, each shown directly.
#include <gtest/gtest.h>

#include "api/types/device_readiness.h"
#include "base/testing/museum.h"
#include "binding/testing/binder_fixture.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::add_claim;
using testing::BinderFixture;
using testing::claim_key;
using testing::kNodeN1;
using testing::pod_key;
using testing::request_key;

constexpr const char* kGangOfThree = R"("decisionID":"x","group":{"name":"g","size":3})";

void add_member(BinderFixture& cluster, const std::string& name, const std::string& rest = "") {
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                             R"("},"spec":{"schedulingGroup":{"podGroupName":"g"})" + rest + "}}");
}

void add_request(BinderFixture& cluster, const std::string& name, const std::string& spec,
                 const std::string& created = "1970-01-12T13:46:40Z") {
  cluster.put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":")" + name +
                                     R"(","creationTimestamp":")" + created + R"("},"spec":{"podName":")" +
                                     name + R"(","podUID":"u-)" + name + R"(","selectedNode":"n1",)" + spec +
                                     "}}");
}

std::string allocates(const std::string& claim, const std::string& device) {
  return R"("resourceClaimAllocations":[{"name":")" + claim + R"(","claimName":")" + claim +
         R"(","claimUID":"u-)" + claim +
         R"(","allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool","device":")" +
         device + R"(","bindingConditions":["Attached"]}]}}}])";
}

void add_gang(BinderFixture& cluster, int minimum) {
  cluster.put(Kind::Node, kNodeN1);
  cluster.put(Kind::PodGroup,
              R"({"metadata":{"namespace":"d","name":"g","uid":"u-g"},"spec":{"schedulingPolicy":
      {"gang":{"minCount":)" +
                  std::to_string(minimum) + "}}}}");
}

bool has_failed(const BinderFixture& cluster, const std::string& name) {
  return api::failed_for_good(*cluster.view().bind_requests.find("d", name));
}

void expect_shown_by_binder(KnownDefect defect, bool (*holds)(BinderFixture& cluster)) {
  expect_shown(defect, [holds] {
    BinderFixture cluster;
    return holds(cluster);
  });
}

TEST(MuseumByHand, DifferentAllocationKept) {
  expect_shown_by_binder(KnownDefect::DifferentAllocationKept, [](BinderFixture& cluster) {
    cluster.put(Kind::Node, kNodeN1);
    add_claim(cluster, "c", R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"drv",
        "pool":"pool","device":"other"}]}},"reservedFor":[{"resource":"pods","name":"q","uid":"u-q"}]})");
    add_member(cluster, "p", R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c"}])");
    add_request(cluster, "p", R"("decisionID":"x",)" + allocates("c", "decided"));
    cluster.run_until_idle(cluster.now());
    return has_failed(cluster, "p");
  });
}

TEST(MuseumByHand, LimitsCountFromCreation) {
  expect_shown_by_binder(KnownDefect::LimitsCountFromCreation, [](BinderFixture& cluster) {
    add_gang(cluster, 3);
    for (const char* name : {"a", "b", "c"}) add_member(cluster, name);
    add_request(cluster, "a", kGangOfThree, "1970-01-12T13:46:00Z");  // 40 s before the binder's own time
    cluster.run_until_idle(cluster.now() + Duration::seconds(5));
    return !has_failed(cluster, "a");
  });
}

TEST(MuseumByHand, CompletenessAfterDeviceWait) {
  expect_shown_by_binder(KnownDefect::CompletenessAfterDeviceWait, [](BinderFixture& cluster) {
    add_gang(cluster, 3);
    add_claim(cluster, "c");
    add_member(cluster, "a", R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c"}])");
    add_request(cluster, "a", kGangOfThree + ("," + allocates("c", "slow")));
    for (const char* name : {"b", "e"}) {
      add_member(cluster, name);
      add_request(cluster, name, kGangOfThree);
    }
    cluster.run_until_idle(cluster.now());
    cluster.remove({Kind::Pod, "d", "e", {}});
    cluster.run_until_idle(cluster.now() + Duration::seconds(20));
    return has_failed(cluster, "a");
  });
}

}  // namespace
}  // namespace berth::binding
