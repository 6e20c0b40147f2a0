#include "server/fair_line.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::server {
namespace {

std::string popped(FairLine<std::string>& line) {
  std::string all;
  while (!line.empty()) all += line.pop() + " ";
  return all;
}

TEST(FairLines, TakeTheFlowsInTurn) {
  FairLine<std::string> line;
  for (const char* item : {"a1", "a2", "a3", "b1", "c1", "b2"}) line.push(std::string(1, item[0]), item);
  EXPECT_EQ(line.size_of("a"), 3u);
  EXPECT_EQ(popped(line), "a1 b1 c1 a2 b2 a3 ");
  EXPECT_EQ(line.size_of("a"), 0u);
}

TEST(FairLines, MakeRoomAtTheExpenseOfTheLongestLine) {
  FairLine<std::string> line;
  for (const char* item : {"a1", "a2", "a3", "b1"}) line.push(std::string(1, item[0]), item);
  EXPECT_EQ(line.take_for("a"), std::nullopt) << "nobody has a longer one";
  EXPECT_EQ(line.take_for("b"), "a3");
  line.push("b", "b2");
  EXPECT_EQ(line.take_for("b"), std::nullopt) << "they are as long";
  EXPECT_EQ(line.take_for("c"), "a2");
  EXPECT_EQ(line.take_for("c"), "b2");
  EXPECT_EQ(line.take_for("c"), std::nullopt);
  EXPECT_EQ(popped(line), "a1 b1 ");
}

// The slow twin keeps all items in one list.
TEST(FairLines, LoseNothing) {
  SeededRandom random(5);
  for (int round = 0; round < 50; ++round) {
    FairLine<int> line;
    std::vector<int> all;
    for (int item = 0; item < 300; ++item) {
      const std::uint64_t what = random.below(4);
      if (what < 2) {
        line.push(std::to_string(random.below(5)), item);
        all.push_back(item);
      } else if (what == 2 && !line.empty()) {
        ASSERT_EQ(std::erase(all, line.pop()), 1u);
      } else if (what == 3) {
        const auto is_old = [&](int one) { return one % 7 == item % 7; };
        const std::vector<int> taken = line.take_if(is_old);
        ASSERT_EQ(std::erase_if(all, is_old), taken.size());
      }
      ASSERT_EQ(line.size(), all.size());
    }
  }
}

}  // namespace
}  // namespace berth::server
