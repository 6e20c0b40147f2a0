#include "dra/cel_selectors.h"

#include <map>
#include <vector>

#include "cel/dra_environment.h"
#include "cel/program.h"

namespace berth::dra {
namespace {

using cel::Value;

// A version that does not parse cannot be compared; it is left out, as the API server has refused it.
struct ToValue {
  Value& out;
  bool operator()(std::monostate) const { return false; }
  bool operator()(std::int64_t value) const { return (out = Value::of_int(value), true); }
  bool operator()(bool value) const { return (out = Value::of_bool(value), true); }
  bool operator()(const std::string& value) const { return (out = Value::borrow_string(value), true); }
  bool operator()(const api::AttributeVersion& value) const {
    Result<SemVer> version = parse_semver(value.text);
    if (!version) return false;
    out = Value::of_semver(std::move(*version));
    return true;
  }
  template <class T>
  bool operator()(const std::vector<T>& list) const {
    std::vector<Value> items;
    for (auto&& item : list) {
      Value value;
      if (ToValue{value}(T(item))) items.push_back(std::move(value));
    }
    out = Value::of_list(std::move(items));
    return true;
  }
  bool operator()(const std::vector<std::string>& list) const {
    std::vector<Value> items;
    for (const std::string& item : list) items.push_back(Value::borrow_string(item));
    out = Value::of_list(std::move(items));
    return true;
  }
};

cel::DeviceRecord record_of(std::string_view driver, const api::Device& device) {
  cel::DeviceRecord record{std::string(driver), device.allow_multiple};
  for (const auto& [name, attribute] : device.attributes) {
    Value value;
    if (std::visit(ToValue{value}, attribute)) record.add_attribute(name, std::move(value));
  }
  for (const auto& [name, capacity] : device.capacity) record.add_capacity(name, capacity.value);
  return record;
}

api::AttributeValue scalar_of(const Value& value) {
  switch (value.kind()) {
    case cel::Kind::Int:
      return value.as_int();
    case cel::Kind::Bool:
      return value.as_bool();
    case cel::Kind::String:
      return std::string(value.as_text());
    case cel::Kind::Semver:
      return api::AttributeVersion{value.as_semver().text()};
    default:
      return {};
  }
}

template <class T>
api::AttributeValue list_of(const cel::ListSource& list) {
  std::vector<T> items;
  for (std::size_t i = 0; i < list.size(); ++i) {
    api::AttributeValue item = scalar_of(list.at(i));
    if (!std::holds_alternative<T>(item)) return {};
    items.push_back(std::get<T>(std::move(item)));
  }
  return items;
}

// Nothing (monostate) for a value that no attribute can have.
api::AttributeValue attribute_of(const Value& value) {
  if (!value.is(cel::Kind::List)) return scalar_of(value);
  const cel::ListSource& list = value.as_list();
  if (list.size() == 0) return {};
  switch (list.at(0).kind()) {
    case cel::Kind::Int:
      return list_of<std::int64_t>(list);
    case cel::Kind::Bool:
      return list_of<bool>(list);
    case cel::Kind::String:
      return list_of<std::string>(list);
    case cel::Kind::Semver:
      return list_of<api::AttributeVersion>(list);
    default:
      return {};
  }
}

}  // namespace

struct CelSelectors::State {
  std::map<std::pair<cel::ResultRule, std::string>, Result<SelectorId>> known;
  std::vector<cel::Program> programs;

  Result<SelectorId> compile(std::string_view text, cel::ResultRule rule) {
    const auto found = known.find({rule, std::string(text)});
    if (found != known.end()) return found->second;
    auto compiled = cel::compile(cel::dra_environment(), text, rule);
    Result<SelectorId> answer = SelectorId(static_cast<std::uint32_t>(programs.size()));
    if (auto* program = std::get_if<cel::Program>(&compiled))
      programs.push_back(std::move(*program));
    else
      answer = Error(ErrorCode::Invalid, "CEL compile error: " + std::get<cel::CompileError>(compiled).text);
    known.emplace(std::pair(rule, std::string(text)), answer);
    return answer;
  }
  cel::EvalResult run(SelectorId id, const cel::DeviceRecord& record) const {
    const Value variables[] = {Value::borrow_object(record)};
    return programs[id.index()].evaluate(variables);
  }
};

CelSelectors::CelSelectors() : state_(std::make_unique<State>()) {}
CelSelectors::~CelSelectors() = default;

Result<SelectorId> CelSelectors::compile(std::string_view text) {
  return state_->compile(text, cel::ResultRule::Selector);
}
Result<SelectorId> CelSelectors::compile_attribute(std::string_view text) {
  return state_->compile(text, cel::ResultRule::Any);
}

Result<bool> CelSelectors::evaluate(SelectorId selector, std::string_view driver, const api::Device& device) {
  const cel::DeviceRecord record = record_of(driver, device);
  const cel::EvalResult result = state_->run(selector, record);
  if (result.ok()) return result.value().is_true();
  return Error(ErrorCode::Invalid, "CEL runtime error: " + result.failure().text);
}

Result<api::AttributeValue> CelSelectors::derive(SelectorId expression, std::string_view driver,
                                                 const api::Device& device) {
  const cel::DeviceRecord record = record_of(driver, device);
  const cel::EvalResult result = state_->run(expression, record);
  if (!result.ok()) return Error(ErrorCode::Invalid, result.failure().text);
  api::AttributeValue value = attribute_of(result.value());
  if (value.index() == 0)
    return Error(ErrorCode::Invalid, "a result of type " + std::string(result.value().type_name()) +
                                         " cannot be an attribute's value");
  return value;
}

}  // namespace berth::dra
