// What a write of the status takes from the request's metadata, kind by kind, as the strategies of Kubernetes
// do.
#include <gtest/gtest.h>

#include "server/test_bench.h"

namespace berth::server {
namespace {

struct StatusRow {
  std::string collection, kind, body;  // body: beside metadata
  bool labels, annotations;            // taken
};

const std::string kPodTemplate =
    R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)"
    R"("spec":{"containers":)"
    R"([{"name":"c","image":"i"}]}})";
const std::string kJobTemplate =
    R"("template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}})";

const StatusRow kStatusRows[] = {
    {"/api/v1/namespaces", "Namespace", "", true, true},
    {"/api/v1/nodes", "Node", "", true, true},
    {"/api/v1/namespaces/default/pods", "Pod", R"(,"spec":{"containers":[{"name":"c","image":"i"}]})", true,
     true},
    {"/api/v1/namespaces/default/services", "Service", R"(,"spec":{"ports":[{"port":80}]})", true, true},
    {"/api/v1/namespaces/default/resourcequotas", "ResourceQuota", R"(,"spec":{"hard":{"pods":"1"}})", true,
     true},
    {"/apis/apps/v1/namespaces/default/deployments", "Deployment", ",\"spec\":{" + kPodTemplate + "}", false,
     true},
    {"/apis/apps/v1/namespaces/default/replicasets", "ReplicaSet", ",\"spec\":{" + kPodTemplate + "}", true,
     true},
    {"/apis/batch/v1/namespaces/default/jobs", "Job", ",\"spec\":{" + kJobTemplate + "}", true, true},
    {"/apis/batch/v1/namespaces/default/cronjobs", "CronJob",
     R"(,"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{)" + kJobTemplate + "}}}", true, true},
    {"/apis/networking.k8s.io/v1/namespaces/default/ingresses", "Ingress",
     R"(,"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}})", true, true},
    {"/apis/policy/v1/namespaces/default/poddisruptionbudgets", "PodDisruptionBudget",
     R"(,"spec":{"minAvailable":1})", true, true},
    {"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "ResourceClaim", R"(,"spec":{})", false,
     false},
    {"/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", "PodGroup",
     R"(,"spec":{"schedulingPolicy":{"basic":{}}})", false, false},
    {"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "FlowSchema",
     R"(,"spec":{"priorityLevelConfiguration":{"name":"exempt"}})", false, false},
    {"/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment",
     R"(,"spec":{"attacher":"a.io","nodeName":"n","source":{"persistentVolumeName":"p"}})", false, false},
};

TEST(StatusWrites, TakeTheMetadataThatTheKindLetsThem) {
  ServerBench bench;
  const auto ask = [&](const std::string& method, const std::string& path, const std::string& body,
                       const std::string& type) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.headers = {{"Content-Type", type}};
    request.user = {"root", {"system:masters"}};
    const auto said = std::make_shared<Said>();
    bench.server.handle(std::move(request), said);
    return std::pair(said->response.status, parse_json(said->response.body).value_or(Json()));
  };
  for (const StatusRow& row : kStatusRows) {
    const std::string version = row.collection.substr(row.collection.find('/', 1) + 1);
    const bool is_core = row.collection.starts_with("/api/");
    const std::string api_version =
        is_core ? "v1" : version.substr(0, version.find('/', version.find('/') + 1));
    const auto [made, first] =
        ask("POST", row.collection,
            R"({"apiVersion":")" + api_version + R"(","kind":")" + row.kind +
                R"(","metadata":{"name":"x","labels":{"was":"here"}})" + row.body + "}",
            "application/json");
    ASSERT_EQ(made, 201) << row.kind << to_string(first);
    const auto [code, object] =
        ask("PATCH", row.collection + "/x/status",
            R"({"metadata":{"labels":{"new":"l"},"annotations":{"new":"a"},"finalizers":["ex.io/f"]}})",
            "application/merge-patch+json");
    ASSERT_EQ(code, 200) << row.kind << to_string(object);
    const Json& metadata = object.part("metadata");
    EXPECT_EQ(metadata.part("labels").string_at("new"), row.labels ? "l" : "") << row.kind;
    EXPECT_EQ(metadata.part("labels").string_at("was"), "here") << row.kind;
    EXPECT_EQ(metadata.part("annotations").string_at("new"), row.annotations ? "a" : "") << row.kind;
    const bool finalized = to_string(metadata.part("finalizers")).find("ex.io/f") != std::string::npos;
    EXPECT_EQ(finalized, row.annotations) << row.kind;
    EXPECT_EQ(metadata.string_at("uid"), first.part("metadata").string_at("uid"));
    EXPECT_EQ(metadata.int_at("generation"), first.part("metadata").int_at("generation")) << row.kind;
    EXPECT_EQ(object.part("spec"), first.part("spec")) << row.kind;
    // Who set a label by the status owns it, unless it was not taken.
    const std::string owners = to_string(metadata.part("managedFields"));
    EXPECT_EQ(owners.find("f:new") != std::string::npos, row.annotations) << row.kind << owners;
  }
}

}  // namespace
}  // namespace berth::server
