// Kinds that the API server itself decides about: Services, RuntimeClasses of pods, certificate signing
// requests, API versions, and the objects that describe the server.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "server/own_objects.h"
#include "server/test_bench.h"

namespace berth::server {
namespace {

struct Told {
  int code = 0;
  Json body;
  std::string warnings;
  std::string message() const { return std::string(body.string_at("message")); }
};

class Collected final : public HttpExchange {
 public:
  void respond(HttpResponse said) override { response = std::move(said); }
  void begin_stream(int, Headers) override {}
  bool send(std::string) override { return true; }
  void end_stream() override {}
  void on_close(std::function<void()>) override {}

  HttpResponse response{0, {}, ""};
};

class ClusterKinds : public testing::Test {
 protected:
  static ApiServerOptions options() {
    ApiServerOptions options;
    options.warn_unacted = true;
    return options;
  }
  Told ask(std::string method, std::string path, const std::string& body = "",
           std::vector<std::string> groups = {"system:masters"}) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = body;
    request.user = {"eve", std::move(groups), "42", {{"team", {"a", "b"}}}};
    if (request.method == "PATCH") request.headers = {{"Content-Type", "application/merge-patch+json"}};
    const auto exchange = std::make_shared<Collected>();
    bench.server.handle(std::move(request), exchange);
    Told told{exchange->response.status, parse_json(exchange->response.body).value_or(Json()), ""};
    for (const auto& [name, value] : exchange->response.headers)
      if (name == "Warning") told.warnings += value;
    return told;
  }
  Told service(const std::string& name, const std::string& spec) {
    return ask("POST", kServices, R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}");
  }
  Told pod(const std::string& name, const std::string& spec) {
    return ask("POST", kPods,
               R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"i"}],)" +
                   spec + "}}");
  }
  void tick(Duration by) {
    bench.clock.advance(by);
    bench.server.tick(bench.clock.monotonic());
  }

  const std::string kServices = "/api/v1/namespaces/default/services";
  const std::string kPods = "/api/v1/namespaces/default/pods";
  ServerBench bench{{}, options()};
};

std::int64_t node_port(const Told& told, std::size_t n = 0) {
  const JsonArray& ports = told.body.part("spec").items_at("ports");
  return n < ports.size() ? ports[n].int_at("nodePort") : -1;
}

TEST_F(ClusterKinds, NodePortsAreGivenKeptSharedAndFreed) {
  const Told made = service("a", R"({"type":"NodePort","ports":[{"name":"t","port":53,"protocol":"TCP"},
                                      {"name":"u","port":53,"protocol":"UDP"},{"name":"w","port":80}]})");
  EXPECT_EQ(made.code, 201);
  EXPECT_GE(node_port(made, 0), 30000);
  EXPECT_LE(node_port(made, 2), 32767);
  EXPECT_EQ(node_port(made, 0), node_port(made, 1)) << "one port number, one node port";
  EXPECT_NE(node_port(made, 0), node_port(made, 2));
  // A manifest without them, applied again.
  const Told put =
      ask("PUT", kServices + "/a",
          R"({"metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[{"name":"w","port":80}]}})");
  EXPECT_EQ(put.code, 200) << put.message();
  EXPECT_EQ(node_port(put), node_port(made, 2));
  EXPECT_EQ(put.body.part("spec").string_at("clusterIP"), made.body.part("spec").string_at("clusterIP"));
  const std::string taken = std::to_string(node_port(put));
  const Told clash = service("b", R"({"type":"NodePort","ports":[{"port":80,"nodePort":)" + taken + "}]}");
  EXPECT_EQ(clash.code, 422);
  EXPECT_NE(clash.message().find("spec.ports[0].nodePort: Invalid value: " + taken +
                                 ": provided port is already allocated"),
            std::string::npos)
      << clash.message();
  const Told plain = ask("PATCH", kServices + "/a", R"({"spec":{"type":"ClusterIP"}})");
  EXPECT_EQ(node_port(plain), 0);
  EXPECT_FALSE(plain.body.part("spec").find("externalTrafficPolicy"));
  EXPECT_EQ(service("b", R"({"type":"NodePort","ports":[{"port":80,"nodePort":)" + taken + "}]}").code, 201);
}

