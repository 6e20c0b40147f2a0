#include "api/decode.h"

#include <gtest/gtest.h>

#include "api/canonical.h"
#include "api/types/pod.h"
#include "base/base64.h"

namespace berth::api {
namespace {

const TypeInfo& kind(std::string_view api_version, std::string_view name) {
  const TypeInfo* found = find_kind(api_version, name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

struct Case {
  const char* what;
  const char* api_version;
  const char* kind;
  const char* in;
  const char* out;  // or the error
};

TEST(Decode, SaysWhatTheReferenceSaysOfWrongValues) {
  // Observed from kube-apiserver 1.37, after `ConfigMap in version "v1" cannot be handled as a ConfigMap: `.
  const Case cases[] = {
      {"number for string", "v1", "ConfigMap", R"({"metadata":{"name":"x"},"data":{"a":1}})",
       "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"},
      {"list for map", "v1", "ConfigMap", R"({"data":["a"]})",
       "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"},
      {"string for object", "v1", "ConfigMap", R"({"metadata":"x"})",
       "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"},
      {"time", "v1", "ConfigMap", R"({"metadata":{"creationTimestamp":"yesterday"}})",
       R"(parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006")"},
      {"int64 overflow", "v1", "ConfigMap", R"({"metadata":{"generation":99999999999999999999}})",
       "json: cannot unmarshal number 99999999999999999999 into Go struct field "
       "ObjectMeta.metadata.generation of "
       "type int64"},
      {"fraction", "v1", "ConfigMap", R"({"metadata":{"generation":1.5}})",
       "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64"},
      {"int32 overflow", "v1", "Pod", R"({"spec":{"priority":3000000000}})",
       "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32"},
      {"inside a list", "v1", "Pod", R"({"spec":{"containers":[{"name":"a"},{"name":true}]}})",
       "json: cannot unmarshal bool into Go struct field Container.spec.containers.name of type string"},
      {"object for list", "v1", "Pod", R"({"spec":{"containers":{}}})",
       "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container"},
      {"named string type", "v1", "Pod", R"({"spec":{"restartPolicy":1}})",
       "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type "
       "v1.RestartPolicy"},
      {"micro time", "coordination.k8s.io/v1", "Lease", R"({"spec":{"renewTime":"2026-01-02T03:04:05Z"}})",
       R"(parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00":)"
       R"( cannot parse "Z" as ".000000")"},
      {"quantity", "v1", "Node", R"({"status":{"capacity":{"cpu":"abc"}}})",
       "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"base64", "v1", "Secret", R"({"data":{"a":"!"}})", "illegal base64 data at input byte 0"},
      {"not JSON", "v1", "ConfigMap", "{not json",
       "invalid character 'n' looking for beginning of object key string"},
      {"empty", "v1", "ConfigMap", "", "unexpected end of JSON input"},
      {"two documents", "v1", "ConfigMap", R"({"a":1} {"x":1})",
       "invalid character '{' after top-level value"},
      {"array", "v1", "ConfigMap", "[]", "json: cannot unmarshal array into Go value of type v1.ConfigMap"},
  };
  for (const Case& c : cases) {
    const Result<Decoded> decoded = decode_json(kind(c.api_version, c.kind), c.in);
    ASSERT_FALSE(decoded.ok()) << c.what;
    EXPECT_EQ(decoded.error().message(), c.out) << c.what;
  }
}

TEST(Decode, NamesThePlaceOfAWrongValue) {
  const auto decoded =
      decode_json(kind("v1", "Pod"), R"({"spec":{"containers":[{},{"ports":[{"containerPort":"x"}]}]}})");
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().path(), "spec.containers[1].ports[0].containerPort");
}

TEST(Decode, WritesCanonicalDocuments) {
  const Case cases[] = {
      {"order, nulls, sorted maps", "v1", "ConfigMap",
       R"({"data":{"b":"2","a":"1"},"metadata":{"annotations":{"a":null},"labels":null,"name":)"
       R"("x"},"apiVersion":"v1","kind":"ConfigMap","immutable":null})",
       R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","annotations":{"a":""}},)"
       R"("data":{"a":"1","b":"2"}})"},
      {"nothing", "v1", "ConfigMap", "null", R"({"metadata":{}})"},
      {"zero members as Go writes them", "v1", "Pod",
       R"({"spec":{"containers":[{"name":"c"}],"hostNetwork":false}})",
       R"({"metadata":{},"spec":{"containers":[{"name":"c","resources":{}}]},"status":{}})"},
      {"absent list without omitempty", "v1", "Pod", "{}",
       R"({"metadata":{},"spec":{"containers":null},"status":{}})"},
      {"pointer zeros stay", "apps/v1", "Deployment", R"({"spec":{"replicas":0}})",
       R"({"metadata":{},"spec":{"replicas":0,"selector":null,"template":{"metadata":{},"spec":)"
       R"({"containers":null}},"strategy":{}},"status":{}})"},
      {"quantities", "v1", "Node", R"({"status":{"capacity":{"cpu":0.5,"memory":"1024Mi","pods":1000}}})",
       R"({"metadata":{},"spec":{},"status":{"capacity":{"cpu":"500m","memory":"1Gi","pods":"1k"},)"
       R"("daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"",)"
       R"("systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":)"
       R"("","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}})"},
      {"times", "coordination.k8s.io/v1", "Lease",
       R"({"metadata":{"creationTimestamp":"2026-01-02T04:04:05.9+01:00"},"spec":{"renewTime":)"
       R"("2026-01-02T03:04:05.123456Z"}})",
       R"({"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"renewTime":)"
       R"("2026-01-02T03:04:05.123456Z"}})"},
      {"raw JSON is kept", "resource.k8s.io/v1", "ResourceClaim",
       R"({"spec":{"devices":{"config":[{"opaque":{"driver":"d","parameters":{"z":1,"a":[null]}}}]}}})",
       R"({"metadata":{},"spec":{"devices":{"requests":null,"config":[{"opaque":{"driver":"d",)"
       R"("parameters":{"z":1,"a":[null]}}}]}},"status":{}})"},
      {"int or string", "v1", "Service",
       R"({"spec":{"ports":[{"port":80,"targetPort":"web"},{"port":81,"targetPort":8081}]}})",
       R"({"metadata":{},"spec":{"ports":[{"port":80,"targetPort":"web"},{"port":81,"targetPort":)"
       R"(8081}]},"status":{"loadBalancer":{}}})"},
      {"a map of lists", "resource.k8s.io/v1", "ResourceClaim",
       R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p",)"
       R"("device":"x","compatibilityGroups":{"set":["mig"]}}]}}}})",
       R"({"metadata":{},"spec":{"devices":{"requests":null}},"status":{"allocation":{"devices":)"
       R"({"results":[{"request":"r","driver":"d","pool":"p","device":"x","compatibilityGroups":)"
       R"({"set":["mig"]}}]}}}})"},
      {"our own kind", "scheduling.berth.dev/v1alpha1", "BindRequest",
       R"({"spec":{"selectedNode":"n","podName":"p","podUID":"u","backoffLimit":0}})",
       R"({"metadata":{},"spec":{"podName":"p","podUID":"u","selectedNode":"n","backoffLimit":0}})"},
      {"CRD schemas", "apiextensions.k8s.io/v1", "CustomResourceDefinition",
       R"({"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":)"
       R"({"openAPIV3Schema":{"type":"array","items":{"type":"number","maximum":5.0},)"
       R"("additionalProperties":false}}}]}})",
       R"({"metadata":{},"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":)"
       R"([{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"array",)"
       R"("items":{"type":"number","maximum":5},"additionalProperties":false}}}]},"status":)"
       R"({"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}})"},
  };
  for (const Case& c : cases) {
    const Result<Decoded> decoded = decode_json(kind(c.api_version, c.kind), c.in);
    ASSERT_TRUE(decoded.ok()) << c.what << ": " << decoded.error().text();
    EXPECT_EQ(to_string(decoded->document), c.out) << c.what;
    EXPECT_TRUE(decoded->strict_errors.empty()) << c.what;
    const Result<Decoded> again = decode_document(kind(c.api_version, c.kind), decoded->document);
    ASSERT_TRUE(again.ok()) << c.what;
    EXPECT_EQ(to_string(again->document), c.out) << c.what << ": decoding twice changes nothing";
  }
}

