// Requests whose answers were observed from kube-apiserver 1.37 (tests/cluster/parity), each on an empty
// server with one object of the kind: what is asked, the code, and a part of the answer.
#include <gtest/gtest.h>

#include "server/test_bench.h"

namespace berth::server {
namespace {

class OneAnswer final : public HttpExchange {
 public:
  void respond(HttpResponse said) override { response = std::move(said); }
  void begin_stream(int status, Headers) override { response.status = status; }
  bool send(std::string) override { return true; }
  void end_stream() override {}
  void on_close(std::function<void()>) override {}

  HttpResponse response{0, {}, ""};
};

struct Observed {
  std::string method, path;
  Headers query;
  std::string content, body;
  int code;
  std::string says;
};

class Parity : public testing::Test, protected ServerBench {
 protected:
  HttpResponse said(const Observed& asked) {
    HttpRequest request;
    request.method = asked.method;
    request.path = asked.path;
    request.query = asked.query;
    request.headers = {{"Content-Type", asked.content}};
    request.body = asked.body;
    request.user = {"root", {"system:masters"}};
    const auto exchange = std::make_shared<OneAnswer>();
    server.handle(std::move(request), exchange);
    return exchange->response;
  }

  void check(const std::vector<Observed>& rows) {
    for (const Observed& row : rows) {
      const HttpResponse got = said(row);
      const std::string what = row.method + " " + row.path + " " + row.body + ": " + got.body;
      EXPECT_EQ(got.status, row.code) << what;
      EXPECT_NE(got.body.find(row.says), std::string::npos) << what << "\nwithout " << row.says;
    }
  }

  void create(const std::string& path, const std::string& body) {
    EXPECT_EQ(said({"POST", path, {}, kJson, body, 201, ""}).status, 201) << body;
  }

