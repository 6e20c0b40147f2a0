#include "install/testing/stored_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/source_dir.h"

namespace berth::install {

void expect_stored(const std::string& file, const std::string& text) {
  const std::filesystem::path path = source_path(file);
  if (std::getenv("BERTH_WRITE")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return;
  }
  std::stringstream stored;
  stored << std::ifstream(path).rdbuf();
  EXPECT_EQ(stored.str(), text) << file << " is written anew when this test runs with BERTH_WRITE=1";
}

}  // namespace berth::install