TEST_F(ClusterKinds, NodePortsOutOfRangeOrWithoutUseAreRefused) {
  const Told far = service("a", R"({"type":"NodePort","ports":[{"port":80,"nodePort":80}]})");
  EXPECT_EQ(far.code, 422);
  EXPECT_NE(far.message().find("The range of valid ports is 30000-32767"), std::string::npos)
      << far.message();
  const Told useless = service("a", R"({"ports":[{"port":80,"nodePort":30080}]})");
  EXPECT_EQ(useless.code, 422);
  EXPECT_NE(useless.message().find("may not be used when `type` is 'ClusterIP'"), std::string::npos);
}

TEST_F(ClusterKinds, ALocalLoadBalancerGetsAPortForHealthChecks) {
  const Told made =
      service("a", R"({"type":"LoadBalancer","externalTrafficPolicy":"Local","ports":[{"port":80}]})");
  EXPECT_EQ(made.code, 201);
  EXPECT_GE(node_port(made), 30000);
  EXPECT_GE(made.body.part("spec").int_at("healthCheckNodePort"), 30000);
  EXPECT_TRUE(made.body.part("spec").bool_at("allocateLoadBalancerNodePorts"));
  const Told none = service("b", R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,
                                     "ports":[{"port":80}]})");
  EXPECT_EQ(node_port(none), 0);
}

TEST_F(ClusterKinds, AnExternalNameHasNoAddressAndGetsOneWithAnotherType) {
  service("a", R"({"type":"ExternalName","externalName":"example.com"})");
  const Told inside = ask("PATCH", kServices + "/a",
                          R"({"spec":{"type":"ClusterIP","externalName":null,"ports":[{"port":80}]}})");
  EXPECT_EQ(inside.code, 200) << inside.message();
  EXPECT_TRUE(inside.body.part("spec").string_at("clusterIP").starts_with("10.96."));
  EXPECT_EQ(inside.body.part("spec").items_at("ipFamilies").size(), 1u);
  const Told outside =
      ask("PATCH", kServices + "/a", R"({"spec":{"type":"ExternalName","externalName":"example.com"}})");
  EXPECT_EQ(outside.code, 200) << outside.message();
  for (const char* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
    EXPECT_FALSE(outside.body.part("spec").find(field)) << field;
}

TEST_F(ClusterKinds, APolicyOfExternalTrafficGoesWithTheExternalAddresses) {
  const Told made = service("a", R"({"externalIPs":["1.2.3.4"],"ports":[{"port":80}]})");
  EXPECT_EQ(made.body.part("spec").string_at("externalTrafficPolicy"), "Cluster");
  const Told inside = ask("PATCH", kServices + "/a", R"({"spec":{"externalIPs":null}})");
  EXPECT_EQ(inside.code, 200) << inside.message();
  EXPECT_FALSE(inside.body.part("spec").find("externalTrafficPolicy"));
  EXPECT_NE(ask("PATCH", kServices + "/a", R"({"spec":{"externalTrafficPolicy":"Local"}})")
                .message()
                .find("may only be set for externally-accessible services"),
            std::string::npos);
}

TEST_F(ClusterKinds, AnAddressIsGivenOnce) {
  EXPECT_EQ(service("a", R"({"clusterIP":"10.96.7.7","ports":[{"port":80}]})").code, 201);
  const Told clash = service("b", R"({"clusterIP":"10.96.7.7","ports":[{"port":80}]})");
  EXPECT_EQ(clash.code, 422);
  EXPECT_NE(clash.message().find("failed to allocate IP 10.96.7.7: provided IP is already allocated"),
            std::string::npos)
      << clash.message();
  for (const char* name : {"c", "d"})
    EXPECT_EQ(service(name, R"({"clusterIP":"None","ports":[{"port":80}]})").code, 201);
}

TEST_F(ClusterKinds, PodsAreAdmittedByTheirRuntimeClass) {
  const std::string classes = "/apis/node.k8s.io/v1/runtimeclasses";
  const Told refused = pod("p", R"("runtimeClassName":"none")");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.message(), R"(pods "p" is forbidden: pod rejected: RuntimeClass "none" not found)");
  EXPECT_EQ(pod("p", R"("overhead":{"cpu":"1"})").message(),
            "pods \"p\" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass "
            "defined Overhead");
  EXPECT_EQ(ask("POST", classes, R"({"metadata":{"name":"kata"},"handler":"Kata"})").code, 422);
  const Told made = ask("POST", classes, R"({"metadata":{"name":"kata"},"handler":"kata",
    "overhead":{"podFixed":{"cpu":"250m"}},"scheduling":{"nodeSelector":{"kata":"yes"},
    "tolerations":[{"key":"kata","operator":"Exists","effect":"NoSchedule"}]}})");
  EXPECT_EQ(made.code, 201) << made.message();
  const Told taken = pod("p", R"("runtimeClassName":"kata","nodeSelector":{"disk":"ssd"},
    "tolerations":[{"key":"kata","operator":"Equal","value":"a","effect":"NoSchedule"}])");
  EXPECT_EQ(taken.code, 201) << taken.message();
  const Json& spec = taken.body.part("spec");
  EXPECT_EQ(spec.part("overhead"), *parse_json(R"({"cpu":"250m"})"));
  EXPECT_EQ(spec.part("nodeSelector"), *parse_json(R"({"disk":"ssd","kata":"yes"})"));
  EXPECT_EQ(spec.items_at("tolerations").back(),
            *parse_json(R"({"key":"kata","operator":"Exists","effect":"NoSchedule"})"));
  EXPECT_EQ(spec.items_at("tolerations").size(), 3u) << "the pod's own is covered by that of the class";
  EXPECT_EQ(pod("q", R"("runtimeClassName":"kata","nodeSelector":{"kata":"no"})").message(),
            "pods \"q\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; "
            "pod.spec.nodeSelector[kata] = no");
  EXPECT_EQ(pod("q", R"("runtimeClassName":"kata","overhead":{"cpu":"1"})").message(),
            "pods \"q\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined "
            "Overhead");
  EXPECT_EQ(ask("PATCH", classes + "/kata", R"({"handler":"runc"})").message(),
            "RuntimeClass.node.k8s.io \"kata\" is invalid: handler: Invalid value: null: field is immutable");
}