  static constexpr const char* kJson = "application/json";
  static constexpr const char* kMerge = "application/merge-patch+json";
  static constexpr const char* kStrategic = "application/strategic-merge-patch+json";
  static constexpr const char* kOperations = "application/json-patch+json";
};

const std::string kConfigs = "/api/v1/namespaces/default/configmaps";
const std::string kConfig = kConfigs + "/a";
const std::string kNoName =
    "the name of the object (a based on URL) was undeterminable: name must be provided";

TEST_F(Parity, NamesOfAnUpdate) {
  create(kConfigs, R"({"metadata":{"name":"a"}})");
  check(
      {{"PUT", kConfig, {}, kJson, "{}", 400, kNoName},
       {"PUT", kConfigs + "/none", {}, kJson, R"({"metadata":{"name":"a"}})", 400, "does not match the name"},
       {"PATCH", kConfig, {}, kMerge, R"({"metadata":null})", 400, kNoName},
       {"PATCH", kConfig, {}, kOperations, R"([{"op":"replace","path":"","value":{}}])", 400, kNoName},
       {"PUT",
        kConfig,
        {},
        kJson,
        R"({"metadata":{"name":"a","resourceVersion":"x"}})",
        500,
        R"(strconv.ParseUint: parsing \"x\": invalid syntax)"},
       {"POST", "/api/v1/nodes", {}, kJson, R"({"metadata":{"name":"n","namespace":"x"}})", 201, "\"n\""},
       {"PUT", "/api/v1/nodes/n", {}, kJson, R"({"metadata":{"name":"n","namespace":"y"}})", 200, "\"n\""}});
}

TEST_F(Parity, KindsOfPatches) {
  create(kConfigs, R"({"metadata":{"name":"a"},"data":{"b":"1"}})");
  check({{"PATCH", kConfig, {}, kStrategic, R"({"kind":"Other"})", 200, R"("kind":"ConfigMap")"},
         {"PATCH", kConfig, {}, kMerge, R"({"kind":"Other"})", 422, R"(no kind \"Other\" is registered)"},
         {"PATCH", kConfig, {}, kOperations, R"([{"op":"remove","path":"/none"}])", 422, "due to an error"},
         {"PATCH", kConfig, {}, kStrategic, "x", 400, R"("message":"invalid JSON patch")"},
         {"PATCH", kConfig, {}, kStrategic, "[]", 400, R"("message":"json: cannot unmarshal array)"},
         {"PATCH",
          kConfig,
          {},
          kMerge,
          R"({"data":{"a":5}})",
          422,
          R"(patch: Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":5,\\\"b\\\":)"}});
}

TEST_F(Parity, OptionsOfReads) {
  create(kConfigs, R"({"metadata":{"name":"a"}})");
  check({{"GET", kConfig, {{"resourceVersion", "x"}}, "", "", 500, "resourceVersion: Invalid value"},
         {"GET", kConfig, {{"resourceVersionMatch", "Exact"}}, "", "", 200, "\"a\""},
         {"GET", kConfig, {{"timeout", "x"}}, "", "", 400, R"(time: invalid duration \"x\")"},
         {"GET", kConfig, {{"timeout", "1s"}}, "", "", 200, "\"a\""},
         {"GET", kConfigs, {{"continue", "x"}}, "", "", 400, "illegal base64 data at input byte 0"},
         {"GET", kConfigs, {{"resourceVersionMatch", "x"}}, "", "", 422, "Unsupported value"},
         {"GET",
          kConfigs,
          {{"resourceVersionMatch", "x"}},
          "",
          "",
          422,
          "unless resourceVersion is provided"}});
}

TEST_F(Parity, OptionsOfDeletes) {
  create(kConfigs, R"({"metadata":{"name":"a"}})");
  check(
      {{"DELETE", kConfig, {{"gracePeriodSeconds", "x"}}, "", "", 400, "strconv.ParseInt: parsing"},
       {"DELETE", kConfig, {}, kJson, R"({"dryRun":["Bad"]})", 422, "dryRun: Unsupported value"},
       {"DELETE", kConfig, {}, kJson, R"({"gracePeriodSeconds":"x"})", 400, R"("message":"json: cannot)"},
       {"DELETE", kConfig, {{"dryRun", "All"}}, "", "", 200, "Success"},
       {"DELETE", kConfig, {{"dryRun", "All"}}, kJson, "{}", 200, "Success"},  // the body counts: it is gone
       {"GET", kConfig, {}, "", "", 404, "not found"}});
}

TEST_F(Parity, BodiesInYaml) {
  const std::string kYaml = "application/yaml";
  check(
      {{"POST", kConfigs, {}, kYaml, "", 422, "name or generateName is required"},
       {"POST", kConfigs, {}, kYaml, "- x", 400, "couldn't get version/kind; json parse error: json: cannot"},
       {"POST", kConfigs, {}, kYaml, "metadata: {name: first}\n---\nmetadata: {name: second}", 201, "first"},
       {"POST", kConfigs, {}, kJson, R"({"kind":1})", 400, "into Go struct field .kind of type string"}});
}

TEST_F(Parity, AttributesOfConstraints) {
  const std::string kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const auto claim = [](const std::string& constraint) {
    return R"({"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":)"
           R"({"deviceClassName":"c"}}],"constraints":[{)" +
           constraint + "}]}}}";
  };
  check({{"POST",
          kClaims,
          {},
          kJson,
          claim(R"("matchAttribute":"EX.io/a")"),
          422,
          "prefix: a lowercase RFC 1123"},
         {"POST",
          kClaims,
          {},
          kJson,
          claim(R"("matchAttribute":"ex.io/a","distinctAttribute":"a")"),
          422,
          R"(distinctAttribute: Invalid value: \"a\": a fully qualified name)"},
         {"POST", kClaims, {}, kJson, claim(R"("matchAttribute":"ex.io/a")"), 201, "ex.io/a"}});
}

TEST_F(Parity, ClaimsOfVolumes) {
  const std::string kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const auto claim = [](const std::string& modes, const std::string& size, const std::string& more) {
    return R"({"metadata":{"name":"a"},"spec":{"accessModes":[)" + modes + R"(],"resources":{"requests":)" +
           size + "}" + more + "}}";
  };
  const std::string once = R"("ReadWriteOnce")", one = R"({"storage":"1Gi"})";
  check(
      {{"POST", kClaims, {}, kJson, claim("", one, ""), 422, "at least 1 access mode is required"},
       {"POST", kClaims, {}, kJson, claim(R"("Never")", one, ""), 422, "accessModes: Unsupported value"},
       {"POST", kClaims, {}, kJson, claim(once + R"(,"ReadWriteOncePod")", one, ""), 422, "may not use"},
       {"POST", kClaims, {}, kJson, claim(once, "{}", ""), 422, "spec.resources[storage]: Required value"},
       {"POST", kClaims, {}, kJson, claim(once, R"({"storage":"0"})", ""), 422, "must be greater than zero"},
       {"POST", kClaims, {}, kJson, claim(once, one, ""), 201, "Pending"},
       {"PUT", kClaims + "/a", {}, kJson, claim(once, one, R"(,"volumeName":"v")"), 200, "\"v\""},
       {"PUT", kClaims + "/a", {}, kJson, claim(once, one, R"(,"volumeName":"w")"), 422, "spec is immutable"},
       {"PUT",
        kClaims + "/a",
        {},
        kJson,
        claim(once, R"({"storage":"2Gi"})", R"(,"volumeName":"v")"),
        422,
        "spec is immutable after creation"}});
}

TEST_F(Parity, Budgets) {
  const std::string kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  const auto budget = [](const std::string& spec) {
    return R"({"metadata":{"name":"a"},"spec":{)" + spec + "}}";
  };
  const std::string selector =
      R"("selector":{"matchExpressions":[{"key":"a","operator":"In","values":["b c"]}]})";
  check(
      {{"POST", kBudgets, {}, kJson, budget(R"("minAvailable":"3")"), 422, "a valid percent string"},
       {"POST", kBudgets, {}, kJson, budget(R"("unhealthyPodEvictionPolicy":"x")"), 422, "Unsupported value"},
       {"POST", kBudgets, {}, kJson, budget(selector), 422, "matchExpressions[0].values[0]: Invalid value"},
       {"POST", kBudgets, {}, kJson, budget(R"("minAvailable":"30%")"), 201, "30%"}});
}

// How the storage of a kind treats writes (api/kinds/stored_kinds.cc).
TEST_F(Parity, TraitsOfStoredKinds) {
  const std::string kClasses = "/apis/node.k8s.io/v1/runtimeclasses";
  const std::string kRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const std::string kAccounts = "/api/v1/namespaces/default/serviceaccounts";
  const std::string kPolicies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
  check({{"PUT", kClasses + "/a", {}, kJson, R"({"metadata":{"name":"a"},"handler":"h"})", 201, "\"h\""},
         {"PUT",
          kClasses + "/a",
          {},
          kJson,
          R"({"metadata":{"name":"a"},"handler":"h"})",
          422,
          "must be specified for an update"},
         {"POST",
          kClasses,
          {},
          kJson,
          R"({"metadata":{"name":"b","finalizers":["f"]},"handler":"h"})",
          201,
          "f"},
         {"POST", kRoles, {}, kJson, R"({"metadata":{"name":"Any: Name"}})", 201, "Any: Name"},
         {"POST", kAccounts, {}, kJson, R"({"metadata":{"name":"a"}})", 201, "\"a\""},
         {"DELETE", kAccounts + "/a", {}, "", "", 200, R"("kind":"ServiceAccount")"},
         {"POST", kPolicies, {}, kJson, R"({"metadata":{"name":"a"}})", 201, R"("generation":1)"}});
}

TEST_F(Parity, CronJobsNameAKnownTimeZone) {
  const std::string kCrons = "/apis/batch/v1/namespaces/default/cronjobs";
  const auto cron = [](const std::string& name, const std::string& zone) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"schedule":"0 0 * * *","timeZone":")" + zone +
           R"(","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":)"
           R"([{"name":"c","image":"i"}]}}}}}})";
  };
  check({{"POST", kCrons, {}, kJson, cron("a", "Europe/Berlin"), 201, R"("timeZone":"Europe/Berlin")"},
         {"POST",
          kCrons,
          {},
          kJson,
          cron("b", "Europe/Atlantis"),
          422,
          R"(unknown time zone Europe/Atlantis","field":"spec.timeZone")"}});
}

TEST_F(Parity, TemplatesAreCheckedInEveryKind) {
  const std::string kSpace = "/namespaces/default/";
  const std::string kControllers = "/api/v1" + kSpace + "replicationcontrollers";
  const std::string kTemplates = "/api/v1" + kSpace + "podtemplates";
  const std::string kCrons = "/apis/batch/v1" + kSpace + "cronjobs";
  const auto named = [](const std::string& rest) { return R"({"metadata":{"name":"a"},)" + rest + "}"; };
  const auto cron = [&](const std::string& job) {
    return named(R"("spec":{"schedule":"0 0 * * *","jobTemplate":{"spec":{)" + job + "}}}");
  };
  const std::string pod = R"("spec":{"containers":[{"name":"c","image":"i"}]})";
  const std::string restarts = R"("spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]})";
  check({{"POST",
          kControllers,
          {},
          kJson,
          named(R"("spec":{})"),
          422,
          "[spec.selector: Required value, spec.template: Required value]"},
         {"POST",
          kControllers,
          {},
          kJson,
          named(R"("spec":{"selector":{"app":"a"},"template":{"metadata":{"labels":{"app":"b"}},)" + pod +
                "}}"),
          422,
          R"(metadata.labels: Invalid value: {\"app\":\"b\"}: `selector` does not match template `labels`)"},
         {"POST",
          kControllers,
          {},
          kJson,
          named(R"("spec":{"template":{"metadata":{"labels":{"app":"b"}},)" + restarts + "}}"),
          422,
          R"(spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\")"},
         {"POST",
          kTemplates,
          {},
          kJson,
          named(R"("template":{"spec":{}})"),
          422,
          "template.spec.containers: Required value"},
         {"POST", kCrons, {}, kJson, named(R"("spec":{})"), 422, "spec.schedule: Required value"},
         {"POST",
          kCrons,
          {},
          kJson,
          cron(R"("template":{)" + pod + "}"),
          422,
          R"(spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\")"},
         {"POST",
          kCrons,
          {},
          kJson,
          cron(R"("selector":{},"template":{)" + restarts + "}"),
          422,
          "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated"},
         {"POST",
          kCrons,
          {},
          kJson,
          cron(R"("manualSelector":true,"template":{)" + restarts + "}"),
          422,
          R"(manualSelector: Unsupported value: \"true\": supported values: \"nil\", \"false\")"},
         {"POST", kCrons, {}, kJson, cron(R"("template":{)" + restarts + "}"), 201, "0 0"}});
}

