// Plugins sign what they read: two pods that differ in nothing but what one new filter reads.
#include "scheduling/signature.h"

#include <gtest/gtest.h>

#include "scheduling/shape_index.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// Keeps pods to nodes whose label "paint" is the pod's annotation "paint".
class Paint final : public Filter {
 public:
  explicit Paint(Signing signing) : signing_(signing) {}
  std::string_view name() const override { return "Paint"; }
  Signing sign(const Attempt& attempt, PodSignature& signature) const override {
    if (signing_ == Signing::Signed && signature.begin(name())) signature.put(wanted(*attempt.pod));
    return signing_;
  }
  void filter(Attempt& attempt) const override {
    const ReasonId reason = attempt.diagnosis.reason(name(), "node(s) had another paint");
    attempt.keep_if([&](NodeId node) {
      ++judged;
      const api::StringMap& labels = attempt.world->cluster.node(node).live->meta.labels;
      const auto label = labels.find("paint");
      if (label != labels.end() && label->second == wanted(*attempt.pod)) return true;
      attempt.diagnosis.refuse(node, Refusal::Unresolvable, reason);
      return false;
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
class SignatureTest : public testing::Test {
 protected:
  void start(Signing signing) {
    auto paint = std::make_unique<Paint>(signing);
    paint_ = paint.get();
    plugins_.filters.push_back(std::move(paint));
    for (int i = 0; i < 4; ++i)
      put(api::Kind::Node, R"({"metadata":{"name":"n)" + std::to_string(i) + R"(","labels":{"paint":")" +
                               (i < 2 ? "red" : "blue") +
                               R"("}},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"9"}}})");
  }
  void put(api::Kind kind, const std::string& text) {
    Json object = *parse_json(text);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(to_string(object)));
    const api::ObjectMeta& meta = api::meta_of(*typed);
    const auto delta = view_.put({kind, meta.ns, meta.name, {}}, *typed);
    cluster_.apply(*delta);
    if (kind == api::Kind::Node) domains_.node_changed(cluster_, cluster_.find_node(meta.name));
  }
  const api::Pod& put_pod(const std::string& name, const std::string& paint) {
    put(api::Kind::Pod,
        R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
            R"(","annotations":{"paint":")" + paint +
            R"("}},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})");
    return *view_.pods.find("ns", name);
  }
  // The node that the cached verdicts give a new pod; it is not placed.
  std::string choose(const std::string& name, const std::string& paint) {
    const World world{view_, cluster_, allocator_};
    Attempt attempt;
    pods_.begin(attempt, world, put_pod(name, paint));
    const NodeId node = index_.choose(attempt, {});
    return node.valid() ? cluster_.node(node).name : index_.refusals(attempt).fit_sentence(4);
  }

  client::View view_;
  FakeSelectors selectors_;
  SeededRandom random_{1};
  model::Cluster cluster_{model::NodeAllocatable::Ignored};
  dra::Allocator allocator_{cluster_, selectors_, random_};
  PluginSet plugins_ = default_plugins();
  PodCycle pods_{plugins_};
  DomainIndex domains_;
  ShapeIndex index_{pods_, domains_};
  Paint* paint_ = nullptr;
  std::uint64_t version_ = 0;
};

constexpr const char* kNoGreen = "0/4 nodes are available: 4 node(s) had another paint.";

TEST_F(SignatureTest, APluginThatDoesNotSignIsAskedAnew) {
  start(Signing::Unsigned);
  EXPECT_EQ(choose("a", "red"), "n0");
  EXPECT_EQ(choose("b", "blue"), "n2");
  EXPECT_EQ(choose("c", "green"), kNoGreen);
  EXPECT_EQ(choose("d", "red"), "n0");
  EXPECT_EQ(paint_->judged, 16);
}

TEST_F(SignatureTest, APluginThatSignsIsAskedOnceANode) {
  start(Signing::Signed);
  EXPECT_EQ(choose("a", "red"), "n0");
  EXPECT_EQ(choose("b", "blue"), "n2");
  EXPECT_EQ(choose("c", "green"), kNoGreen);
  EXPECT_EQ(paint_->judged, 12);
  EXPECT_EQ(choose("d", "red"), "n0");
  EXPECT_EQ(choose("e", "green"), kNoGreen);
  EXPECT_EQ(paint_->judged, 12);
  put(api::Kind::Node,
      R"({"metadata":{"name":"n3","labels":{"paint":"green"}},"status":{"allocatable":{"cpu":"4",)"
      R"("memory":"8Gi","pods":"9"}}})");
  EXPECT_EQ(choose("f", "green"), "n3");
  EXPECT_EQ(paint_->judged, 13);
}

// Every plugin of the default set signs a plain pod, so that its verdicts are kept.
TEST_F(SignatureTest, DefaultPluginsSignAPlainPod) {
  const World world{view_, cluster_, allocator_};
  const std::vector<std::string> specs = {
      R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})",
      R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]})",
      R"({"containers":[{"name":"c"}],"nodeSelector":{"a":"b"}})",
      R"({"containers":[{"name":"c"}],"nodeSelector":{"a":"c"}})",
      R"({"containers":[{"name":"c"}],"tolerations":[{"key":"k","operator":"Exists"}]})",
      R"({"containers":[{"name":"c"}],"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"}]})",
      R"({"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{)"
      R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[)"
      R"({"key":"a","operator":"In","values":["b"]}]}]}}}})",
      R"({"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{)"
      R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[)"
      R"({"key":"a","operator":"In","values":["c"]}]}]}}}})",
      R"({"containers":[{"name":"c"}],"nodeName":"n1"})"};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string name = "p" + std::to_string(i);
    put(api::Kind::Pod,
        R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u"},"spec":)" + specs[i] + "}");
    Attempt attempt;
    pods_.begin(attempt, world, *view_.pods.find("ns", name));
    ASSERT_TRUE(pods_.prepare(attempt)) << specs[i];
    PodSignature signature;
    EXPECT_TRUE(pods_.sign(attempt, signature)) << specs[i];
    EXPECT_TRUE(seen.insert(signature.bytes()).second) << "signed like a pod before it: " << specs[i];
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
}  // namespace berth::scheduling
