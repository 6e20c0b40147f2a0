#include "admission/mutation.h"

#include "admission/json_values.h"
#include "admission/policy_evaluation.h"
#include "cel/messages.h"
#include "cel/patch_types.h"

namespace berth::admission {
namespace {

using cel::Value;

const cel::Message* message_in(const Value& value) {
  return value.is(cel::Kind::Object) ? dynamic_cast<const cel::Message*>(&value.as_object()) : nullptr;
}

// Literals inside of a literal are named after the fields that lead to them. Appends what differs, until
// `problems` has kTypeProblemsBytesMax. The value is as deep, and as large, as its JSON may be.
void check_type_names(const Value& value, const std::string& expected, std::string& problems) {
  if (problems.size() >= kTypeProblemsBytesMax) return;
  if (const cel::Message* message = message_in(value)) {
    if (message->type_name() != expected)
      problems += (problems.empty() ? "" : "\n") +
                  ("unexpected type name \"" + std::string(message->type_name())) + "\", expected \"" +
                  expected + "\", which matches field name path from root Object type";
    for (const cel::MessageField& field : message->fields())
      check_type_names(field.value, expected + "." + field.name, problems);
  } else if (value.is(cel::Kind::List)) {
    for (std::size_t i = 0; i < value.as_list().size(); ++i)
      check_type_names(value.as_list().at(i), expected, problems);
  } else if (value.is(cel::Kind::Map)) {
    for (std::size_t i = 0; i < value.as_map().size(); ++i) {
      Value member;
      if (value.as_map().find(value.as_map().key_at(i), member)) check_type_names(member, expected, problems);
    }
  }
}

// Why the literals of the value cannot be part of a patch; empty where they can.
std::string literal_problem(const Value& value) {
  std::string problems;
  if (const cel::Message* message = message_in(value))
    check_type_names(value, std::string(message->type_name()), problems);
  return problems;
}

// The same of what the expression of a mutation evaluates to.
std::string result_problem(PatchKind kind, const Value& value) {
  if (kind == PatchKind::ApplyConfiguration)
    return message_in(value) ? literal_problem(value) : "the expression should evaluate to an Object";
  for (std::size_t i = 0; i < value.as_list().size(); ++i) {
    const Value operation = value.as_list().at(i);
    const cel::Message* message = message_in(operation);
    if (!message || message->type_name() != cel::kJsonPatchType)
      return "JSONPatchType.expression should evaluate to array of JSONPatch";
    const Value* given = message->find("value");
    if (std::string problem = given ? literal_problem(*given) : ""; !problem.empty()) return problem;
  }
  return "";
}

}  // namespace

Result<Json> patch_made_by(const Policy& policy, const Mutation& mutation, const ExpressionInputs& inputs,
                           std::uint64_t& cost_left) {
  const Expression& expression = mutation.expression;
  if (!expression.program) return Error(ErrorCode::Invalid, expression.problem);
  PolicyEvaluation evaluation(policy, inputs, cost_left);
  std::string why;
  const std::optional<Value> value = evaluation.value_of(expression, why);
  if (!value) return Error(ErrorCode::Invalid, std::move(why));
  Json json = TRY(json_of(*value));
  if (const std::string problem = result_problem(mutation.kind, *value); !problem.empty())
    return Error(ErrorCode::Invalid, "type mismatch: " + problem);
  return json;
}

}  // namespace berth::admission
