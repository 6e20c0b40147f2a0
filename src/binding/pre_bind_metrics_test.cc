#include "binding/pre_bind_metrics.h"

#include <gtest/gtest.h>

#include "binding/testing/binder_fixture.h"

namespace berth::binding {
namespace {

using testing::BinderFixture;

std::string metrics_of(const PreBindMetrics& figures) {
  MetricsText text;
  figures.write_metrics(text);
  return text.take();
}

void expect_line(const std::string& page, const std::string& line) {
  EXPECT_NE(page.find("\n" + line + "\n"), std::string::npos) << line << "\nis missing in\n" << page;
}

// A pod with a claim of one device; with `conditions` the device must get ready first.
void add_pod_with_claim(BinderFixture& cluster, const std::string& name, const std::string& conditions) {
  const std::string meta =
      R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name + R"("})";
  cluster.put(api::Kind::ResourceClaim, meta + "}");
  cluster.put(api::Kind::Pod, meta +
                                  R"(,"spec":{"schedulerName":"berth","resourceClaims":[{"name":"c",)"
                                  R"("resourceClaimName":")" +
                                  name + R"("}]}})");
  cluster.put(api::Kind::BindRequest,
              meta + R"(,"spec":{"podName":")" + name + R"(","podUID":"u-)" + name +
                  R"(","selectedNode":"n1","resourceClaimAllocations":[{"name":"c","claimName":")" + name +
                  R"(","claimUID":"u-)" + name +
                  R"(","allocation":{"devices":{"results":[{"request":"r","driver":"drv","pool":"pool",)"
                  R"("device":")" +
                  name + "\"" + conditions + "}]}}}]}}");
}

constexpr const char* kConditions =
    R"(,"bindingConditions":["Attached"],"bindingFailureConditions":["Broken"])";

void set_condition(BinderFixture& cluster, const std::string& name, const std::string& type) {
  cluster.change({api::Kind::ResourceClaim, "d", name, {}},
                 R"({"status":{"devices":[{"driver":"drv","pool":"pool","device":")" + name +
                     R"(","conditions":[{"type":")" + type + R"(","status":"True"}]}]}})");
}

TEST(PreBindMetrics, CountEachEndOfTheWaitOnce) {
  BinderFixture cluster;
  cluster.put(api::Kind::Node, R"({"metadata":{"name":"n1"}})");
  const Time start = cluster.now();
  add_pod_with_claim(cluster, "good", kConditions);
  add_pod_with_claim(cluster, "bad", kConditions);
  add_pod_with_claim(cluster, "late", kConditions);
  add_pod_with_claim(cluster, "plain", "");
  cluster.run_until_idle(start);
  cluster.advance_to(start + Duration::seconds(3));
  set_condition(cluster, "good", "Attached");
  set_condition(cluster, "bad", "Broken");
  cluster.run_until_idle(start + Duration::seconds(3));
  cluster.run_until_idle(start + Duration::seconds(700));
  const std::string page = metrics_of(cluster.binder().metrics());
  const std::string prefix = "scheduler_dra_bindingconditions_";
  for (const char* status : {"success", "failure", "timeout"}) {
    const std::string label = std::string("status=\"") + status + "\"";
    expect_line(page, prefix + "allocations_total{" + label + "} 1");
    expect_line(
        page, prefix + "prebind_duration_seconds_count{" + label + ",requires_bindingconditions=\"true\"} 1");
    expect_line(page,
                prefix + "wait_duration_seconds_count{profile=\"berth\",driver=\"drv\"," + label + "} 1");
  }
  expect_line(page, prefix + R"(prebind_duration_seconds_count{status="success",)"
                             R"(requires_bindingconditions="false"} 1)");
  expect_line(page, prefix + R"(prebind_duration_seconds_sum{status="success",)"
                             R"(requires_bindingconditions="false"} 0)");
  expect_line(page, prefix + R"(prebind_duration_seconds_sum{status="success",)"
                             R"(requires_bindingconditions="true"} 3)");
  expect_line(page, prefix + R"(prebind_duration_seconds_bucket{status="success",)"
                             R"(requires_bindingconditions="true",le="1.6"} 0)");
  expect_line(page, prefix + R"(prebind_duration_seconds_bucket{status="success",)"
                             R"(requires_bindingconditions="true",le="3.2"} 1)");
  expect_line(page,
              prefix + R"(wait_duration_seconds_sum{profile="berth",driver="drv",status="timeout"} 600)");
}

TEST(PreBindMetrics, HaveNothingToSayOfPodsWithoutClaims) {
  BinderFixture cluster;
  cluster.put(api::Kind::Node, R"({"metadata":{"name":"n1"}})");
  cluster.put(api::Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"}})");
  cluster.put(api::Kind::BindRequest,
              R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p","podUID":"u-p",)"
              R"("selectedNode":"n1"}})");
  cluster.run_until_idle(cluster.now());
  const std::string page = metrics_of(cluster.binder().metrics());
  EXPECT_EQ(page.find("_count"), std::string::npos) << page;
  expect_line(page, R"(scheduler_dra_bindingconditions_allocations_total{status="success"} 0)");
}

TEST(PreBindMetrics, KeepABoundedNumberOfDrivers) {
  PreBindMetrics figures;
  api::BindRequest request;
  api::DeviceResult device;
  device.binding_conditions = {"Ready"};
  for (std::size_t i = 0; i < kDriverRowsMax + 5; ++i) {
    device.driver = "d" + std::to_string(i);
    request.claims = {{"c", "c", "u", {{device}, {}, {}, {}}}};
    figures.count(request, PreBindStatus::Success, Duration(), Duration(), "berth");
  }
  const std::string page = metrics_of(figures);
  std::size_t rows = 0;
  for (std::size_t at = page.find("wait_duration_seconds_count{"); at != std::string::npos;
       at = page.find("wait_duration_seconds_count{", at + 1))
    ++rows;
  EXPECT_EQ(rows, kDriverRowsMax);
}

}  // namespace
}  // namespace berth::binding
