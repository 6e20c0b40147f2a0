#include "client/indexer.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "base/random.h"

namespace berth::client {
namespace {

// An object that is nothing but its index entries.
struct Thing {
  api::ObjectMeta meta;
  std::vector<std::string> entries;
};

std::shared_ptr<const Thing> thing(std::string ns, std::string name, std::uint64_t version,
                                   std::vector<std::string> entries) {
  auto made = std::make_shared<Thing>();
  made->meta.ns = std::move(ns);
  made->meta.name = std::move(name);
  made->meta.uid = "u";
  made->meta.resource_version = version;
  made->entries = std::move(entries);
  return made;
}

void entries_of(const Thing& thing, IndexEntries& entries) {
  for (const std::string& entry : thing.entries) entries.add(entry);
}

void namespace_and_entries_of(const Thing& thing, IndexEntries& entries) {
  for (const std::string& entry : thing.entries) entries.add(thing.meta.ns, entry);
}

// The same answers, by looking at every object.
std::vector<const Thing*> looked_up(const std::map<NamedKey, std::shared_ptr<const Thing>>& things,
                                    std::string_view ns, std::string_view entry) {
  std::vector<const Thing*> found;
  for (const auto& [key, thing] : things) {
    const auto& entries = thing->entries;
    const bool has = std::find(entries.begin(), entries.end(), entry) != entries.end();
    if (has && (ns.empty() || ns == key.ns)) found.push_back(thing.get());
  }
  return found;
}

TEST(IndexerJudge, AnswersAsALookAtEveryObjectDoes) {
  SeededRandom random(1);
  const auto pick = [&random](std::uint64_t count) { return random.below(count); };
  Indexer<Thing> indexer;
  const std::size_t by_entry = indexer.add_index(entries_of);
  const std::size_t by_both = indexer.add_index(namespace_and_entries_of);
  std::map<NamedKey, std::shared_ptr<const Thing>> twin;
  const std::string namespaces[] = {"a", "b"};
  for (std::uint64_t step = 1; step <= 4000; ++step) {
    const NamedKey key{namespaces[pick(2)], "n" + std::to_string(pick(40))};
    if (pick(3) == 0) {
      const auto known = twin.find(key);
      ASSERT_EQ(indexer.erase(key.ns, key.name), known == twin.end() ? nullptr : known->second);
      twin.erase(key);
    } else {
      std::vector<std::string> entries;
      for (std::uint64_t n = pick(4); n > 0; --n) entries.push_back("e" + std::to_string(pick(5)));
      const auto made = thing(key.ns, key.name, step, std::move(entries));
      ASSERT_EQ(indexer.put(made), twin[key]);
      twin[key] = made;
    }
    ASSERT_EQ(indexer.all(), twin);
    for (const auto& [named, known] : twin) ASSERT_EQ(indexer.find(named.ns, named.name), known.get());
    ASSERT_EQ(indexer.find("a", "absent"), nullptr);
    for (int i = 0; i < 5; ++i) {
      const std::string entry = "e" + std::to_string(i);
      ASSERT_EQ(indexer.indexed(by_entry, entry), looked_up(twin, "", entry));
      ASSERT_EQ(indexer.count_indexed(by_entry, entry), looked_up(twin, "", entry).size());
      for (const std::string& place : namespaces)
        ASSERT_EQ(indexer.indexed(by_both, place + "/" + entry), looked_up(twin, place, entry));
    }
  }
}

TEST(Indexer, AMovedOneFindsWhatItHeld) {
  Indexer<Thing> first;
  const std::size_t by_entry = first.add_index(entries_of);
  first.put(thing("a", "x", 1, {"e"}));
  Indexer<Thing> second = std::move(first);
  ASSERT_NE(second.find("a", "x"), nullptr);
  EXPECT_EQ(second.indexed(by_entry, "e"), std::vector<const Thing*>{second.find("a", "x")});
  second.erase("a", "x");
  EXPECT_EQ(second.size(), 0u);
  EXPECT_TRUE(second.indexed(by_entry, "e").empty());
}

}  // namespace
}  // namespace berth::client
