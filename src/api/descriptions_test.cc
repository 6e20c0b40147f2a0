#include "api/descriptions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
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

// What has to be described: keys by group.
std::map<std::string_view, std::set<std::string>> keys_of_types() {
  std::map<std::string_view, std::set<std::string>> keys;
  for (const TypeInfo& type : types()) {
    std::set<std::string>& of_group = keys[type.group];
    of_group.emplace(type.name);
    for (const FieldInfo& field : type.fields())
      if (!is_of_every_object(type, field))
        of_group.insert(std::string(type.name) + "." + std::string(field.json));
  }
  return keys;
}

TEST(Descriptions, EveryTypeAndFieldHasOneAndNothingElse) {
  for (const auto& [group, wanted] : keys_of_types()) {
    std::set<std::string> described;
    for (const Description& one : descriptions_of(group)) described.emplace(one.key);
    std::vector<std::string> differ;
    std::ranges::set_symmetric_difference(wanted, described, std::back_inserter(differ));
    EXPECT_TRUE(differ.empty()) << group << ": " << testing::PrintToString(differ);
  }
}

TEST(Descriptions, AreShortSentences) {
  for (const auto& [group, wanted] : keys_of_types())
    for (const Description& one : descriptions_of(group)) {
      EXPECT_TRUE(one.text.ends_with('.')) << one.key;
      for (const std::string& sentence : sentences_of(one.text))
        EXPECT_LE(std::ranges::count(sentence, ' '), 25) << one.key << ": " << sentence;
    }
}

TEST(Descriptions, UnknownNamesHaveNone) {
  EXPECT_EQ(description_of("", "Pod", "spce"), "");
  EXPECT_EQ(description_of("", "Pods"), "");
  EXPECT_EQ(description_of("example.com", "Pod"), "");
}

}  // namespace
}  // namespace berth::api