TEST_F(Parity, VolumesHaveASourceASizeAndModes) {
  const std::string kVolumes = "/api/v1/persistentvolumes";
  const auto volume = [](const std::string& rest) {
    return R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},)"
           R"("accessModes":["ReadWriteOnce"])" +
           rest + "}}";
  };
  const auto refused = [&](const std::string& rest, const std::string& says) {
    return Observed{"POST", kVolumes, {}, kJson, volume(rest), 422, says};
  };
  check({{"POST",
          kVolumes,
          {},
          kJson,
          R"({"metadata":{"name":"v"},"spec":{}})",
          422,
          R"([spec.accessModes: Required value, spec.capacity: Required value, spec.capacity: Unsupported )"
          R"(value: null: supported values: \"storage\", spec: Required value: must specify a volume type])"},
         refused(R"(,"nfs":{"server":"s","path":"/"},"csi":{"driver":"d","volumeHandle":"h"})",
                 "spec.csi: Forbidden: may not specify more than 1 volume type"),
         refused(R"(,"csi":{"nodePublishSecretRef":{"name":"s"}})",
                 "[spec.csi.driver: Required value, spec.csi.volumeHandle: Required value, "
                 "spec.csi.nodePublishSecretRef.namespace: Required value]"),
         refused(R"(,"nfs":{"server":"s","path":"a"})",
                 R"(spec.nfs.path: Invalid value: \"a\": must be an absolute path)"),
         refused(R"(,"hostPath":{"path":"/a/../b"})", "must not contain '..'"),
         refused(R"(,"hostPath":{"path":"/a"},"nodeAffinity":{})",
                 "spec.nodeAffinity.required: Required value: must specify required node constraints"),
         refused(R"(,"local":{"path":"/a"})", "Local volume requires node affinity"),
         refused(R"(,"hostPath":{"path":"/a"},"volumeMode":"")", "spec.volumeMode: Unsupported value"),
         {"POST", kVolumes, {}, kJson, volume(R"(,"hostPath":{"path":"/a"})"), 201, "Retain"},
         {"PATCH",
          kVolumes + "/v",
          {},
          kMerge,
          R"({"spec":{"hostPath":{"path":"/b"}}})",
          422,
          "spec.persistentvolumesource is immutable after creation"},
         {"PATCH",
          kVolumes + "/v",
          {},
          kMerge,
          R"({"spec":{"volumeMode":"Block"}})",
          422,
          R"(volumeMode: Invalid value: \"Block\": field is immutable)"},
         {"PATCH", kVolumes + "/v", {}, kMerge, R"({"spec":{"capacity":{"storage":"2Gi"}}})", 200, "2Gi"}});
}

