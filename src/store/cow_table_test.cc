#include "store/cow_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace berth::store {
namespace {

using Twin = std::map<std::pair<std::string, std::string>, Revision>;

ObjectPtr object_of(const std::string& ns, const std::string& name, Revision revision) {
  auto object = std::make_shared<Object>();
  object->key = {"pods", ns, name};
  object->revision = revision;
  return object;
}

Twin contents(const CowTable& table) {
  Twin contents;
  for (CowTable::Position at = table.begin(); at != table.end(); at = table.next(at))
    contents[{table.at(at)->key.ns, table.at(at)->key.name}] = table.at(at)->revision;
  return contents;
}

// Thousands of objects in many chunks with random changes; snapshots taken meanwhile must never change.
TEST(CowTable, EqualsAMapAndKeepsItsSnapshots) {
  constexpr int kChanges = 20'000;
  constexpr int kNames = 3'000;
  SeededRandom random(7);
  auto table = std::make_unique<CowTable>();
  Twin twin;
  std::uint64_t epoch = 0;
  std::vector<std::pair<std::unique_ptr<CowTable>, Twin>> snapshots;
  for (int change = 1; change <= kChanges; ++change) {
    const std::string ns(1, static_cast<char>('a' + random.below(3)));
    // First a run of ascending names, then random ones.
    const std::uint64_t number = change < kNames ? static_cast<std::uint64_t>(change) : random.below(kNames);
    const std::string name = std::to_string(10'000 + number);
    const auto known = twin.find({ns, name});
    if (known != twin.end() && random.below(2) == 0) {
      table->erase({"pods", ns, name}, epoch);
      twin.erase(known);
    } else {
      table->put(object_of(ns, name, static_cast<Revision>(change)), epoch);
      twin[{ns, name}] = static_cast<Revision>(change);
    }
    ASSERT_EQ(table->size(), twin.size());
    if (change % 1'000 == 0) {
      snapshots.emplace_back(std::make_unique<CowTable>(*table), twin);
      ++epoch;
    }
  }
  for (const auto& [snapshot, expected] : snapshots) EXPECT_EQ(contents(*snapshot), expected);
}

TEST(CowTable, FindsPositionsAndDistances) {
  CowTable table;
  std::vector<std::pair<std::string, std::string>> names;
  for (const char* ns : {"a", "b", "c"}) {
    for (int i = 0; i < 200; ++i) names.emplace_back(ns, std::to_string(1'000 + 2 * i));
  }
  for (const auto& [ns, name] : names) table.put(object_of(ns, name, 1), 0);
  EXPECT_EQ(table.distance(table.begin(), table.end()), 600u);
  EXPECT_EQ(table.distance(table.begin(), table.first_behind_namespace("a")), 200u);
  EXPECT_EQ(table.first_behind_namespace("b"), table.first_not_before("c", ""));
  EXPECT_EQ(table.distance(table.begin(), table.first_not_before("b", "1101")), 251u);
  EXPECT_EQ(table.distance(table.begin(), table.first_behind("b", "1100")), 251u);
  EXPECT_EQ(table.distance(table.begin(), table.first_not_before("b", "1100")), 250u);
  EXPECT_EQ(table.distance(table.end(), table.begin()), 0u);
  EXPECT_EQ(table.first_behind("z", ""), table.end());
  EXPECT_EQ(table.find("b", "1101"), nullptr);
  EXPECT_NE(table.find("b", "1100"), nullptr);
}

}  // namespace
}  // namespace berth::store
