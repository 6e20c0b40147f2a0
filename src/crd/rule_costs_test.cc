// Judge: definitions with what the validation of apiextensions-apiserver 1.37 says of them, and the estimate
// of each rule of their roots (testdata/rule_costs.json).
#include <gtest/gtest.h>

#include <set>

#include "cel/program.h"
#include "crd/cel_types.h"
#include "crd/test_schema.h"

namespace berth::crd {
namespace {

Json with_shared(const Json& value, const Json& shared) {
  if (value == Json("$shared")) return shared;
  Json copy = value;
  if (copy.is_object())
    for (JsonMember& member : copy.as_object()) member.value = with_shared(member.value, shared);
  if (copy.is_array())
    for (Json& item : copy.as_array()) item = with_shared(item, shared);
  return copy;
}

// The estimate of an expression of the root; its error where it has one.
std::string estimate_of(const Schema& schema, std::string_view text) {
  CelTypes types;
  cel::Environment environment = cel::Environment::extending(types.environment());
  const cel::TypeRef self = types.type_of(schema, true);
  environment.declare_variable("self", self);
  environment.declare_variable("oldSelf", self);
  environment.set_sizes(&types.sizes_of(schema, true));
  const auto compiled = cel::compile(environment, text, cel::ResultRule::Any);
  if (const auto* error = std::get_if<cel::CompileError>(&compiled)) return error->text;
  return std::to_string(std::get<cel::Program>(compiled).estimated_cost());
}

TEST(RuleCosts, AreThoseOfKubernetes) {
  const Json data = json_file("src/crd/testdata/rule_costs.json");
  ASSERT_GE(data.items_at("rows").size(), 100u);
  for (const Json& row : data.items_at("rows")) {
    const Json props = with_shared(row.part("schema"), data.part("shared"));
    const JsonArray& rules = props.items_at("x-kubernetes-validations");
    const Schema schema = read_schema(props);
    CelTypes types;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const JsonArray& costs = row.items_at("costs")[i].as_array();
      EXPECT_EQ(estimate_of(schema, rules[i].string_at("rule")), costs[0].as_string())
          << rules[i].string_at("rule");
      EXPECT_EQ(std::to_string(kRequestBytesMax / (types.sizes_of(schema, true).least_bytes + 1)),
                costs[1].as_string());
      const std::string_view message = rules[i].string_at("messageExpression");
      EXPECT_EQ(message.empty() ? "0" : estimate_of(schema, message), costs[2].as_string()) << message;
    }
    std::multiset<std::string> said, expected;
    for (const api::FieldError& error : schema_errors_of(props)) said.insert(error.path + ": " + error.body);
    for (const Json& error : row.items_at("errors")) expected.insert(error.as_string());
    EXPECT_EQ(said, expected) << to_string(row.part("schema")).substr(0, 1'000);
  }
}

}  // namespace
}  // namespace berth::crd
