#include "install/doctor.h"

#include <gtest/gtest.h>

#include "install/crd.h"
#include "install/testing/fake_server.h"

namespace berth::install {
namespace {

constexpr const char* kOwnDeployment = "/apis/apps/v1/namespaces/berth-system/deployments/berth-scheduler";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/";
constexpr const char* kAccountPath = "/api/v1/namespaces/berth-system/serviceaccounts/berth-scheduler";
constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kBindRequests = "/apis/scheduling.berth.dev/v1alpha1/bindrequests";
constexpr const char* kCrdPath =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bindrequests.scheduling.berth.dev";

Json json(const char* text) {
  return parse_json(text).value();
}

Json lease(const std::string& holder, Time renewed) {
  return Json::object({{"spec", Json::object({{"holderIdentity", holder},
                                              {"leaseDurationSeconds", 15},
                                              {"renewTime", format_micro_time(renewed)}})}});
}

// A cluster with a correct installation of Berth.
class Doctor : public ::testing::Test {
 protected:
  Doctor() : clock_(parse_time("2026-05-01T12:00:00Z").value()) {
    server_.date = clock_.now();
    server_.put("/version", json(R"({"major":"1","minor":"37+"})"));
    server_.put("/apis/resource.k8s.io/v1",
                json(R"({"resources":[{"name":"resourceclaims"},{"name":"devicetaintrules"}]})"));
    server_.put("/apis/scheduling.k8s.io/v1beta1", json(R"({"resources":[{"name":"podgroups"}]})"));
    for (Json object : installation({})) {
      if (object.string_at("kind") == "CustomResourceDefinition")
        object["status"] = json(R"({"conditions":[{"type":"Established","status":"True"}]})");
      if (object.string_at("kind") == "Deployment") object["status"] = json(R"({"readyReplicas":2})");
      server_.put(path_of(object), object);
    }
    server_.put(kLeases + std::string("berth-system/leases/berth-scheduler"),
                lease("berth-scheduler-a_1f", clock_.now()));
    server_.put("/api/v1/namespaces/berth-system/pods/berth-scheduler-a",
                json(R"({"metadata":{"name":"berth-scheduler-a"}})"));
  }

  Diagnosis diagnosis() { return diagnose(options_, server_.call(), clock_); }
  // The only finding.
  std::string finding(Severity severity) {
    const Diagnosis found = diagnosis();
    if (found.findings.size() != 1) return std::to_string(found.findings.size()) + " findings";
    EXPECT_EQ(found.findings.front().severity, severity);
    EXPECT_EQ(found.blocks(), severity == Severity::Blocks);
    return to_line(found.findings.front());
  }
  void expect_line(Severity severity, const char* part) {
    const std::string line = finding(severity);
    EXPECT_NE(line.find(part), std::string::npos) << line;
  }

