#include "admission/expression.h"

#include <algorithm>

#include "admission/json_values.h"
#include "base/ascii.h"
#include "cel/environment.h"
#include "cel/evaluator.h"
#include "cel/patch_types.h"

namespace berth::admission {
namespace {

using cel::Field;
using cel::TypeKind;
using cel::TypeRef;
using cel::Value;

void declare_texts(cel::Environment& environment, std::string name,
                   std::initializer_list<const char*> members) {
  std::vector<Field> fields;
  for (const char* member : members) fields.push_back({member, cel::simple_type(TypeKind::String)});
  environment.declare_object(std::move(name), std::move(fields));
}

std::string other_type(std::string_view wanted, const std::string& type) {
  return type == wanted ? "" : "must evaluate to " + std::string(wanted) + " but got " + type;
}

// Why a value of this type cannot be the result; empty where it can.
std::string result_problem(ResultKind wanted, const std::string& type) {
  switch (wanted) {
    case ResultKind::Bool:
      return other_type("bool", type);
    case ResultKind::String:
      return other_type("string", type);
    case ResultKind::StringOrNull:
      return type == "string" || type == "null_type"
                 ? ""
                 : "must evaluate to one of [string null_type] but got " + type;
    case ResultKind::Object:
      return other_type(cel::kObjectType, type);
    case ResultKind::JsonPatch:
      return other_type("list(" + std::string(cel::kJsonPatchType) + ")", type);
    case ResultKind::Any:
      return "";
  }
  return "";
}

}  // namespace

void declare_request_types(cel::Environment& environment) {
  const TypeRef text = cel::simple_type(TypeKind::String), texts = cel::list_type(text);
  declare_texts(environment, "kubernetes.GroupVersionKind", {"group", "version", "kind"});
  declare_texts(environment, "kubernetes.GroupVersionResource", {"group", "version", "resource"});
  environment.declare_object(
      "kubernetes.UserInfo",
      {{"username", text}, {"uid", text}, {"groups", texts}, {"extra", cel::map_type(text, texts)}});
  const TypeRef kind = cel::object_type("kubernetes.GroupVersionKind");
  const TypeRef resource = cel::object_type("kubernetes.GroupVersionResource");
  environment.declare_object("kubernetes.AdmissionRequest",
                             {{"kind", kind},
                              {"resource", resource},
                              {"subResource", text},
                              {"requestKind", kind},
                              {"requestResource", resource},
                              {"requestSubResource", text},
                              {"name", text},
                              {"namespace", text},
                              {"operation", text},
                              {"userInfo", cel::object_type("kubernetes.UserInfo")},
                              {"dryRun", cel::simple_type(TypeKind::Bool)},
                              {"options", cel::simple_type(TypeKind::Dyn)}});
}

const cel::Environment& admission_library() {
  static const cel::Environment kLibrary = [] {
    cel::Environment library;
    cel::declare_standard_library(library);
    declare_request_types(library);
    return library;
  }();
  return kLibrary;
}

const cel::Environment& mutation_library() {
  static const cel::Environment kLibrary = [] {
    cel::Environment library = cel::Environment::extending(admission_library());
    cel::declare_patch_types(library);
    return library;
  }();
  return kLibrary;
}

const cel::Environment& condition_environment() {
  static const cel::Environment kEnvironment = [] {
    cel::Environment environment = cel::Environment::extending(admission_library());
    declare_inputs(environment, false);
    return environment;
  }();
  return kEnvironment;
}

void declare_inputs(cel::Environment& environment, bool has_params, const InputTypes& types) {
  environment.declare_variable("object", types.object);
  environment.declare_variable("oldObject", types.object);
  environment.declare_variable("request", cel::object_type("kubernetes.AdmissionRequest"));
  cel::declare_authorizer(environment);
  environment.declare_variable("namespaceObject", cel::simple_type(TypeKind::Dyn));
  if (has_params) environment.declare_variable("params", types.params);
}

std::vector<Value> values_of(const ExpressionInputs& inputs, bool has_params) {
  std::vector<Value> values{value_of(inputs.object), value_of(inputs.old), value_of(inputs.request),
                            inputs.authorizer, value_of(inputs.ns)};
  if (has_params) values.push_back(value_of(inputs.params));
  return values;
}

Expression compiled(const cel::Environment& environment, std::string_view text, ResultKind result) {
  constexpr std::string_view kFailed = "compilation failed";
  Expression expression;
  expression.text = text;
  auto made = cel::compile(environment, trimmed(text), cel::ResultRule::Any);
  if (const auto* error = std::get_if<cel::CompileError>(&made)) {
    expression.problem =
        error->text.starts_with(kFailed) ? error->text : std::string(kFailed) + ": " + error->text;
    return expression;
  }
  cel::Program program = std::get<cel::Program>(std::move(made));
  expression.problem = result_problem(result, program.result_type());
  if (expression.problem.empty()) expression.program = std::move(program);
  return expression;
}

std::string error_text(const Expression& expression, const cel::Failure* failure) {
  if (!failure) return "compilation error: " + expression.problem;
  // Without the advice that the reference gives for device selectors alone.
  std::string text = failure->text;
  if (const std::size_t advice = text.find(cel::kMissingKeyAdvice); advice != std::string::npos)
    text.erase(advice, cel::kMissingKeyAdvice.size());
  return "expression '" + expression.text + "' resulted in error: " + text;
}

}  // namespace berth::admission