TEST_F(Parity, StorageClassesAreChecked) {
  const std::string kClasses = "/apis/storage.k8s.io/v1/storageclasses";
  const auto named = [](const std::string& rest) { return R"({"metadata":{"name":"c"})" + rest + "}"; };
  const auto refused = [&](const std::string& rest, const std::string& says) {
    return Observed{"POST", kClasses, {}, kJson, named(rest), 422, says};
  };
  const std::string made = R"(,"provisioner":"p")";
  check({refused("", "provisioner: Required value"),
         refused(R"(,"provisioner":"a b")", "name part must consist"),
         refused(made + R"(,"volumeBindingMode":"Late")",
                 R"(Unsupported value: \"Late\": supported values: \"Immediate\", \"WaitForFirstConsumer\")"),
         refused(made + R"(,"reclaimPolicy":"Recycle")", R"(supported values: \"Delete\", \"Retain\")"),
         refused(
             made + R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","a"]}]}])",
             R"(allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"a\")"),
         refused(made + R"(,"allowedTopologies":[{}])", "matchLabelExpressions: Duplicate value"),
         {"POST", kClasses, {}, kJson, named(made), 201, R"("volumeBindingMode":"Immediate")"},
         {"PATCH",
          kClasses + "/c",
          {},
          kMerge,
          R"({"provisioner":"q"})",
          422,
          "provisioner: Invalid value: null: field is immutable"},
         {"PATCH", kClasses + "/c", {}, kMerge, R"({"allowVolumeExpansion":true})", 200, "true"}});
}

