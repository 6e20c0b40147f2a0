#include "api/gates_fields.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

std::string dropped(const char* gates, const char* document, const char* old = nullptr) {
  const Result<Gates> chosen = Gates::parse(GateDefaults::Up, gates);
  EXPECT_TRUE(chosen.ok()) << chosen.error().text();
  Json json = *parse_json(document);
  const Json before = old ? *parse_json(old) : Json();
  drop_gated_fields(*find_kind("resource.k8s.io/v1", "ResourceClaim"), json, old ? &before : nullptr,
                    *chosen);
  return to_string(json);
}

constexpr const char* kClaim = R"({"status":{"allocation":{"devices":{"results":[{"device":"x",)"
                               R"("compatibilityGroups":{"set":["mig"]}}]}}}})";
constexpr const char* kWithout = R"({"status":{"allocation":{"devices":{"results":[{"device":"x"}]}}}})";

TEST(GatedFields, AreDroppedWhenTheirGateIsOff) {
  EXPECT_EQ(dropped("", kClaim), kClaim);
  EXPECT_EQ(dropped("BerthCompatibilityGroupSnapshot=false", kClaim), kWithout);
}

TEST(GatedFields, StayWhenTheOldObjectUsesThem) {
  EXPECT_EQ(dropped("BerthCompatibilityGroupSnapshot=false", kClaim, kClaim), kClaim);
  EXPECT_EQ(dropped("BerthCompatibilityGroupSnapshot=false", kClaim, kWithout), kWithout);
}

TEST(GatedFields, OfOneFeatureCountTogether) {
  constexpr const char* kGates = "DRAConsumableCapacity=false,DRAFractionalCapacityRange=false";
  constexpr const char* kShare =
      R"({"status":{"allocation":{"devices":{"results":[{"device":"x","shareID":"s"}]}}}})";
  constexpr const char* kConstraint = R"({"spec":{"devices":{"constraints":[{"distinctAttribute":"a/b"}]}}})";
  EXPECT_EQ(dropped(kGates, kShare), kWithout);
  EXPECT_EQ(dropped(kGates, kShare, kConstraint), kShare);
}

}  // namespace
}  // namespace berth::api
