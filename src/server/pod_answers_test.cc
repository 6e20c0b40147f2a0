// Answers about pods, nodes and what makes pods, as kube-apiserver 1.37 gives them: refusals, warnings,
// labels of a binding, generations.
#include <gtest/gtest.h>

#include "server/test_bench.h"

namespace berth::server {
namespace {

class PodAnswers : public testing::Test, protected ServerBench {
 protected:
  struct Got {
    int code;
    std::string text, warnings;
    Json body;
  };
  Got ask_for(std::string method, std::string path, std::string body, std::string type = "application/json",
              Headers query = {}) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.query = std::move(query);
    request.body = std::move(body);
    request.headers = {{"Content-Type", "application/" + type.substr(type.find('/') + 1)}};
    request.user = {"root", {"system:masters"}};
    const auto said = std::make_shared<Said>();
    server.handle(std::move(request), said);
    Got got{said->response.status, said->response.body, "", parse_json(said->response.body).value_or(Json())};
    for (const auto& [name, value] : said->response.headers)
      if (name == "Warning") got.warnings += (got.warnings.empty() ? "" : "\n") + value;
    return got;
  }
  Got create_pod(const std::string& spec, const std::string& metadata = R"("name":"p")") {
    return ask_for("POST", kPods, R"({"metadata":{)" + metadata + R"(},"spec":{)" + spec + "}}",
                   "application/json", {{"dryRun", "All"}});
  }
  // The texts of Warning headers, a line each.
  static std::string texts_of(const std::string& headers) {
    std::string plain;
    for (std::size_t at = 0; at < headers.size();) {
      const std::size_t end = std::min(headers.find('\n', at), headers.size());
      constexpr std::size_t kAround = 7;  // 299 - "
      plain += (plain.empty() ? "" : "\n") + headers.substr(at + kAround, end - at - kAround - 1);
      at = end + 1;
    }
    return plain;
  }
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kContainer = R"("containers":[{"name":"c","image":"i"}])";
};

TEST_F(PodAnswers, RefusalsNameEveryCause) {
  const std::string one = std::string(kContainer) + ",";
  struct Row {
    std::string spec, says;  // the message; "" for accepted
  };
  const std::string own = R"("dnsPolicy":"None")";
  const Row rows[] = {
      {one + own, "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"},
      {one + own + R"(,"dnsConfig":{})",
       "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when "
       "`dnsPolicy` is "
       "None"},
      {one + own + R"(,"dnsConfig":{"nameservers":["10.0.0.1"]})", ""},
      {one + R"("dnsConfig":{"nameservers":["a","1.1.1.1","2.2.2.2","3.3.3.3"]})",
       R"([spec.dnsConfig.nameservers: Invalid value: ["a","1.1.1.1","2.2.2.2","3.3.3.3"]: must not )"
       R"(have more than 3 )"
       R"(nameservers, spec.dnsConfig.nameservers[0]: Invalid value: "a": must be a valid IP address, )"
       R"((e.g. 10.9.8.7 or )"
       R"(2001:db8::ffff)])"},
      {one + R"("dnsConfig":{"nameservers":["010.0.0.1","::ffff:1.2.3.4","fe80::1"]})",
       R"([spec.dnsConfig.nameservers[0]: Invalid value: "010.0.0.1": must not have leading 0s, )"
       R"(spec.dnsConfig.nameservers[1]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped )"
       R"(IPv6 address])"},
      {one + R"("dnsConfig":{"searches":["a.b.",".","_tcp.a_b.c"],"options":[{"name":"ndots","value":"2"}]})",
       ""},
      {one + R"("dnsConfig":{"searches":["a b"],"options":[{"value":"2"}]})",
       "spec.dnsConfig.searches[0]: Invalid"},
      {one + R"("dnsConfig":{"options":[{"value":"2"}]})",
       "spec.dnsConfig.options[0]: Required value: must not be empty"},
      {R"("hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,)"
       R"("hostPort":81}]}])",
       "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when "
       "`hostNetwork` is true"},
      {R"("hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}])", ""},
      {one + R"("securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced","value":"0"},)"
             R"({"name":"net/a.b","value":"0"}]})",
       ""},
      {one + R"("securityContext":{"sysctls":[{"name":"foo-","value":"b"},{"name":"","value":"b"},)"
             R"({"name":"a","value":"b"},{"name":"a","value":"b"}]})",
       R"([spec.securityContext.sysctls[0].name: Invalid value: "foo-": must have at most 253 )"
       R"(characters and match regex )"
       R"(^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([\./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$, )"
       R"(spec.securityContext.sysctls[1].name: )"
       R"(Required value, spec.securityContext.sysctls[3].name: Duplicate value: "a"])"},
      {one + R"("volumes":[{"name":"v","projected":{"sources":[{"podCertificate":{"signerName":"a.io/b",)"
             R"("keyType":"ED25519","maxExpirationSeconds":3599}}]}}])",
       "spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 3599: if "
       "provided, "
       "maxExpirationSeconds must be >= 3600"},
  };
  for (const Row& row : rows) {
    const Got got = create_pod(row.spec);
    EXPECT_EQ(got.code, row.says.empty() ? 201 : 422) << row.spec << got.text;
    if (!row.says.empty()) {
      EXPECT_NE(got.body.string_at("message").find(row.says), std::string::npos) << got.text;
    }
  }
}