TEST_F(ClusterKinds, TheDeadlineOfAPodHasABound) {
  EXPECT_EQ(
      pod("p", R"("activeDeadlineSeconds":2147483648)").message(),
      "Pod \"p\" is invalid: spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and "
      "2147483647, inclusive");
  EXPECT_EQ(pod("p", R"("activeDeadlineSeconds":2147483647)").code, 201);
}

class PodAccountTest : public ClusterKinds {
 protected:
  PodAccountTest() { bench.server.require_accounts(); }
  void account(const std::string& name, const std::string& more) {
    EXPECT_EQ(ask("POST", "/api/v1/namespaces/default/serviceaccounts",
                  R"({"metadata":{"name":")" + name + "\"" + more + "}")
                  .code,
              201);
  }
  // Of a pod that is admitted.
  Json spec(const std::string& name, const std::string& asked) {
    const Told made = pod(name, asked);
    EXPECT_EQ(made.code, 201) << made.message();
    return made.body.part("spec");
  }
  static std::string mounts(const Json& spec, std::string_view list = "containers") {
    return to_string(spec.items_at(list).front().part("volumeMounts"));
  }
};

// Before a controller has made it, too.
TEST_F(PodAccountTest, WhoNamesNoneRunsAsDefaultWithItsToken) {
  const Json made = spec("p", R"("initContainers":[{"name":"i","image":"i"}])");
  EXPECT_EQ(made.string_at("serviceAccountName"), "default");
  EXPECT_EQ(made.string_at("serviceAccount"), "default");
  ASSERT_EQ(made.items_at("volumes").size(), 1u);
  const Json& volume = made.items_at("volumes").front();
  const std::string name(volume.string_at("name"));
  EXPECT_EQ(name.size(), std::string("kube-api-access-").size() + 5);
  EXPECT_EQ(volume.part("projected"), *parse_json(R"({"sources":[
      {"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
      {"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
      {"downwardAPI":{"items":[{"path":"namespace",
        "fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420})"));
  const std::string mount = R"([{"name":")" + name +
                            R"(","readOnly":true,"mountPath":)"
                            R"("/var/run/secrets/kubernetes.io/serviceaccount"}])";
  EXPECT_EQ(mounts(made), mount);
  EXPECT_EQ(mounts(made, "initContainers"), mount);
  EXPECT_NE(spec("q", R"("priority":0)").items_at("volumes").front().string_at("name"), name);
}

TEST_F(PodAccountTest, AnAbsentAccountIsRefused) {
  EXPECT_EQ(pod("p", R"("serviceAccountName":"robot")").message(),
            "pods \"p\" is forbidden: error looking up service account default/robot: serviceaccount "
            "\"robot\" not found");
  account("robot", "}");
  EXPECT_EQ(spec("p", R"("serviceAccount":"robot")").string_at("serviceAccountName"), "robot");
}

TEST_F(PodAccountTest, ThePodAndThenTheAccountChooseWhetherTheTokenIsMounted) {
  account("quiet", R"(},"automountServiceAccountToken":false)");
  EXPECT_EQ(spec("a", R"("serviceAccountName":"quiet")").find("volumes"), nullptr);
  EXPECT_NE(spec("b", R"("serviceAccountName":"quiet","automountServiceAccountToken":true)").find("volumes"),
            nullptr);
  EXPECT_EQ(spec("c", R"("automountServiceAccountToken":false)").find("volumes"), nullptr);
}

TEST_F(PodAccountTest, WhatThePodMountsItselfStays) {
  const char* const own = R"({"name":"c","image":"i","volumeMounts":[{"name":"v",
      "mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]})";
  const Told made = ask("POST", kPods,
                        R"({"metadata":{"name":"p"},"spec":{"containers":[)" + std::string(own) +
                            R"(],"volumes":[{"name":"v"}]}})");
  ASSERT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.body.part("spec").items_at("volumes").size(), 1u);
  const Json given = spec("q", R"("volumes":[{"name":"kube-api-access-mine"}])");
  EXPECT_EQ(given.items_at("volumes").size(), 1u);
  EXPECT_NE(mounts(given).find("kube-api-access-mine"), std::string::npos);
}

TEST_F(PodAccountTest, PullSecretsAreTheAccountsUnlessThePodHasItsOwn) {
  account("puller", R"(},"imagePullSecrets":[{"name":"registry"}])");
  EXPECT_EQ(to_string(spec("a", R"("serviceAccountName":"puller")").part("imagePullSecrets")),
            R"([{"name":"registry"}])");
  EXPECT_EQ(to_string(spec("b", R"("serviceAccountName":"puller","imagePullSecrets":[{"name":"own"}])")
                          .part("imagePullSecrets")),
            R"([{"name":"own"}])");
}

TEST_F(PodAccountTest, AnAccountMayLimitTheSecretsOfItsPods) {
  account("strict", R"(,"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},
      "secrets":[{"name":"listed"}])");
  const std::string as = R"("serviceAccountName":"strict",)", not_listed = " is not allowed because service ";
  const std::pair<const char*, const char*> kRefused[] = {
      {R"("volumes":[{"name":"v","secret":{"secretName":"s"}}])", "volume with secret.secretName=\"s\""},
      {R"("initContainers":[{"name":"i","image":"i","env":[{"name":"E","valueFrom":{"secretKeyRef":
          {"name":"s","key":"k"}}}]}])",
       "init container i with envVar E referencing secret.secretName=\"s\""},
      {R"("initContainers":[{"name":"i","image":"i","envFrom":[{"secretRef":{"name":"s"}}]}])",
       "init container i with envFrom referencing secret.secretName=\"s\""},
      {R"("imagePullSecrets":[{"name":"s"}])", "imagePullSecrets[0].name=\"s\""}};
  for (const auto& [asked, what] : kRefused)
    EXPECT_EQ(pod("p", as + asked).message().find("pods \"p\" is forbidden: " + (what + not_listed)), 0u)
        << pod("p", as + asked).message();
  spec("p", as + R"("volumes":[{"name":"v","secret":{"secretName":"listed"}}])");
  const Told added = ask("PATCH", kPods + "/p/ephemeralcontainers", R"({"spec":{"ephemeralContainers":[
      {"name":"e","image":"i","envFrom":[{"secretRef":{"name":"s"}}]}]}})");
  EXPECT_EQ(added.message(),
            "pods \"p\" is forbidden: ephemeral container e with envFrom referencing secret.secretName=\"s\""
            " is not allowed because service account strict does not reference that secret");
}

