#include "cel/environment.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "cel/libraries.h"

namespace berth::cel {
namespace {

bool accepts_one(const Type& type, const Value& value) {
  switch (type.kind) {
    case TypeKind::Dyn:
    case TypeKind::Parameter:
      return true;
    case TypeKind::List:
      return value.is(Kind::List);
    case TypeKind::Map:
      return value.is(Kind::Map);
    case TypeKind::Type:
      return value.is(Kind::Type);
    case TypeKind::Opaque:
      return value.is(Kind::Optional);
    default:
      return value.type_name() == type.name;
  }
}

Overload overload_of(const FunctionRow& row) {
  Overload overload;
  overload.function = row.name;
  overload.run = row.run;
  overload.cost = row.cost;
  const std::string_view signature = row.signature;
  const std::size_t dot = signature.find(".(");
  overload.is_member = dot != std::string_view::npos;
  if (overload.is_member) overload.parameters.push_back(parse_type(signature.substr(0, dot)));
  const std::size_t open = overload.is_member ? dot + 1 : 0;
  int depth = 0;
  std::size_t close = open;
  std::size_t start = open + 1;
  for (;; ++close) {
    BERTH_ASSERT(close < signature.size(), "a signature has balanced parentheses");
    if (signature[close] == '(') ++depth;
    if (signature[close] == ')') --depth;
    if (depth == 0 || (depth == 1 && signature[close] == ',')) {
      if (close > start) overload.parameters.push_back(parse_type(signature.substr(start, close - start)));
      start = close + 1;
    }
    if (depth == 0) break;
  }
  overload.result = parse_type(signature.substr(close + 1));
  return overload;
}

}  // namespace

bool Overload::accepts(std::span<const Value> args) const {
  if (args.size() != parameters.size()) return false;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!accepts_one(*parameters[i], args[i])) return false;
  return true;
}

void Environment::declare_variable(std::string name, TypeRef type) {
  variables_.push_back({std::move(name), std::move(type)});
}

void Environment::declare_object(std::string name, std::vector<Field> fields) {
  Object object{.fields = std::move(fields), .by_name = {}};
  object.by_name.resize(object.fields.size());
  std::iota(object.by_name.begin(), object.by_name.end(), 0U);
  std::sort(object.by_name.begin(), object.by_name.end(), [&object](std::uint32_t a, std::uint32_t b) {
    return object.fields[a].name < object.fields[b].name;
  });
  objects_[std::move(name)] = std::move(object);
}

void Environment::declare_message(std::string name, std::vector<Field> fields) {
  declare_object(name, std::move(fields));
  objects_[std::move(name)].is_message = true;
}

void Environment::declare_functions(std::span<const FunctionRow> rows) {
  for (const FunctionRow& row : rows) functions_[row.name].push_back(overload_of(row));
}

int Environment::variable_index(std::string_view name) const {
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].name == name) return static_cast<int>(i);
  return -1;
}

const Environment::Object* Environment::object(std::string_view name) const {
  const auto found = objects_.find(name);
  if (found != objects_.end()) return &found->second;
  return base_ ? base_->object(name) : nullptr;
}

const std::vector<Field>* Environment::fields_of(std::string_view object) const {
  const Object* found = this->object(object);
  return found ? &found->fields : nullptr;
}

int Environment::field_index(std::string_view object, std::string_view field) const {
  const Object* found = this->object(object);
  if (!found) return -1;
  const auto at = std::lower_bound(
      found->by_name.begin(), found->by_name.end(), field,
      [found](std::uint32_t position, std::string_view name) { return found->fields[position].name < name; });
  return at != found->by_name.end() && found->fields[*at].name == field ? static_cast<int>(*at) : -1;
}

bool Environment::is_message(std::string_view name) const {
  const Object* declared = object(name);
  return declared ? declared->is_message : is_open_message(name);
}

bool Environment::is_open_message(std::string_view name) const {
  if (open_root_.empty()) return base_ && base_->is_open_message(name);
  return name.starts_with(open_root_) && (name.size() == open_root_.size() || name[open_root_.size()] == '.');
}

const std::vector<Overload>* Environment::functions(std::string_view name) const {
  const auto found = functions_.find(name);
  if (found != functions_.end()) return &found->second;
  return base_ ? base_->functions(name) : nullptr;
}

std::vector<std::string> Environment::variable_names() const {
  std::vector<std::string> names;
  for (const Field& variable : variables_) names.push_back(variable.name);
  return names;
}

std::vector<std::string> Environment::function_names() const {
  // Functions of authorization are no suggestion: there is no authorizer.
  const auto of_use = [](const Overload& overload) {
    return overload.parameters.empty() ||
           !overload.parameters.front()->name.starts_with("kubernetes.authorization.");
  };
  std::vector<std::string> names;
  if (base_) names = base_->function_names();
  for (const auto& [name, overloads] : functions_)
    if (name.find_first_of("@_") == std::string::npos &&
        std::any_of(overloads.begin(), overloads.end(), of_use))
      names.push_back(name);
  return names;
}

void declare_standard_library(Environment& environment) {
  environment.declare_functions(operator_rows());
  environment.declare_functions(conversion_rows());
  environment.declare_functions(time_rows());
  environment.declare_functions(string_rows());
  environment.declare_functions(list_rows());
  environment.declare_functions(optional_rows());
  environment.declare_functions(amount_rows());
  environment.declare_functions(network_rows());
  environment.declare_functions(url_rows());
  environment.declare_functions(named_format_rows());
  environment.declare_functions(authorization_rows());
}

}  // namespace berth::cel
