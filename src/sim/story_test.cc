#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/story.h"

namespace berth::sim {
namespace {

const std::string kStories = std::string(BERTH_SOURCE_DIR) + "/tests/stories";

std::vector<std::string> story_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kStories)) {
    const std::string path = entry.path().string();
    const bool is_given = path.find("/given/") != std::string::npos;
    if (entry.path().extension() == ".yaml" && !is_given) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(kStories.size() + 1);
  name.resize(name.size() - std::string(".yaml").size());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class Story : public testing::TestWithParam<std::string> {};

TEST_P(Story, ComesAsTold) {
  const Result<StoryResult> result = run_story(GetParam(), kStories + "/given");
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->failure, "") << result->name;
}

INSTANTIATE_TEST_SUITE_P(Stories, Story, testing::ValuesIn(story_files()), test_name);

TEST(StoryDialect, AWrongExpectationFails) {
  const Result<StoryResult> result =
      run_story(kStories + "/dialect/wrong-expectation.story", kStories + "/given");
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_NE(result->failure.find("expected \"Succeeded\""), std::string::npos) << result->failure;
}

}  // namespace
}  // namespace berth::sim
