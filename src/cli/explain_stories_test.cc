// The cases of tests/stories/explain: objects in a file, and what `berth explain` says about them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/testing/source_dir.h"
#include "base/text_file.h"
#include "cli/berth.h"

namespace berth::cli {
namespace {

const std::string kExplainCases = source_path("tests/stories/explain");
constexpr std::size_t kCaseBytesMax = 1u << 20;

std::vector<std::string> explain_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kExplainCases))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

// The words after "# explain:" in the first line.
std::vector<std::string> question_in(const std::string& text) {
  constexpr std::string_view kBegin = "# explain: ";
  std::vector<std::string> words;
  if (!text.starts_with(kBegin)) return words;
  std::istringstream line(text.substr(kBegin.size(), text.find('\n') - kBegin.size()));
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

std::string said(const std::string& file, const std::vector<std::string>& question) {
  std::vector<std::string> words = {"berth", "explain", "-f", file};
  words.insert(words.end(), question.begin(), question.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  run_berth(static_cast<int>(arguments.size()), arguments.data());
  return testing::internal::GetCapturedStdout();
}

TEST(ExplainStories, SayWhatTheirFilesSay) {
  const std::vector<std::string> names = explain_cases();
  EXPECT_GE(names.size(), 30u);
  for (const std::string& name : names) {
    const std::string file = kExplainCases + "/" + name + ".yaml";
    const auto question = question_in(read_text_file(file, kCaseBytesMax).value_or(""));
    ASSERT_FALSE(question.empty()) << name << ": its first line is no \"# explain: pod x\"";
    const std::string wanted =
        read_text_file(kExplainCases + "/" + name + ".txt", kCaseBytesMax).value_or("");
    EXPECT_EQ(said(file, question), wanted) << name;
  }
}

}  // namespace
}  // namespace berth::cli
