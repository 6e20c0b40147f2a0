// Admission of the expressions of claims and classes: the rules of the kinds with the compiler.
#include "dra/cel_check.h"

#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/test_rules.h"

namespace berth::dra {
namespace {

class Admission : public testing::Test {
 protected:
  // "path: text" of every refusal.
  std::string refusals(const char* kind, const std::string& text, const char* gate = "") {
    const api::Gates gates = api::Gates::parse(api::GateDefaults::Up, gate).value();
    const api::RuleContext ctx = api::context_of_empty_cluster(gates, check_cel);
    const api::KindRules& rules =
        api::rules_of("resource.k8s.io", api::find_resource_of_kind("resource.k8s.io", "v1", kind)->plural);
    Json object = api::decode_json(*api::find_kind("resource.k8s.io/v1", kind), text).value().document;
    if (rules.set_defaults) rules.set_defaults(object);
    rules.prepare_create(object, ctx);
    std::string all;
    for (const api::FieldError& error : rules.validate_create(object, ctx))
      all += (all.empty() ? "" : "\n") + error.path + ": " + error.body;
    return all;
  }
  std::string selector(const std::string& expression, const char* gate = "") {
    return refusals("ResourceClaim",
                    R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x",)"
                    R"("selectors":[{"cel":{"expression":)" +
                        to_string(Json(expression)) + "}}]}}]}}}",
                    gate);
  }
  std::string derived(const std::vector<std::string>& expressions) {
    Json attributes = Json::array();
    Json constraints = Json::array();
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const std::string name = "d.io/a" + std::to_string(i);
      attributes.as_array().push_back(Json::object({{"name", name}, {"expression", expressions[i]}}));
      constraints.as_array().push_back(Json::object({{"matchAttribute", name}}));
    }
    return refusals("ResourceClaim",
                    R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x",)"
                    R"("derivedAttributes":)" +
                        to_string(attributes) + R"(}}],"constraints":)" + to_string(constraints) + "}}}");
  }
};

constexpr const char* kSelectorPath = "spec.devices.requests[0].exactly.selectors[0].cel.expression: ";
constexpr const char* kTooComplex = "Forbidden: too complex, exceeds cost limit";

std::string nested(const char* macro, int depth) {
  std::string text = "true";
  for (int i = depth; i > 0; --i)
    text = "device.attributes." + std::string(macro) + "(d" + std::to_string(i) + ", " + text + ")";
  return text;
}

TEST_F(Admission, SelectorsAreCompiledInTheEnvironmentOfTheGates) {
  EXPECT_EQ(selector("device.attributes['d.io'].l.includes(1)"), "");
  EXPECT_EQ(selector("device.attributes['a.b'].l.includes(1)", "DRAListTypeAttributes=false"),
            std::string(kSelectorPath) +
                "Invalid value: \"device.attributes['a.b'].l.includes(1)\": compilation failed: ERROR: "
                "<input>:1:36: undeclared reference to 'includes' (in container '')\n"
                " | device.attributes['a.b'].l.includes(1)\n"
                " | ...................................^");
  EXPECT_EQ(selector("device.allowMultipleAllocations"), "");
  EXPECT_EQ(selector("device.allowMultipleAllocations", "DRAConsumableCapacity=false"),
            std::string(kSelectorPath) +
                "Invalid value: \"device.allowMultipleAllocations\": compilation failed: ERROR: "
                "<input>:1:7: undefined field 'allowMultipleAllocations'\n"
                " | device.allowMultipleAllocations\n"
                " | ......^");
}

TEST_F(Admission, SelectorsMustAnswerABoolWithinTheLimits) {
  EXPECT_EQ(selector("device.attributes['d.io'].ready"), "");
  EXPECT_EQ(selector("'x'"),
            std::string(kSelectorPath) +
                "Invalid value: \"'x'\": must evaluate to bool or the unknown type, not string");
  EXPECT_EQ(selector(nested("all", 2)), "");
  EXPECT_EQ(selector(nested("all", 5)), kSelectorPath + std::string(kTooComplex));
  EXPECT_EQ(selector(std::string(10241, ' ')),
            kSelectorPath + std::string("Too long: may not be more than 10240 bytes"));
}

TEST_F(Admission, DerivedAttributesAreScalarsOrListsAndTheirCostsAddUp) {
  const std::string path = "spec.devices.requests[0].exactly.derivedAttributes[0].expression: ";
  for (const char* good : {"1", "'x'", "true", "semver('1.0.0')", "[1, 2]", "device.attributes['d.io'].x"})
    EXPECT_EQ(derived({good}), "") << good;
  for (const char* bad : {"{'a': 1}", "1.5", "b'x'"})
    EXPECT_NE(derived({bad}).find(path + "Invalid value: "), std::string::npos) << derived({bad});
  const std::string costly = nested("exists", 3);
  EXPECT_EQ(derived({costly}), "");
  EXPECT_EQ(derived(std::vector<std::string>(30, costly)),
            "spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the "
            "claim exceeds cost limit");
}

}  // namespace
}  // namespace berth::dra
