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

TEST(FairLines, CountTheBytesOfWhatWaits) {
  FairLine<std::string> line;
  line.push("a", "a1", 5);
  line.push("a", "a2", 7);
  line.push("b", "b1", 11);
  EXPECT_EQ(line.bytes(), 23u);
  EXPECT_EQ(line.bytes_of("a"), 12u);
  EXPECT_EQ(line.bytes_of("c"), 0u);
  EXPECT_EQ(line.pop(), "a1");
  EXPECT_EQ(line.bytes_of("a"), 7u);
  line.push("a", "a3", 1);
  line.push("a", "a4", 2);
  EXPECT_EQ(line.take_for("c"), "a4");
  EXPECT_EQ(line.bytes(), 19u);
  const auto is = [](const char* name) { return [name](const std::string& item) { return item == name; }; };
  EXPECT_EQ(line.take_if(is("a2")), std::vector<std::string>{"a2"});
  EXPECT_EQ(line.bytes_of("a"), 1u);
  EXPECT_EQ(line.take_if("b", is("a3")), std::vector<std::string>());
  EXPECT_EQ(line.take_if("c", is("a3")), std::vector<std::string>());
  EXPECT_EQ(line.take_if("a", is("a3")), std::vector<std::string>{"a3"});
  EXPECT_EQ(line.bytes(), 11u);
  EXPECT_EQ(popped(line), "b1 ");
  EXPECT_EQ(line.bytes(), 0u);
}

// The slow twin keeps all items in one list.
TEST(FairLines, LoseNothing) {
  SeededRandom random(5);
  for (int round = 0; round < 50; ++round) {
    FairLine<int> line;
    std::vector<int> all;
    for (int item = 0; item < 300; ++item) {
      const std::uint64_t what = random.below(5);
      if (what < 2) {
        line.push(std::to_string(random.below(5)), item, static_cast<std::size_t>(item));
        all.push_back(item);
      } else if (what == 2 && !line.empty()) {
        ASSERT_EQ(std::erase(all, line.pop()), 1u);
      } else if (what == 3) {
        const auto is_old = [&](int one) { return one % 7 == item % 7; };
        const std::vector<int> taken = line.take_if(is_old);
        ASSERT_EQ(std::erase_if(all, is_old), taken.size());
      } else if (what == 4) {
        for (const int one : line.take_if(std::to_string(random.below(5)), [](int) { return true; }))
          ASSERT_EQ(std::erase(all, one), 1u);
      }
      std::size_t bytes = 0;
      for (const int one : all) bytes += static_cast<std::size_t>(one);
      ASSERT_EQ(line.bytes(), bytes);
      ASSERT_EQ(line.size(), all.size());
    }
  }
}

}  // namespace
}  // namespace berth::server
