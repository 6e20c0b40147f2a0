#include "crd/rules.h"

#include <gtest/gtest.h>

#include "crd/cel_types.h"
#include "crd/test_schema.h"

namespace berth::crd {
namespace {

// The verdict of one rule on spec.
std::string verdict(const std::string& properties, const std::string& rule, const char* value,
                    const char* old) {
  const Json props = json(R"j({"type":"object","properties":{"spec":{"type":"object","properties":)j" +
                          properties + R"j(,"x-kubernetes-validations":[)j" + rule + "]}}}");
  const Schema all = read_schema(props);
  const std::shared_ptr<const RuleSet> rules = rules_of(all);
  // Of these rules it is the evaluation that counts, not its estimate (rule_costs_test.cc).
  api::FieldErrors problems;
  for (const api::FieldError& error : rule_problems(*rules, all, props, "schema", CostCheck::AllTogether))
    if (error.body.find("estimated rule cost") == std::string::npos) problems.push_back(error);
  if (!problems.empty()) return text_of(problems);
  const Json next = json(value), before = old ? json(old) : Json();
  return text_of(rule_errors_of(*rules, all, next, old ? &before : nullptr));
}

constexpr const char* kProperties =
    R"j({"a":{"type":"integer"},"b":{"type":"integer"},"s":{"type":"string"},"in":{"type":"string"},
        "x-y":{"type":"string"},"q":{"x-kubernetes-int-or-string":true},"d":{"type":"string",)j"
    R"j("format":"duration"},
        "t":{"type":"string","format":"date-time"},"f":{"type":"number"},"l":{"type":"array",)j"
    R"j("items":{"type":"string"}},
        "m":{"type":"object","additionalProperties":{"type":"integer"}},"o":{"type":"object",)j"
    R"j("properties":{"z":{"type":"string"}}}})j";

struct RuleCase {
  const char *rule, *value, *old, *errors;
};

TEST(CustomRules, AreEvaluated) {
  const RuleCase rows[] = {
      {R"j({"rule":"self.a < self.b"})j", R"j({"spec":{"a":1,"b":2}})j", nullptr, ""},
      {R"j({"rule":"self.a < self.b"})j", R"j({"spec":{"a":2,"b":2}})j", nullptr,
       "spec: Invalid value: failed rule: self.a < self.b"},
      {R"j({"rule":"self.a < self.b","message":"a is below b"})j", R"j({"spec":{"a":2,"b":2}})j", nullptr,
       "spec: Invalid value: a is below b"},
      {R"j({"rule":"self.a < self.b","messageExpression":"'a is ' + string(self.a)"})j",
       R"j({"spec":{"a":2,"b":2}})j", nullptr, "spec: Invalid value: a is 2"},
      {R"j({"rule":"self.a < self.b","message":"m","fieldPath":".a","reason":"FieldValueForbidden"})j",
       R"j({"spec":{"a":2,"b":2}})j", nullptr, "spec.a: Forbidden: m"},
      {R"j({"rule":"has(self.s) && self.s.startsWith('x')"})j", R"j({"spec":{}})j", nullptr,
       "spec: Invalid value: failed rule: has(self.s) && self.s.startsWith('x')"},
      {R"j({"rule":"self.s == 'x'","message":"m"})j", R"j({"spec":{}})j", nullptr,
       R"j(spec: Invalid value: "object": no such key: s evaluating rule: m)j"},
      {R"j({"rule":"self.__in__ == 'i' && self.x__dash__y == 'd'"})j", R"j({"spec":{"in":"i","x-y":"d"}})j",
       nullptr, ""},
      {R"j({"rule":"type(self.q) == int ? self.q < 5 : self.q == '50%'"})j", R"j({"spec":{"q":"50%"}})j",
       nullptr, ""},
      {R"j({"rule":"self.d > duration('1m') && self.t > timestamp('2020-01-01T00:00:00Z') && )j"
       R"j(self.f > 0.5"})j",
       R"j({"spec":{"d":"2m","t":"2026-01-01T00:00:00Z","f":1}})j", nullptr, ""},
      {R"j({"rule":"self.l.all(x, x.size() < 3) && self.m.all(k, self.m[k] > 0) && 'one' in self.m"})j",
       R"j({"spec":{"l":["a","bb"],"m":{"one":1}}})j", nullptr, ""},
      {R"j({"rule":"!has(self.o) || has(self.o.z)"})j", R"j({"spec":{"o":{}}})j", nullptr,
       "spec: Invalid value: failed rule: !has(self.o) || has(self.o.z)"},
      {R"j({"rule":"quantity(self.s).isLessThan(quantity('2Gi'))"})j", R"j({"spec":{"s":"1Gi"}})j", nullptr,
       ""},
      // Rules over a change are of no account for a new object.
      {R"j({"rule":"self.a == oldSelf.a","message":"a is immutable"})j", R"j({"spec":{"a":1}})j", nullptr,
       ""},
      {R"j({"rule":"self.a == oldSelf.a","message":"a is immutable"})j", R"j({"spec":{"a":1}})j",
       R"j({"spec":{"a":2}})j", "spec: Invalid value: a is immutable"},
      {R"j({"rule":"oldSelf.hasValue() || self.a == 1","optionalOldSelf":true,"message":"m"})j",
       R"j({"spec":{"a":2}})j", nullptr, "spec: Invalid value: m"},
      {R"j({"rule":"oldSelf.hasValue() || self.a == 1","optionalOldSelf":true,"message":"m"})j",
       R"j({"spec":{"a":2}})j", R"j({"spec":{"a":3}})j", ""},
      // What is as it was is not judged again.
      {R"j({"rule":"self.a < self.b"})j", R"j({"spec":{"a":2,"b":2}})j", R"j({"spec":{"a":2,"b":2}})j", ""},
      // Rules that are none.
      {R"j({"rule":"self.a"})j", "{}", nullptr,
       R"j(schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: )j"
       R"j({"rule":"self.a"}: cel expression must evaluate to a bool)j"},
      {R"j({"rule":"self.a < 1","optionalOldSelf":true})j", "{}", nullptr,
       "schema.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be "
       "set if "
       "oldSelf is not used in rule"},
      {R"j({"rule":"self.a < 1","messageExpression":"self.a"})j", "{}", nullptr,
       R"j(schema.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: )j"
       R"j({"rule":"self.a < 1","messageExpression":"self.a"}: messageExpression must evaluate )j"
       R"j(to a string)j"},
  };
  for (const RuleCase& row : rows)
    EXPECT_EQ(verdict(kProperties, row.rule, row.value, row.old), row.errors) << row.rule;
}

