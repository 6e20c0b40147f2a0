#include "api/quota.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

struct ChargeCase {
  const char *group, *plural, *object, *amounts;
};

std::string text_of(const ResourceMap& amounts) {
  std::string text;
  for (const auto& [name, quantity] : amounts)
    text.append(name).append("=").append(quantity.text()).append(" ");
  return text;
}

TEST(QuotaCharge, WhatAnObjectCounts) {
  const ChargeCase cases[] = {
      {"", "secrets", R"({})", "count/secrets=1 secrets=1 "},
      {"apps", "replicasets", R"({})", "count/replicasets.apps=1 "},
      {"", "pods",
       R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi","example.com/gpu":"2"},
           "limits":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"250m"}}}],"overhead":{"cpu":"50m"}}})",
       "count/pods=1 cpu=800m limits.cpu=1050m memory=1Gi pods=1 requests.cpu=800m "
       "requests.example.com/gpu=2 requests.memory=1Gi "},
      {"", "pods",
       R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Failed"}})",
       "count/pods=1 "},
      {"", "services", R"({"spec":{"type":"LoadBalancer","ports":[{"port":1},{"port":2}]}})",
       "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2 "},
      {"", "services",
       R"({"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,
           "ports":[{"port":1},{"nodePort":30001}]}})",
       "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1 "},
      {"", "persistentvolumeclaims",
       R"({"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1Gi"}}}})",
       "count/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 "
       "gold.storageclass.storage.k8s.io/requests.storage=1Gi persistentvolumeclaims=1 "
       "requests.storage=1Gi "},
      {"resource.k8s.io", "resourceclaims",
       R"({"spec":{"devices":{"requests":[{"exactly":{"deviceClassName":"gpu","count":2}},
           {"firstAvailable":[{"deviceClassName":"gpu","count":3},{"deviceClassName":"gpu"}]},
           {"exactly":{"deviceClassName":"nic","allocationMode":"All"}}]}}})",
       "count/resourceclaims.resource.k8s.io=1 gpu.deviceclass.resource.k8s.io/devices=5 "
       "nic.deviceclass.resource.k8s.io/devices=32 "},
  };
  for (const ChargeCase& test : cases)
    EXPECT_EQ(text_of(quota_charge(test.group, test.plural, *parse_json(test.object)).amounts), test.amounts)
        << test.object;
}

struct ScopeCase {
  const char *quota_spec, *pod_spec;
  bool counts;
};

TEST(QuotaCharge, FourResourcesAreRead) {
  EXPECT_TRUE(quota_reads("", "pods"));
  EXPECT_TRUE(quota_reads("", "services"));
  EXPECT_TRUE(quota_reads("", "persistentvolumeclaims"));
  EXPECT_TRUE(quota_reads("resource.k8s.io", "resourceclaims"));
  EXPECT_FALSE(quota_reads("", "secrets"));
  EXPECT_FALSE(quota_reads("example.com", "pods"));
}

TEST(QuotaCharge, WhichPodsAScopeMeans) {
  const std::string selector = R"({"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass",)";
  const std::string in = selector + R"("operator":"In","values":["high"]}]}})",
                    absent = selector + R"("operator":"DoesNotExist"}]}})",
                    other = selector + R"("operator":"NotIn","values":["high"]}]}})";
  const ScopeCase cases[] = {
      {R"({})", R"({})", true},
      {R"({"scopes":["Terminating"]})", R"({"activeDeadlineSeconds":5})", true},
      {R"({"scopes":["Terminating"]})", R"({})", false},
      {R"({"scopes":["NotTerminating","NotBestEffort"]})", R"({})", true},
      {R"({"scopes":["BestEffort"]})", R"({})", false},
      {R"({"scopes":["CrossNamespacePodAffinity"]})",
       R"({"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
           {"namespaceSelector":{}}]}}})",
       true},
      {in.c_str(), R"({"priorityClassName":"high"})", true},
      {in.c_str(), R"({"priorityClassName":"low"})", false},
      {in.c_str(), R"({})", false},
      {absent.c_str(), R"({})", true},
      {other.c_str(), R"({"priorityClassName":"low"})", true},
  };
  for (const ScopeCase& test : cases) {
    Json pod = Json::object({{"spec", *parse_json(test.pod_spec)}});
    pod["status"]["qosClass"] = "Burstable";
    EXPECT_EQ(is_in_scopes(quota_charge("", "pods", pod), *parse_json(test.quota_spec)), test.counts)
        << test.quota_spec << test.pod_spec;
  }
  EXPECT_FALSE(
      is_in_scopes(quota_charge("", "secrets", Json()), *parse_json(R"({"scopes":["BestEffort"]})")));
}

TEST(QuotaCharge, WhichClaimsAScopeMeans) {
  const auto counts = [](const std::string& expression, const char* claim) {
    Json spec = Json::object({});
    spec["scopeSelector"]["matchExpressions"] =
        Json::array({*parse_json(R"({"scopeName":"VolumeAttributesClass",)" + expression + "}")});
    return is_in_scopes(quota_charge("", "persistentvolumeclaims", *parse_json(claim)), spec);
  };
  constexpr const char* kGold = R"({"spec":{"volumeAttributesClassName":"gold"}})";
  constexpr const char* kChanging = R"({"spec":{"volumeAttributesClassName":"silver"},"status":{
      "currentVolumeAttributesClassName":"gold"}})";
  const std::string in = R"("operator":"In","values":["gold"])",
                    not_in = R"("operator":"NotIn","values":["gold"])";
  EXPECT_TRUE(counts(in, kGold));
  EXPECT_TRUE(counts(in, kChanging));
  EXPECT_FALSE(counts(in, "{}"));
  EXPECT_FALSE(counts(not_in, kGold));
  EXPECT_TRUE(counts(not_in, kChanging)) << "one of its classes is another";
  EXPECT_TRUE(counts(R"("operator":"Exists")", kGold));
  EXPECT_TRUE(counts(R"("operator":"DoesNotExist")", "{}"));
  EXPECT_FALSE(is_in_scopes(quota_charge("", "persistentvolumeclaims", *parse_json(kGold)),
                            *parse_json(R"({"scopes":["NotTerminating"]})")));
}

}  // namespace
}  // namespace berth::api