TEST_F(Parity, DefaultsOfStoredKinds) {
  const std::string kDrivers = "/apis/storage.k8s.io/v1/csidrivers";
  const std::string kTemplates = "/api/v1/namespaces/default/podtemplates";
  const std::string kSets = "/apis/apps/v1/namespaces/default/daemonsets";
  const std::string set =
      R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":)"
      R"({"labels":{"a":")";
  const std::string pods = R"("}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  check(
      {{"POST",
        kDrivers,
        {},
        kJson,
        R"({"metadata":{"name":"ex.io"},"spec":{}})",
        201,
        R"("volumeLifecycleModes":["Persistent"])"},
       {"POST",
        kTemplates,
        {},
        kJson,
        R"({"metadata":{"name":"a"},"template":{"spec":{"serviceAccountName":"x","containers":)"
        R"([{"name":"c","image":"i"}]}}})",
        201,
        R"("serviceAccount":"x")"},
       {"POST", kSets, {}, kJson, set + "1" + pods, 201, R"("deprecated.daemonset.template.generation":"1")"},
       {"POST", kSets, {}, kJson, set + "2" + pods, 422, "`selector` does not match template `labels`"},
       {"POST",
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        {},
        kJson,
        R"({"metadata":{"name":"b"},"spec":{"egress":[{"ports":[{"port":1}]}]}})",
        201,
        R"("policyTypes":["Ingress","Egress"])"},
       {"POST",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {},
        kJson,
        R"({"metadata":{"name":"b"},"addressType":"IPv4","endpoints":[],"ports":[{"port":1}]})",
        201,
        R"("name":"","protocol":"TCP")"},
       {"POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {},
        kJson,
        R"({"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[)"
        R"({"kind":"User","name":"u"}]})",
        201,
        R"("kind":"User","apiGroup":"rbac.authorization.k8s.io")"},
       {"POST",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        {},
        kJson,
        R"({"metadata":{"name":"b"},"spec":{"maxReplicas":2,"scaleTargetRef":)"
        R"({"kind":"Deployment","name":"d"},"behavior":{"scaleDown":{"selectPolicy":"Min"}}}})",
        201,
        R"("selectPolicy":"Min")"},
       {"GET",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/b",
        {},
        "",
        "",
        200,
        R"("stabilizationWindowSeconds":0,"selectPolicy":"Max")"}});
}