TEST(CustomRules, SeeTheTypeAndTheNameOfTheObject) {
  const Json props = json(R"j({"type":"object","x-kubernetes-validations":[{"rule":)j"
                          R"j("self.metadata.name.startsWith('x') && self.kind == 'K'","message":"m"}]})j");
  const Schema all = read_schema(props);
  const auto rules = rules_of(all);
  EXPECT_EQ(text_of(rule_problems(*rules, all, props, "schema", CostCheck::AllTogether)), "");
  EXPECT_EQ(text_of(rule_errors_of(*rules, all, json(R"j({"kind":"K","metadata":{"name":"xy"}})j"), nullptr)),
            "");
  EXPECT_EQ(text_of(rule_errors_of(*rules, all, json(R"j({"kind":"K","metadata":{"name":"y"}})j"), nullptr)),
            "<nil>: Invalid value: m");
}

TEST(CustomRules, ItemsAreTheSameOnesByTheirKeys) {
  const std::string item =
      R"j({"type":"object","properties":{"k":{"type":"string"},"v":{"type":"integer"}},)j"
      R"j("x-kubernetes-validations":[{"rule":"self.v >= oldSelf.v","message":"v only grows"}]})j";
  const Json props =
      json(R"j({"type":"object","properties":{"m":{"type":"array","x-kubernetes-list-type":"map",
      "x-kubernetes-list-map-keys":["k"],"items":)j" +
           item + R"j(},"l":{"type":"array","items":)j" + item + "}}}");
  const Schema all = read_schema(props);
  const auto rules = rules_of(all);
  EXPECT_NE(text_of(rule_problems(*rules, all, props, "schema", CostCheck::AllTogether))
                .find("oldSelf cannot be used on the uncorrelatable portion of the schema within "
                      "schema.properties[l]"),
            std::string::npos);
  const Json old = json(R"j({"m":[{"k":"a","v":1},{"k":"b","v":2}]})j");
  EXPECT_EQ(text_of(rule_errors_of(
                *rules, all, json(R"j({"m":[{"k":"b","v":3},{"k":"a","v":0},{"k":"c","v":0}]})j"), &old)),
            "m[1]: Invalid value: v only grows");
}

