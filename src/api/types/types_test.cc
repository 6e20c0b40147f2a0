#include <gtest/gtest.h>

#include "api/kinds.h"

namespace berth::api {
namespace {

template <class T>
std::shared_ptr<const T> decode(Kind kind, const char* text) {
  Result<TypedObject> object = decode_typed(kind, std::make_shared<const std::string>(text));
  return object ? std::get<std::shared_ptr<const T>>(*object) : nullptr;
}

TEST(Types, EveryKindDecodesAnEmptyObject) {
  for (std::size_t i = 0; i <= kTypedKindCount; ++i) {
    const Result<TypedObject> object =
        decode_typed(static_cast<Kind>(i), std::make_shared<const std::string>("{}"));
    ASSERT_TRUE(object.ok()) << i;
    EXPECT_EQ(object->index(), i);
    EXPECT_EQ(meta_of(*object).name, "");
  }
  EXPECT_FALSE(decode_typed(Kind::Pod, std::make_shared<const std::string>("[]")).ok());
}

TEST(Types, PodRequestsFollowInitContainersAndSidecars) {
  const auto pod =
      decode<Pod>(Kind::Pod, R"({"metadata":{"name":"p","namespace":"d","resourceVersion":"7"},"spec":{
    "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}},
                  {"name":"b","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],
    "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}},
                      {"name":"i","resources":{"requests":{"cpu":"3"}}}],
    "overhead":{"cpu":"100m"}}})");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->meta.resource_version, 7u);
  const ResourceMap requests = effective_requests(*pod);
  EXPECT_EQ(requests.find("cpu")->second, *parse_quantity("3600m"));
  EXPECT_EQ(requests.find("memory")->second, *parse_quantity("1Gi"));
}

TEST(Types, PodsNeedPortsAndFeaturesOfTheNode) {
  const Pod pod = decode_pod(
      *parse_json(R"({"spec":{"hostNetwork":true,"hostUsers":true,"containers":[{"ports":[{"hostPort":80},)"
                  R"({"containerPort":1},{"hostPort":53,"protocol":"UDP","hostIP":"10.0.0.1"}],)"
                  R"("volumeMounts":[{"bindMountOptions":["noexec"]}]}],"initContainers":[)"
                  R"({"ports":[{"hostPort":1}]},{"restartPolicy":"Always","ports":[{"hostPort":2}]}]}})"),
      nullptr);
  std::string ports;
  for (const HostPort& port : pod.host_ports)
    ports += port.protocol + " " + port.ip + ":" + std::to_string(port.port) + " ";
  EXPECT_EQ(ports, "TCP 0.0.0.0:80 UDP 10.0.0.1:53 TCP 0.0.0.0:2 ") << "an init container is gone by then";
  EXPECT_EQ(pod.required_features, (std::vector<std::string_view>{"VolumeBindMountOptions"}));
}

TEST(Types, AllocationsSurviveARoundTrip) {
  const char* text = R"({"devices":{"results":[{"request":"r/a","driver":"d","pool":"p","device":"x",
    "adminAccess":true,"tolerations":[{"key":"k","operator":"Exists"}],"bindingConditions":["Ready"],
    "bindingFailureConditions":["Failed"],"shareID":"s","consumedCapacity":{"mem":"1Gi"},
    "compatibilityGroups":{"set":["mig"]}}],"config":[{"source":"FromClass"}]},
    "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[
      {"key":"metadata.name","operator":"In","values":["n"]}]}]},
    "allocationTimestamp":"2026-01-02T03:04:05Z"})";
  const Json source = *parse_json(text);
  EXPECT_EQ(to_json(decode_allocation(source)), source);
}

