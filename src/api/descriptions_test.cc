#include "api/descriptions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/type_table.h"

namespace berth::api {
namespace {

// Every object has these, and /openapi describes them everywhere alike.
bool is_of_every_object(const TypeInfo& type, const FieldInfo& field) {
  return type.is(kTopLevel) &&
         (field.json == "apiVersion" || field.json == "kind" || field.json == "metadata");
}

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    sentences.back() += text[i];
    if (text[i] == '.' && i + 2 < text.size() && text[i + 1] == ' ') sentences.emplace_back();
  }
  return sentences;
}

TEST(Descriptions, EveryTypeAndFieldHasOne) {
  std::string lacking;
  for (const TypeInfo& type : types()) {
    const std::string name = std::string(type.group) + "/" + std::string(type.name);
    if (description_of(type.group, type.name).empty()) lacking += name + "\n";
    for (const FieldInfo& field : type.fields())
      if (!is_of_every_object(type, field) && description_of(type.group, type.name, field.json).empty())
        lacking += name + "." + std::string(field.json) + "\n";
  }
  EXPECT_EQ(lacking, "");
}

TEST(Descriptions, AreShortSentences) {
  for (const TypeInfo& type : types())
    for (const FieldInfo& field : type.fields()) {
      const std::string_view text = description_of(type.group, type.name, field.json);
      if (text.empty()) continue;
      const std::string where = std::string(type.name) + "." + std::string(field.json);
      EXPECT_TRUE(text.ends_with('.')) << where;
      for (const std::string& sentence : sentences_of(text))
        EXPECT_LE(std::ranges::count(sentence, ' '), 25) << where << ": " << sentence;
    }
}

TEST(Descriptions, UnknownNamesHaveNone) {
  EXPECT_EQ(description_of("", "Pod", "spce"), "");
  EXPECT_EQ(description_of("", "Pods"), "");
  EXPECT_EQ(description_of("example.com", "Pod"), "");
}

}  // namespace
}  // namespace berth::api