TEST(CustomRules, CostsEnd) {
  const std::string deep = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c != '')))";
  std::string items = "\"x\"";
  for (int i = 0; i < 300; ++i) items += ",\"x\"";
  const std::string value = "{\"spec\":{\"l\":[" + items + "]}}";
  const std::string said =
      verdict(kProperties, "{\"rule\":\"" + deep + "\",\"message\":\"m\"}", value.c_str(), nullptr);
  EXPECT_EQ(said,
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further "
            "validation "
            "rules will be run due to call cost exceeds limit for rule: m");
}

// Every keyword that the grammar takes after a dot, with its value, in has(), in a macro, and below another.
TEST(CustomRules, MayNameAFieldByAKeyword) {
  for (const std::string word :
       {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
        "package", "namespace", "return", "var", "void", "while"}) {
    const std::string text = R"j({"type":"string","maxLength":9})j";
    const std::string below = R"j({"type":"object","properties":{")j" + word + "\":" + text + "}}";
    const std::string properties =
        R"j({")j" + word + "\":" + below + R"j(,"l":{"type":"array","maxItems":5,"items":)j" + below + "}}";
    const std::string rule = "has(self." + word + "." + word + ") && self." + word + "." + word +
                             " == 'x' && self.l.all(i, i." + word + " == 'x') && self.__" + word + "__.__" +
                             word + "__ == 'x'";
    const auto value_of = [&](const std::string& value) {
      const std::string object = "{\"" + word + "\":\"" + value + "\"}";
      return R"j({"spec":{")j" + word + "\":" + object + ",\"l\":[" + object + "]}}";
    };
    const std::string rules = "{\"rule\":\"" + rule + R"j(","message":"m"})j";
    EXPECT_EQ(verdict(properties, rules, value_of("x").c_str(), nullptr), "") << word;
    EXPECT_EQ(verdict(properties, rules, value_of("y").c_str(), nullptr), "spec: Invalid value: m") << word;
  }
  // The grammar takes literals and operators for what they are.
  for (const std::string word : {"true", "false", "null", "in"})
    EXPECT_NE(verdict("{\"" + word + R"j(":{"type":"string"}})j",
                      R"j({"rule":"self.)j" + word + R"j( == 'x'"})j", "{}", nullptr)
                  .find("Syntax error"),
              std::string::npos)
        << word;
  // The estimate of a cost does not know how long such a field is (rule_costs_test.cc has those it knows).
  const auto problems = [](const char* rule) {
    const std::string props =
        R"j({"type":"object","properties":{"namespace":{"type":"string","maxLength":9}},)j"
        R"j("x-kubernetes-validations":[{"rule":")j" +
        std::string(rule) + R"j("}]})j";
    return text_of(schema_errors_of(json(props)));
  };
  EXPECT_EQ(problems("self.__namespace__.contains('x')"), "");
  EXPECT_NE(problems("self.namespace.contains('x')").find("estimated rule cost exceeds budget"),
            std::string::npos);
}

TEST(CelNames, ComeBackAsTheyWere) {
  for (const char* name : {"a", "in", "x-y", "a.b", "a/b", "a__b", "namespace", "_x"}) {
    ASSERT_TRUE(escaped(name)) << name;
    EXPECT_EQ(unescaped(*escaped(name)), name);
  }
  EXPECT_FALSE(escaped("1a"));
  EXPECT_FALSE(escaped("a b"));
}

}  // namespace
}  // namespace berth::crd
