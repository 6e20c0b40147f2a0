#include "api/kinds/document.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::api {
namespace {

// The slow twin is a search of the whole list.
TEST(NamedItems, FindTheFirstItemAsASearchDoes) {
  SeededRandom random(11);
  for (int round = 0; round < 200; ++round) {
    JsonArray list;
    const std::uint64_t count = random.below(40);
    for (std::uint64_t i = 0; i < count; ++i) {
      Json item = Json::object();
      if (random.below(8) != 0) item["name"] = "n" + std::to_string(random.below(30));
      list.push_back(std::move(item));
    }
    const NamedItems named(list, "name");
    for (int i = -1; i < 30; ++i) {
      const std::string name = i < 0 ? "" : "n" + std::to_string(i);
      EXPECT_EQ(named.find(name), item_named(list, "name", name)) << count << " items, " << name;
    }
    for (const Json& item : list)
      EXPECT_EQ(named.is_repeated(item), item_named(list, "name", item.string_at("name")) != &item);
  }
}

}  // namespace
}  // namespace berth::api
