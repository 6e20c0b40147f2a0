// Malicious metadata and pods: each item of a long list is an error that quotes the whole list. Sizes are
// large enough to expose superlinear work, and far more text than the bound.
#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

constexpr std::size_t kItems = 8000;

std::size_t bytes_of(const FieldErrors& errors) {
  std::size_t bytes = 0;
  for (const FieldError& error : errors) bytes += error.path.size() + error.body.size();
  return bytes;
}

TEST(HostileMetadata, OwnersThatAllControl) {
  Json owners = Json::array();
  for (std::size_t i = 0; i < kItems; ++i)
    owners.as_array().push_back(Json::object({{"apiVersion", "v1"},
                                              {"kind", "Node"},
                                              {"name", "n" + std::to_string(i)},
                                              {"uid", "u" + std::to_string(i)},
                                              {"controller", true}}));
  const Json object = Json::object(
      {{"metadata", Json::object({{"name", "a"}, {"namespace", "d"}, {"ownerReferences", owners}})}});
  const FieldErrors errors = validate_meta(object, true, rules_of("", "configmaps"));
  ASSERT_FALSE(errors.empty());
  EXPECT_TRUE(
      errors.front().body.ends_with("Only one reference can have Controller set to true. Found \"true\" in "
                                    "references for Node/n0 and Node/n1"));
  EXPECT_TRUE(errors.full());
  EXPECT_LT(bytes_of(errors), 2 * kFieldErrorBytesMax);
}

TEST(HostilePod, ClaimsThatItDoesNotHave) {
  Json claims = Json::array(), wanted = Json::array();
  for (std::size_t i = 0; i < kItems; ++i) {
    claims.as_array().push_back(
        Json::object({{"name", "c" + std::to_string(i)}, {"resourceClaimName", "c"}}));
    wanted.as_array().push_back(Json::object({{"name", "x" + std::to_string(i)}}));
  }
  const Json container = Json::object(
      {{"name", "c"}, {"image", "i"}, {"resources", Json::object({{"claims", std::move(wanted)}})}});
  Json pod = Json::object({{"metadata", Json::object({{"name", "a"}, {"namespace", "d"}})},
                           {"spec", Json::object({{"resourceClaims", std::move(claims)},
                                                  {"containers", JsonArray{container}}})}});
  const KindRules& rules = rules_of("", "pods");
  rules.set_defaults(pod);
  Gates gates{GateDefaults::Up};
  const RuleContext ctx = context_of_empty_cluster(gates);
  const FieldErrors errors = rules.validate_create(pod, ctx);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors.front().path, "spec.containers[0].resources.claims[0]");
  EXPECT_TRUE(errors.front().body.starts_with(
      "Not found: \"x0\": must be one of the names in pod.spec.resourceClaims: c0, c1, c10, "));
  EXPECT_TRUE(errors.full());
  EXPECT_LT(bytes_of(errors), 2 * kFieldErrorBytesMax);
}

}  // namespace
}  // namespace berth::api
