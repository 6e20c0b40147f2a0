#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/types/decision_id.h"

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

constexpr const char* kDeferred = R"("conditions":[{"type":"PodResizePending","reason":"Deferred"}],)";
constexpr const char* kInfeasible = R"("conditions":[{"type":"PodResizePending","reason":"Infeasible"}],)";

std::string container_of(const std::string& name, const std::string& cpu, const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":{"requests":{"cpu":")" + cpu + "\"}}" + more + "}";
}
// Of the container; "" is not reported.
std::string report_of(const std::string& name, const std::string& allocated, const std::string& actual) {
  return R"({"name":")" + name + "\"" +
         (allocated.empty() ? "" : R"(,"allocatedResources":{"cpu":")" + allocated + "\"}") +
         (actual.empty() ? "" : R"(,"resources":{"requests":{"cpu":")" + actual + "\"}}") + "}";
}

// Expectations by k8s.io/component-helpers/resource.PodRequests with UseStatusResources, as kube-scheduler
// calls it for the pods of a node.
TEST(Types, AResizeInPlaceCountsTheMostOfWhatIsAskedGivenAndUsed) {
  const auto one = [](const char* cpu) { return R"("containers":[)" + container_of("a", cpu) + "]"; };
  const auto told = [](const char* allocated, const char* actual) {
    return R"("containerStatuses":[)" + report_of("a", allocated, actual) + "]";
  };
  const auto whole = [](const char* cpu) {
    return R"("containers":[{"name":"a"}],"resources":{"requests":{"cpu":")" + std::string(cpu) + "\"}}";
  };
  const auto whole_told = [](const char* allocated, const char* actual) {
    return R"("allocatedResources":{"cpu":")" + std::string(allocated) +
           R"("},"resources":{"requests":{"cpu":")" + actual + "\"}}";
  };
  struct Row {
    const char* name;
    std::string spec, status, cpu;
  };
  const Row rows[] = {
      {"as asked", one("2"), told("2", "2"), "2"},
      {"not told yet", one("2"), "", "2"},
      {"it grows", one("4"), told("4", "2"), "4"},
      {"it waits for room", one("4"), kDeferred + told("2", "2"), "4"},
      {"its node is too small", one("40"), kInfeasible + told("2", "2"), "2"},
      {"too small, and shrinks meanwhile", one("40"), kInfeasible + told("2", "3"), "3"},
      {"too small, and nothing is told", one("40"), kInfeasible + told("", ""), "none"},
      {"it shrinks", one("1"), told("1", "3"), "3"},
      {"it has shrunk", one("1"), told("1", "1"), "1"},
      {"use is not told", one("1"), told("3", ""), "3"},
      {"too small, with overhead", one("40") + R"(,"overhead":{"cpu":"100m"})", kInfeasible + told("2", "2"),
       "2100m"},
      {"sums are compared, not containers",
       R"("containers":[)" + container_of("a", "1") + "," + container_of("b", "3") + "]",
       R"("containerStatuses":[)" + report_of("a", "3", "3") + "," + report_of("b", "1", "1") + "]", "4"},
      {"a sidecar shrinks",
       one("1") + R"(,"initContainers":[)" + container_of("s", "1", R"(,"restartPolicy":"Always")") + "]",
       R"("initContainerStatuses":[)" + report_of("s", "1", "2") + "]", "3"},
      {"the pod shrinks", whole("4"), whole_told("5", "6"), "6"},
      {"the pod waits for room", whole("8"), kDeferred + whole_told("5", "6"), "8"},
      {"the pod's node is too small", whole("40"), kInfeasible + whole_told("5", "6"), "6"},
      {"only limits are told of the pod", whole("4"),
       R"("allocatedResources":{"cpu":"5"},"resources":{"limits":{"cpu":"9"}})", "5"},
      {"storage has no pod level", whole("4"),
       R"("allocatedResources":{"ephemeral-storage":"9"},"resources":{"requests":{"ephemeral-storage":"9"}})",
       "4"},
  };
  for (const Row& row : rows) {
    const Pod pod =
        decode_pod(*parse_json(R"({"spec":{)" + row.spec + R"(},"status":{)" + row.status + "}}"), nullptr);
    const ResourceMap counted = effective_requests(pod);
    const auto cpu = counted.find("cpu");
    EXPECT_EQ(cpu == counted.end() ? "none" : cpu->second.text(), row.cpu) << row.name;
  }
}

TEST(Types, AChangeThatCountsIsAResize) {
  const auto pod = [](const char* asks, const char* uses, int generation) {
    return decode_pod(
        *parse_json(R"({"metadata":{"generation":)" + std::to_string(generation) +
                    R"(},"spec":{"containers":[)" + container_of("a", asks) +
                    R"(]},"status":{"containerStatuses":[)" + report_of("a", asks, uses) + "]}}"),
        nullptr);
  };
  const Pod started = pod("2", "2", 1), asked = pod("1", "2", 2), done = pod("1", "1", 2);
  EXPECT_FALSE(counts_differently(started, started));
  EXPECT_FALSE(counts_differently(started, asked)) << "it uses them still";
  EXPECT_TRUE(counts_differently(asked, done)) << "the status alone tells";
  EXPECT_TRUE(counts_differently(started, pod("3", "2", 2)));
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

TEST(Types, AnEntryNeedsNoClaimOnceThatIsRecorded) {
  const Json object = *parse_json(R"({"metadata":{"name":"p"},"spec":{"resourceClaims":[
      {"name":"a","resourceClaimTemplateName":"t"},{"name":"b","resourceClaimTemplateName":"t"},
      {"name":"c","resourceClaimTemplateName":"t"}]},
      "status":{"resourceClaimStatuses":[{"name":"a"},{"name":"b","resourceClaimName":"p-b"}]}})");
  const Pod pod = decode_pod(object, std::make_shared<const std::string>(to_string(object)));
  ASSERT_EQ(pod.claims.size(), 3u);
  EXPECT_TRUE(needs_no_claim(pod, pod.claims[0]));
  EXPECT_FALSE(needs_no_claim(pod, pod.claims[1]));
  EXPECT_FALSE(needs_no_claim(pod, pod.claims[2])) << "nothing is recorded yet";
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

TEST(Types, ADecisionMayNameItsProcess) {
  EXPECT_EQ(with_process("d1-a", ""), "d1-a");
  EXPECT_EQ(process_of(with_process("d1-a", "p")), "p");
  EXPECT_EQ(process_of("d1-a"), "");
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
