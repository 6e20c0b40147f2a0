// Plugins sign what they read: two pods differ only in a field that one new filter reads.
#include "placement/signature.h"

#include <gtest/gtest.h>

#include <set>

#include "placement/groups/group_cycle.h"
#include "placement/plugin_bench.h"
#include "placement/refusal/berth_words.h"

namespace berth::placement {
namespace {

constexpr Reason kOtherPaint = {"OtherPaint", "Paint", "node(s) had another paint", "has another paint",
                                "have another paint"};

// Accepts nodes whose label "paint" equals the pod's annotation "paint".
class Paint final : public Filter {
 public:
  explicit Paint(Signing signing) : signing_(signing) {}
  std::string_view name() const override { return "Paint"; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    if (signing_ == Signing::Signed && signature.begin(name())) signature.put(wanted(*query.pod));
    return signing_;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    verdicts.keep_if(kOtherPaint, [&](NodeId node) {
      ++judged;
      const api::StringMap& labels = query.context->cluster.node(node).live->meta.labels;
      const auto label = labels.find("paint");
      return label != labels.end() && label->second == wanted(*query.pod);
    });
  }
  mutable int judged = 0;  // nodes, in all calls

 private:
  static std::string wanted(const api::Pod& pod) {
    const auto found = pod.meta.annotations.find("paint");
    return found == pod.meta.annotations.end() ? "" : found->second;
  }
  Signing signing_;
};

// Four nodes, n0 to n3; n0 and n1 are red, the others blue.
class PaintTest : public testing::Test {
 protected:
  void start(Signing signing) {
    auto paint = std::make_unique<Paint>(signing);
    paint_ = paint.get();
    bench_.plugins.filters.push_back(std::move(paint));
    for (const char* name : {"n0", "n1"}) bench_.put_node(name, R"("paint":"red")");
    for (const char* name : {"n2", "n3"}) bench_.put_node(name, R"("paint":"blue")");
  }
  std::string choose(const std::string& name, const std::string& paint) {
    return bench_.choose(bench_.put_pod(name, R"(,"annotations":{"paint":")" + paint + "\"}"));
  }

  PluginBench bench_;
  Paint* paint_ = nullptr;
};

constexpr const char* kNoGreen = "0/4 nodes are available: 4 node(s) had another paint.";

TEST_F(PaintTest, APluginThatDoesNotSignIsAskedAnew) {
  start(Signing::Unsigned);
  EXPECT_EQ(choose("a", "red"), "n0");
  EXPECT_EQ(choose("b", "blue"), "n2");
  EXPECT_EQ(choose("c", "green"), kNoGreen);
  EXPECT_EQ(choose("d", "red"), "n0");
  EXPECT_EQ(paint_->judged, 16);
}

TEST_F(PaintTest, APluginThatSignsIsAskedOnceANode) {
  start(Signing::Signed);
  EXPECT_EQ(choose("a", "red"), "n0");
  EXPECT_EQ(choose("b", "blue"), "n2");
  EXPECT_EQ(choose("c", "green"), kNoGreen);
  EXPECT_EQ(paint_->judged, 12);
  EXPECT_EQ(choose("d", "red"), "n0");
  EXPECT_EQ(choose("e", "green"), kNoGreen);
  EXPECT_EQ(paint_->judged, 12);
  bench_.put_node("n3", R"("paint":"green")");
  EXPECT_EQ(choose("f", "green"), "n3");
  EXPECT_EQ(paint_->judged, 13);
}

// A rack of one red and one blue node with room for a pod each takes a red and a blue member. Fit counts for
// the red member alone would rule it out.
class PaintedGangTest : public PaintTest, public testing::WithParamInterface<Signing> {};

TEST_P(PaintedGangTest, MembersThatDifferAreNotCountedAsOne) {
  auto paint = std::make_unique<Paint>(GetParam());
  bench_.plugins.filters.push_back(std::move(paint));
  bench_.put_node("n0", R"("rack":"r0","paint":"red")");
  bench_.put_node("n1", R"("rack":"r0","paint":"blue")");
  for (const char* node : {"n0", "n1"})
    for (const char* name : {"a", "b", "c"})
      bench_.put_pod(std::string(name) + node, "", R"(,"nodeName":")" + std::string(node) + "\"");
  bench_.put(api::Kind::PodGroup, R"({"metadata":{"name":"g","namespace":"ns","uid":"g"},"spec":{)"
                                  R"("schedulingPolicy":{"gang":{"minCount":2}},)"
                                  R"("schedulingConstraints":{"topology":[{"key":"rack"}]}}})");
  GroupInput input;
  input.group = bench_.view.pod_groups.find("ns", "g");
  for (const char* paint_of : {"red", "blue"})
    input.waiting.push_back(
        &bench_.put_pod(paint_of, R"(,"annotations":{"paint":")" + std::string(paint_of) + "\"}"));
  GroupCycle groups(bench_.profiles, bench_.domains, bench_.index, Placements::ByTopology,
                    kGroupProofNodesMax);
  model::Ledger::Transaction transaction(bench_.cluster.ledger());
  const GroupOutcome outcome = groups.run(bench_.context, input, transaction);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::Placed) << message_of(*outcome.refusal);
}

INSTANTIATE_TEST_SUITE_P(Signing, PaintedGangTest, testing::Values(Signing::Unsigned, Signing::Signed));

// Pods that differ in one field that a default plugin reads.
TEST(PodSignature, DiffersWhereADefaultPluginReadsDifferentFields) {
  const auto affinity = [](const std::string& value) {
    return R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":[")" +
           value + R"("]}]}]}}})";
  };
  const std::vector<std::string> specs = {
      "",
      R"(,"overhead":{"cpu":"1"})",
      R"(,"nodeSelector":{"a":"b"})",
      R"(,"nodeSelector":{"a":"c"})",
      R"(,"tolerations":[{"key":"k","operator":"Exists"}])",
      R"(,"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"}])",
      affinity("b"),
      affinity("c")};
  PluginBench bench;
  std::set<std::string> seen;
  for (const std::string& spec : specs) {
    bench.begin(bench.put_pod("p" + std::to_string(seen.size()), "", spec));
    ASSERT_TRUE(bench.pods.prepare(bench.state)) << spec;
    PodSignature signature;
    EXPECT_TRUE(bench.pods.sign(bench.state, signature)) << "not signed: " << spec;
    EXPECT_TRUE(seen.insert(signature.bytes()).second) << "signed like a pod before it: " << spec;
  }
}

TEST(PodSignature, AFragmentIsWrittenOnce) {
  PodSignature once, twice;
  for (PodSignature* one : {&once, &twice, &twice})
    if (one->begin("Tolerations")) one->put("text");
  EXPECT_EQ(once.bytes(), twice.bytes());
  twice.put("more");
  EXPECT_NE(once.bytes(), twice.bytes());
}

TEST(PodSignature, PartsNeverRunIntoEachOther) {
  PodSignature one, other;
  one.put("ab");
  one.put("c");
  other.put("a");
  other.put("bc");
  EXPECT_NE(one.bytes(), other.bytes());
}

}  // namespace
}  // namespace berth::placement
