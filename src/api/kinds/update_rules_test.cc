// What an update may change, by kind; the texts are those of kube-apiserver 1.37.
#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

struct UpdateRules : testing::Test {
  Gates gates{GateDefaults::Up};
  RuleContext ctx = context_of_empty_cluster(gates);

  Json decoded(std::string_view version, std::string_view kind, const std::string& members) {
    Json object = decode_json(*find_kind(version, kind), R"({"metadata":{"name":"x"},)" + members + "}")
                      .value()
                      .document;
    const KindRules& rules = rules_of_kind(version, kind);
    if (rules.set_defaults) rules.set_defaults(object);
    return object;
  }
  static const KindRules& rules_of_kind(std::string_view version, std::string_view kind) {
    const ResourceInfo& info = *find_resource_of_kind(version, kind);
    return rules_of(info.group, info.plural);
  }
  // "path: body" lines.
  std::string said(std::string_view version, std::string_view kind, const std::string& old,
                   const std::string& next) {
    std::string text;
    for (const FieldError& error : validate_change(decoded(version, kind, next), decoded(version, kind, old),
                                                   rules_of_kind(version, kind), ctx))
      text += error.path + ": " + error.body + "\n";
    return text;
  }
};

struct UpdateCase {
  const char *version, *kind, *old, *next, *errors;
};

TEST_F(UpdateRules, MembersThatStay) {
  constexpr const char* kStorage = "storage.k8s.io/v1";
  const UpdateCase cases[] = {
      {"discovery.k8s.io/v1", "EndpointSlice", R"("addressType":"IPv4")", R"("addressType":"IPv6")",
       "addressType: Invalid value: \"IPv6\": field is immutable\n"},
      {"networking.k8s.io/v1", "IngressClass", R"("spec":{"controller":"a.io/b"})",
       R"("spec":{"controller":"a.io/c"})",
       "spec.controller: Invalid value: \"a.io/c\": field is immutable\n"},
      {kStorage, "VolumeAttributesClass", R"("driverName":"a.io","parameters":{"a":"1"})",
       R"("driverName":"b.io","parameters":{"a":"2"})",
       "driverName: Invalid value: \"b.io\": field is immutable\n"
       "parameters: Invalid value: {\"a\":\"2\"}: field is immutable\n"},
      {kStorage, "CSIDriver", R"("spec":{"attachRequired":true,"podInfoOnMount":false})",
       R"("spec":{"attachRequired":false,"podInfoOnMount":true,"volumeLifecycleModes":["Ephemeral"]})",
       "spec.attachedRequired: Invalid value: false: field is immutable\n"
       "spec.volumeLifecycleModes: Invalid value: [\"Ephemeral\"]: field is immutable\n"},
      {kStorage, "CSIStorageCapacity", R"("storageClassName":"a","capacity":"1Gi")",
       R"("storageClassName":"b","capacity":"2Gi")",
       "storageClassName: Invalid value: \"b\": field is immutable\n"},
      {"v1", "ResourceQuota", R"("spec":{"scopes":["BestEffort","NotTerminating"]})",
       R"("spec":{"scopes":["NotTerminating","BestEffort"],"hard":{"pods":"1"}})", ""},
      {"v1", "ResourceQuota", R"("spec":{"scopes":["BestEffort"]})", R"("spec":{})",
       "spec.scopes: Invalid value: null: field is immutable\n"},
      {"apps/v1", "ControllerRevision", R"("data":{"a":1},"revision":1)", R"("data":{"a":1},"revision":2)",
       ""},
      {"apps/v1", "ControllerRevision", R"("data":{"a":1},"revision":1)", R"("data":{"a":2},"revision":1)",
       "data: Invalid value: {\"a\":2}: field is immutable\n"},
  };
  for (const UpdateCase& row : cases) {
    EXPECT_EQ(said(row.version, row.kind, row.old, row.next), row.errors) << row.kind;
    EXPECT_EQ(said(row.version, row.kind, row.old, row.old), "") << row.kind;
  }
}

TEST_F(UpdateRules, AnAttachmentStays) {
  const auto attachment = [](const char* node) {
    return R"("spec":{"attacher":"a.io","source":{"persistentVolumeName":"v"},"nodeName":")" +
           std::string(node) + R"("})";
  };
  EXPECT_EQ(said("storage.k8s.io/v1", "VolumeAttachment", attachment("n"), attachment("n")), "");
  const std::string moved = said("storage.k8s.io/v1", "VolumeAttachment", attachment("n"), attachment("m"));
  EXPECT_EQ(moved.find("spec: Invalid value: {"), 0u) << moved;
  EXPECT_NE(moved.find(": field is immutable\n"), std::string::npos) << moved;
}