TEST_F(PodAccountTest, AMirrorPodHasNoAccount) {
  const auto mirror = [&](const std::string& more) {
    return ask("POST", kPods,
               R"({"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"h"}},"spec":{)"
               R"("nodeName":"n","containers":[{"name":"c","image":"i"}])" +
                   more + "}}");
  };
  const std::string refused = "pods \"m\" is forbidden: a mirror pod may not ";
  EXPECT_EQ(mirror(R"(,"serviceAccountName":"default")").message(), refused + "reference service accounts");
  EXPECT_EQ(mirror(R"(,"volumes":[{"name":"v","secret":{"secretName":"s"}}])").message(),
            refused + "reference secrets");
  EXPECT_EQ(mirror(R"(,"volumes":[{"name":"v","projected":{"sources":[
                {"serviceAccountToken":{"path":"t"}}]}}])")
                .message(),
            refused + "use ServiceAccountToken volume projections");
  const Told made = mirror("");
  EXPECT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.body.part("spec").find("serviceAccountName"), nullptr);
  EXPECT_EQ(made.body.part("spec").find("volumes"), nullptr);
}

class SigningRequests : public ClusterKinds {
 protected:
  static std::string pem(const std::string& type, const std::string& der) {
    return base64_encode("-----BEGIN " + type + "-----\n" + base64_encode(der) + "\n-----END " + type +
                         "-----\n");
  }
  Told create(const std::string& more = "", const std::string& request = "") {
    const std::string text =
        request.empty() ? pem("CERTIFICATE REQUEST", "\x30\x02\x05" + std::string(1, '\0')) : request;
    return ask("POST", kRequests,
               R"({"metadata":{"name":"c"},"spec":{"request":")" + text +
                   R"(","signerName":"example.com/s","usages":["client auth"])" + more + "}}");
  }
  Told decide(const std::string& subresource, const std::string& status) {
    return ask("PATCH", kRequests + "/c/" + subresource,
               R"({"metadata":{"annotations":{"by":")" + subresource + R"("}},"status":)" + status + "}");
  }
  const std::string kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const std::string kApproved = R"({"conditions":[{"type":"Approved","status":"True","reason":"r"}]})";
};