TEST_F(PodAnswers, WarningsAreKubernetesWords) {
  const std::string one = std::string(kContainer) + ",";
  struct Row {
    std::string spec, metadata, warnings;
  };
  const std::string name = R"("name":"p")";
  const std::string spread =
      R"("topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway",)"
      R"("topologyKey":"failure-domain.beta.kubernetes.io/zone"}])";
  const Row rows[] = {
      {kContainer, name, ""},
      {kContainer, R"("name":"a.b")",
       "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS "
       "label is "
       "recommended: [must not contain dots]"},
      {one + R"("nodeSelector":{"beta.kubernetes.io/os":"linux"})", name,
       R"(spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use )"
       R"(\"kubernetes.io/os\" instead)"},
      {one + spread, name,
       R"(spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is )"
       R"(deprecated since )"
       "v1.17; use \\\"topology.kubernetes.io/zone\\\" instead\n"
       "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"},
      {one + R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
             R"([{"topologyKey":"a"}]}})",
       name,
       "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a "
       "null "
       "labelSelector results in matching no pod"},
      {kContainer, name + R"(,"annotations":{"scheduler.alpha.kubernetes.io/critical-pod":""})",
       R"(metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in )"
       R"(v1.16+; use the )"
       R"(\"priorityClassName\" field instead)"},
      {R"("containers":[{"name":"c","image":"i","resources":{"requests":{"memory":"0.5"},)"
       R"("limits":{"memory":"1500m"}}}])",
       name,
       "spec.containers[0].resources.limits[memory]: fractional byte value \\\"1500m\\\" is invalid, must be "
       "an integer\n"
       "spec.containers[0].resources.requests[memory]: fractional byte value \\\"500m\\\" is invalid, must "
       "be an integer"},
      {R"("containers":[{"name":"c","image":"i","env":[{"name":"A","value":"1"},{"name":"A",)"
       R"("value":"$(A)2"},{"name":"A","value":"3"}]}])",
       name,
       R"(spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when )"
       R"(using apply)"},
      {R"("containers":[{"name":"c","image":"i","ports":[{"containerPort":80},{"containerPort":80,)"
       R"("hostPort":80}]}])",
       name, "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"},
      {one + R"("imagePullSecrets":[{"name":"a"},{"name":"a"}])", name,
       R"(spec.imagePullSecrets[1].name: duplicate name \"a\")"},
      {one + R"("volumes":[{"name":"g","gitRepo":{"repository":"r"}}])", name,
       "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"},
  };
  for (const Row& row : rows) {
    const Got got = create_pod(row.spec, row.metadata);
    ASSERT_EQ(got.code, 201) << got.text;
    EXPECT_EQ(texts_of(got.warnings), row.warnings) << row.spec;
  }
}

TEST_F(PodAnswers, WarningsAreOfVolumesAndTemplatesToo) {
  const Got claim = ask_for("POST", "/api/v1/namespaces/default/persistentvolumeclaims",
                            R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":)"
                            R"({"requests":{"storage":"1500m"}}}})");
  EXPECT_NE(claim.warnings.find("spec.resources.requests[storage]: fractional byte value"),
            std::string::npos);
  const Got volume = ask_for(
      "POST", "/api/v1/persistentvolumes",
      R"({"metadata":{"name":"v","annotations":{"volume.beta.kubernetes.io/mount-options":""}},)"
      R"("spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1"},"hostPath":{"path":"/x"}}})");
  EXPECT_NE(volume.warnings.find(R"(deprecated since v1.31; use \"mountOptions\" attribute instead)"),
            std::string::npos)
      << volume.text;
  // Templates too, when they are new.
  const std::string sets = "/apis/apps/v1/namespaces/default/deployments";
  const std::string set =
      R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":)"
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"terminationGracePeriodSeconds":-1,)" +
      std::string(kContainer) + "}}}}";
  EXPECT_NE(ask_for("POST", sets, set)
                .warnings.find(
                    "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are "
                    "invalid and will be treated as 1"),
            std::string::npos);
  EXPECT_EQ(
      ask_for("PATCH", sets + "/d", R"({"metadata":{"labels":{"x":"y"}}})", "merge-patch+json").warnings, "");
}

