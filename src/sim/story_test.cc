#include <gtest/gtest.h>

#include "base/testing/source_dir.h"
#include "sim/story.h"
#include "sim/test_stories.h"

namespace berth::sim {
namespace {

const std::string kStories = source_path("tests/stories");

class Story : public testing::TestWithParam<std::string> {};

TEST_P(Story, ComesAsTold) {
  const Result<StoryResult> result = run_story(GetParam(), kStories + "/given");
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->failure, "") << result->name;
}

INSTANTIATE_TEST_SUITE_P(Stories, Story, testing::ValuesIn(story_files(kStories)),
                         [](const auto& info) { return story_test_name(kStories, info.param); });

TEST(StoryDialect, AWrongExpectationFails) {
  const Result<StoryResult> result =
      run_story(kStories + "/dialect/wrong-expectation.story", kStories + "/given");
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_NE(result->failure.find("expected \"Succeeded\""), std::string::npos) << result->failure;
}

}  // namespace
}  // namespace berth::sim