TEST_F(SigningRequests, SayWhoAskedAndDoNotChange) {
  const Told made = create(R"(,"username":"root","groups":["system:masters"],"uid":"u")");
  EXPECT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.warnings, "");
  const Json& spec = made.body.part("spec");
  EXPECT_EQ(spec.string_at("username"), "eve");
  EXPECT_EQ(spec.items_at("groups"), (JsonArray{"system:masters", "system:authenticated"}));
  EXPECT_EQ(spec.string_at("uid"), "42");
  EXPECT_EQ(to_string(spec.part("extra")), R"({"team":["a","b"]})");
  const Told changed = ask("PATCH", kRequests + "/c", R"({"metadata":{"labels":{"a":"b"}},
    "spec":{"signerName":"example.com/other"},"status":{"certificate":"eA=="}})");
  EXPECT_EQ(changed.code, 200);
  EXPECT_EQ(changed.body.part("spec"), spec);
  EXPECT_EQ(changed.body.part("status"), Json::object());
  EXPECT_EQ(changed.body.part("metadata").part("labels").string_at("a"), "b");
}

TEST_F(SigningRequests, ADecisionIsStoredOnceAndByItsSubresource) {
  create();
  EXPECT_EQ(decide("status", kApproved).code, 422) << "that is for approval";
  const Told approved = decide("approval", kApproved);
  EXPECT_EQ(approved.code, 200) << approved.message();
  EXPECT_EQ(approved.warnings, "");
  const Json& condition = approved.body.part("status").items_at("conditions").front();
  EXPECT_EQ(condition.string_at("type"), "Approved");
  EXPECT_FALSE(condition.string_at("lastUpdateTime").empty());
  EXPECT_FALSE(condition.string_at("lastTransitionTime").empty());
  EXPECT_EQ(approved.body.part("metadata").part("annotations").string_at("by"), "approval");
  EXPECT_EQ(ask("GET", kRequests + "/c/approval").body.part("status"), approved.body.part("status"));

  const Told both = decide("approval", R"({"conditions":[{"type":"Approved","status":"True","reason":"r"},
                                           {"type":"Denied","status":"True","reason":"r"}]})");
  EXPECT_EQ(both.code, 422);
  EXPECT_NE(both.message().find("mutually exclusive"), std::string::npos);
  const Told taken_back = decide("approval", R"({"conditions":[]})");
  EXPECT_EQ(taken_back.code, 422);
  EXPECT_NE(taken_back.message().find("updates may not remove a condition of type \"Approved\""),
            std::string::npos);

  const std::string certificate = pem("CERTIFICATE", "\x30\x02\x05" + std::string(1, '\0'));
  const Told by_approval = decide("approval", R"({"certificate":")" + certificate + "\"}");
  EXPECT_FALSE(by_approval.body.part("status").find("certificate"));
  const Told issued = decide("status", R"({"certificate":")" + certificate + "\"}");
  EXPECT_EQ(issued.code, 200) << issued.message();
  EXPECT_EQ(issued.body.part("status").string_at("certificate"), certificate);
  EXPECT_EQ(decide("status", R"({"certificate":"eA=="})").code, 422);
}

