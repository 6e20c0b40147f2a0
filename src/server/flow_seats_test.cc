#include "server/flow_seats.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/random.h"

namespace berth::server {
namespace {

TEST(LevelsSeats, AreKubernetesNumbers) {
  struct Row {
    std::int64_t shares, all_shares, lendable_percent;
    std::optional<std::int64_t> borrowing_percent;
    std::int64_t nominal, lendable, most;
  };
  const Row rows[] = {
      {100, 245, 90, std::nullopt, 245, 221, 600},  // 244.9; 220.5
      {30, 245, 33, std::nullopt, 74, 24, 600},     // 73.5; 24.4
      {5, 245, 0, 0, 13, 0, 13},                    // 12.2
      {1, 300, 100, 50, 2, 2, 3},
      {1, 1200, 50, 25, 1, 1, 1},  // 0.5 of a seat; 0.25
      {0, 300, 50, std::nullopt, 0, 0, 600},
      {0, 0, 50, 100, 0, 0, 0},
      {1, 1, 0, 1000, 600, 0, 6600},
  };
  for (const Row& row : rows) {
    PriorityLevel level;
    level.shares = row.shares;
    level.lendable_percent = row.lendable_percent;
    level.borrowing_percent = row.borrowing_percent;
    LevelSeats seats{.nominal = 0, .lendable = 0, .most = 0, .executing = 7};
    seats.set_limits(level, row.all_shares);
    EXPECT_EQ(seats.nominal, row.nominal) << row.shares;
    EXPECT_EQ(seats.lendable, row.lendable) << row.shares;
    EXPECT_EQ(seats.most, row.most) << row.shares;
    EXPECT_EQ(seats.executing, 7);
  }
}

class LevelsThatLend : public testing::Test {
 protected:
  // "a" takes a seat, "b" borrows; "-a" gives one back. Returns those that got none.
  std::string after(std::initializer_list<std::string_view> steps) {
    std::string refused;
    for (const std::string_view step : steps) {
      LevelSeats& level = step.back() == 'a' ? lender : borrower;
      if (step.front() == '-')
        pool.give_back(level);
      else if (pool.has_seat(level))
        pool.take(level);
      else
        refused += step;
    }
    return refused;
  }
  void begin() {
    pool = SeatPool();
    pool.add(lender);
    pool.add(borrower);
  }

  LevelSeats lender{.nominal = 4, .lendable = 2, .most = 4, .executing = 0};
  LevelSeats borrower{.nominal = 2, .lendable = 0, .most = 5, .executing = 0};
  SeatPool pool;
};

TEST_F(LevelsThatLend, AnIdleLevelServesOthers) {
  begin();
  EXPECT_EQ(after({"b", "b", "b", "b", "b"}), "b") << "two of its own, and two lendable ones";
  EXPECT_EQ(after({"a", "a", "a"}), "a") << "two are not lendable, the others are lent";
  EXPECT_EQ(after({"-b", "a"}), "");
  EXPECT_EQ(after({"b", "a"}), "ba") << "one seat is still lent";
  EXPECT_EQ(after({"-b", "a", "b"}), "b");
  EXPECT_EQ(lender.executing, 4);
  EXPECT_EQ(borrower.executing, 2);
  EXPECT_EQ(after({"-b", "b", "-a", "b", "-a", "b", "-a", "b"}), "b") << "a third would not be lendable";
}

TEST_F(LevelsThatLend, ABorrowerHasABound) {
  borrower.most = 3;
  begin();
  EXPECT_EQ(after({"b", "b", "b", "b"}), "b");
  EXPECT_EQ(after({"a", "a", "a", "a"}), "a") << "one of its four is lent";
}

TEST_F(LevelsThatLend, ALevelThatIsGoneKeepsItsSeats) {
  begin();
  EXPECT_EQ(after({"b", "b", "b"}), "");
  borrower.retire();
  begin();
  EXPECT_EQ(after({"b"}), "b");
  EXPECT_EQ(after({"-b", "b", "a", "a", "a", "a"}), "") << "it borrows nothing";
}

// However requests come and go, all levels together use no more than they have, and what is not lendable is
// never refused to its level.
TEST(SeatPools, NeverHaveMoreTakenThanThereAre) {
  SeededRandom random(11);
  for (int round = 0; round < 50; ++round) {
    std::array<LevelSeats, 4> levels;
    SeatPool pool;
    std::int64_t all = 0;
    for (LevelSeats& level : levels) {
      level.nominal = static_cast<std::int64_t>(random.below(6));
      level.lendable = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(level.nominal) + 1));
      level.most = level.nominal + static_cast<std::int64_t>(random.below(8));
      pool.add(level);
      all += level.nominal;
    }
    for (int step = 0; step < 300; ++step) {
      LevelSeats& level = levels[random.below(levels.size())];
      if (random.below(3) == 0) {
        if (level.executing > 0) pool.give_back(level);
      } else if (pool.has_seat(level)) {
        pool.take(level);
      } else {
        ASSERT_GE(level.executing, level.nominal - level.lendable);
      }
      std::int64_t executing = 0;
      for (const LevelSeats& one : levels) executing += one.executing;
      ASSERT_LE(executing, all);
      ASSERT_LE(level.executing, level.most);
    }
  }
}

}  // namespace
}  // namespace berth::server
