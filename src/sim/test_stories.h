// The stories of tests/stories, for tests that run all of them.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

namespace berth::sim {

// Every story below a folder, by path. given/ has their objects, explain/ has cases of another form.
inline std::vector<std::string> story_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const bool is_story =
        path.find("/given/") == std::string::npos && path.find("/explain/") == std::string::npos;
    if (entry.path().extension() == ".yaml" && is_story) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The path below `folder` as part of a test's name.
inline std::string story_test_name(const std::string& folder, const std::string& path) {
  std::string name = path.substr(folder.size() + 1);
  name.resize(name.size() - std::string(".yaml").size());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

}  // namespace berth::sim