TEST_F(SigningRequests, BadOnesAreRefusedByField) {
  struct Case {
    const char* more;
    std::string request;
    const char* says;
  };
  const Case cases[] = {
      {"", "eA==", "spec.request: Invalid value: \"eA==\": PEM block type must be CERTIFICATE REQUEST"},
      {"", pem("CERTIFICATE REQUEST", "junk"), "asn1: syntax error"},
      {R"(,"expirationSeconds":10)", "", "may not specify a duration less than 600 seconds (10 minutes)"},
  };
  for (const Case& test : cases) {
    const Told told = create(test.more, test.request);
    EXPECT_EQ(told.code, 422) << test.says;
    EXPECT_NE(told.message().find(test.says), std::string::npos) << told.message();
  }
}

TEST_F(ClusterKinds, RegistrationsAreStoredAndSaidNotToBeProxied) {
  const std::string registrations = "/apis/apiregistration.k8s.io/v1/apiservices";
  const std::string spec = R"("spec":{"group":"custom.metrics.k8s.io","version":"v1beta1",
    "groupPriorityMinimum":100,"versionPriority":100,"service":{"namespace":"kube-system",
    "name":"adapter"}}})";
  EXPECT_EQ(ask("POST", registrations, R"({"metadata":{"name":"wrong"},)" + spec).code, 422);
  const Told made =
      ask("POST", registrations, R"({"metadata":{"name":"v1beta1.custom.metrics.k8s.io"},)" + spec);
  EXPECT_EQ(made.code, 201) << made.message();
  EXPECT_NE(made.warnings.find("are not proxied to service kube-system/adapter"), std::string::npos);
  EXPECT_EQ(made.body.part("spec").part("service").int_at("port"), 443);
  const Json& condition = made.body.part("status").items_at("conditions").front();
  EXPECT_EQ(condition.string_at("status"), "False");
  EXPECT_EQ(condition.string_at("reason"), "NotProxied");
  bool listed = false;
  const Told groups = ask("GET", "/apis");
  for (const Json& group : groups.body.items_at("groups"))
    listed |= group.string_at("name") == "custom.metrics.k8s.io";
  EXPECT_FALSE(listed);
}