TEST(Types, BindRequestsSurviveARoundTrip) {
  BindRequest request;
  request.meta.name = bind_request_name("train-0", "0a1b2c3d-0000-4000-8000-000000000000");
  request.meta.ns = "default";
  request.pod_name = "train-0";
  request.pod_uid = "0a1b2c3d-0000-4000-8000-000000000000";
  request.node = "node-1";
  request.group = {"train", "u", 4};
  request.decision_id = "d-1";
  request.deadline = Time::from_seconds(1'000'000);
  request.backoff_limit = 2;
  request.claims.push_back({"gpu", "train-0-gpu", "cu", Allocation{}});
  request.volumes = {{"data", "du", "disk-1"}, {"scratch", "su", ""}};
  const auto decoded =
      decode<BindRequest>(Kind::BindRequest, to_string(bind_request_object(request)).c_str());
  EXPECT_EQ(to_string(bind_request_object(*decoded)), to_string(bind_request_object(request)));
  EXPECT_EQ(decoded->meta.name, "train-0-0a1b2c3d");
  EXPECT_EQ(decoded->pod_name + " " + decoded->pod_uid + " " + decoded->node + " " + decoded->decision_id,
            "train-0 0a1b2c3d-0000-4000-8000-000000000000 node-1 d-1");
  EXPECT_EQ(decoded->group.name + " " + decoded->group.uid, "train u");
  EXPECT_EQ(decoded->group.size, 4);
  EXPECT_EQ(decoded->deadline, request.deadline);
  EXPECT_EQ(decoded->backoff_limit, 2);
  ASSERT_EQ(decoded->claims.size(), 1u);
  EXPECT_EQ(
      decoded->claims[0].name + " " + decoded->claims[0].claim_name + " " + decoded->claims[0].claim_uid,
      "gpu train-0-gpu cu");
  EXPECT_EQ(decoded->volumes, request.volumes);
  EXPECT_EQ(decoded->meta.owners.front().uid, request.pod_uid);
}

TEST(Types, ABindRequestFailsForGoodBehindItsLimit) {
  BindRequest request;
  request.phase = BindPhase::Failed;
  request.backoff_limit = 0;
  EXPECT_FALSE(failed_for_good(request));
  request.failed_attempts = 1;
  EXPECT_TRUE(failed_for_good(request));
  request.backoff_limit = std::nullopt;
  EXPECT_FALSE(failed_for_good(request));
  request.terminal = true;
  EXPECT_TRUE(failed_for_good(request));
  request.phase = BindPhase::Pending;
  EXPECT_FALSE(failed_for_good(request));
}

TEST(Types, RequirementsMatchAsNodeAffinityDoes) {
  const StringMap labels = {{"zone", "a"}, {"count", "5"}};
  EXPECT_TRUE(matches(Requirement{"zone", "In", {"a", "b"}}, labels));
  EXPECT_FALSE(matches(Requirement{"rack", "In", {"a"}}, labels));
  EXPECT_TRUE(matches(Requirement{"rack", "NotIn", {"a"}}, labels));
  EXPECT_TRUE(matches(Requirement{"count", "Gt", {"4"}}, labels));
  EXPECT_FALSE(matches(Requirement{"zone", "Gt", {"4"}}, labels));
  EXPECT_FALSE(matches(NodeSelector{}, labels, "n"));
  EXPECT_FALSE(matches(NodeSelector{{NodeSelectorTerm{}}}, labels, "n"));
  EXPECT_TRUE(matches(NodeSelector{{{{}, {{"metadata.name", "In", {"n"}}}}}}, labels, "n"));
}

TEST(Types, TolerationsWithoutKeyTolerateAllOnlyWithExists) {
  const Taint taint{"k", "v", "NoSchedule", Time()};
  EXPECT_TRUE(tolerates(Toleration{"", "Exists", "", "", std::nullopt}, taint));
  EXPECT_FALSE(tolerates(Toleration{"", "Equal", "v", "", std::nullopt}, taint));
  EXPECT_TRUE(tolerates(Toleration{"k", "", "v", "NoSchedule", std::nullopt}, taint));
  EXPECT_FALSE(tolerates(Toleration{"k", "Exists", "", "NoExecute", std::nullopt}, taint));
}

TEST(Types, TolerationsCompareNumbers) {
  struct Row {
    const char *op, *bound, *taint;
    bool tolerated;
  };
  const Row rows[] = {{"Gt", "950", "951", true},  {"Gt", "950", "950", false},
                      {"Gt", "-2", "-1", true},    {"Lt", "950", "949", true},
                      {"Lt", "950", "950", false}, {"Lt", "-1", "-2", true},
                      {"Gt", "0", "1", true},      {"Gt", "5", "", false},
                      {"Gt", "5", "06", false},    {"Gt", "+5", "6", false},
                      {"Gt", "5", "six", false},   {"Lt", "9223372036854775808", "1", false},
                      {"Gt", "-0", "1", false},    {"Gt", "1", "9223372036854775807", true},
                      {"Lt", "1", "-", false},     {"Ge", "1", "2", false}};
  for (const Row& row : rows)
    EXPECT_EQ(tolerates(Toleration{"k", row.op, row.bound, "", std::nullopt},
                        Taint{"k", row.taint, "NoSchedule", Time()}),
              row.tolerated)
        << row.op << " " << row.bound << " " << row.taint;
}

}  // namespace
}  // namespace berth::api