TEST_F(Parity, TheKeyOfADryRunHasNoPrefix) {
  create(kConfigs, R"({"metadata":{"name":"a"}})");
  const std::string other = R"({"metadata":{"name":"a","uid":"other"}})";
  check({{"PUT", kConfig, {}, kJson, other, 409, "Key: /registry/configmaps/default/a,"},
         {"PUT", kConfig, {{"dryRun", "All"}}, kJson, other, 409, "Key: /configmaps/default/a,"}});
}

TEST_F(Parity, AnUnsafeDeletionIsForWhatCannotBeRead) {
  create(kConfigs, R"({"metadata":{"name":"a"}})");
  const std::string unsafe = R"({"ignoreStoreReadErrorWithClusterBreakingPotential":true})";
  check({{"DELETE",
          kConfig,
          {},
          kJson,
          unsafe,
          409,
          "unsafe deletion is not allowed because the object is decodable from storage"},
         {"DELETE", kConfigs + "/none", {}, kJson, unsafe, 404, "not found"},
         {"GET", kConfig, {}, "", "", 200, "\"a\""}});
}

TEST_F(Parity, ALimitRangeGetsAName) {
  const std::string kLimits = "/api/v1/namespaces/default/limitranges";
  check({{"POST", kLimits, {}, kJson, R"({"spec":{"limits":[]}})", 201, R"("name":")"}});
}

// Of kinds whose generation has a rule of its own.
TEST_F(Parity, Generations) {
  const std::string kSlices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  const std::string kClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const std::string kDrivers = "/apis/storage.k8s.io/v1/csidrivers";
  const std::string label = R"({"metadata":{"labels":{"a":"1"}}})",
                    note = R"({"metadata":{"annotations":{"a":"1"}}})";
  check({{"POST",
          kSlices,
          {},
          kJson,
          R"({"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[]})",
          201,
          R"("generation":1)"},
         {"PATCH", kSlices + "/a", {}, kMerge, note, 200, R"("generation":1)"},
         {"PATCH", kSlices + "/a", {}, kMerge, label, 200, R"("generation":2)"},
         {"POST", kClasses, {}, kJson, R"({"metadata":{"name":"a"},"value":1})", 201, R"("generation":1)"},
         {"PATCH", kClasses + "/a", {}, kMerge, R"({"description":"d"})", 200, R"("generation":1)"},
         {"POST", kDrivers, {}, kJson, R"({"metadata":{"name":"a"},"spec":{}})", 201, "\"a\""},
         {"PATCH",
          kDrivers + "/a",
          {},
          kMerge,
          R"({"spec":{"storageCapacity":true}})",
          200,
          R"("generation":1)"}});
}