TEST(Decode, CollectsStrictErrorsInOrder) {
  const auto decoded =
      decode_json(kind("v1", "Pod"), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{
      "containers":[{"name":"c","image":"i","image":"j","jnk":1}],"nodename":"n",
      "restartPolicy":"Never","restartPolicy":"Always"}})");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(strict_error_text(decoded->strict_errors),
            R"(strict decoding error: duplicate field "spec.containers[0].image",)"
            R"( unknown field "spec.containers[0].jnk", )"
            R"(unknown field "spec.nodename", duplicate field "spec.restartPolicy")");
  EXPECT_EQ(decoded->document.find_path({"spec", "restartPolicy"})->as_string(), "Always")
      << "the last one wins";
  const auto cased = decode_json(
      kind("v1", "ConfigMap"), R"({"metadata":{"Name":"cased"},"Data":{"a":"b"},"data":{"a":"1","a":"2"}})");
  ASSERT_TRUE(cased.ok());
  EXPECT_EQ(cased->strict_errors,
            (std::vector<std::string>{R"(unknown field "metadata.Name")", R"(unknown field "Data")",
                                      R"(duplicate field "data.a")"}));
  EXPECT_EQ(cased->document.find("data")->string_at("a"), "2");
}

TEST(Decode, ReadsTheOnlyGpuOfAContainer) {
  const auto only_gpu = [](const std::string& statuses) {
    const Json pod = *parse_json(R"({"status":{"containerStatuses":)" + statuses + "}}");
    return decode_pod(pod, nullptr).only_gpu;
  };
  const std::string nic = R"({"name":"example.com/nic","resources":[{"resourceID":"nic-0"}]})";
  const std::string two = R"({"name":"nvidia.com/gpu","resources":[{"resourceID":"a"},{"resourceID":"b"}]})";
  const std::string one = R"({"name":"nvidia.com/gpu","resources":[{"resourceID":"GPU-1"}]})";
  EXPECT_EQ(only_gpu("[]"), "");
  EXPECT_EQ(only_gpu(R"([{"allocatedResourcesStatus":[)" + nic + "," + two + "]}]"), "");
  EXPECT_EQ(only_gpu(R"([{"name":"sidecar"},{"allocatedResourcesStatus":[)" + nic + "," + one + "]}]"),
            "GPU-1");
}

TEST(Decode, BoundsStrictErrors) {
  std::string text = "{";
  for (int i = 0; i < 300; ++i) text += (i ? ",\"x" : "\"x") + std::to_string(i) + "\":1";
  const auto decoded = decode_json(kind("v1", "ConfigMap"), text + "}");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->strict_errors.size(), kStrictErrorsMax);
}

TEST(Canonical, WritesGoDurations) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0s"},        {"90s", "1m30s"},   {"1h", "1h0m0s"},      {"1500ms", "1.5s"},
      {"250us", "250µs"}, {"1.5ms", "1.5ms"}, {"-2h45m", "-2h45m0s"}};
  for (const auto& [in, out] : cases) EXPECT_EQ(canonical_duration(in).value_or(""), out);
}

TEST(Canonical, EncodesBase64) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(canonical_base64("Zm\n9v").value_or(""), "Zm9v");
  EXPECT_FALSE(canonical_base64("Zm9").ok());
}

}  // namespace
}  // namespace berth::api
