// Storms from seeds, and checks that their plans and digests are reliable.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/testing/source_dir.h"
#include "sim/storm.h"
#include "sim/storm_shrink.h"

namespace berth::sim {
namespace {

// Hundreds, on every core: tests/storms/run.py.
constexpr int kSeedsDefault = 10;

StormResult storm(const StormPlan& plan) {
  configure_log(LogLevel::Off, LogFormat::Text);
  const Result<StormResult> result = run_storm(plan);
  EXPECT_TRUE(result.ok()) << result.error().text();
  return *result;
}

std::uint64_t faults_of(const StormResult& result) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : result.faults) sum += count;
  return sum;
}

void expect_survived(std::uint64_t first, int seeds) {
  for (int i = 0; i < seeds; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const StormResult result = storm(make_storm_plan(seed));
    ASSERT_TRUE(result.broken.empty()) << "seed " << seed << ": " << result.broken.front();
  }
}

TEST(HostileStorm, EverySeedIsSurvived) {
  const char* said = std::getenv("BERTH_STORM_ROUNDS");
  const int seeds = said ? std::atoi(said) : kSeedsDefault;
  expect_survived(1, seeds);
}

// One process schedules and binds, and keeps in memory every binding that does not wait.
TEST(HostileStorm, SeedsWithRecordsInMemoryAreSurvived) {
  expect_survived(kInMemorySeeds + 1, kSeedsDefault);
}

// Shrunk plans of earlier failures: tests/storms/*.yaml.
TEST(HostileStorm, EveryStoredPlanIsSurvived) {
  const std::string folder = source_path("tests/storms");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const Result<StormPlan> plan = parse_storm_plan(text.str(), entry.path().string());
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const StormResult result = storm(*plan);
    EXPECT_TRUE(result.broken.empty()) << entry.path() << ": " << result.broken.front();
  }
}

TEST(HostileStorm, IsAsLargeAsItSays) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const StormPlan plan = make_storm_plan(seed);
    int pods = 0, groups = 0;
    for (const Json& step : plan.steps) {
      pods += step.string_at("do") == "pod";
      groups += step.string_at("do") == "group";
    }
    EXPECT_GE(pods, 200);
    EXPECT_GE(groups, 10);
    EXPECT_GE(kStormHeals + kStormRests, Duration::minutes(10));
    EXPECT_GE(faults_of(storm(plan)), 50u) << "seed " << seed;
  }
}

TEST(HostileStorm, TheSameSeedGivesTheSameBytes) {
  for (const std::uint64_t seed : {5, 6}) {
    const StormResult first = storm(make_storm_plan(seed)), second = storm(make_storm_plan(seed));
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.writes, second.writes);
    EXPECT_EQ(first.faults, second.faults);
  }
}

// A step with `when` waits for its state, and applies to the pod in that state.
TEST(HostileStorm, AStepIsAimedAtAState) {
  StormPlan plan = make_storm_plan(5);
  plan.steps.clear();
  plan.steps.push_back(Json::object({{"atMs", 10'000},
                                     {"do", "pod"},
                                     {"name", "late"},
                                     {"need", "one-gpu"},
                                     {"cpuMillis", 100},
                                     {"runS", 5}}));
  plan.steps.insert(plan.steps.begin(),
                    Json::object({{"atMs", 1}, {"do", "delete-pod"}, {"when", "Binding"}, {"forMs", 1}}));
  const StormResult result = storm(plan);
  EXPECT_TRUE(result.broken.empty());
  const std::size_t binding = 4, deleted = static_cast<std::size_t>(FaultClass::PodDeleted);
  ASSERT_EQ(kStormStates[binding], "Binding");
  EXPECT_EQ(result.faults[deleted], 1u);
  EXPECT_EQ(result.coverage[binding][deleted], 1u);
}

// Where everything fits, users only add and no pod is evicted: the final state does not depend on which
// processes were killed.
TEST(HostileStorm, ARestartEndsAsNoRestart) {
  for (const std::uint64_t seed : {11, 12, 13, 14, 15, 16}) {
    StormPlan plan = make_storm_plan(seed);
    plan.racks = plan.nodes_per_rack = 3;
    plan.gpus_per_node = 4;
    plan.cpus_per_node = 64;
    std::erase_if(plan.steps, [](const Json& step) {
      const std::string_view what = step.string_at("do");
      // A step that waits for a state affects another pod in the other run. Disks are scarce, and illness
      // evicts.
      return step.find("when") || step.string_at("name").starts_with("vol-") || step.find("volumes") ||
             what.find("volume") != what.npos || what.find("health") != what.npos || what == "rival" ||
             what == "edit-group" || what.find("delete") != what.npos || what == "recreate-pod" ||
             what == "resize-pod" || what == "taint-devices" || what.find("node") != what.npos;
    });
    for (Json& step : plan.steps) {
      step.as_object().erase("priority");  // a higher one evicts
      if (step.string_at("do") != "pod") continue;
      const bool member = step.find("group");  // a late one would wait for ever for finished ones
      step["runS"] = member ? 0 : 10;
      step["need"] = member ? "" : "one-gpu";
      for (const char* gpus : {"share", "shareGpus", "gpus"}) step.as_object().erase(gpus);
    }
    const StormResult with = storm(plan), without = storm(without_process_faults(plan));
    EXPECT_TRUE(with.broken.empty() && without.broken.empty());
    EXPECT_NE(with.digest, without.digest) << "nothing happened to any process";
    EXPECT_EQ(with.done, without.done) << "seed " << seed;
  }
}

// Without members a gang waits for ever, and so does its tree.
TEST(HostileStorm, EveryGangOfAPlanHasMembers) {
  for (std::uint64_t seed = kPolicySeeds; seed < kPolicySeeds + 200; ++seed) {
    const StormPlan plan = make_storm_plan(seed);
    for (const Json& step : plan.steps) {
      if (step.string_at("do") != "group" || !step.find("min")) continue;
      EXPECT_GT(step.int_at("min"), 0) << "seed " << seed << ": " << step.string_at("name");
    }
  }
}

TEST(HostileStorm, APlanFromItsFileIsTheSamePlan) {
  const StormPlan plan = make_storm_plan(5);
  const Result<StormPlan> again = parse_storm_plan(storm_plan_text(plan), "storm-5.yaml");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(storm_plan_text(*again), storm_plan_text(plan));
  EXPECT_EQ(storm(*again).digest, storm(plan).digest);
}

TEST(HostileStorm, RefusesWhatIsNoPlan) {
  EXPECT_FALSE(parse_storm_plan("story: x\n", "x.yaml").ok());
  StormPlan plan;
  plan.steps = {Json::object({{"atMs", 1}, {"do", "dance"}})};
  const Result<StormResult> result = run_storm(plan);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("no step \"dance\""), std::string::npos);
  plan.steps = {Json::object({{"atMs", 1}, {"do", "outage"}, {"when", "Dancing"}})};
  const Result<StormResult> aimed = run_storm(plan);
  ASSERT_FALSE(aimed.ok());
  EXPECT_NE(aimed.error().text().find("no state \"Dancing\""), std::string::npos);
}

TEST(HostileStorm, AStepIsLeftOutOnlyWhileThePlanFailsAlike) {
  StormPlan plan = make_storm_plan(5);
  plan.steps.clear();
  const Result<ShrunkStorm> shrunk = shrink_storm(plan);
  ASSERT_TRUE(shrunk.ok());
  EXPECT_EQ(shrunk->broken, "") << "nothing fails where nothing happens";
}

}  // namespace
}  // namespace berth::sim
