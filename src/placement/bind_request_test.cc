#include "placement/bind_request.h"

#include <gtest/gtest.h>

namespace berth::placement {
namespace {

// A request in memory is this value; one that is stored is what its text says (client/request_writes.h).
TEST(BindRequest, AValueSaysWhatItsTextSays) {
  api::Pod pod;
  pod.meta.ns = "d";
  pod.meta.name = "p";
  pod.meta.uid = "u-p";
  pod.scheduler_name = "berth";
  BindRequestDraft draft{&pod, "n1", {}, 3};
  api::ClaimAllocation claim{"gpu", "p-gpu", "u-c", {}};
  claim.allocation.results.push_back({.request = "r", .driver = "drv", .pool = "pool", .device = "gpu-0"});
  api::ClaimAllocation made = claim;
  made.name.clear();
  made.claim_uid.clear();
  made.extended = api::ExtendedClaim{Json::array(), Json::array()};
  draft.reservation.claims = {claim, made};
  draft.reservation.volumes = {{"data", "u-d", "disk"}};
  draft.reservation.gpu_share = {{"g1", "g2"}, 25};
  draft.reservation.node_allocatable = {{"p-gpu", {"c"}, {{"cpu", Quantity::of(2)}}, {}}};
  const api::BindRequest value =
      bind_request(draft, {"gang", "u-g", 2}, "x", {7, {"kube-system", "berth", "u7"}});
  const Json text = api::bind_request_object(value);
  const api::BindRequest read = api::decode_bind_request(text, nullptr);
  EXPECT_EQ(to_string(api::bind_request_object(read)), to_string(text));
  EXPECT_EQ(read.received_resource_type, value.received_resource_type);
  EXPECT_EQ(read.received_gpu_count, value.received_gpu_count);
  EXPECT_EQ(read.meta.owners, std::vector{api::owner_of(value)});
  EXPECT_EQ(static_cast<const api::BindStatus&>(read), static_cast<const api::BindStatus&>(value));
}

}  // namespace
}  // namespace berth::placement