TEST_F(ClusterKinds, TheServerDescribesItself) {
  bench.server.keep_own_objects({"192.0.2.1", 6443});
  const Told service = ask("GET", kServices + "/kubernetes");
  EXPECT_EQ(service.body.part("spec").string_at("clusterIP"), "10.96.0.1");
  EXPECT_EQ(service.body.part("spec").items_at("ports").front().int_at("targetPort"), 6443);
  EXPECT_EQ(service.body.part("metadata").part("labels"),
            *parse_json(R"({"component":"apiserver","provider":"kubernetes"})"));
  const std::string endpoints = "/api/v1/namespaces/default/endpoints/kubernetes";
  const std::string slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
  const auto address = [&] {
    const Told told = ask("GET", endpoints);
    const JsonArray& subsets = told.body.items_at("subsets");
    return subsets.empty() ? "" : std::string(subsets.front().items_at("addresses").front().string_at("ip"));
  };
  EXPECT_EQ(address(), "192.0.2.1");
  EXPECT_EQ(ask("GET", slices).body.items_at("ports").front().int_at("port"), 6443);
  const Json range = ask("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes").body;
  EXPECT_EQ(range.part("spec").items_at("cidrs"), JsonArray{"10.96.0.0/16"});
  ASSERT_FALSE(range.part("status").items_at("conditions").empty());
  EXPECT_EQ(range.part("status").items_at("conditions").front().string_at("status"), "True");

  ask("DELETE", kServices + "/kubernetes");
  ask("DELETE", slices);
  ask("PATCH", endpoints, R"({"subsets":[]})");
  tick(kOwnObjectsPeriod);
  EXPECT_EQ(ask("GET", kServices + "/kubernetes").code, 200);
  EXPECT_EQ(ask("GET", slices).code, 200);
  EXPECT_EQ(address(), "192.0.2.1");

  const auto revision = bench.store->revision();
  tick(kOwnObjectsPeriod);
  EXPECT_EQ(bench.store->revision(), revision) << "nothing is written when nothing is missing";
  bench.server.keep_own_objects({"192.0.2.2", 7443});  // as after a start elsewhere
  EXPECT_EQ(address(), "192.0.2.2");
}

TEST_F(ClusterKinds, EachServedVersionHasItsRegistration) {
  bench.server.keep_own_objects({"192.0.2.1", 6443});
  const std::string registrations = "/apis/apiregistration.k8s.io/v1/apiservices";
  for (const char* name : {"v1.", "v1.apps", "v1.apiregistration.k8s.io", "v2.autoscaling"}) {
    const Json one = ask("GET", registrations + "/" + name).body;
    EXPECT_FALSE(one.part("spec").find("service")) << name;
    ASSERT_FALSE(one.part("status").items_at("conditions").empty()) << name;
    EXPECT_EQ(one.part("status").items_at("conditions").front().string_at("reason"), "Local") << name;
  }
  ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      R"({"metadata":{"name":"foos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
          "names":{"plural":"foos",
          "kind":"Foo"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
          {"type":"object"}}}]}})");
  tick(kOwnObjectsPeriod);
  EXPECT_EQ(ask("GET", registrations + "/v1.ex.io").code, 200);
  ask("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.ex.io");
  for (int i = 0; i < 3; ++i) tick(kOwnObjectsPeriod);
  EXPECT_EQ(ask("GET", registrations + "/v1.ex.io").code, 404);
  EXPECT_EQ(ask("GET", registrations + "/v1.apps").code, 200);
}

TEST_F(ClusterKinds, HaveTheColumnsOfKubernetes) {
  bench.server.keep_own_objects({"fd00::1", 6443});
  const auto cells = [&](const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.user = {"eve", {"system:masters"}};
    request.headers = {{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}};
    const auto exchange = std::make_shared<Collected>();
    bench.server.handle(std::move(request), exchange);
    const Json table = parse_json(exchange->response.body).value_or(Json());
    std::string text;
    for (const Json& row : table.items_at("rows"))
      for (const Json& cell : row.items_at("cells"))
        text += (cell.is_string() ? cell.as_string() : to_string(cell)) + "|";
    return text;
  };
  EXPECT_EQ(cells("/api/v1/namespaces/default/endpoints/kubernetes"), "kubernetes|[fd00::1]:6443|0s|");
  EXPECT_EQ(cells("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"),
            "kubernetes|IPv6|6443|fd00::1|0s|");
  EXPECT_EQ(cells("/apis/networking.k8s.io/v1/servicecidrs"), "kubernetes|10.96.0.0/16|0s|");
  EXPECT_EQ(cells("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps"), "v1.apps|Local|True|0s|");
  ask("POST", "/apis/networking.k8s.io/v1/ipaddresses", R"({"metadata":{"name":"10.0.0.1"},"spec":
      {"parentRef":{"resource":"services","namespace":"default","name":"a"}}})");
  EXPECT_EQ(cells("/apis/networking.k8s.io/v1/ipaddresses"), "10.0.0.1|services/default/a|0s|");
  const std::string flows = "/apis/flowcontrol.apiserver.k8s.io/v1/";
  ask("POST", flows + "flowschemas", R"({"metadata":{"name":"f"},"spec":{"matchingPrecedence":9,
    "priorityLevelConfiguration":{"name":"l"},"distinguisherMethod":{"type":"ByUser"}}})");
  EXPECT_EQ(cells(flows + "flowschemas"), "f|l|9|ByUser|0s|?|");
  ask("POST", flows + "prioritylevelconfigurations", R"({"metadata":{"name":"l"},"spec":{"type":"Limited",
    "limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"}}}})");
  EXPECT_EQ(cells(flows + "prioritylevelconfigurations"), "l|Limited|5|<none>|<none>|<none>|0s|");
  ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", R"({"metadata":{"name":"kata"},"handler":"k"})");
  EXPECT_EQ(cells("/apis/node.k8s.io/v1/runtimeclasses"), "kata|k|0s|");
}

