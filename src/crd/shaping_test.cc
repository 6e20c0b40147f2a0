#include "crd/shaping.h"

#include <gtest/gtest.h>

#include "crd/object_rules.h"
#include "crd/test_schema.h"

namespace berth::crd {
namespace {

struct ShapeCase {
  const char* schema;
  const char* before;
  const char* after;
  std::vector<std::string> unknown;
};

TEST(Shaping, UnknownMembersGo) {
  const ShapeCase rows[] = {
      {R"({"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}})",
       R"({"kind":"K","spec":{"a":"x","b":1,"metadata":{}},"more":{}})",
       R"({"spec":{"a":"x"},"kind":"K"})",
       {"more", "spec.b", "spec.metadata"}},
      {R"({"type":"object","properties":{"l":{"type":"array","items":{"type":"object",)"
       R"("properties":{"a":{}}}}}})",
       R"({"l":[{"a":{"x":1}},{"b":1}]})",
       R"({"l":[{"a":{}},{}]})",
       {"l[0].a.x", "l[1].b"}},
      {R"({"type":"object","x-kubernetes-preserve-unknown-fields":true,
           "properties":{"s":{"type":"object","properties":{"a":{"type":"string"}}}}})",
       R"({"free":{"x":1},"s":{"a":"x","b":1}})",
       R"({"free":{"x":1},"s":{"a":"x"}})",
       {"s.b"}},
      {R"({"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object",
           "properties":{"a":{"type":"string"}}}}}})",
       R"({"m":{"k":{"a":"x","b":1}}})",
       R"({"m":{"k":{"a":"x"}}})",
       {"m.k.b"}},
      {R"({"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,
           "properties":{"spec":{"type":"object"}}}}})",
       R"({"e":{"kind":"K","metadata":{"name":"x"},"spec":{},"b":1}})",
       R"({"e":{"kind":"K","metadata":{"name":"x"},"spec":{}}})",
       {"e.b"}},
  };
  for (const ShapeCase& row : rows) {
    Json object = json(row.before);
    EXPECT_EQ(prune(object, schema(row.schema), true), row.unknown) << row.before;
    EXPECT_EQ(object, json(row.after)) << to_string(object);
  }
}

TEST(Shaping, UnknownMetadataOfEmbeddedObjectsGoes) {
  const Schema embedding =
      schema(R"({"type":"object","properties":{"list":{"type":"array","items":{"type":"object",)"
             R"("x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}})");
  Json object = json(R"({"list":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","nick":"x"}},)"
                     R"({"metadata":3}]})");
  EXPECT_EQ(tidy_embedded(object, embedding), std::vector<std::string>{"list[1].metadata.nick"});
  const JsonArray& list = object.items_at("list");
  EXPECT_EQ(list[1].part("metadata").find("nick"), nullptr);
  EXPECT_EQ(list[1].part("metadata").string_at("name"), "b");
  EXPECT_EQ(*list[2].find("metadata"), Json(3));
}

TEST(Shaping, DefaultsFillWhatIsAbsent) {
  const Schema all = schema(
      R"({"type":"object","properties":{"spec":{"type":"object","default":{"a":1},"properties":{
          "a":{"type":"integer"},"b":{"type":"string","default":"x"},"n":{"type":"string",)"
      R"("nullable":true,"default":"y"},
          "c":{"type":"string"},
          "l":{"type":"array","items":{"type":"object","properties":{"p":{"type":"string","default":"TCP"}}}},
          "m":{"type":"object","additionalProperties":{"type":"object",)"
      R"("properties":{"q":{"type":"integer","default":2}}}}}}}})");
  struct {
    const char *before, *after;
  } rows[] = {
      {"{}", R"({"spec":{"a":1,"b":"x","n":"y"}})"},
      {R"({"spec":{"b":null,"n":null,"c":null}})", R"({"spec":{"b":"x","n":null}})"},
      {R"({"spec":{"b":"z","n":"z","l":[{},{"p":"UDP"}],"m":{"k":{}}}})",
       R"({"spec":{"b":"z","n":"z","l":[{"p":"TCP"},{"p":"UDP"}],"m":{"k":{"q":2}}}})"},
  };
  for (const auto& row : rows) {
    Json object = json(row.before);
    EXPECT_TRUE(fill_defaults(object, all));
    EXPECT_EQ(object, json(row.after)) << to_string(object);
    const Json once = object;
    EXPECT_TRUE(fill_defaults(object, all));
    EXPECT_EQ(object, once) << "defaults change nothing the second time";
  }
}

TEST(Shaping, DefaultsWithoutMeasureAreRefused) {
  const std::string large(100'000, 'x');
  const Schema all = schema(R"({"type":"object","properties":{"l":{"type":"array","items":{"type":"object",)"
                            R"("properties":{"p":{"type":"string","default":")" +
                            large + R"("}}}}}})");
  std::string items = "{}";
  for (int i = 0; i < 100; ++i) items += ",{}";
  Json object = json("{\"l\":[" + items + "]}");
  EXPECT_FALSE(fill_defaults(object, all));
}

}  // namespace
}  // namespace berth::crd
