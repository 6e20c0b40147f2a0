#include "dra/cel_selectors.h"

#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "cel/dra_environment.h"
#include "cel/program.h"
#include "dra/columnar.h"
#include "dra/columns_values.h"

namespace berth::dra {
namespace {

using cel::Value;

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
  // Compiled for columns, by text, latest use first; what is forgotten is compiled again.
  std::list<std::pair<std::string, cel::Program>> recent;
  std::unordered_map<std::string_view, decltype(recent)::iterator> by_text;  // views of `recent`

  std::map<std::pair<cel::ResultRule, std::string>, Result<SelectorId>> known;
  std::vector<cel::Program> programs;

  static Result<cel::Program> compiled(std::string_view text, cel::ResultRule rule) {
    auto compiled = cel::compile(cel::dra_environment(), text, rule);
    if (auto* program = std::get_if<cel::Program>(&compiled)) return std::move(*program);
    return Error(ErrorCode::Invalid, "CEL compile error: " + std::get<cel::CompileError>(compiled).text);
  }
  Result<cel::Program> selector(std::string_view text) {
    if (const auto found = by_text.find(text); found != by_text.end()) {
      recent.splice(recent.begin(), recent, found->second);
      return found->second->second;
    }
    recent.emplace_front(std::string(text), TRY(compiled(text, cel::ResultRule::Selector)));
    by_text.emplace(recent.front().first, recent.begin());
    if (recent.size() > kRecentProgramsMax) {
      by_text.erase(recent.back().first);
      recent.pop_back();
    }
    return recent.front().second;
  }
  Result<SelectorId> compile(std::string_view text, cel::ResultRule rule) {
    const auto found = known.find({rule, std::string(text)});
    if (found != known.end()) return found->second;
    Result<cel::Program> program = compiled(text, rule);
    Result<SelectorId> answer = SelectorId(static_cast<std::uint32_t>(programs.size()));
    if (program)
      programs.push_back(std::move(*program));
    else
      answer = program.error();
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

Result<std::unique_ptr<RowSelector>> CelSelectors::over(const DeviceColumns& columns, std::string_view text) {
  return std::unique_ptr<RowSelector>(
      std::make_unique<ColumnarSelector>(columns, TRY(state_->selector(text))));
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
