// Which devices count as in use while allocations are on their way.
#include "binding/pending_allocations.h"

#include <gtest/gtest.h>

#include "client/claim_writes.h"

namespace berth::binding {
namespace {

class AllocationOnItsWay : public ::testing::Test {
 protected:
  AllocationOnItsWay() {
    put_claim(1);
    request_.meta.ns = "d";
    request_.meta.name = "p";
    request_.decision_id = "x";
    request_.claims.push_back({"c", "c", "u-c", {}});
    request_.claims.back().allocation.results.push_back(gpu_);
  }
  void put_claim(int version) {
    const std::string text = R"({"metadata":{"namespace":"d","name":"c","uid":"u-c","resourceVersion":")" +
                             std::to_string(version) + R"("},"spec":{}})";
    view_.put(claim_key_,
              *api::decode_typed(api::Kind::ResourceClaim, std::make_shared<const std::string>(text)));
  }
  // One run of the request that writes the allocation, and its answer.
  void write(int code) {
    client::Write write;
    write.request.verb = client::Verb::MergePatch;
    write.request.subresource = "status";
    client::Effects effects;
    effects.chains.push_back({claim_key_, {write}});
    pending_.sent(view_, request_, effects);
    client::Outcome outcome;
    outcome.chains.push_back({claim_key_, false, 0, {client::Delivery::Answered, code}});
    pending_.failed(view_, request_key_, outcome);
    pending_.answered(view_, request_key_);
  }
  bool is_taken() const { return !pending_.holder_of(view_, gpu_, "u-other").empty(); }

  const api::DeviceResult gpu_{.request = "r", .driver = "drv", .pool = "pool", .device = "gpu"};
  const api::ObjectKey claim_key_{api::Kind::ResourceClaim, "d", "c", {}};
  const api::ObjectKey request_key_{api::Kind::BindRequest, "d", "p", {}};
  api::BindRequest request_;
  client::View view_;
  PendingAllocations pending_;
};

TEST_F(AllocationOnItsWay, EndsWithARefusal) {
  write(403);
  EXPECT_FALSE(is_taken());
}

TEST_F(AllocationOnItsWay, LastsWhileItsFateIsUnknown) {
  write(500);
  EXPECT_TRUE(is_taken());
  put_claim(2);
  EXPECT_FALSE(is_taken()) << "it was written on the earlier version";
}

TEST_F(AllocationOnItsWay, IsNotSettledByTheRefusalOfALaterWrite) {
  write(500);
  write(403);
  EXPECT_TRUE(is_taken()) << "the first write may have landed";
}

}  // namespace
}  // namespace berth::binding
