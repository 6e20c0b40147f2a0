// Late writes of an earlier process are sealed before devices are decided about.
#include "scheduling/keepers/term_seals.h"

#include <gtest/gtest.h>

#include "client/claim_writes.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::Kind;

constexpr const char* kDeviceClass = "gpu.example.com";
const std::string kFinalizer = R"(,"finalizers":["resource.kubernetes.io/delete-protection"])";

SchedulerOptions records_in_memory() {
  SchedulerOptions options;
  options.records_in_memory = true;
  return options;
}

std::string claim(const std::string& name, const std::string& meta, const std::string& status = "{}") {
  return R"({"metadata":{"namespace":"default","name":")" + name + R"(","uid":"u-)" + name + "\"" + meta +
         R"(},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":")" + kDeviceClass +
         R"("}}]}},"status":)" + status + "}";
}

std::string reserved_for(const std::string& pod, const std::string& uid) {
  return R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com","pool":"s",)"
         R"("device":"d0"}]}},"reservedFor":[{"resource":"pods","name":")" +
         pod + R"(","uid":")" + uid + R"("}]})";
}

// Two pods that ask for devices, one plain pod, and a claim that an earlier process was about to allocate.
struct Restarted : TestBench {
  explicit Restarted(SchedulerOptions options = records_in_memory()) : TestBench(std::move(options)) {
    put_class(kDeviceClass, "true");
    put_node({"n1"});
    put_slice("s", "n1", 2);
    put(Kind::ResourceClaim, claim("late", kFinalizer));
    put(Kind::ResourceClaim, claim("fresh", ""));
    for (const std::string name : {"late", "fresh"})
      put_pod({name, "1", "", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":")" + name + "\"}]"});
    put_pod({"plain"});
  }
};

TEST(TermSeals, NothingIsDecidedAboutDevicesBeforeTheyAreWritten) {
  Restarted bench;
  const client::Effects seals = bench.decide();
  ASSERT_EQ(seals.chains.size(), 1u);
  EXPECT_EQ(seals.chains[0].key.name, "late");
  EXPECT_NE(seals.chains[0].writes[0].request.body.find(client::kGivenUpAnnotation), std::string::npos);
  bench.carry_out(bench.decide());  // the plain pod does not wait
  EXPECT_EQ(bench.node_of("plain"), "n1");
  EXPECT_EQ(bench.node_of("fresh"), "");
  bench.carry_out(seals);
  bench.run();
  EXPECT_EQ(bench.node_of("fresh"), "n1");
  EXPECT_EQ(bench.node_of("late"), "n1");
}

TEST(TermSeals, ThereAreNoneWhereRecordsAreObjects) {
  Restarted bench{SchedulerOptions{}};
  bench.run();
  EXPECT_EQ(bench.node_of("late"), "n1");
  EXPECT_EQ(bench.view.claims.find("default", "late")->meta.annotation(client::kGivenUpAnnotation), "");
}

TEST(TermSeals, MembersOfAGroupThatAClaimIsReservedForGetAnotherVersion) {
  TestBench bench(records_in_memory());
  const std::string uses = R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"a"}])";
  bench.put_pod({"p", "1", "g", uses});
  bench.put_pod({"bound", "1", "g", uses + R"(,"nodeName":"n1")"});
  bench.put_pod({"foreign", "1", "other", uses});
  std::string status = reserved_for("g", "u-g");
  status.replace(status.find(R"("resource":"pods")"), 17,
                 R"("apiGroup":"scheduling.k8s.io","resource":"podgroups")");
  bench.put(Kind::ResourceClaim, claim("a", kFinalizer, status));
  TermSeals seals;
  seals.begin(bench.view, "term 3", bench.now);
  const client::Effects writes = seals.due(bench.view, bench.now);
  ASSERT_EQ(writes.chains.size(), 1u);
  EXPECT_EQ(writes.chains[0].key.name, "p");
}

TEST(TermSeals, APodThatAClaimIsReservedForGetsAnotherVersion) {
  TestBench bench(records_in_memory());
  bench.put_pod({"p", "1", "", "", "", "u-p"});
  bench.put_pod({"bound", "1", "", R"(,"nodeName":"n1")", "", "u-bound"});
  bench.put(Kind::ResourceClaim, claim("a", kFinalizer, reserved_for("p", "u-p")));
  bench.put(Kind::ResourceClaim, claim("b", kFinalizer, reserved_for("bound", "u-bound")));
  bench.put(Kind::ResourceClaim, claim("c", kFinalizer, reserved_for("p", "u-of-an-earlier-p")));
  TermSeals seals;
  seals.begin(bench.view, "term 3", bench.now);
  const client::Effects writes = seals.due(bench.view, bench.now);
  ASSERT_EQ(writes.chains.size(), 1u);
  EXPECT_EQ(writes.chains[0].key.name, "p");
  EXPECT_NE(writes.chains[0].writes[0].request.body.find("(term 3)"), std::string::npos);
}

TEST(TermSeals, ARefusedOneIsWrittenAgainAndOneThatIsNotNeededAnyMoreIsNot) {
  TestBench bench(records_in_memory());
  bench.put(Kind::ResourceClaim, claim("a", kFinalizer));
  TermSeals seals;
  seals.begin(bench.view, "term 3", bench.now);
  const client::Effects writes = seals.due(bench.view, bench.now);
  ASSERT_EQ(writes.chains.size(), 1u);
  EXPECT_FALSE(seals.write_done({Kind::Pod, "default", "a", {}}, true, bench.now));
  EXPECT_TRUE(seals.write_done(writes.chains[0].key, false, bench.now));
  EXPECT_TRUE(seals.due(bench.view, bench.now).empty());
  EXPECT_EQ(seals.next_time(), bench.now + kRetriedWriteFirst);
  bench.put(Kind::ResourceClaim,
            claim("a", kFinalizer, reserved_for("p", "u-p")));  // the allocation had landed
  EXPECT_TRUE(seals.due(bench.view, bench.now + kRetriedWriteFirst).empty());
  EXPECT_FALSE(seals.pending());
}

}  // namespace
}  // namespace berth::scheduling
