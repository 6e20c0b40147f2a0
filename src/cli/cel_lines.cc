#include "cli/cel_lines.h"

#include "cel/libraries.h"
#include "cel/program.h"
#include "cli/cel_json.h"

namespace berth::cli {
namespace {

// Adds an error to the answer, whatever the request.
Json failed(Json answer, const char* error_class, std::string_view text) {
  answer["error"] = error_class;
  answer["text"] = text;
  return answer;
}

Json refused(Json answer, const cel::CompileError& error) {
  answer = failed(std::move(answer), "compile", error.text);
  answer["line"] = error.line;
  answer["column"] = error.column;
  return answer;
}

Json evaluated(Json answer, const cel::EvalResult& result) {
  if (result.ok()) {
    answer["value"] = json_of(result.value());
    answer["type"] = type_name_of(result.value());
  } else {
    const bool cost = result.failure().failure_class == cel::FailureClass::Cost;
    answer = failed(std::move(answer), cost ? "cost" : "runtime", result.failure().text_and_hint());
  }
  answer["cost"] = static_cast<std::int64_t>(result.cost);
  return answer;
}

Json answer_device(Json answer, std::string_view text, const Json& json) {
  const Result<cel::DeviceRecord> device = device_of(json);
  if (!device) return failed(std::move(answer), "input", device.error().text());
  const auto compiled = cel::compile(cel::dra_environment(), text, cel::ResultRule::Selector);
  if (const auto* error = std::get_if<cel::CompileError>(&compiled))
    return refused(std::move(answer), *error);
  const cel::Value variables[] = {cel::Value::borrow_object(*device)};
  return evaluated(std::move(answer), std::get<cel::Program>(compiled).evaluate(variables));
}

Json answer_plain(Json answer, std::string_view text, const Json& vars) {
  cel::Environment environment;
  cel::declare_standard_library(environment);
  std::vector<cel::Value> variables;
  if (vars.is_object())
    for (const JsonMember& member : vars.as_object()) {
      Result<TypedValue> typed = typed_value_of(member.value);
      if (!typed)
        return failed(std::move(answer), "input", "vars." + member.key + ": " + typed.error().text());
      environment.declare_variable(member.key, typed->type);
      variables.push_back(std::move(typed->value));
    }
  const auto compiled = cel::compile(environment, text, cel::ResultRule::Any);
  if (const auto* error = std::get_if<cel::CompileError>(&compiled))
    return refused(std::move(answer), *error);
  return evaluated(std::move(answer), std::get<cel::Program>(compiled).evaluate(variables));
}

}  // namespace

Json answer_cel(std::string_view line) {
  const Result<Json> request = parse_json(line);
  Json answer = Json::object({{"id", request && request->is_object() ? request->part("id") : Json()}});
  if (!request || !request->is_object())
    return failed(std::move(answer), "input",
                  request ? "the line is no JSON object" : "the line is no JSON: " + request.error().text());
  const Json* text = request->find("expr");
  if (!text || !text->is_string()) return failed(std::move(answer), "input", "expr: a string is wanted");
  if (const Json* device = request->find("device"))
    return answer_device(std::move(answer), text->as_string(), *device);
  return answer_plain(std::move(answer), text->as_string(), request->part("vars"));
}

Json answer_too_long() {
  return failed(Json::object({{"id", Json()}}), "input", "the line is longer than 16 MiB");
}

bool read_line(std::FILE* input, std::size_t bytes_max, std::string& line) {
  line.clear();
  int c = std::getc(input);
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = std::getc(input))
    if (line.size() <= bytes_max) line += static_cast<char>(c);
  return true;
}

}  // namespace berth::cli