TEST_F(UpdateRules, TheClassOfALoadBalancerStays) {
  const auto service = [](const std::string& type, const std::string& more) {
    return R"("spec":{"type":")" + type + R"(","clusterIP":"10.96.0.9","ports":[{"port":80}])" + more + "}";
  };
  const auto change = [&](const std::string& old, const std::string& next) {
    return said("v1", "Service", service("LoadBalancer", old), service("LoadBalancer", next));
  };
  const std::string a = R"(,"loadBalancerClass":"a.io/x")", b = R"(,"loadBalancerClass":"b.io/x")";
  EXPECT_EQ(change(a, a), "");
  EXPECT_EQ(change(a, b), "spec.loadBalancerClass: Invalid value: \"b.io/x\": may not change once set\n");
  EXPECT_EQ(change(a, ""), "spec.loadBalancerClass: Invalid value: null: may not change once set\n");
  EXPECT_EQ(said("v1", "Service", service("ClusterIP", ""), service("LoadBalancer", a)), "");
  EXPECT_EQ(said("v1", "Service", service("LoadBalancer", a), service("ClusterIP", a)),
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'\n");
}

TEST_F(UpdateRules, WhatACertificateIsAskedForStays) {
  const auto request = [](const char* node) {
    return R"("spec":{"signerName":"a.io/b","podName":"p","nodeName":")" + std::string(node) + R"("})";
  };
  constexpr const char* kVersion = "certificates.k8s.io/v1";
  EXPECT_EQ(said(kVersion, "PodCertificateRequest", request("n"), request("n")), "");
  const std::string moved = said(kVersion, "PodCertificateRequest", request("n"), request("m"));
  EXPECT_EQ(moved.find("spec: Invalid value: {"), 0u) << moved;
}

TEST_F(UpdateRules, ADriverOfANodeMayAttachMoreVolumes) {
  const auto node = [](const std::string& drivers) { return R"("spec":{"drivers":[)" + drivers + "]}"; };
  const std::string driver = R"({"name":"a.io","nodeID":"n","allocatable":{"count":5}})";
  const auto change = [&](const std::string& next) {
    return said("storage.k8s.io/v1", "CSINode", node(driver), node(next));
  };
  EXPECT_EQ(change(R"({"name":"a.io","nodeID":"n","allocatable":{"count":6}})"), "");
  EXPECT_EQ(change(R"({"name":"b.io","nodeID":"m"})"), "");
  const std::string moved = change(R"({"name":"a.io","nodeID":"m","allocatable":{"count":5}})");
  EXPECT_EQ(moved.find("CSINodeDriver: Invalid value: {"), 0u) << moved;
  EXPECT_EQ(change(R"({"nodeID":"n"})"), "spec.drivers[0].name: Required value\n")
      << "an update is judged as a new object, too";
}

std::string job(const std::string& spec, const std::string& pod, const std::string& status = "{}") {
  return R"("spec":{"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":{"labels":{"a":"1"}},)"
         R"("spec":{"restartPolicy":"Never",)" +
         pod + R"(}},)" + spec + R"(},"status":)" + status;
}

TEST_F(UpdateRules, TheTemplateOfASuspendedJobMayGetDirectives) {
  const std::string plain = R"("containers":[{"name":"c","image":"i"}])";
  const std::string directed =
      R"("containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}],)"
      R"("nodeSelector":{"a":"b"},)"
      R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}},"tolerations":[{"key":"t"}])";
  const std::string other = R"("containers":[{"name":"c","image":"other"}])";
  const auto change = [&](const std::string& spec, const std::string& status, const std::string& pod) {
    return said("batch/v1", "Job", job(spec, plain, status), job(spec, pod, status));
  };
  EXPECT_EQ(change(R"("suspend":true)", "{}", directed), "");
  const auto is_refused = [](const std::string& text) {
    return text.starts_with("spec.template: Invalid value: ") && text.ends_with(": field is immutable\n");
  };
  EXPECT_TRUE(is_refused(change(R"("suspend":true)", "{}", other)));
  const std::string started = R"({"startTime":"2026-11-21T00:00:00Z","active":)";
  EXPECT_EQ(change(R"("suspend":true)", R"({"active":1})", directed), "") << "Kueue takes startTime away";
  EXPECT_EQ(change(R"("suspend":true)", started + "0}", directed), "");
  EXPECT_TRUE(is_refused(change(R"("suspend":true)", started + "1}", directed)));
  EXPECT_TRUE(is_refused(change(R"("suspend":false)", "{}", directed)));
}

TEST_F(UpdateRules, CompletionsOfAnIndexedJobFollowItsParallelism) {
  const auto change = [&](const std::string& mode, const std::string& sizes) {
    const std::string pod = R"("containers":[{"name":"c","image":"i"}])",
                      kind = R"("completionMode":")" + mode;
    return said("batch/v1", "Job", job(kind + R"(","completions":4,"parallelism":4)", pod),
                job(kind + "\"," + sizes, pod));
  };
  EXPECT_EQ(change("Indexed", R"("completions":2,"parallelism":2)"), "");
  EXPECT_EQ(change("Indexed", R"("completions":4,"parallelism":2)"), "");
  EXPECT_EQ(change("Indexed", R"("completions":3,"parallelism":2)"),
            "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism\n");
  EXPECT_EQ(change("NonIndexed", R"("completions":2,"parallelism":2)"),
            "spec.completions: Invalid value: 2: field is immutable\n");
}

}  // namespace
}  // namespace berth::api
