#include "crd/values.h"

#include <gtest/gtest.h>

#include "crd/formats.h"
#include "crd/test_schema.h"

namespace berth::crd {
namespace {

struct ValueCase {
  const char* schema;
  const char* value;
  const char* errors;
};

// Texts observed from kube-apiserver 1.37 where tests/data/observed/14-crd.jsonl has them.
constexpr ValueCase kValues[] = {
    {R"j({"type":"object","properties":{"a":{"type":"integer","minimum":1}}})j", R"j({"a":1})j", ""},
    {R"j({"type":"object","properties":{"a":{"type":"integer","minimum":1}}})j", R"j({"a":0})j",
     "a: Invalid value: 0: a in body should be greater than or equal to 1"},
    {R"j({"type":"object","properties":{"a":{"type":"integer","minimum":1,"exclusiveMinimum":true}}})j",
     R"j({"a":1})j", "a: Invalid value: 1: a in body should be greater than 1"},
    {R"j({"type":"object","properties":{"a":{"type":"number","maximum":1.5}}})j", R"j({"a":2.5})j",
     "a: Invalid value: 2.5: a in body should be less than or equal to 1.5"},
    {R"j({"type":"object","properties":{"a":{"type":"integer","multipleOf":3}}})j", R"j({"a":4})j",
     "a: Invalid value: 4: a in body should be a multiple of 3"},
    {R"j({"type":"object","properties":{"a":{"type":"integer"}}})j", R"j({"a":2.0})j", ""},
    {R"j({"type":"object","properties":{"a":{"type":"integer","format":"int32"}}})j", R"j({"a":3000000000})j",
     R"j(<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a)j"},
    {R"j({"type":"object","properties":{"a":{"type":"string"}}})j", R"j({"a":null})j",
     R"j(a: Invalid value: "null": a in body must be of type string: "null")j"},
    {R"j({"type":"object","properties":{"a":{"type":"string","nullable":true}}})j", R"j({"a":null})j", ""},
    {R"j({"type":"object","properties":{"a":{"type":"string","minLength":2}}})j", R"j({"a":"é"})j",
     R"j(a: Invalid value: "é": a in body should be at least 2 chars long)j"},
    {R"j({"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}}})j", R"j({"a":true})j",
     R"j(a: Invalid value: "boolean": a in body must be of type integer,string: "boolean")j"},
    {R"j({"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}}})j", R"j({"a":"50%"})j", ""},
    {R"j({"type":"object","properties":{"a":{"type":"array","minItems":1,"items":{"type":"string"}}}})j",
     R"j({"a":[]})j", "a: Invalid value: 0: a in body should have at least 1 items"},
    {R"j({"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}})j",
     R"j({"a":["x",1]})j",
     R"j(a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer")j"},
    {R"j({"type":"object","properties":{"a":{"type":"object","maxProperties":1,)j"
     R"j("additionalProperties":{"type":"string"}}}})j",
     R"j({"a":{"x":"1","y":"2"}})j", "a: Too many: 2: must have at most 1 item"},
    {R"j({"type":"object","properties":{"a":{"type":"object","required":["x"]}}})j", R"j({"a":{}})j",
     "a.x: Required value"},
    {R"j({"type":"object","properties":{"a":{"type":"object","properties":{"x":{},"y":{}},
         "oneOf":[{"required":["x"]},{"required":["y"]}]}}})j",
     R"j({"a":{"x":1,"y":2}})j",
     R"j(<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 )j"
     R"j(valid alternatives)j"},
    {R"j({"type":"object","properties":{"a":{"type":"object","properties":{"x":{},"y":{}},
         "anyOf":[{"required":["x"]},{"required":["y"]}]}}})j",
     R"j({"a":{}})j",
     R"j([<nil>: Invalid value: "": "a" must validate at least one schema (anyOf), a.x: Required value])j"},
    {R"j({"type":"object","properties":{"a":{"type":"string","not":{"enum":["no"]}}}})j", R"j({"a":"no"})j",
     R"j(<nil>: Invalid value: "": "a" must not validate the schema (not))j"},
    {R"j({"type":"object","properties":{"a":{"type":"string","allOf":[{"maxLength":1},{"pattern":"^b"}]}}})j",
     R"j({"a":"aa"})j",
     R"j([a: Too long: may not be more than 1 bytes, a: Invalid value: "aa": a in body should )j"
     R"j(match '^b', <nil>: Invalid value: "": "a" must validate all the schemas (allOf). )j"
     R"j(None validated])j"},
    {R"j({"type":"object","properties":{"a":{"enum":[1,"x"]}}})j", R"j({"a":2})j",
     R"j(a: Unsupported value: 2: supported values: "1", "x")j"},
};

TEST(Values, AreJudgedByTheirSchema) {
  for (const ValueCase& row : kValues)
    EXPECT_EQ(text_of(value_errors_of(json(row.value), nullptr, schema(row.schema))), row.errors)
        << row.schema;
}