TEST_F(ClusterKinds, AddressesAreNames) {
  const std::string addresses = "/apis/networking.k8s.io/v1/ipaddresses";
  const auto create = [&](const std::string& name) {
    return ask(
        "POST", addresses,
        R"({"metadata":{"name":")" + name + R"("},"spec":{"parentRef":{"resource":"services","name":"a"}}})");
  };
  EXPECT_EQ(create("fe80::1").code, 201);
  EXPECT_EQ(create("10.0.0.1").code, 201);
  EXPECT_EQ(create("fe80:0::1").code, 422);
  EXPECT_EQ(create("a").code, 422);
  EXPECT_EQ(ask("POST", addresses, R"({"metadata":{"name":"10.0.0.2"},"spec":{}})").code, 422);
}

// From when a controller has counted: here that nothing is in use.
TEST_F(ClusterKinds, AQuotaRefusesWhatExceedsIt) {
  const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
  const auto asking_pod = [&](const std::string& name) {
    return ask("POST", kPods, R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[
        {"name":"c","image":"i","resources":{"requests":{"cpu":"600m"}}}]}})");
  };
  ASSERT_EQ(
      ask("POST", quotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"2","requests.cpu":"1"}}})")
          .code,
      201);
  EXPECT_EQ(asking_pod("uncounted").code, 201);
  ask("PATCH", quotas + "/q/status", R"({"status":{"hard":{"pods":"2","requests.cpu":"1"},
      "used":{"pods":"0","requests.cpu":"0"}}})");
  EXPECT_EQ(pod("a", R"("priority":0)").message(),
            "pods \"a\" is forbidden: failed quota: q: must specify requests.cpu for: c");
  EXPECT_EQ(asking_pod("a").code, 201);
  EXPECT_EQ(
      asking_pod("b").message(),
      "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, "
      "limited: requests.cpu=1");
  EXPECT_EQ(to_string(ask("GET", quotas + "/q").body.part("status").part("used")),
            R"({"pods":"1","requests.cpu":"600m"})");
}

TEST_F(ClusterKinds, ALimitRangeFillsInAndRefuses) {
  const std::string ranges = "/api/v1/namespaces/default/limitranges";
  const auto limited_pod = [&](const char* list, const char* cpu) {
    return ask("POST", kPods,
               R"({"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"i",
        "resources":{")" +
                   std::string(list) + R"(":{"cpu":")" + cpu + R"("}}}]}})");
  };
  const Told made = ask("POST", ranges, R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container",
    "min":{"cpu":"50m"},"max":{"cpu":"500m"},"defaultRequest":{"cpu":"100m"}}]}})");
  ASSERT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(to_string(made.body.part("spec").items_at("limits").front().part("default")),
            R"({"cpu":"500m"})");
  const Told taken = pod("a", R"("priority":0)");
  ASSERT_EQ(taken.code, 201) << taken.message();
  EXPECT_EQ(taken.body.part("spec").items_at("containers").front().part("resources"),
            *parse_json(R"({"limits":{"cpu":"500m"},"requests":{"cpu":"100m"}})"));
  EXPECT_EQ(taken.body.part("metadata").part("annotations").string_at("kubernetes.io/limit-ranger"),
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c");
  EXPECT_EQ(limited_pod("requests", "10m").message(),
            "pods \"b\" is forbidden: minimum cpu usage per Container is 50m, but request is 10m");
  EXPECT_EQ(limited_pod("limits", "2").message(),
            "pods \"b\" is forbidden: maximum cpu usage per Container is 500m, but limit is 2");
}

}  // namespace
}  // namespace berth::server