TEST_F(PodAnswers, ABindingBringsItsLabelsAndThoseOfTheNodesTopology) {
  ASSERT_EQ(ask_for("POST", "/api/v1/nodes",
                    R"({"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z","other":"o"}}})")
                .code,
            201);
  ASSERT_EQ(
      ask_for("POST", kPods,
              std::string(R"({"metadata":{"name":"p","labels":{"a":"1"}},"spec":{)") + kContainer + "}}")
          .code,
      201);
  EXPECT_EQ(
      ask_for("POST", std::string(kPods) + "/p/binding",
              R"({"metadata":{"name":"p","labels":{"a":"2","b":"3","topology.kubernetes.io/zone":"y"}},)"
              R"("target":{"kind":"Node","name":"n"}})")
          .code,
      201);
  EXPECT_EQ(ask_for("GET", std::string(kPods) + "/p", "").body.part("metadata").part("labels"),
            *parse_json(R"({"a":"2","b":"3","topology.kubernetes.io/zone":"z"})"));
  EXPECT_EQ(create_pod(std::string(R"("nodeName":"n",)") + kContainer, R"("name":"q")")
                .body.part("metadata")
                .part("labels"),
            *parse_json(R"({"topology.kubernetes.io/zone":"z"})"));
}

TEST_F(PodAnswers, ANodeHasOneRangeOfEachFamily) {
  const auto node = [](const std::string& ranges) {
    return R"({"metadata":{"name":"n"},"spec":{"podCIDRs":)" + ranges + "}}";
  };
  const std::string refused = "may specify no more than one CIDR for each IP family";
  const auto create = [&](const std::string& ranges) {
    return ask_for("POST", "/api/v1/nodes", node(ranges), "application/json", {{"dryRun", "All"}});
  };
  EXPECT_EQ(create(R"(["10.0.0.0/24","fd00::/64"])").code, 201);
  const Got twice = create(R"(["10.0.0.0/24","10.0.1.0/24"])");
  EXPECT_EQ(twice.code, 422);
  EXPECT_NE(twice.text.find(R"(spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.0.1.0/24\"]: )" + refused),
            std::string::npos)
      << twice.text;
  EXPECT_EQ(create(R"(["10.0.0.0/24","x"])").body.part("details").items_at("causes").size(), 3u);
  ASSERT_EQ(ask_for("POST", "/api/v1/nodes", node(R"(["10.0.0.0/24","fd00::/64"])")).code, 201);
  const Got changed = ask_for("PATCH", "/api/v1/nodes/n",
                              R"({"spec":{"podCIDR":"10.0.1.0/24","podCIDRs":["10.0.1.0/24","fd01::/64"]}})",
                              "merge-patch+json");
  EXPECT_EQ(changed.body.part("details").items_at("causes").size(), 2u) << changed.text;
}

TEST_F(PodAnswers, ANegativeGracePeriodIsOneSecond) {
  ASSERT_EQ(ask_for("POST", kPods,
                    std::string(R"({"metadata":{"name":"p"},"spec":{"terminationGracePeriodSeconds":-1,)") +
                        kContainer + "}}")
                .body.part("spec")
                .int_at("terminationGracePeriodSeconds"),
            1);
  const Got again = ask_for("PATCH", std::string(kPods) + "/p",
                            R"({"spec":{"terminationGracePeriodSeconds":-1}})", "merge-patch+json");
  EXPECT_EQ(again.code, 200) << again.text;
  EXPECT_EQ(again.body.part("spec").int_at("terminationGracePeriodSeconds"), 1);
}

