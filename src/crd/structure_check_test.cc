#include "crd/structure_check.h"

#include <gtest/gtest.h>

#include "crd/test_schema.h"

namespace berth::crd {
namespace {

struct SchemaCase {
  const char *schema, *errors;
};

constexpr SchemaCase kSchemas[] = {
    {R"j({"type":"object","x-kubernetes-preserve-unknown-fields":true})j", ""},
    {R"j({"properties":{"a":{"type":"string"}}})j", "s.type: Required value: must not be empty at the root"},
    {R"j({"type":"string"})j", "s.type: Invalid value: \"string\": must be object at the root"},
    {R"j({"type":"object","additionalProperties":{"type":"string"}})j",
     "s.additionalProperties: Forbidden: must not be used at the root"},
    {R"j({"type":"object","nullable":true})j", "s.nullable: Forbidden: nullable cannot be true at the root"},
    {R"j({"type":"object","properties":{"a":{"type":"frob"}}})j",
     R"j(s.properties[a].type: Unsupported value: "frob": supported values: "array", "boolean", )j"
     R"j("integer", "number", "object", "string")j"},
    {R"j({"type":"object","properties":{"a":{}}})j",
     "s.properties[a].type: Required value: must not be empty for specified object fields"},
    {R"j({"type":"object","properties":{"a":{"type":"array"}}})j",
     "s.properties[a].items: Required value: must be specified"},
    {R"j({"type":"object","properties":{"a":{"type":"array","items":{}}}})j",
     "s.properties[a].items.type: Required value: must not be empty for specified array items"},
    {R"j({"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,)j"
     R"j("anyOf":[{"type":"integer"},{"type":"string"}]}}})j",
     ""},
    {R"j({"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"},{"title":"x"}]}}})j",
     "[s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural, "
     "s.properties[a].anyOf[1].title: "
     "Forbidden: must be empty to be structural]"},
    {R"j({"type":"object","oneOf":[{"properties":{"b":{"minimum":1}}}],)j"
     R"j("properties":{"a":{"type":"integer"}}})j",
     "s.properties[b]: Required value: because it is defined in s.oneOf[0].properties[b]"},
    {R"j({"type":"object","properties":{"a":{"type":"string","pattern":"("}}})j",
     "s.properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error "
     "parsing regexp: missing closing ): `(`"},
    {R"j({"type":"object","properties":{"metadata":{"type":"object",)j"
     R"j("properties":{"labels":{"type":"object"}}}}})j",
     "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
     "metadata is "
     "implicitly specified"},
    {R"j({"type":"object","properties":{"metadata":{"type":"object",)j"
     R"j("properties":{"name":{"type":"string","pattern":"^x"}}}}})j",
     ""},
    {R"j({"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true}}})j",
     "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is "
     "true without "
     "x-kubernetes-preserve-unknown-fields"},
    {R"j({"type":"object","properties":{"a":{"type":"array","uniqueItems":true,)j"
     R"j("items":{"type":"string"}}}})j",
     "s.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity "
     "becomes "
     "quadratic"},
    {R"j({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},)j"
     R"j("additionalProperties":{"type":"string"}}}})j",
     "s.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual "
     "exclusive"},
    {R"j({"type":"object","properties":{"a":{"type":"array","items":{"type":"object",)j"
     R"j("properties":{"k":{"type":"string"}}},"x-kubernetes-list-type":"map",)j"
     R"j("x-kubernetes-list-map-keys":["k"]}}})j",
     "s.properties[a].items.properties[k].default: Required value: this property is in "
     "x-kubernetes-list-map-keys, so it "
     "must have a default or be a required property"},
    {R"j({"type":"object","properties":{"a":{"type":"array","items":{"type":"object",)j"
     R"j("required":["k"],"properties":{"k":{"type":"string"}}},)j"
     R"j("x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}}})j",
     ""},
    {R"j({"type":"object","properties":{"a":{"type":"array","items":{"type":"object"},)j"
     R"j("x-kubernetes-list-type":"set"}}})j",
     "s.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list "
     "with "
     "x-kubernetes-list-type=set"},
    {R"j({"type":"object","properties":{"a":{"type":"integer","minimum":3,"default":1}}})j",
     "s.properties[a].default: Invalid value: 1:  in body should be greater than or equal to 3"},
    {R"j({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},)j"
     R"j("default":{"c":1}}}})j",
     R"j(s.properties[a].default: Invalid value: {"c":1}: must not have unknown fields)j"},
    {R"j({"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":" "}]}}})j",
     "s.properties[a].x-kubernetes-validations[0].rule: Required value: rule is not specified"},
    {R"j({"type":"object","properties":{"a":{"type":"object",)j"
     R"j("x-kubernetes-validations":[{"rule":"true","fieldPath":".b"}]}}})j",
     "s.properties[a].x-kubernetes-validations[0].fieldPath: Invalid value: \".b\": must be a valid path"},
    {R"j({"type":"object","properties":{"a":{"type":"string","$ref":"#/x"}}})j",
     "s.properties[a].$ref: Forbidden: $ref is not supported"},
};

TEST(SchemaCheck, SaysWhatIsNotStructural) {
  for (const SchemaCase& row : kSchemas)
    EXPECT_EQ(text_of(schema_errors_of(json(row.schema))), row.errors) << row.schema;
}

// Shapes that make each check expensive; what matters is that all end, and within the suite's time.
TEST(SchemaCheck, GiantsAreRefusedOrChecked) {
  std::string deep = R"j({"type":"string"})j";
  for (int i = 0; i < 300; ++i) deep = R"j({"type":"object","properties":{"a":)j" + deep + "}}";
  EXPECT_EQ(text_of(schema_errors_of(json(deep))), "s: Forbidden: a schema may nest at most 200 deep");

  std::string wide;
  for (int i = 0; i < 100'001; ++i)
    wide += (i ? ",\"p" : "\"p") + std::to_string(i) + R"j(":{"type":"string"})j";
  EXPECT_EQ(text_of(schema_errors_of(json(R"j({"type":"object","properties":{)j" + wide + "}}"))),
            "s: Forbidden: a definition may have at most 100000 parts");

  std::string patterns;
  for (int i = 0; i < 2'001; ++i)
    patterns += (i ? ",\"p" : "\"p") + std::to_string(i) + R"j(":{"type":"string","pattern":"^a+$"})j";
  const std::string said =
      text_of(schema_errors_of(json(R"j({"type":"object","properties":{)j" + patterns + "}}")));
  EXPECT_NE(said.find("a definition may have at most 2000 patterns"), std::string::npos);

  const std::string heavy =
      R"j({"type":"object","properties":{"a":{"type":"string","pattern":"[\\p{L}\\p{N}]{100}"},
      "b":{"type":"string","pattern":"[\\p{L}\\p{N}]{101}"},
      "c":{"type":"string","pattern":"[\\p{L}\\p{N}]{102}"},
      "d":{"type":"string","pattern":"[\\p{L}\\p{N}]{103}"}}})j";
  EXPECT_NE(text_of(schema_errors_of(json(heavy))).find("at most 400000 instructions"), std::string::npos);

  // Defaults inside of defaults: each is checked once, by its own part of the schema.
  std::string nested = R"j({"type":"string","default":"x"})j";
  for (int i = 0; i < 150; ++i)
    nested = R"j({"type":"object","default":{},"properties":{"a":)j" + nested + "}}";
  EXPECT_EQ(text_of(schema_errors_of(json(R"j({"type":"object","properties":{"a":)j" + nested + "}}"))), "");
}

}  // namespace
}  // namespace berth::crd