// The version of the request is said once, also where the body says none and nothing is stored.
TEST_F(Parity, ABodyWithoutAVersion) {
  const std::string body = said({"POST",
                                 "/apis/resource.k8s.io/v1beta1/deviceclasses",
                                 {{"dryRun", "All"}},
                                 kJson,
                                 R"({"kind":"DeviceClass","metadata":{"name":"a"},"spec":{}})",
                                 201,
                                 ""})
                               .body;
  EXPECT_TRUE(
      body.starts_with(R"({"kind":"DeviceClass","apiVersion":"resource.k8s.io/v1beta1","metadata":{)"))
      << body;
  EXPECT_EQ(body.find("apiVersion"), body.rfind("apiVersion")) << body;
}

TEST_F(Parity, TrustBundlesAndMigrations) {
  const std::string kBundles = "/apis/certificates.k8s.io/v1/clustertrustbundles";
  const std::string kMigrations = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";
  const std::string of_signer = R"("},"spec":{"signerName":"ex.io/s","trustBundle":"x"}})";
  check({{"POST", kBundles, {}, kJson, R"({"metadata":{"name":"ex.io:s:a)" + of_signer, 201, "ex.io:s:a"},
         {"GET", kBundles + "/ex.io:s:a", {}, "", "", 200, "ex.io/s"},
         {"POST",
          kBundles,
          {},
          kJson,
          R"({"metadata":{"name":"a)" + of_signer,
          422,
          "ClusterTrustBundle for signerName ex.io/s must be named with prefix ex.io:s:"},
         {"POST",
          kBundles,
          {},
          kJson,
          R"({"metadata":{"name":"a:b"},"spec":{"trustBundle":"x"}})",
          422,
          "ClusterTrustBundle without signer name must not have"},
         {"POST",
          kMigrations,
          {},
          kJson,
          R"({"metadata":{"name":"a"},"spec":{"resource":{"group":"apps","resource":"deployments"}}})",
          201,
          R"("resource":"deployments")"},
         {"POST",
          kMigrations,
          {},
          kJson,
          R"({"metadata":{"name":"b"},"spec":{"resource":{}}})",
          422,
          "spec.resource.resource: Required value: resource is required to be set"},
         {"POST",
          kMigrations,
          {},
          kJson,
          R"({"metadata":{"name":"b"},"spec":{"resource":{"resource":"1a"}}})",
          422,
          "a DNS-1035 label must consist of"}});
}

