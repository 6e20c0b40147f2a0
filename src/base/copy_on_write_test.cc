#include "base/copy_on_write.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/json.h"

namespace berth {
namespace {

Json sample() {
  return *parse_json(R"({"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"list":[1,{"deep":true}]}})");
}

TEST(CopyOnWrite, ACopySharesUntilOneOfThemIsWritten) {
  const Json first = sample();
  Json second = first;
  EXPECT_TRUE(second.shares_with(first));
  second["metadata"]["name"] = "b";
  EXPECT_FALSE(second.shares_with(first));
  EXPECT_FALSE(second.part("metadata").shares_with(first.part("metadata")));
  EXPECT_TRUE(second.part("metadata").part("labels").shares_with(first.part("metadata").part("labels")));
  EXPECT_TRUE(second.part("spec").shares_with(first.part("spec")));
  EXPECT_EQ(first, sample());
  EXPECT_EQ(second.part("metadata").string_at("name"), "b");
}

TEST(CopyOnWrite, EveryWayToWriteLeavesTheOtherCopyAsItWas) {
  const std::vector<void (*)(Json&)> writes = {
      [](Json& json) { json["spec"]["list"].as_array().emplace_back(); },
      [](Json& json) { json.find("spec")->find("list")->as_array()[1]["deep"] = false; },
      [](Json& json) { json.as_object().erase("metadata"); },
      [](Json& json) { json.as_object().append("status", Json::object()); },
      [](Json& json) {
        for (JsonMember& member : json.as_object()) member.value = nullptr;
      },
      [](Json& json) { json.as_object().begin()->key = "renamed"; },
  };
  for (const auto& write : writes) {
    const Json first = sample();
    Json second = first;
    write(second);
    EXPECT_EQ(first, sample());
    EXPECT_FALSE(second == first);
  }
}

TEST(CopyOnWrite, WhatWasLentIsWrittenInOneCopyOnly) {
  Json first = sample();
  Json& name = first["metadata"]["name"];
  JsonArray& list = first["spec"]["list"].as_array();
  const Json second = first;
  Json third;
  third = second;
  name = "b";
  list.clear();
  EXPECT_EQ(second, sample());
  EXPECT_TRUE(third.shares_with(second)) << "a copy of what was lent is not lent";
  EXPECT_EQ(first.part("metadata").string_at("name"), "b");
  EXPECT_TRUE(first.part("spec").items_at("list").empty());
}

TEST(CopyOnWrite, PartsCanTakeTheirWholesPlace) {
  Json json = sample();
  json = Json(json.part("spec"));
  EXPECT_EQ(to_string(json), R"({"list":[1,{"deep":true}]})");
  json = Json(std::move(json["list"]));
  EXPECT_EQ(to_string(json), R"([1,{"deep":true}])");
}

TEST(CopyOnWrite, NothingIsEmptyAndEqual) {
  const CopyOnWrite<std::vector<int>> a, b;
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(a.read().empty());
  CopyOnWrite<std::vector<int>> c = a;
  c.write().push_back(1);
  EXPECT_TRUE(a.read().empty());
  EXPECT_FALSE(a == c);
}

// For the thread sanitizer: copies of one document are written and dropped on many threads.
TEST(CopyOnWrite, ThreadsWriteTheirOwnCopies) {
  const Json document = sample();
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([copy = document, n]() mutable {
      for (int i = 0; i < 200; ++i) {
        Json mine = copy;
        mine["metadata"]["labels"]["x"] = std::to_string(n);
        copy = mine;
        EXPECT_EQ(copy.part("metadata").part("labels").string_at("x"), std::to_string(n));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(document, sample());
}

TEST(Json, StringsAreEscapedWhereverTheSpecialCharacterStands) {
  for (std::size_t length = 1; length < 20; ++length)
    for (std::size_t at = 0; at < length; ++at)
      for (const char special : {'"', '\\', '\n', '\x01', '\x1f', '\x7f'}) {
        std::string text(length, 'x');
        text[at] = special;
        const std::string written = to_string(Json(text + "\xc3\xa4"));
        const Result<Json> again = parse_json(written);
        ASSERT_TRUE(again.ok()) << written;
        EXPECT_EQ(again->as_string(), text + "\xc3\xa4");
      }
}

}  // namespace
}  // namespace berth
