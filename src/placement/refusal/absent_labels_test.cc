#include "placement/refusal/absent_labels.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

struct Case {
  const char* name;
  const char* spec;  // of the pod
  const char* text;
};

class AbsentLabelsOf : public testing::TestWithParam<Case> {};

std::string affinity(const std::string& terms) {
  return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[)" +
         terms + "]}}}";
}

void put_nodes(PluginBench& bench) {
  bench.put_node("n1", R"("topology.kubernetes.io/zone":"north-1","disk":"ssd")");
  bench.put_node("n2", R"("topology.kubernetes.io/zone":"north-2","gpu":"a100")");
}

TEST_P(AbsentLabelsOf, AreNamed) {
  PluginBench bench;
  put_nodes(bench);
  EXPECT_EQ(absent_labels(bench.cluster, bench.put_pod("p", "", std::string(",") + GetParam().spec)),
            GetParam().text);
}

const std::string kOneOfTwoTerms = affinity(R"({"matchExpressions":[{"key":"disk","operator":"Exists"}]},)"
                                            R"({"matchExpressions":[{"key":"disks","operator":"Exists"}]})");
const std::string kBothTerms =
    affinity(R"({"matchExpressions":[{"key":"disk","operator":"Exists"},{"key":"gpu","operator":"In",)"
             R"("values":["h100","h200"]}]},{"matchExpressions":[{"key":"disks","operator":"Exists"}]})");
const std::string kOtherOperators = affinity(
    R"({"matchExpressions":[{"key":"x","operator":"DoesNotExist"},{"key":"gpu","operator":"NotIn",)"
    R"("values":["a100"]}],"matchFields":[{"key":"metadata.name","operator":"In","values":["n9"]}]})");

INSTANTIATE_TEST_SUITE_P(
    Table, AbsentLabelsOf,
    testing::Values(
        Case{"EachIsThere", R"("nodeSelector":{"disk":"ssd","gpu":"a100"})", ""},
        Case{"ASimilarValue", R"("nodeSelector":{"topology.kubernetes.io/zone":"north-3"})",
             "no node has label topology.kubernetes.io/zone=north-3, nearest: "
             "topology.kubernetes.io/zone=north-1, topology.kubernetes.io/zone=north-2"},
        Case{"AnotherValue", R"("nodeSelector":{"disk":"nvme"})",
             "no node has label disk=nvme, nodes have disk=ssd"},
        Case{"ASimilarKey", R"("nodeSelector":{"disks":"ssd"})",
             "no node has label disks=ssd, nearest: disk"},
        Case{"AKeyWithoutItsPrefix", R"("nodeSelector":{"zone":"north-1"})",
             "no node has label zone=north-1, nearest: topology.kubernetes.io/zone"},
        Case{"AnotherKey", R"("nodeSelector":{"accelerator":"a100"})", "no node has label accelerator=a100"},
        Case{"OneOfTwoTerms", kOneOfTwoTerms.c_str(), ""},
        Case{"BothTerms", kBothTerms.c_str(),
             "no node has label gpu in (h100, h200), nearest: gpu=a100; no node has label disks, nearest: "
             "disk"},
        Case{"OtherOperators", kOtherOperators.c_str(), ""}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(AbsentLabels, AreLookedForAgainWhenLabelsChange) {
  PluginBench bench;
  put_nodes(bench);
  AbsentLabels labels;
  const api::Pod& pod = bench.put_pod("p", "", R"(,"nodeSelector":{"disk":"nvme"})");
  EXPECT_EQ(labels.of(bench.cluster, pod), "no node has label disk=nvme, nodes have disk=ssd");
  bench.put_node("n3", R"("disk":"hdd")");
  EXPECT_EQ(labels.of(bench.cluster, pod), "no node has label disk=nvme, nodes have disk=hdd, disk=ssd");
  bench.put_node("n3", R"("disk":"nvme")");
  EXPECT_EQ(labels.of(bench.cluster, pod), "");
}

}  // namespace
}  // namespace berth::placement
