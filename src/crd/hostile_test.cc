// No request freezes the server: each shape is refused by its bound or checked within it. Their times are in
// bench/custom_bench.cc.
#include "crd/testing/hostile_shapes.h"

#include <gtest/gtest.h>

#include "cel/regex.h"
#include "crd/object_rules.h"
#include "crd/served_version.h"
#include "crd/shaping.h"
#include "crd/test_schema.h"

namespace berth::crd {
namespace {

// Objects and their budgets: the shapes are the same.
constexpr std::size_t kSmaller = 10;

TEST(Hostile, DefinitionsEndWithinTheirBounds) {
  for (const HostileDefinition& row : hostile_definitions()) {
    DefinitionBudget budget;
    std::string said;
    for (const std::string& text : row.schemas) said += text_of(check_schema(json(text), "s", false, budget));
    EXPECT_LE(said.size(), 3 * api::kFieldErrorBytesMax) << row.name;
    // Rules are estimated after all work on them is done.
    const bool is_estimate = said.find("exceeds budget by factor") != std::string::npos;
    if (row.refusal.empty())
      EXPECT_TRUE(said.empty() || is_estimate) << row.name << ": " << said.substr(0, 500);
    else
      EXPECT_NE(said.find(row.refusal), std::string::npos) << row.name << ": " << said.substr(0, 500);
    EXPECT_LE(budget.rule_pattern_size, kRulePatternSizeMax + cel::kConstantPatternsMax * 2) << row.name;
  }
}

TEST(Hostile, ObjectsEndWithinTheirBounds) {
  for (const HostileObject& row : hostile_objects(kHostileBytesMax / kSmaller)) {
    const Schema schema = read_schema(json(row.schema));
    const auto rules = rules_of(schema);
    Json object = json(row.object);
    const Json old = row.old.empty() ? Json() : json(row.old);
    prune(object, schema, true);
    std::string said;
    if (!fill_defaults(object, schema)) said = "more defaults than fit";
    ObjectBudget budget{kChecksMax, kStepsMax / kSmaller, kObjectCostMax / kSmaller,
                        cel::kWorkMax / kSmaller};
    if (said.empty())
      said = text_of(check_value(object, row.old.empty() ? nullptr : &old, schema, LazyPath(""), budget)) +
             text_of(check_lists(object, schema)) + text_of(check_embedded(object, schema));
    if (said.empty() && rules)
      said = text_of(
          check_rules(*rules, schema, object, row.old.empty() ? nullptr : &old, LazyPath(""), budget));
    EXPECT_LE(said.size(), 3 * api::kFieldErrorBytesMax) << row.name;
    if (row.refusal.empty())
      EXPECT_EQ(said.substr(0, 500), "") << row.name;
    else
      EXPECT_NE(said.find(row.refusal), std::string::npos) << row.name << ": " << said.substr(0, 500);
  }
}

}  // namespace
}  // namespace berth::crd
