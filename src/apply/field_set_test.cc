#include "apply/field_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "apply/test_json.h"

namespace berth::apply {
namespace {

FieldSet set_of(const char* text) {
  return FieldSet::from_json(json(text)).value();
}

PathElement element_of(const char* text) {
  return PathElement::parsed(text).value();
}

TEST(PathElements, HaveATextForTheApiAndOneForPeople) {
  const struct {
    const char* serialized;
    const char* text;
  } rows[] = {{"f:spec", ".spec"},
              {"f:", "."},
              {R"(k:{"containerPort":80,"protocol":"TCP"})", R"([containerPort=80,protocol="TCP"])"},
              {R"(v:"ex.io/f")", R"([="ex.io/f"])"},
              {"i:3", "[3]"}};
  for (const auto& row : rows) {
    EXPECT_EQ(element_of(row.serialized).serialized(), row.serialized);
    EXPECT_EQ(element_of(row.serialized).text(), row.text);
  }
}

TEST(PathElements, OfAnUnknownFormAreRefused) {
  for (const char* text : {"", "f", "x:y", "k:3", R"(k:{"a")", "v:{}", "i:x", "spec"})
    EXPECT_FALSE(PathElement::parsed(text)) << text;
}

TEST(PathElements, KeysAreInOrderOfTheirNamesAndNumbersOfTheirValue) {
  EXPECT_EQ(element_of(R"(k:{"b":1,"a":2})"), element_of(R"(k:{"a":2,"b":1})"));
  EXPECT_LT(element_of(R"(k:{"port":80})"), element_of(R"(k:{"port":443})"));
  EXPECT_LT(element_of("f:z"), element_of(R"(k:{"a":1})"));
}

PathElement drawn_element() {
  const auto text = [] {
    const auto letter = rc::gen::element<char>('a', 'b', '\0', '\xff');
    return std::string(*rc::gen::inRange(0, 9), 'a') + *rc::gen::container<std::string>(letter);
  };
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return PathElement::field(text());
    case 1:
      return {PathElement::Type::Value, {}, text()};
    case 2:
      return {PathElement::Type::Value, {}, *rc::gen::inRange(-3, 3)};
    case 3:
      return {PathElement::Type::Value, {}, *rc::gen::arbitrary<bool>()};
    case 4:
      return {PathElement::Type::Index, {}, *rc::gen::inRange(0, 9)};
    default:
      return {PathElement::Type::Key, {}, Json::object({{text(), *rc::gen::inRange(-3, 3)}})};
  }
}

RC_GTEST_PROP(PathElements, AreSortedAsTheirWholeOrderDoes, ()) {
  struct Row {
    PathElement element;
    int number;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;
  for (int i = *rc::gen::inRange(0, 40); i > 0; --i) rows.push_back({drawn_element(), i});
  std::vector<Row> expected = rows;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Row& a, const Row& b) { return a.element < b.element; });
  sort_by_element(rows);
  RC_ASSERT(rows == expected);
}

TEST(FieldSets, ReadWhatTheyWrite) {
  for (const char* text : {R"({})", R"({"f:data":{}})", R"({"f:data":{".":{},"f:x":{}}})",
                           R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}}})"})
    EXPECT_EQ(to_string(set_of(text).to_json()), text);
}

TEST(FieldSets, OfWhichAnElementIsNamedTwiceAreRefused) {
  EXPECT_FALSE(FieldSet::from_json(json(R"({"k:{\"a\":1,\"b\":2}":{},"k:{\"b\":2,\"a\":1}":{}})")));
  EXPECT_FALSE(FieldSet::from_json(json(R"({"f:a":3})")));
}

TEST(FieldSets, AreVisitedMembersFirst) {
  std::string seen;
  set_of(R"({"f:b":{},"f:a":{"f:x":{}},"f:c":{".":{},"f:y":{}}})").for_each([&](const FieldPath& path) {
    seen += text_of(path) + " ";
  });
  EXPECT_EQ(seen, ".b .c .a.x .c.y ");
}

TEST(FieldSets, LoseWholeSubtreesOnlyWhenAsked) {
  const FieldSet all = set_of(R"({"f:a":{".":{},"f:x":{}},"f:b":{}})"), a = set_of(R"({"f:a":{}})");
  EXPECT_EQ(all.without(a), set_of(R"({"f:a":{"f:x":{}},"f:b":{}})"));
  EXPECT_EQ(all.without_subtrees(a), set_of(R"({"f:b":{}})"));
}

// The same as sets of whole paths.
using Paths = std::set<std::string>;

Paths paths_of(const FieldSet& set) {
  Paths paths;
  set.for_each([&](const FieldPath& path) { paths.insert(text_of(path)); });
  return paths;
}

FieldSet drawn_set() {
  FieldSet set;
  const auto names = rc::gen::element<std::string>("a", "b", "c");
  const auto paths = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::resize(4, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(names))));
  for (const std::vector<std::string>& path : paths) {
    FieldPath elements;
    for (const std::string& name : path) elements.push_back(PathElement::field(name));
    set.insert(elements);
  }
  return set;
}

RC_GTEST_PROP(FieldSetAlgebra, IsThatOfSetsOfPaths, ()) {
  const FieldSet a = drawn_set(), b = drawn_set();
  const Paths left = paths_of(a), right = paths_of(b);
  Paths both = left, common, rest;
  both.insert(right.begin(), right.end());
  for (const std::string& path : left) (right.contains(path) ? common : rest).insert(path);
  RC_ASSERT(paths_of(a.united(b)) == both);
  RC_ASSERT(paths_of(a.intersected(b)) == common);
  RC_ASSERT(paths_of(a.without(b)) == rest);
  std::erase_if(rest, [&](const std::string& path) {
    return std::any_of(right.begin(), right.end(),
                       [&](const std::string& other) { return path.starts_with(other + "."); });
  });
  RC_ASSERT(paths_of(a.without_subtrees(b)) == rest);
  RC_ASSERT(FieldSet::from_json(a.to_json()).value() == a);
}

}  // namespace
}  // namespace berth::apply
