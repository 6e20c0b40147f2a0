#include "planning/remedies.h"

#include <gtest/gtest.h>

#include "dra/cel_selectors.h"
#include "placement/refusal/berth_words.h"
#include "planning/test_documents.h"

namespace berth::planning {
namespace {

std::string node(const std::string& name, const std::string& metadata, const std::string& spec,
                 const std::string& cpu) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + name + metadata + "}, spec: {" + spec +
         "}, status: {allocatable: {cpu: \"" + cpu + "\", memory: 8Gi, pods: \"3\"}}}\n---\n";
}
std::string pod(const std::string& name, const std::string& cpu, const std::string& spec) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default}, spec: {" + spec +
         ", containers: [{name: c, image: i, resources: {requests: {cpu: \"" + cpu + "\"}}}]}}\n---\n";
}

struct RemedyCase {
  std::string name, input;
  std::vector<std::string> texts;
};
const std::string kX = pod("x", "3", "priority: 5");

const std::vector<RemedyCase> kRemedyCases = {
    {"it fits", node("n1", "", "", "4") + kX, {}},
    {"a cordon", node("n1", "", "unschedulable: true", "4") + kX, {"uncordoning n1"}},
    {"a cordoned node that is too small stays too small",
     node("n1", "", "unschedulable: true", "2") + kX,
     {}},
    {"a taint",
     node("n1", "", "taints: [{key: dedicated, value: db, effect: NoSchedule}]", "4") + kX,
     {"removing taint dedicated=db:NoSchedule from n1"}},
    {"a taint of a condition",
     node("n1", "", "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]", "4") + kX,
     {}},
    {"a label",
     node("n1", "", "", "4") + pod("x", "3", "nodeSelector: {zone: a}"),
     {"the label zone=a on n1"}},
    // 4 cpu, 2 taken, 3 asked for.
    {"cpu and an eviction",
     node("n1", "", "", "4") + pod("train-3", "2", "nodeName: n1, priority: 50") + kX,
     {"evicting default/train-3 (priority 50), for a place on n1", "1 more cpu on n1",
      "one more empty node like n1"}},
    {"a node that is too small", node("n1", "", "", "2500m") + kX, {"500m more cpu on n1"}},
    {"pod slots",
     node("n1", "", "", "4") + pod("a", "100m", "nodeName: n1, priority: 9") +
         pod("b", "100m", "nodeName: n1, priority: 8") + pod("c", "100m", "nodeName: n1, priority: 7") + kX,
     {"evicting default/c (priority 7), for a place on n1", "1 more pod slot on n1",
      "one more empty node like n1"}},
};

TEST(Remedies, AreThoseAfterWhichThePodFits) {
  const api::Gates gates(api::GateDefaults::Up);
  PlanOptions options;
  options.gates = &gates;
  options.device_gates = dra::gates_of(gates);
  dra::CelSelectors selectors;
  for (const RemedyCase& one : kRemedyCases) {
    const std::string input = one.input.substr(0, one.input.size() - 4);
    const auto found = find_remedies(documents_of(input), {"default", "x"}, options, selectors);
    ASSERT_TRUE(found.ok()) << one.name;
    std::vector<std::string> texts;
    for (const placement::Remedy& remedy : *found) texts.push_back(placement::words_of(remedy));
    EXPECT_EQ(texts, one.texts) << one.name;
  }
}

}  // namespace
}  // namespace berth::planning
