// choose_parts: rows worked out by hand, and a judge that tries every set of domains and all sizes.
#include "placement/wishes/parts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <set>

namespace berth::placement {
namespace {

constexpr auto kPacked = WishDistribution::Packed, kBalanced = WishDistribution::Balanced;

std::vector<PartDomain> with_rooms(const std::vector<std::int64_t>& rooms) {
  std::vector<PartDomain> domains;
  for (const std::int64_t room : rooms) domains.push_back({room});
  return domains;
}

struct PartsRow {
  const char* what;
  std::vector<std::int64_t> rooms;
  std::int64_t count;
  WishDistribution distribution;
  std::vector<std::int64_t> counts;  // empty: none
  std::int64_t min = 1, max = INT64_MAX;
};

TEST(Parts, TakeTheFewestDomainsThenTheLeastWasteOrTheMostEvenParts) {
  const std::vector<PartsRow> rows = {
      {"the tightest single domain", {9, 4, 6}, 4, kPacked, {0, 4, 0}},
      {"two equal domains waste nothing", {19, 10, 10}, 20, kPacked, {0, 10, 10}},
      {"nodes of 3, 3, 2, 1 take 7", {3, 3, 2, 1}, 7, kPacked, {3, 3, 0, 1}},
      {"16 pods use four domains of 4", {4, 4, 2, 2, 2, 2, 4, 4}, 16, kPacked, {4, 4, 0, 0, 0, 0, 4, 4}},
      {"10 over three of 4", {4, 4, 4}, 10, kPacked, {4, 4, 2}},
      {"128 over racks of 16 to 18",
       {18, 17, 16, 18, 16, 17, 16, 16, 18},
       128,
       kBalanced,
       {16, 16, 16, 16, 16, 16, 16, 16, 0}},
      {"32 over 18, 18 and 14", {18, 18, 14}, 32, kBalanced, {16, 16, 0}},
      {"32 over 14, 18 and 18", {14, 18, 18}, 32, kBalanced, {0, 16, 16}},
      {"23 over 15, 13 and 10", {15, 13, 10}, 23, kBalanced, {12, 11, 0}},
      {"22 over 20, 10, 15, 15", {20, 10, 15, 15}, 22, kBalanced, {0, 0, 11, 11}},
      {"30 over 20 and 10", {20, 10}, 30, kBalanced, {20, 10}},
      {"segments of 4", {5, 4, 4, 3}, 8, kPacked, {0, 4, 4, 0}, 4, 4},
      {"segments of 3 to 5", {5, 5, 2}, 7, kPacked, {4, 3, 0}, 3, 5},
      {"17 is not cut into segments of 16", {16, 16}, 17, kPacked, {}, 16, 16},
      {"no domain has room for a segment", {3, 3}, 4, kPacked, {}, 4, 4},
      {"a segment is no larger than its domain", {3, 3}, 7, kPacked, {}},
      {"nothing to place", {3, 3}, 0, kPacked, {0, 0}},
  };
  for (const PartsRow& row : rows) {
    const std::vector<PartDomain> domains = with_rooms(row.rooms);
    const auto parts = choose_parts({domains, row.count, row.min, row.max, row.distribution});
    ASSERT_EQ(parts.has_value(), !row.counts.empty()) << row.what;
    if (!parts) continue;
    EXPECT_EQ(parts->counts, row.counts) << row.what;
  }
}

TEST(Parts, CountMembersThatHaveAPlace) {
  const std::vector<PartDomain> domains = {{8, 0}, {1, 3}, {4, 0}};
  EXPECT_EQ(choose_parts({domains, 5})->counts, (std::vector<std::int64_t>{0, 1, 4}));
  EXPECT_EQ(choose_parts({domains, 5, 1, INT64_MAX, kBalanced})->counts,
            (std::vector<std::int64_t>{0, 1, 4}));
  EXPECT_EQ(choose_parts({domains, 5, 4, 4})->counts, (std::vector<std::int64_t>{0, 1, 4}));
  EXPECT_FALSE(choose_parts({domains, 5, 5, 8}).has_value());
}

TEST(Parts, AmongEqualsTakeDomainsOfOneParent) {
  const std::vector<PartDomain> domains = {{4, 0, {0}}, {4, 0, {1}}, {4, 0, {1}}, {5, 0, {0}}};
  EXPECT_EQ(choose_parts({domains, 8})->counts, (std::vector<std::int64_t>{0, 4, 4, 0}));
}

TEST(Parts, OfManyDomainsFindTheLeastWasteByExchange) {
  std::vector<PartDomain> domains = with_rooms(std::vector<std::int64_t>(3000, 900));
  for (std::size_t i = 0; i < 1500; ++i) domains[i].room = 100 + static_cast<std::int64_t>(i) % 800;
  const auto parts = choose_parts({domains, 900 * 1200 + 101});
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->worth.domains, 1201);
  EXPECT_LE(parts->worth.waste, 1);
}

TEST(Parts, ANumberIsCutIntoSegmentsOrNot) {
  EXPECT_TRUE(can_be_cut(32, 16, 16));
  EXPECT_FALSE(can_be_cut(33, 16, 16));
  EXPECT_TRUE(can_be_cut(33, 16, 17));
  EXPECT_FALSE(can_be_cut(3, 4, 8));
  EXPECT_FALSE(can_be_cut(9, 5, 8));
  EXPECT_TRUE(can_be_cut(10, 5, 8));
}

// The least worth over all ways to cut.
std::optional<PartsWorth> worth_by_trying_all(const PartsQuestion& question) {
  std::optional<PartsWorth> best;
  std::vector<std::int64_t> counts(question.domains.size());
  const std::function<void(std::size_t, std::int64_t)> go = [&](std::size_t at, std::int64_t left) {
    if (at < question.domains.size()) {
      for (std::int64_t n = 0; n <= std::min(left, question.domains[at].room); ++n) {
        counts[at] = n;
        go(at + 1, left - n);
      }
      counts[at] = 0;
      return;
    }
    if (left > 0) return;
    PartsWorth worth{0, 0, -question.count, {}};
    std::set<std::uint32_t> parents;
    std::int64_t smallest = INT64_MAX, largest = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const PartDomain& one = question.domains[i];
      const std::int64_t size = one.placed + counts[i];
      if (size == 0) continue;
      if (size < question.min || (size > question.max && counts[i] > 0)) return;
      ++worth.domains;
      worth.waste += one.room;
      parents.insert(one.parents.front());
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
    }
    if (question.distribution == kBalanced && worth.domains > 0) worth.difference = largest - smallest;
    if (worth.domains > 0) worth.parents = {static_cast<std::int64_t>(parents.size())};
    if (worth.domains == 0) worth.waste = 0;
    if (!best || worth < *best) best = worth;
  };
  go(0, question.count);
  return best;
}

void compare_with_all() {
  const auto below = [](int bound) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound)); };
  std::vector<PartDomain> domains;
  const int size = 1 + below(6);
  for (int i = 0; i < size; ++i)
    domains.push_back({below(6), below(5) == 0 ? 1 + below(3) : 0, {static_cast<std::uint32_t>(below(3))}});
  PartsQuestion question{domains, below(13)};
  if (below(2) == 0) question.distribution = kBalanced;
  if (below(2) == 0) {
    question.min = 1 + below(3);
    question.max = question.min + below(3);
  }
  const auto parts = choose_parts(question);
  const auto best = worth_by_trying_all(question);
  RC_ASSERT(parts.has_value() == best.has_value());
  if (parts) RC_ASSERT(parts->worth == *best);
}

TEST(Parts, AreTheBestOfAll) {
  EXPECT_TRUE(rc::check("as trying every way to cut", compare_with_all));
}

}  // namespace
}  // namespace berth::placement
