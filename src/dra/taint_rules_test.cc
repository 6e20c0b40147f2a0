#include "dra/taint_rules.h"

#include <gtest/gtest.h>

namespace berth::dra {
namespace {

using api::Kind;

struct Bench {
  client::View view;
  model::Cluster cluster;
  TaintRules rules;
  int version = 0;

  void put(Kind kind, const std::string& name, const std::string& spec, int generation = 1) {
    const std::string text = R"({"metadata":{"name":")" + name + R"(","uid":"u-)" + name +
                             R"(","generation":)" + std::to_string(generation) + R"(,"resourceVersion":")" +
                             std::to_string(++version) + R"("},"spec":)" + spec + "}";
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
    rules.apply(*view.put({kind, "", name, {}}, *typed), cluster);
  }
  void slice(const std::string& name, const std::string& pool) {
    put(Kind::ResourceSlice, name,
        R"({"driver":"d.io","nodeName":"n","pool":{"name":")" + pool +
            R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"a","taints":)" +
            R"([{"key":"own","effect":"NoSchedule"}]},{"name":"b"}]})");
  }
  void rule(const std::string& name, const std::string& selector, const std::string& effect,
            int generation = 1) {
    put(Kind::DeviceTaintRule, name,
        "{" + selector + R"("taint":{"key":")" + name + R"(","effect":")" + effect + R"("}})", generation);
  }
  void erase(Kind kind, const std::string& name) {
    rules.apply(*view.erase({kind, "", name, {}}, ~std::uint64_t{0}), cluster);
  }
  std::shared_ptr<const api::ResourceSlice> seen(const std::string& pool, const std::string& slice) const {
    const auto& slices = cluster.pool(cluster.find_pool("d.io", pool)).slices;
    const auto found = slices.find(slice);
    return found == slices.end() ? nullptr : found->second.live;
  }
  // "a:own,r b:r"
  std::string taints(const std::string& pool, const std::string& slice) const {
    std::string text;
    for (const api::Device& device : seen(pool, slice)->devices) {
      text += (text.empty() ? "" : " ") + device.name + ":";
      for (std::size_t i = 0; i < device.taints.size(); ++i) text += (i ? "," : "") + device.taints[i].key;
    }
    return text;
  }
};

TEST(TaintRules, StandBehindTheDriversOwnTaintsByName) {
  Bench bench;
  bench.rule("z", R"("deviceSelector":{"device":"b"},)", "NoExecute");
  bench.slice("s", "p");
  bench.rule("r", R"("deviceSelector":{"driver":"d.io","pool":"p"},)", "NoSchedule");
  EXPECT_EQ(bench.taints("p", "s"), "a:own,r b:r,z");
  bench.erase(Kind::DeviceTaintRule, "r");
  EXPECT_EQ(bench.taints("p", "s"), "a:own b:z");
  bench.erase(Kind::DeviceTaintRule, "z");
  EXPECT_EQ(bench.taints("p", "s"), "a:own b:");
  bench.erase(Kind::ResourceSlice, "s");
  EXPECT_EQ(bench.seen("p", "s"), nullptr);
}

TEST(TaintRules, NoSelectorAndAnEmptyOneSelectEverything) {
  for (const char* selector : {"", R"("deviceSelector":{},)"}) {
    Bench bench;
    bench.slice("s", "p");
    bench.rule("r", selector, "NoSchedule");
    EXPECT_EQ(bench.taints("p", "s"), "a:own,r b:r") << selector;
  }
}

TEST(TaintRules, NoneAndUnknownEffectsChangeNothing) {
  for (const char* effect : {"None", "NoTea"}) {
    Bench bench;
    bench.slice("s", "p");
    const auto before = bench.seen("p", "s");
    bench.rule("r", "", effect);
    EXPECT_EQ(bench.seen("p", "s"), before) << effect;
    bench.rule("r", "", "NoExecute", 2);
    EXPECT_EQ(bench.taints("p", "s"), "a:own,r b:r");
    bench.rule("r", "", effect, 3);
    EXPECT_EQ(bench.taints("p", "s"), "a:own b:");
  }
}

TEST(TaintRules, OnlyAffectedSlicesGetANewVersion) {
  Bench bench;
  bench.slice("s1", "p1");
  bench.slice("s2", "p2");
  bench.slice("s3", "p3");
  const auto other = bench.seen("p3", "s3");
  const std::uint64_t stamp = bench.cluster.pool(bench.cluster.find_pool("d.io", "p3")).stamp;
  bench.rule("r", R"("deviceSelector":{"pool":"p1"},)", "NoSchedule");
  const auto first = bench.seen("p1", "s1");
  bench.rule("r", R"("deviceSelector":{"pool":"p2"},)", "NoSchedule", 2);
  EXPECT_EQ(bench.taints("p1", "s1"), "a:own b:");
  EXPECT_EQ(bench.taints("p2", "s2"), "a:own,r b:r");
  EXPECT_EQ(bench.seen("p3", "s3"), other);
  EXPECT_EQ(bench.cluster.pool(bench.cluster.find_pool("d.io", "p3")).stamp, stamp);
  // A new status of the rule changes no device.
  const auto second = bench.seen("p2", "s2");
  bench.rule("r", R"("deviceSelector":{"pool":"p2"},)", "NoSchedule", 2);
  EXPECT_EQ(bench.seen("p2", "s2"), second);
}

}  // namespace
}  // namespace berth::dra