  ManualClock clock_;
  FakeServer server_;
  DoctorOptions options_;
};

TEST_F(Doctor, FindsNothingOnAClusterThatIsWell) {
  const Diagnosis well = diagnosis();
  for (const Finding& finding : well.findings) ADD_FAILURE() << to_line(finding);
  EXPECT_FALSE(well.blocks());
  EXPECT_EQ(well.kubernetes, "1.37");
}

TEST_F(Doctor, AServerThatDoesNotAnswerIsTheOnlyFinding) {
  server_.unreachable = true;
  EXPECT_EQ(finding(Severity::Blocks),
            "blocks  the API server: does not answer: connection refused — look whether it runs, and at the "
            "address in the kubeconfig");
}

TEST_F(Doctor, RefusedCredentials) {
  server_.answer("GET", "/", 401, json(R"({"message":"Unauthorized"})"));
  expect_line(Severity::Blocks, "refuses these credentials: it answers 401: Unauthorized — renew");
}

TEST_F(Doctor, AServerThatIsNoKubernetes) {
  server_.put("/version", json("{}"));
  expect_line(Severity::Blocks, "does not say which Kubernetes it is");
}

TEST_F(Doctor, AnOldServer) {
  server_.put("/version", json(R"({"major":"1","minor":"33"})"));
  expect_line(Severity::Blocks, "is Kubernetes 1.33; Berth needs resource.k8s.io/v1 of 1.34 — upgrade");
}

TEST_F(Doctor, AClockThatIsOff) {
  server_.date = clock_.now() + Duration::seconds(30);
  server_.put(kLeases + std::string("berth-system/leases/berth-scheduler"),
              lease("berth-scheduler-a_1f", server_.date));
  expect_line(Severity::Warns, "its clock is 30 s ahead of this machine's");
  server_.date = clock_.now() - Duration::seconds(31);
  expect_line(Severity::Warns, "its clock is 30 s behind this machine's");
}

TEST_F(Doctor, AbsentGroupsTellWhatIsLost) {
  server_.put("/apis/resource.k8s.io/v1", json(R"({"resources":[{"name":"resourceclaims"}]})"));
  expect_line(Severity::Warns, "does not serve devicetaintrules of resource.k8s.io/v1");
  server_.put("/apis/resource.k8s.io/v1", json(R"({"resources":[{"name":"devicetaintrules"}]})"));
  expect_line(Severity::Blocks, "pods with resource claims are not placed");
  server_.put("/apis/resource.k8s.io/v1",
              json(R"({"resources":[{"name":"resourceclaims"},{"name":"devicetaintrules"}]})"));
  server_.answer("GET", "/apis/scheduling.k8s.io/v1beta1", 404, Json::object());
  expect_line(Severity::Warns, "there are no gangs: every pod is placed by itself");
}

TEST_F(Doctor, TheDefinitionIsMissingForeignOrOlder) {
  const Json good = *server_.find(kCrdPath);
  server_.answer("GET", kCrdPath, 404, Json::object());
  expect_line(Severity::Blocks, "is not there — run `berth install`");
  server_.put("/apis/scheduling.berth.dev/v1alpha1", json(R"({"resources":[{"name":"bindrequests"}]})"));
  EXPECT_TRUE(diagnosis().findings.empty());

  Json other = good;
  other["spec"]["scope"] = "Cluster";
  server_.answer("GET", kCrdPath, 200, other);
  expect_line(Severity::Blocks, "is another one: it defines Cluster BindRequest of scheduling.berth.dev");

  other = good;
  other["status"] = Json::object();
  server_.answer("GET", kCrdPath, 200, other);
  expect_line(Severity::Blocks, "is not established");

  other = good;
  Json& version = other["spec"]["versions"].as_array()[0];
  Json& properties = version["schema"]["openAPIV3Schema"]["properties"];
  properties["spec"]["properties"].as_object().erase("epoch");
  properties["status"]["properties"]["claims"]["items"]["properties"].as_object().erase("reserved");
  server_.answer("GET", kCrdPath, 200, other);
  expect_line(Severity::Blocks,
              "is older: it drops what this Berth writes (spec.epoch, status.claims.reserved) — run `berth "
              "install` with the flags of the installation, which brings it up to date");

  version["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] = true;
  server_.answer("GET", kCrdPath, 200, other);
  EXPECT_TRUE(diagnosis().findings.empty());

  version["served"] = false;
  server_.answer("GET", kCrdPath, 200, other);
  expect_line(Severity::Blocks, "does not serve v1alpha1");
}

TEST_F(Doctor, MissingRightsOfTheServiceAccount) {
  server_.denied = {"patch pods/status", "delete resourceclaims", "create resourceclaims"};
  const Diagnosis found = diagnosis();
  ASSERT_EQ(found.findings.size(), 2u);
  EXPECT_EQ(found.findings[0].where, "ServiceAccount berth-system/berth-scheduler");
  EXPECT_TRUE(found.findings[0].what.starts_with("may not patch pods/status ("));
  EXPECT_TRUE(found.findings[1].what.starts_with("may not create, delete resourceclaims.resource.k8s.io ("));
  EXPECT_TRUE(found.blocks());
}

TEST_F(Doctor, RightsOfTheAskerWhereThereIsNoAccountOrNoRightToAskForIt) {
  server_.denied = {"list nodes"};
  server_.answer("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", 403,
                 json(R"({"message":"no"})"));
  expect_line(Severity::Blocks, "these credentials: may not list nodes");
  server_.answer("GET", kAccountPath, 404, Json::object());
  expect_line(Severity::Blocks, "these credentials: may not list nodes");
}

TEST_F(Doctor, ADeploymentWithoutAReadyPod) {
  Json deployment = *server_.find(kOwnDeployment);
  deployment["status"]["readyReplicas"] = 0;
  server_.put(kOwnDeployment, deployment);
  expect_line(Severity::Blocks, "has no ready pod (0 of 2)");
}

TEST_F(Doctor, TheLeaseIsHeldByNobodyOrByAStranger) {
  const std::string path = kLeases + std::string("berth-system/leases/berth-scheduler");
  server_.put(path, lease("berth-scheduler-a_1f", clock_.now() - Duration::minutes(1)));
  expect_line(Severity::Blocks, "nobody holds it: nothing is scheduled");
  server_.put(path, lease("laptop_2e", clock_.now()));
  expect_line(Severity::Blocks, "is held by laptop_2e, which is no pod of the Deployment");
}

TEST_F(Doctor, AnotherSchedulerOfTheSameName) {
  InstallOptions other;
  other.ns = "team-b";
  for (const Json& object : installation(other))
    if (object.string_at("kind") == "Deployment")
      server_.answer("GET", "/apis/apps/v1/deployments", 200,
                     Json::object({{"items", Json::array({object, *server_.find(kOwnDeployment)})}}));
  expect_line(Severity::Blocks,
              "Deployment team-b/berth-scheduler: also places the pods that ask for schedulerName berth");
}

TEST_F(Doctor, KubeSchedulerOnDefaultScheduler) {
  InstallOptions takes_over;
  takes_over.scheduler_name = "default-scheduler";
  for (Json object : installation(takes_over)) {
    if (object.string_at("kind") != "Deployment") continue;
    object["status"] = json(R"({"readyReplicas":2})");
    server_.put(kOwnDeployment, object);
  }
  EXPECT_TRUE(diagnosis().findings.empty());
  server_.put(kLeases + std::string("kube-system/leases/kube-scheduler"), lease("cp-1_3", clock_.now()));
  expect_line(Severity::Blocks, "kube-scheduler places the pods of default-scheduler as well");
}

TEST_F(Doctor, PoolsThatAreNotComplete) {
  const auto put = [&](const char* name, std::int64_t generation, std::int64_t count) {
    server_.put(
        std::string(kSlices) + "/" + name,
        Json::object({{"spec", Json::object({{"driver", "gpu.example.com"},
                                             {"pool", Json::object({{"name", "n1"},
                                                                    {"generation", generation},
                                                                    {"resourceSliceCount", count}})}})}}));
  };
  put("a", 3, 2);
  put("b", 3, 2);
  EXPECT_TRUE(diagnosis().findings.empty());
  put("b", 4, 3);
  expect_line(Severity::Warns,
              "pool n1 of driver gpu.example.com: has 1 of 3 ResourceSlices of generation 4");
}

TEST_F(Doctor, AMissingDefinitionOfHealthOnlyWarns) {
  server_.answer("GET",
                 "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                 "devicehealthpolicies.scheduling.berth.dev",
                 404, Json::object());
  expect_line(Severity::Warns,
              "devicehealthpolicies.scheduling.berth.dev: is not there — run `berth install`");
}

TEST_F(Doctor, NodeAgentsThatAreSilentOrWriteStatuses) {
  const std::string reports = "/apis/scheduling.berth.dev/v1alpha1/nodedevicehealths/";
  const auto put = [&](const std::string& node, Time observed) {
    server_.put(reports + node,
                Json::object({{"metadata", Json::object({{"name", node}})},
                              {"spec", Json::object({{"observed", format_time(observed)}})}}));
  };
  put("old", clock_.now() - Duration::minutes(60));
  EXPECT_TRUE(diagnosis().findings.empty()) << "agents are not installed";
  InstallOptions options;
  options.node_agent = true;
  for (Json object : installation(options)) {
    if (object.string_at("kind") == "CustomResourceDefinition")
      object["status"] = json(R"({"conditions":[{"type":"Established","status":"True"}]})");
    if (object.string_at("kind") == "Deployment") object["status"] = json(R"({"readyReplicas":2})");
    server_.put(path_of(object), object);
  }
  put("fresh", clock_.now() - Duration::seconds(100));
  expect_line(Severity::Warns, "NodeDeviceHealths: 1 was not renewed for more than 180s (old): to policies");
  put("old", clock_.now());
  EXPECT_TRUE(diagnosis().findings.empty());
  const std::string path = "/apis/apps/v1/namespaces/berth-system/daemonsets/berth-node-agent";
  Json daemon_set = *server_.find(path);
  daemon_set["spec"]["template"]["spec"]["containers"].as_array()[0]["args"].as_array().emplace_back(
      "--report=PodStatus");
  server_.put(path, daemon_set);
  expect_line(Severity::Warns, "has --report=PodStatus: a kubelet and this agent undo each other");
}

TEST_F(Doctor, BindRequestsWhosePodIsGone) {
  const auto put = [&](const std::string& name, const char* uid) {
    server_.put(std::string(kBindRequests) + "/" + name,
                Json::object({{"metadata", Json::object({{"namespace", "default"}, {"name", name}})},
                              {"spec", Json::object({{"podName", name}, {"podUID", uid}})}}));
  };
  server_.put("/api/v1/namespaces/default/pods/there", json(R"({"metadata":{"uid":"u1"}})"));
  put("there", "u1");
  EXPECT_TRUE(diagnosis().findings.empty());
  put("there", "u0");
  put("gone", "u2");
  expect_line(Severity::Warns, "BindRequests: 2 are of pods that are gone (default/gone, default/there)");
}

TEST_F(Doctor, TermsOfBindRequestsThatTheLeaseDoesNotHave) {
  const std::string lease_path = kLeases + std::string("berth-system/leases/berth-scheduler");
  Json held = *server_.find(lease_path);
  held["metadata"]["uid"] = "l2";
  held["spec"]["leaseTransitions"] = 2;
  server_.put(lease_path, held);
  server_.put("/api/v1/namespaces/default/pods/p", json(R"({"metadata":{"uid":"u"}})"));
  const auto put = [&](const std::string& name, const std::string& term, const std::string& status) {
    server_.put(kBindRequests + ("/" + name),
                json((R"({"metadata":{"namespace":"default","name":")" + name +
                      R"("},"spec":{"podName":"p","podUID":"u")" + term + R"(},"status":)" + status + "}")
                         .c_str()));
  };
  const std::string of_lease = R"(,"lease":{"namespace":"berth-system","name":"berth-scheduler","uid":)";
  put("present", R"(,"epoch":3)" + of_lease + R"("l2"})", "{}");
  put("earlier-lease", R"(,"epoch":70)" + of_lease + R"("l1"})", "{}");
  put("earlier-release", R"(,"epoch":3)", "{}");
  EXPECT_TRUE(diagnosis().findings.empty());
  put("forged", R"(,"epoch":4)" + of_lease + R"("l2"})", "{}");
  expect_line(Severity::Warns,
              "BindRequests: 1 names an epoch that Lease berth-system/berth-scheduler has not reached, 3 "
              "(default/forged)");
  put("forged", R"(,"epoch":2)" + of_lease + R"("l2"})", R"({"phase":"Failed","reason":"StaleEpoch"})");
  expect_line(Severity::Warns,
              "BindRequests: 1 was refused, of an earlier term (StaleEpoch), and not decided again "
              "(default/forged)");
}

TEST_F(Doctor, WhatMayNotBeReadIsSaid) {
  server_.answer("GET", kSlices, 403, json(R"({"message":"forbidden"})"));
  expect_line(Severity::Warns, "was not examined: the API server answers 403: forbidden");
}

}  // namespace
}  // namespace berth::install
