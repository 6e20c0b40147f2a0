// Determinism: a replay gives the same bytes, and the arrival order of independent objects does not matter.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr const char* kClaimPrefix = R"(,"resourceClaims":[{"name":"dev","resourceClaimName":")";

// A random day: nodes, slices, pods and gangs come and go, time passes, some writes fail. Returns all
// effects.
std::vector<std::string> random_day(TestBench& bench, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<std::string> answers;
  bench.put_class("gpu", "true");
  for (int step = 0; step < 120; ++step) {
    const std::string n = std::to_string(step);
    switch (random.below(8)) {
      case 0:
        bench.put_node({"n" + n,
                        std::to_string(1 + random.below(4)),
                        "8Gi",
                        "4",
                        {{"rack", "r" + std::to_string(random.below(3))}}});
        bench.put_slice("s" + n, "n" + n, 1 + static_cast<int>(random.below(3)));
        break;
      case 1:
        bench.put_claim("c" + n, "gpu", 1 + static_cast<int>(random.below(2)));
        bench.put_pod({"d" + n, "1", "", kClaimPrefix + ("c" + n) + "\"}]"});
        break;
      case 2:
        bench.put_group("g" + n, 2, random.below(2) == 0 ? "rack" : "");
        for (const char* member : {"a", "b", "c"}) bench.put_pod({"g" + n + member, "1", "g" + n});
        break;
      case 3:
        if (!bench.view.pods.all().empty())
          bench.erase(api::Kind::Pod, bench.view.pods.all().begin()->first.name);
        break;
      case 4:
        bench.now = bench.now + Duration::seconds(static_cast<std::int64_t>(random.below(20)));
        break;
      default:
        bench.put_pod({"p" + n, std::to_string(1 + random.below(3)), "", "", "", "", step});
    }
    const client::Effects effects = bench.decide();
    answers.push_back(client::to_text(effects));
    if (random.below(5) == 0 && !effects.chains.empty()) {
      bench.scheduler.on_outcome(bench.view, {effects.decision_id, {{effects.chains[0].key, false, 0, {}}}},
                                 bench.now);
    } else {
      bench.carry_out(effects);
    }
  }
  return answers;
}

TEST(Replay, GivesTheSameBytes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestBench bench;
    const std::vector<std::string> answers = random_day(bench, seed);
    FakeSelectors selectors;
    Scheduler again({}, selectors);
    EXPECT_EQ(replay(bench.inputs.inputs, again), answers) << "seed " << seed;
    EXPECT_EQ(again.cluster().to_text(), bench.scheduler.cluster().to_text());
  }
}

TEST(Replay, DecisionIdsDifferAndStandInTheLog) {
  TestBench bench;
  random_day(bench, 7);
  std::map<std::string, std::string> ids;
  for (const DecisionRecord& record : bench.decisions.records()) {
    const auto [first, is_new] = ids.try_emplace(record.id, record.name);
    if (record.result == DecisionResult::Undone) {
      EXPECT_FALSE(is_new) << record.id;
    } else if (!is_new) {  // late members join the decision of their group
      EXPECT_EQ(record.kind, DecisionKind::Group) << record.id;
      EXPECT_EQ(record.name, first->second) << record.id;
    }
  }
  EXPECT_GT(ids.size(), 10u);
  for (const auto& [key, request] : bench.view.bind_requests.all())
    EXPECT_NE(bench.decisions.find(request->decision_id), nullptr);
}

// No two pods are created in one second, because arrival orders those.
TEST(Order, OfIndependentArrivalsDoesNotChangeAnyDecision) {
  std::map<std::string, std::string> expected;
  std::vector<std::string> words;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestBench bench;
    std::vector<std::function<void()>> arrivals = {[&] { bench.put_class("gpu", "true"); },
                                                   [&] { bench.put_group("g", 2, "rack", 0, 1); },
                                                   [&] { bench.put_group("h", 3, "rack", 0, 2); }};
    for (int i = 0; i < 6; ++i) {
      const std::string n = std::to_string(i);
      arrivals.push_back(
          [&bench, n, i] { bench.put_node({"n" + n, "3", "8Gi", "5", {{"rack", i < 3 ? "r1" : "r2"}}}); });
      arrivals.push_back([&bench, n] { bench.put_slice("s" + n, "n" + n, 1); });
      arrivals.push_back([&bench, n] { bench.put_claim("c" + n, "gpu"); });
      arrivals.push_back([&bench, n, i] {
        bench.put_pod({"d" + n, "1", "", kClaimPrefix + ("c" + n) + "\"}]", "", "", 10 + i});
      });
      arrivals.push_back([&bench, n, i] { bench.put_pod({"p" + n, "1", "", "", "", "", 20 + i}); });
    }
    for (const char* pod : {"g1", "g2", "h1", "h2", "h3"})
      arrivals.push_back([&bench, pod] { bench.put_pod({pod, "1", std::string(1, pod[0])}); });
    SeededRandom random(seed);
    for (std::size_t i = arrivals.size(); i > 1; --i) std::swap(arrivals[i - 1], arrivals[random.below(i)]);
    for (const auto& arrive : arrivals) arrive();
    bench.run();

    std::map<std::string, std::string> placed;
    for (const auto& [key, pod] : bench.view.pods.all())
      placed[key.name] = bench.node_of(key.name) + " " + bench.event_of(key.name);
    if (seed == 0) expected = placed;
    EXPECT_EQ(placed, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::scheduling