TEST_F(Parity, PoliciesOfJobs) {
  struct Row {
    std::string spec;
    int code;
    const char* says;
  };
  const std::string fails = R"("podFailurePolicy":{"rules":[)";
  const std::string succeeds = R"("completionMode":"Indexed","completions":5,"successPolicy":{"rules":[)";
  const Row rows[] = {
      {R"("backoffLimit":1)", 201, R"("backoffLimit":1)"},
      {R"("parallelism":2,"completionMode":"Indexed")", 422,
       "spec.completions: Required value: when completion mode is Indexed"},
      {R"("maxFailedIndexes":1)", 422,
       "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
      {R"("backoffLimitPerIndex":1)", 422, "requires indexed completion mode"},
      {R"("managedBy":"me")", 422, "must be a domain-prefixed path"},
      {R"("podReplacementPolicy":"Never")", 422,
       R"(Unsupported value: \"Never\": supported values: \"Failed\", \"TerminatingOrFailed\")"},
      {fails + R"({"action":"Ignore","onExitCodes":{"operator":"In","values":[1,5]}}]})", 201, "Ignore"},
      {fails + R"({"action":"Ignore"}]})", 422,
       "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is "
       "required"},
      {fails + R"({"action":"FailIndex","onPodConditions":[{"type":"A","status":"True"}]}]})", 422,
       "requires the backoffLimitPerIndex to be set"},
      {fails + R"({"action":"Count","onExitCodes":{"operator":"In","values":[5,0]}}]})", 422,
       "must not be 0 for the In operator"},
      {fails + R"({"action":"Count","onExitCodes":{"operator":"NotIn","values":[5,1]}}]})", 422,
       "must be ordered"},
      {fails + R"({"action":"Count","onExitCodes":{"containerName":"z","operator":"NotIn","values":[5]}}]})",
       422, "must be one of the container or initContainer names in the pod template"},
      {succeeds + R"({"succeededIndexes":"0,2-4"}]})", 201, "2-4"},
      {succeeds + R"({"succeededIndexes":"2-9"}]})", 422,
       R"(error parsing succeededIndexes: too large index: \"9\")"},
      {succeeds + R"({"succeededIndexes":"3,1"}]})", 422, "non-increasing order, previous: 3, current: 1"},
      {succeeds + R"({"succeededIndexes":"1,"}]})", 422,
       R"(cannot convert string to integer for index: \"\")"},
      {succeeds + R"({"succeededIndexes":"1-2-3"}]})", 422, "at most two parts separated by '-'"},
      {succeeds + R"({"succeededIndexes":"1","succeededCount":2}]})", 422,
       "must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)"},
      {R"("successPolicy":{"rules":[{"succeededCount":1}]})", 422, "requires indexed completion mode"},
  };
  for (const Row& row : rows)
    check({{"POST",
            "/apis/batch/v1/namespaces/default/jobs",
            {{"dryRun", "All"}},
            kJson,
            R"({"metadata":{"name":"a"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[)"
            R"({"name":"c","image":"i"}]}},)" +
                row.spec + "}}",
            row.code,
            row.says}});
}

// What the controllers of workloads read.
TEST_F(Parity, StrategiesOfWorkloads) {
  const auto set = [](const std::string& spec) {
    return R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"1"}},"template":{"metadata":)"
           R"({"labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":" i","volumeMounts":)" +
           std::string(spec.find("volumeClaim") == std::string::npos
                           ? "[]"
                           : R"([{"name":"data","mountPath":"/d"}])") +
           "}]}}," + spec + "}}";
  };
  const std::string kSets = "/apis/apps/v1/namespaces/default/statefulsets";
  const std::string kDaemons = "/apis/apps/v1/namespaces/default/daemonsets";
  const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
  struct Row {
    const std::string& path;
    const char* spec;
    int code;
    const char* says;
  };
  const Row rows[] = {
      {kSets, R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":"50%"}})", 201, "50%"},
      {kSets, R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":0}})", 422,
       "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0"},
      {kSets, R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":"101%"}})", 422,
       R"(Invalid value: \"101%\": must not be greater than 100%)"},
      {kSets, R"("updateStrategy":{"type":"Recreate"})", 422, "must be 'RollingUpdate' or 'OnDelete'"},
      {kSets, R"("persistentVolumeClaimRetentionPolicy":{"whenScaled":"Keep"})", 422,
       R"(spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: \"Keep\")"},
      {kSets, R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}])", 201, "data"},
      {kDaemons, R"("updateStrategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}})", 201, "maxSurge"},
      {kDaemons, R"("updateStrategy":{"rollingUpdate":{"maxSurge":1}})", 422,
       "may not be set when maxUnavailable is non-zero"},
      {kDaemons, R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":0}})", 422,
       "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"},
      {kDaemons, R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":"x"}})", 422,
       "a valid percent string"},
      {kDeployments, R"("strategy":{"type":"Recreate","rollingUpdate":{}})", 422,
       "may not be specified when strategy `type` is 'Recreate'"},
      {kDeployments, R"("strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}})", 422,
       "may not be 0 when `maxSurge` is 0"},
      {kDeployments, R"("progressDeadlineSeconds":5,"minReadySeconds":5)", 422,
       "must be greater than minReadySeconds"},
  };
  for (const Row& row : rows)
    check({{"POST", row.path, {{"dryRun", "All"}}, kJson, set(row.spec), row.code, row.says}});
}

}  // namespace
}  // namespace berth::server
