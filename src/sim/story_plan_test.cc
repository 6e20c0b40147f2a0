// `berth plan` and the live scheduler agree at the end of every story.
#include <gtest/gtest.h>

#include <map>

#include "api/kinds.h"
#include "base/testing/source_dir.h"
#include "placement/refusal/berth_words.h"
#include "sim/story.h"
#include "sim/test_plan.h"
#include "sim/test_stories.h"

namespace berth::sim {
namespace {

const std::string kPlannedStories = source_path("tests/stories");

using api::Kind;
using planning::ResultKind;

// Longer than a sweep of the queue and than a condition keeps its text, so every condition is current.
constexpr Duration kAtRest = Duration::minutes(11);

std::string condition_message(const Json& object, std::string_view type) {
  for (const Json& condition : object.part("status").items_at("conditions"))
    if (condition.string_at("type") == type && condition.string_at("status") == "False")
      return std::string(condition.string_at("message"));
  return "";
}

struct Refused {
  std::string condition;  // Kubernetes' sentence; empty for a group that reached its minimum
  std::string event;      // of the pod, or of a member of the group
};

// By "pod/ns/name" and "group/ns/name": the live scheduler's refusals.
std::map<std::string, Refused> refused_live(World& world) {
  std::map<std::string, Refused> refused;
  for (const Json& pod : world.read_all(api::ref_of(Kind::Pod))) {
    const std::string ns(pod.part("metadata").string_at("namespace"));
    const std::string message = condition_message(pod, "PodScheduled");
    const std::string_view group = pod.part("spec").part("schedulingGroup").string_at("podGroupName");
    if (message.empty() || !pod.part("spec").string_at("nodeName").empty()) continue;
    const std::string event = failed_scheduling_event(world, pod);
    if (group.empty())
      refused["pod/" + ns + "/" + std::string(pod.part("metadata").string_at("name"))] = {message, event};
    else if (const Json object = world.read(api::ref_of(Kind::PodGroup), ns, std::string(group));
             !object.is_null())
      refused["group/" + ns + "/" + std::string(group)] = {
          condition_message(object, "PodGroupInitiallyScheduled"), event};
  }
  return refused;
}

std::string key_of(const planning::Decision& decision) {
  return (decision.group ? "group/" : "pod/") + decision.ns + "/" + decision.name;
}

void compare(World& world) {
  world.advance(kAtRest);
  const std::map<std::string, Refused> live = refused_live(world);
  const Result<planning::Plan> plan = plan_of(world);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  for (const planning::Decision& decision : plan->decisions) {
    if (decision.composite) continue;  // its groups say the same
    const auto found = live.find(key_of(decision));
    if (found == live.end()) {
      EXPECT_TRUE(decision.result == ResultKind::Gated || decision.result == ResultKind::Unschedulable ||
                  decision.reason == "FieldNotHonoured")
          << key_of(decision) << ": " << name_of(decision.result) << ": " << decision.message();
      continue;
    }
    const auto& [condition, event] = found->second;
    EXPECT_NE(decision.result, ResultKind::Placed) << key_of(decision) << " waits: " << condition;
    // A group that reached its minimum keeps its condition, whatever happens to further members.
    if (condition.empty()) continue;
    EXPECT_EQ(decision.message(), placement::joined(condition, decision.explanation())) << key_of(decision);
    const bool told = decision.group ? event.ends_with(decision.explanation()) : event == decision.message();
    EXPECT_TRUE(event.empty() ? decision.reason == "SchedulingGated" : told)
        << key_of(decision) << ": " << event;
  }
}

class StoryPlan : public testing::TestWithParam<std::string> {};

TEST_P(StoryPlan, SaysWhatTheLiveSchedulerSays) {
  const Result<StoryResult> result = run_story(GetParam(), kPlannedStories + "/given", compare);
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->failure, "") << result->name;
}

INSTANTIATE_TEST_SUITE_P(Stories, StoryPlan, testing::ValuesIn(story_files(kPlannedStories)),
                         [](const auto& info) { return story_test_name(kPlannedStories, info.param); });

}  // namespace
}  // namespace berth::sim
