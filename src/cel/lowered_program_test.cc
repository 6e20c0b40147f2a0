// The lowered program and the tree walker agree on random programs: value, error and cost, under any budget.
#include "cel/lowered_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "cel/dra_environment.h"
#include "cel/program.h"

namespace berth::cel {
namespace {

int pick(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}
template <std::size_t N>
std::string one_of(const char* const (&texts)[N]) {
  return texts[pick(static_cast<int>(N))];
}

DeviceRecord any_device() {
  DeviceRecord device(pick(2) ? "d0" : "d1", pick(2) == 0);
  for (const char* id : {"a", "b", "d1/a", "d1/b", "x.io/c"}) {
    switch (pick(7)) {
      case 0:
      case 1:
        device.add_attribute(id, Value::of_int(pick(3)));
        break;
      case 2:
        device.add_attribute(id, Value::of_bool(pick(2) == 0));
        break;
      case 3:
        device.add_attribute(id, Value::of_string(one_of({"", "x", "a text of more than ten bytes", "éé"})));
        break;
      case 4:
        device.add_attribute(id, Value::of_list({Value::of_int(1), Value::of_int(pick(3))}));
        break;
      case 5:
        device.add_attribute(id, Value::of_semver(*parse_semver("1.2.3")));
        break;
      default:
        break;
    }
  }
  if (pick(2)) device.add_capacity("a", Quantity::of(pick(3)));
  return device;
}

std::string any_entry() {
  const std::string field = pick(5) ? "attributes" : "capacity";
  const std::string domain =
      one_of({".d0", ".d1", "['x.io']", "['d1']", "[?'d1']", ".?d0", "[device.driver]"});
  return "device." + field + domain + one_of({".a", ".b", "['c']", ".?a", "['a'][0]", ""});
}

std::string any_operand(int depth);

std::string any_condition(int depth) {
  if (depth == 0) {
    switch (pick(6)) {
      case 0:
        return any_entry();
      case 1:
        return "has(device.attributes." + one_of({"d0.a", "d1.b", "nowhere.a", "d0"}) + ")";
      case 2:
        return one_of({"true", "false", "device.allowMultipleAllocations", "1 / 0 == 1", "dyn(1)"});
      default:
        return any_operand(0) + one_of({" == ", " != ", " < ", " <= ", " > ", " >= "}) + any_operand(0);
    }
  }
  const std::string left = "(" + any_condition(depth - 1) + ")", right = "(" + any_condition(depth - 1) + ")";
  switch (pick(8)) {
    case 0:
    case 1:
      return left + " && " + right;
    case 2:
    case 3:
      return left + " || " + right;
    case 4:
      return "!" + left;
    case 5:
      return left + " ? " + right + " : (" + any_condition(depth - 1) + ")";
    case 6:
      return "cel.bind(v, " + any_operand(depth - 1) + ", " + left + " || v == " + any_operand(0) + ")";
    default:
      return any_operand(depth) + one_of({" == ", " != ", " < ", " >= "}) + any_operand(depth - 1);
  }
}

std::string any_operand(int depth) {
  switch (pick(depth == 0 ? 4 : 7)) {
    case 0:
      return one_of({"0", "1", "2u", "1.0", "'x'", "''", "'a text of more than ten bytes'", "[1, 2]", "null",
                     "dyn('x')", "true"});
    case 1:
      return "device.driver";
    case 2:
    case 3:
      return any_entry();
    case 4:
      return "(" + any_condition(depth - 1) + " ? " + any_operand(depth - 1) + " : " +
             any_operand(depth - 1) + ")";
    case 5:
      return "dyn(" + any_operand(depth - 1) + ").size()";
    default:
      return "[1, 2, 3].filter(x, x > " + any_operand(depth - 1) + ")";
  }
}

std::string text_of(const EvalResult& result) {
  const std::string cost = " for " + std::to_string(result.cost);
  if (result.ok()) return debug_text(result.value()) + cost;
  return (result.failure().failure_class == FailureClass::Cost ? "cost: " : "error: ") +
         result.failure().text_and_hint() + cost;
}

TEST(LoweredProgram, AgreesWithTheTreeWalker) {
  std::map<std::string, int> seen;
  EXPECT_TRUE(rc::check("code and tree walker agree", [&] {
    for (int i = 0; i < 40; ++i) {
      const std::string text = any_condition(pick(4));
      const auto compiled =
          compile(dra_environment(), text, pick(2) ? ResultRule::Any : ResultRule::Selector);
      const auto* program = std::get_if<Program>(&compiled);
      ++seen[program ? "compiled" : "refused"];
      if (!program) continue;
      const DeviceRecord device = any_device();
      const Value variables[] = {Value::borrow_object(device)};
      const CostBudget budget = pick(3) ? CostBudget{} : CostBudget{static_cast<std::uint64_t>(pick(30))};
      const std::string want = text_of(program->walk(variables, budget));
      const std::string got = text_of(program->evaluate(variables, budget));
      if (want != got) RC_FAIL(text + " is " + want + " by the walker, " + got + " by code");
      ++seen[want.substr(0, 4)];
    }
  }));
  for (const char* kind : {"true", "fals", "erro", "cost"}) EXPECT_GT(seen[kind], 50) << kind;
  EXPECT_GT(seen["compiled"], 800);
}

}  // namespace
}  // namespace berth::cel
