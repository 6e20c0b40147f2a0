#include "binding/request_bytes.h"

#include <gtest/gtest.h>

#include <functional>

namespace berth::binding {
namespace {

constexpr std::size_t kAdded = 1000;
const std::string kText(kAdded, 'x');

// Each puts a text of kAdded bytes into a part of the request.
TEST(RequestBytes, EveryTextCounts) {
  using Change = std::function<void(api::BindRequest&)>;
  const std::pair<const char*, Change> rows[] = {
      {"name", [](api::BindRequest& request) { request.meta.name = kText; }},
      {"labels", [](api::BindRequest& request) { request.meta.labels["a"] = kText; }},
      {"owners", [](api::BindRequest& request) { request.meta.owners = {{"v1", "Pod", kText, "u"}}; }},
      {"pod", [](api::BindRequest& request) { request.pod_name = kText; }},
      {"node", [](api::BindRequest& request) { request.node = kText; }},
      {"group", [](api::BindRequest& request) { request.group.name = kText; }},
      {"decision", [](api::BindRequest& request) { request.decision_id = kText; }},
      {"lease", [](api::BindRequest& request) { request.lease.uid = kText; }},
      {"message", [](api::BindRequest& request) { request.message = kText; }},
      {"condition", [](api::BindRequest& request) { request.conditions = {{"Bound", "False", "", kText}}; }},
      {"volume", [](api::BindRequest& request) { request.volumes = {{"c", "u", kText}}; }},
      {"share", [](api::BindRequest& request) { request.gpu_share.groups = {kText}; }},
      {"allocatable", [](api::BindRequest& request) { request.node_allocatable = {{"c", {kText}, {}, {}}}; }},
      {"device",
       [](api::BindRequest& request) {
         api::ClaimAllocation claim;
         claim.allocation.results.push_back({.request = "r", .device = kText});
         request.claims.push_back(claim);
       }},
      {"selector",
       [](api::BindRequest& request) {
         api::ClaimAllocation claim;
         claim.allocation.node_selector = api::NodeSelector{{{{{"key", "In", {kText}}}, {}}}};
         request.claims.push_back(claim);
       }},
      {"configuration",
       [](api::BindRequest& request) {
         api::ClaimAllocation claim;
         claim.allocation.config =
             Json::array({Json::object({{"opaque", Json::object({{"parameters", kText}})}})});
         request.claims.push_back(claim);
       }},
      {"extended claim",
       [](api::BindRequest& request) {
         api::ClaimAllocation claim;
         claim.extended = api::ExtendedClaim{Json::array({Json(kText)}), Json()};
         request.claims.push_back(claim);
       }},
  };
  const std::size_t before = bytes_of(api::BindRequest());
  for (const auto& [what, change] : rows) {
    api::BindRequest request;
    change(request);
    EXPECT_GE(bytes_of(request), before + kAdded) << what;
    EXPECT_LT(bytes_of(request), before + 2 * kAdded) << what;
  }
}

}  // namespace
}  // namespace berth::binding
