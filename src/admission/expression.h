// CEL of admission: the variables that an expression may name, its compilation, its errors.
//
// Immutable once compiled, any thread; a program refers to its environment, which outlives it. Source:
// plugin/cel of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cel/authorization.h"
#include "cel/program.h"

namespace berth::admission {

// Of a request, one version of its objects, and the parameters of a policy's
// binding; null for none.
struct ExpressionInputs {
  const Json& request;  // request_of()
  const Json& object;
  const Json& old;
  const Json& params;
  const Json& ns;  // the Namespace of the request
  cel::Value authorizer = cel::Value::error("there is no authorizer");
};

inline constexpr std::string_view kVariablesType = "kubernetes.variables";

// What is known of the inputs before there are any.
struct InputTypes {
  cel::TypeRef object = cel::simple_type(cel::TypeKind::Dyn);  // of oldObject too
  cel::TypeRef params = cel::simple_type(cel::TypeKind::Dyn);
};

// The types of `request`.
void declare_request_types(cel::Environment& environment);
// Declares what every expression may name: object, oldObject, request,
// authorizer, namespaceObject; and `params` where a policy has a kind of them.
// values_of() has their values, in this order. The environment has the types of `request`.
void declare_inputs(cel::Environment& environment, bool has_params, const InputTypes& types = {});
std::vector<cel::Value> values_of(const ExpressionInputs& inputs, bool has_params);
// The functions and types, without variables.
const cel::Environment& admission_library();
// The same, and what the mutations of a policy make (cel/patch_types.h).
const cel::Environment& mutation_library();
// The environment of matchConditions of webhooks.
const cel::Environment& condition_environment();

struct Expression {
  std::string text;
  std::string problem;  // "compilation failed: …"; then there is no program
  std::optional<cel::Program> program;
};

// Object and JsonPatch: a configuration, and a list of operations.
enum class ResultKind : std::uint8_t { Bool, String, StringOrNull, Object, JsonPatch, Any };
// `environment` outlives the expression.
Expression compiled(const cel::Environment& environment, std::string_view text, ResultKind result);

// "expression 'a' resulted in error: …", or of one that did not compile.
std::string error_text(const Expression& expression, const cel::Failure* failure);

}  // namespace berth::admission