TEST(Values, WhatAnUpdateLeavesAsItWasIsNotJudgedAgain) {
  const Schema stricter =
      schema(R"j({"type":"object","properties":{"a":{"type":"string","maxLength":1},"b":{"type":"string",)j"
             R"j("maxLength":1},
          "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
               "items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"string",)j"
             R"j("maxLength":1}}}},
          "l":{"type":"array","items":{"type":"string","maxLength":1}}}})j");
  const Json old =
      json(R"j({"a":"long","b":"x","m":[{"k":"1","v":"long"},{"k":"2","v":"x"}],"l":["long"]})j");
  struct {
    const char* next;
    const char* errors;
  } rows[] = {
      {R"j({"a":"long","b":"y","m":[{"k":"2","v":"y"},{"k":"1","v":"long"}],"l":["long"]})j", ""},
      {R"j({"a":"longer","b":"x"})j", "a: Too long: may not be more than 1 bytes"},
      {R"j({"a":"x","m":[{"k":"2","v":"long"}]})j", "m[0].v: Too long: may not be more than 1 bytes"},
      // Items without keys have no counterpart.
      {R"j({"a":"x","l":["long","y"]})j", "l[0]: Too long: may not be more than 1 bytes"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(text_of(value_errors_of(json(row.next), &old, stricter)), row.errors) << row.next;
}

TEST(Values, ListsOfTypeSetAndMapHaveNoDuplicates) {
  const Schema lists = schema(
      R"j({"type":"object","properties":{
          "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object",)j"
      R"j("x-kubernetes-map-type":"atomic"}},
          "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],
               "items":{"type":"object"}}}})j");
  EXPECT_EQ(text_of(check_lists(json(R"j({"s":[{"x":1,"y":2},{"y":2,"x":1},{"x":1}]})j"), lists)),
            R"j(s[1]: Duplicate value: {"y":2,"x":1})j");
  EXPECT_EQ(text_of(check_lists(json(R"j({"m":[{"a":1,"c":1},{"a":1,"c":2},{"a":1,"b":2}]})j"), lists)),
            R"j(m[1]: Duplicate value: {"a":1})j");
}

TEST(Values, EmbeddedObjectsHaveAType) {
  const Schema embedded = schema(
      R"j({"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,
          "x-kubernetes-preserve-unknown-fields":true}}})j");
  EXPECT_EQ(
      text_of(check_embedded(json(R"j({"e":{"kind":"Pod","metadata":3}})j"), embedded)),
      "[e.apiVersion: Required value: must not be empty, e.metadata: Invalid value: 3: must be an object]");
}

// Each item is compared with each alternative: the product is bounded.
TEST(Values, AlternativesWithoutMeasureAreAnError) {
  std::string options = R"j({"enum":["never"]})j";
  for (int i = 0; i < 3'000; ++i) options += R"j(,{"enum":["never"]})j";
  std::string items = "\"x\"";
  for (int i = 0; i < 3'000; ++i) items += ",\"x\"";
  const Schema all =
      schema(R"j({"type":"object","properties":{"l":{"type":"array","items":{"type":"string","anyOf":[)j" +
             options + "]}}}}");
  EXPECT_EQ(text_of(value_errors_of(json("{\"l\":[" + items + "]}"), nullptr, all)),
            "<nil>: Internal error: the object and its schema are too complex to be compared");
}

TEST(Formats, AreThoseOfGo) {
  struct {
    const char* format;
    const char* good;
    const char* bad;
  } rows[] = {{"date-time", "2026-01-02T03:04:05.5+02:00", "2026-01-02 03:04"},
              {"date", "2026-02-28", "2026-02-30"},
              {"byte", "aGk=", "a*"},
              {"ipv4", "10.0.0.1", "10.0.0"},
              {"ipv6", "fe80::1", "10.0.0.1"},
              {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
              {"mac", "00:00:5e:00:53:01", "00:00:5e:00:53"},
              {"uuid", "550e8400-e29b-41d4-a716-446655440000", "550e8400"},
              {"hostname", "a.example.com", "-a"},
              {"uri", "https://example.com/a?b", "no scheme"},
              {"email", "a@example.com", "a.example.com"},
              {"duration", "1h30m", "soon"},
              {"isbn10", "0321751043", "0321751042"},
              {"k8s-short-name", "abc-1", "Abc"}};
  for (const auto& row : rows) {
    EXPECT_EQ(checked_format(Schema::Type::String, row.format), row.format);
    EXPECT_TRUE(has_format(row.good, row.format)) << row.format;
    EXPECT_FALSE(has_format(row.bad, row.format)) << row.format;
  }
  EXPECT_EQ(checked_format(Schema::Type::String, "anything"), "");
  EXPECT_EQ(checked_format(Schema::Type::Integer, "uint8"), "");
}

}  // namespace
}  // namespace berth::crd
