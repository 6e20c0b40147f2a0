// What the framework promises a placement scorer of somebody else.
#include <gtest/gtest.h>

#include <set>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// Scores by a function of the test and keeps what it was asked.
class Asked final : public placement::PlacementScorer {
 public:
  using Rule = std::function<std::int64_t(const placement::PlacementResult&)>;
  Asked(Rule rule, bool known, std::vector<std::string>& log)
      : rule_(std::move(rule)), known_(known), log_(log) {}
  std::string_view name() const override { return "Asked"; }
  bool known_before_placing() const override { return known_; }
  void score(const placement::ScoringQuestion& question, std::span<std::int64_t> scores) const override {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const placement::PlacementResult& result = question.results[i];
      std::string line = question.group.meta.name + " in " + result.placement->name + ":";
      for (const model::NodeId node : result.nodes) line += " " + question.context.cluster.node(node).name;
      log_.push_back(std::move(line));
      scores[i] = rule_(result);
    }
  }

 private:
  Rule rule_;
  bool known_;
  std::vector<std::string>& log_;
};

class PlacementScorers : public testing::Test {
 protected:
  enum class Known { BeforePlacing, Afterwards };

  // Two racks with two nodes each; r2 is fuller, so Berth's own scorers prefer it.
  void start(Asked::Rule rule, Known known, std::int64_t weight = 10) {
    SchedulerOptions options;
    options.plugins = [this, rule, known, weight](const placement::PluginArguments& arguments) {
      placement::PluginSet set = placement::default_plugins(arguments);
      set.placement_scorers.push_back(
          {std::make_unique<Asked>(rule, known == Known::BeforePlacing, asked_), weight});
      return set;
    };
    bench_.emplace(std::move(options));
    for (const char* node : {"n1", "n2"}) bench_->put_node({node, "2", "8Gi", "110", {{"rack", "r1"}}});
    for (const char* node : {"n3", "n4"}) bench_->put_node({node, "2", "8Gi", "110", {{"rack", "r2"}}});
    bench_->put_pod({"filler", "1", "", R"(,"nodeSelector":{"rack":"r2"})"});
    bench_->run();
    bench_->put_group("g", 2, "rack");
    for (const char* pod : {"a", "b"}) bench_->put_pod({pod, "1", "g"});
    bench_->run();
  }
  std::string rack_of(const std::string& pod) const {
    const std::string node = bench_->node_of(pod);
    return node.empty() ? "" : node <= "n2" ? "r1" : "r2";
  }
  bool asked(const std::string& line) const { return std::count(asked_.begin(), asked_.end(), line) > 0; }

  std::vector<std::string> asked_;
  std::optional<TestBench> bench_;
};

TEST_F(PlacementScorers, DecideAgainstOnesOfLessWeight) {
  start([](const placement::PlacementResult& one) { return one.placement->name == "r1" ? 100 : 0; },
        Known::BeforePlacing);
  EXPECT_EQ(rack_of("a") + rack_of("b"), "r1r1");
}

TEST_F(PlacementScorers, WithoutWeightLeaveTheChoiceToOthers) {
  start([](const placement::PlacementResult& one) { return one.placement->name == "r1" ? 100 : 0; },
        Known::BeforePlacing, 0);
  EXPECT_EQ(rack_of("a") + rack_of("b"), "r2r2");
}

TEST_F(PlacementScorers, SeeTheNodesOfTheMembersOnEveryPlacement) {
  const auto few_nodes = [](const placement::PlacementResult& one) {
    return one.nodes.empty()
               ? 0
               : 100 / static_cast<std::int64_t>(std::set(one.nodes.begin(), one.nodes.end()).size());
  };
  start(few_nodes, Known::Afterwards);
  EXPECT_TRUE(asked("g in r1: n1 n2"));
  EXPECT_TRUE(asked("g in r2: n3 n4") || asked("g in r2: n4 n3"));
}

TEST_F(PlacementScorers, ThatNeedTheNodesSeeNoPlacementEarlier) {
  start([](const placement::PlacementResult&) { return 50; }, Known::Afterwards);
  for (const std::string& line : asked_) EXPECT_NE(line.back(), ':') << line;
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(PlacementScorers, ThatExceedTheirRangeEndTheAttemptWithAnError) {
  start([](const placement::PlacementResult&) { return placement::kPlacementScoreMax + 1; },
        Known::Afterwards);
  EXPECT_EQ(rack_of("a"), "");
  EXPECT_NE(
      bench_->message_of("a").find("plugin \"Asked\" returns an invalid placement score 101, it should be "
                                   "in the range of [0, 100]"),
      std::string::npos)
      << bench_->message_of("a") << bench_->group_message("g");
}

}  // namespace
}  // namespace berth::scheduling