TEST_F(PodAnswers, AConditionOfAFailurePolicyIsTrueByDefault) {
  const std::string spec = R"("spec":{"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[)"
                           R"({"type":"DisruptionTarget"}]}]},"template":{"spec":{"restartPolicy":"Never",)" +
                           std::string(kContainer) + "}}}";
  const Got job =
      ask_for("POST", "/apis/batch/v1/namespaces/default/jobs", R"({"metadata":{"name":"j"},)" + spec + "}");
  ASSERT_EQ(job.code, 201) << job.text;
  EXPECT_NE(job.text.find(R"("onPodConditions":[{"type":"DisruptionTarget","status":"True"}])"),
            std::string::npos)
      << job.text;
  const Got cron =
      ask_for("POST", "/apis/batch/v1/namespaces/default/cronjobs",
              R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","jobTemplate":{)" + spec + "}}}");
  EXPECT_NE(cron.text.find(R"("status":"True")"), std::string::npos) << cron.text;
}

TEST_F(PodAnswers, APortOfANetworkPolicyMayEndBehindItsBeginning) {
  const auto policy = [&](const std::string& port) {
    return ask_for(
        "POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        R"({"metadata":{"name":"n"},"spec":{"podSelector":{},"egress":[{"ports":[)" + port + "]}]}}",
        "application/json", {{"dryRun", "All"}});
  };
  EXPECT_EQ(policy(R"({"port":80,"endPort":90})").code, 201);
  EXPECT_NE(
      policy(R"({"port":80,"endPort":79})")
          .text.find(
              "spec.egress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`"),
      std::string::npos);
  EXPECT_NE(policy(R"({"endPort":79})").text.find("may not be specified when `port` is not specified"),
            std::string::npos);
  EXPECT_NE(
      policy(R"({"port":"web","endPort":79})").text.find("may not be specified when `port` is non-numeric"),
      std::string::npos);
}

TEST_F(PodAnswers, DiscoveryAndHealthSayWhatClientsLookFor) {
  EXPECT_EQ(ask_for("GET", "/version", "", "json", {{"timeout", "invalid"}}).code, 400);
  EXPECT_EQ(ask_for("GET", "/version", "", "json", {{"timeout", "1s"}}).code, 200);
  server.set_ready(true);
  EXPECT_EQ(ask_for("GET", "/readyz", "", "json", {{"verbose", ""}}).text,
            "[+]ping ok\n[+]log ok\n[+]etcd ok\nreadyz check passed\n");
  EXPECT_EQ(ask_for("GET", "/healthz/etcd", "").text, "ok");
  EXPECT_EQ(ask_for("GET", "/healthz/none", "").code, 404);
  EXPECT_NE(
      ask_for("GET", "/metrics/slis", "").text.find(R"(kubernetes_healthcheck{name="etcd",type="readyz"} 1)"),
      std::string::npos);
  const Got list = ask_for("GET", "/api/v1", "");
  for (const Json& resource : list.body.items_at("resources"))
    if (resource.string_at("name") == "pods") {
      EXPECT_EQ(resource.string_at("storageVersionHash"), "xPOwRZ+Yhw8=");  // as every cluster has it
    }
}

TEST_F(PodAnswers, TablesOfAutoscalersAndQuotas) {
  const auto cells = [&](const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.headers = {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
    request.user = {"root", {"system:masters"}};
    const auto said = std::make_shared<Said>();
    server.handle(std::move(request), said);
    JsonArray found = parse_json(said->response.body).value().items_at("rows").front().items_at("cells");
    found.pop_back();  // the age
    return to_string(Json(std::move(found)));
  };
  const std::string scalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  ASSERT_EQ(
      ask_for("POST", scalers, R"({"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment",
 "name":"d","apiVersion":"apps/v1"},"maxReplicas":5,"metrics":[{"type":"Resource","resource":{"name":"cpu",
 "target":{"type":"Utilization","averageUtilization":80}}},{"type":"Pods","pods":{"metric":{"name":"m"},
 "target":{"type":"AverageValue","averageValue":"10"}}},{"type":"External","external":{"metric":{"name":"e"},
 "target":{"type":"Value","value":"3"}}}]}})")
          .code,
      201);
  EXPECT_EQ(cells(scalers), R"(["h","Deployment/d","cpu: <unknown>/80%, <unknown>/10 + 1 more...","1",5,0])");
  const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
  ASSERT_EQ(ask_for("POST", quotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"4"}}})").code, 201);
  ask_for("PATCH", quotas + "/q/status",
          R"({"status":{"hard":{"pods":"4","limits.cpu":"2","cpu":"1"},"used":{"pods":"3"}}})",
          "merge-patch+json");
  EXPECT_EQ(cells(quotas), R"(["q","cpu: 0/1, pods: 3/4","limits.cpu: 0/2"])");
}

}  // namespace
}  // namespace berth::server
