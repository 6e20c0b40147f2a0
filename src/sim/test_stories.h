// The stories of tests/stories, for tests that run all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace berth::sim {

inline const std::string kStories = std::string(BERTH_SOURCE_DIR) + "/tests/stories";

inline std::vector<std::string> story_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kStories)) {
    const std::string path = entry.path().string();
    const bool is_given = path.find("/given/") != std::string::npos;
    if (entry.path().extension() == ".yaml" && !is_given) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(kStories.size() + 1);
  name.resize(name.size() - std::string(".yaml").size());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

}  // namespace berth::sim
