// Pods that differ in their names alone are alike; every other difference counts.
#include "model/pod_templates.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace berth::model {
namespace {

api::Pod pod_of(const std::string& text) {
  const auto raw = std::make_shared<const std::string>(text);
  return api::decode_pod(*parse_json(text), raw);
}

// `meta`, `spec`: more members of them. `container`: members of the container.
std::string pod_json(const std::string& name, const std::string& meta, const std::string& spec,
                     const std::string& container = R"("resources":{"requests":{"cpu":"1"}})") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" + name + "\"" + meta +
         R"(},"spec":{"containers":[{"name":"c",)" + container + "}]" + spec + "}}";
}

struct Difference {
  std::string name;
  std::string pod;
};

void PrintTo(const Difference& one, std::ostream* out) {
  *out << one.pod;
}

class AlikePods : public ::testing::TestWithParam<Difference> {};

TEST(AlikePodsOfOneTemplate, DifferInWhatNamesThem) {
  const std::string meta = R"(,"labels":{"app":"a"},"annotations":{"x":"y"},"creationTimestamp":)";
  const std::string spec = R"(,"nodeSelector":{"disk":"ssd"},"priority":7,"tolerations":[{"key":"k"}])";
  EXPECT_TRUE(are_alike(pod_of(pod_json("p0", meta + R"("2026-01-01T00:00:00Z")", spec)),
                        pod_of(pod_json("p1", meta + R"("2026-01-01T00:00:09Z")", spec))));
}

TEST_P(AlikePods, EveryOtherDifferenceCounts) {
  const api::Pod base = pod_of(pod_json("p0", "", "")), other = pod_of(GetParam().pod);
  EXPECT_FALSE(are_alike(base, other));
  EXPECT_FALSE(are_alike(other, base));
}

const char* const kAffinity =
    R"(,"affinity":{"podAntiAffinity":{)"
    R"("requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"host"}]}})";

INSTANTIATE_TEST_SUITE_P(
    Fields, AlikePods,
    ::testing::Values(
        Difference{"Labels", pod_json("p1", R"(,"labels":{"app":"a"})", "")},
        Difference{"Annotations", pod_json("p1", R"(,"annotations":{"a":"b"})", "")},
        Difference{"Owners",
                   pod_json("p1", R"(,"ownerReferences":[{"kind":"Job","name":"j","uid":"j"}])", "")},
        Difference{"Requests", pod_json("p1", "", "", R"("resources":{"requests":{"cpu":"2"}})")},
        Difference{"Limits",
                   pod_json("p1", "", "", R"("resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}})")},
        Difference{"Image", pod_json("p1", "", "", R"("image":"i","resources":{"requests":{"cpu":"1"}})")},
        Difference{"InitContainers", pod_json("p1", "", R"(,"initContainers":[{"name":"i"}])")},
        Difference{"Overhead", pod_json("p1", "", R"(,"overhead":{"cpu":"1"})")},
        Difference{"PodLevel", pod_json("p1", "", R"(,"resources":{"requests":{"cpu":"1"}})")},
        Difference{"HostPorts", pod_json("p1", "", "",
                                         R"("ports":[{"hostPort":80,"containerPort":80}],)"
                                         R"("resources":{"requests":{"cpu":"1"}})")},
        Difference{"NodeSelector", pod_json("p1", "", R"(,"nodeSelector":{"disk":"ssd"})")},
        Difference{"Tolerations", pod_json("p1", "", R"(,"tolerations":[{"key":"k"}])")},
        Difference{"Priority", pod_json("p1", "", R"(,"priority":3)")},
        Difference{"Scheduler", pod_json("p1", "", R"(,"schedulerName":"other")")},
        Difference{"Group", pod_json("p1", "", R"(,"schedulingGroup":{"podGroupName":"g"})")},
        Difference{"Affinity", pod_json("p1", "", kAffinity)},
        Difference{"Claims",
                   pod_json("p1", "", R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c"}])")},
        Difference{
            "Volumes",
            pod_json("p1", "", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"v"}}])")}),
    [](const auto& info) { return info.param.name; });

// One of them may take what the next one names, or change what it may be next to.
TEST(AlikePodsOfOneTemplate, AreNotComparedWithClaimsVolumesOrTerms) {
  for (const std::string& spec :
       {std::string(kAffinity), std::string(R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c"}])"),
        std::string(R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"v"}}])"),
        std::string(R"(,"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":1,)"
                    R"("whenUnsatisfiable":"ScheduleAnyway"}])")})
    EXPECT_FALSE(are_alike(pod_of(pod_json("p0", "", spec)), pod_of(pod_json("p1", "", spec)))) << spec;
}

std::shared_ptr<const api::Pod> shared_pod(const std::string& name, const std::string& spec) {
  return std::make_shared<const api::Pod>(pod_of(pod_json(name, "", spec)));
}

TEST(PodTemplatesInUse, AreThoseOfPodsThatAreThere) {
  PodTemplates templates;
  const PodTemplateId a = templates.add(shared_pod("a0", "")),
                      b = templates.add(shared_pod("b0", R"(,"priority":1)"));
  EXPECT_EQ(templates.add(shared_pod("a1", "")), a);
  EXPECT_NE(a, b);
  EXPECT_FALSE(templates.add(shared_pod("c", kAffinity)).valid());
  templates.remove(a);
  EXPECT_EQ(templates.add(shared_pod("a2", "")), a);
  templates.remove(a);
  templates.remove(a);
  templates.remove(PodTemplateId::none());
  EXPECT_EQ(templates.size(), 1u);
}

// Their hashes are equal.
TEST(PodTemplatesInUse, AreComparedWithFewOthers) {
  PodTemplates templates;
  for (std::size_t i = 0; i < 2 * kTemplatesComparedMax; ++i)
    templates.add(shared_pod("p", R"(,"priority":)" + std::to_string(i)));
  EXPECT_EQ(templates.size(), kTemplatesComparedMax);
}

}  // namespace
}  // namespace berth::model
