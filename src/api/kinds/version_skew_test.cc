// The table of KEP-5963's version skew, as far as it concerns the API server. Its "old" server knows no
// groups at all; every row of a new one is here.
#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

constexpr const char* kResourceV1 = "resource.k8s.io/v1";

class VersionSkew : public testing::Test {
 protected:
  static Gates with(const char* text) { return Gates::parse(GateDefaults::Up, text).value(); }
  static Json slice() {
    return decode_json(*find_kind(kResourceV1, "ResourceSlice"),
                       R"({"spec":{"driver":"d.io","devices":[{"name":"a","consumesCounters":[{"counterSet":)"
                       R"("s","counters":{"m":{"value":"1"}},"compatibilityGroups":["mig"]}]}]}})")
        .value()
        .document;
  }
  static Json claim(const std::string& status) {
    return decode_json(*find_kind(kResourceV1, "ResourceClaim"),
                       R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}]}},)"
                       R"("status":{)" +
                           status + "}}")
        .value()
        .document;
  }
  static std::string allocation(const std::string& groups) {
    return R"("allocation":{"devices":{"results":[{"request":"r","driver":"d.io","pool":"p","device":"a")" +
           groups + "}]}}";
  }
  static Json stored_status(Json next, const Json& old, const Gates& gates) {
    claims.prepare_status_update(next, old, context_of_empty_cluster(gates));
    EXPECT_TRUE(claims.validate_status_update(next, old, context_of_empty_cluster(gates)).empty());
    return next;
  }

  static bool slice_has_groups(const Json& slice) {
    const Json* spec = present(slice, "spec");
    const Json& device = items(spec, "devices").at(0);
    return present(items(&device, "consumesCounters").at(0), "compatibilityGroups") != nullptr;
  }
  static bool claim_has_groups(const Json& claim) {
    const Json* devices = present_at(claim, {"status", "allocation", "devices"});
    return present(items(devices, "results").at(0), "compatibilityGroups") != nullptr;
  }

  static inline const std::string snapshot = R"(,"compatibilityGroups":{"s":["mig"]})";
  static inline const std::string reserved = R"(,"reservedFor":[{"resource":"pods","name":"p","uid":"u"}])";
  static inline const KindRules& slices = rules_of("resource.k8s.io", "resourceslices");
  static inline const KindRules& claims = rules_of("resource.k8s.io", "resourceclaims");
};

TEST_F(VersionSkew, ServerWithGateOffStripsBothFieldsOnWritesForEveryScheduler) {
  const Gates off = with("DRADeviceCompatibilityGroups=false");
  Json made = slice();
  slices.prepare_create(made, context_of_empty_cluster(off));
  EXPECT_FALSE(slice_has_groups(made));
  const Json written = stored_status(claim(allocation(snapshot)), claim(""), off);
  EXPECT_FALSE(claim_has_groups(written));
}

// The document says "strips on writes" without exception; 1.37 keeps what is in use, and so does Berth.
TEST_F(VersionSkew, ServerWithGateOffKeepsGroupsThatWereStoredUnlikeTheDocument) {
  const Gates off = with("DRADeviceCompatibilityGroups=false");
  Json next = slice();
  slices.prepare_update(next, slice(), context_of_empty_cluster(off));
  EXPECT_TRUE(slice_has_groups(next));
}

// 1.37 has no snapshot: its server with the gate on keeps the groups of slices only.
TEST_F(VersionSkew, ServerWithGateOnKeepsBothFieldsForEverySchedulerTheSnapshotUnlike137) {
  const Gates on = with("");
  Json made = slice();
  slices.prepare_create(made, context_of_empty_cluster(on));
  EXPECT_TRUE(slice_has_groups(made));
  EXPECT_TRUE(claim_has_groups(stored_status(claim(allocation(snapshot)), claim(""), on)));
  const Gates shipped = with("BerthCompatibilityGroupSnapshot=false");
  made = slice();
  slices.prepare_create(made, context_of_empty_cluster(shipped));
  EXPECT_TRUE(slice_has_groups(made));
  EXPECT_FALSE(claim_has_groups(stored_status(claim(allocation(snapshot)), claim(""), shipped)));
}

TEST_F(VersionSkew, ServerWithGateOnTakesTheAllocationsOfAnOldSchedulerWithoutASnapshot) {
  const Json written = stored_status(claim(allocation("") + reserved), claim(""), with(""));
  EXPECT_FALSE(claim_has_groups(written));
}

TEST_F(VersionSkew, AnOldClientThatWritesAStatusBackDoesNotLoseTheSnapshot) {
  const Json old = claim(allocation(snapshot));
  const Json written = stored_status(claim(allocation("") + reserved), old, with(""));
  EXPECT_TRUE(claim_has_groups(written));
  EXPECT_TRUE(present_at(written, {"status", "reservedFor"}));
  // A real change of an allocation is still refused.
  Json other = claim(R"("allocation":{"devices":{"results":[{"request":"r","driver":"d.io","pool":"p",)"
                     R"("device":"b"}]}})");
  const Gates on = with("");
  claims.prepare_status_update(other, old, context_of_empty_cluster(on));
  EXPECT_EQ(claims.validate_status_update(other, old, context_of_empty_cluster(on)).size(), 1u);
}

TEST_F(VersionSkew, DowngradeInvalidatesNoAllocationAndAnUpgradeFindsTheGroupsAgain) {
  const Gates off = with("DRADeviceCompatibilityGroups=false");
  const Json old = claim(allocation(snapshot));
  const Json written = stored_status(claim(allocation(snapshot) + reserved), old, off);
  EXPECT_EQ(*written.find_path({"status", "allocation"}), *old.find_path({"status", "allocation"}));
  Json next = slice();
  slices.prepare_update(next, slice(), context_of_empty_cluster(off));
  slices.prepare_update(next, Json(next), context_of_empty_cluster(with("")));
  EXPECT_TRUE(slice_has_groups(next));
}

}  // namespace
}  // namespace berth::api
