#include "server/quota_charges.h"

#include <gtest/gtest.h>

#include "server/test_bench.h"

namespace berth::server {
namespace {

// Creates come while a batch is under way, here from the answer to its only create.
TEST(QuotaCharges, RefuseCreatesBeyondThoseThatMayWait) {
  ServerBench bench;
  Registry registry(
      {*bench.store, bench.executor, bench.clock, *bench.random, bench.gates, api::accept_any_cel}, 0);
  QuotaCharges charges(registry);
  const ObjectTarget target{api::find_resource("", "v1", "configmaps"), "default", "a", ""};
  const Json object = Json::object();
  std::size_t charged = 0, refused = 0;
  const auto count = [&](const ApiResult<void>& answer) {
    ++(answer ? charged : refused);
    EXPECT_TRUE(answer || answer.error().code == 429);
  };
  charges.charge(target, object, true, [&](const ApiResult<void>&) {
    for (std::size_t n = 0; n < kQuotaWaitingMax; ++n) charges.charge(target, object, true, count);
    EXPECT_EQ(refused, 0u);
    charges.charge(target, object, true, count);
    EXPECT_EQ(refused, 1u);
    ObjectTarget elsewhere = target;
    elsewhere.ns = "other";
    charges.charge(elsewhere, object, true, count);
    EXPECT_EQ(charged, 1u) << "the bound is that of one namespace";
  });
  EXPECT_EQ(charged, kQuotaWaitingMax + 1);
  EXPECT_EQ(refused, 1u);
  charges.charge(target, object, true, count);
  EXPECT_EQ(refused, 1u) << "nothing waits any more";
}

}  // namespace
}  // namespace berth::server
