#include "dra/cel_selectors.h"

#include <vector>

#include "base/lru_map.h"
#include "cel/dra_environment.h"
#include "cel/predicate_terms.h"
#include "cel/program.h"
#include "dra/columns/columnar_selector.h"
#include "dra/columns/value_key.h"

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

// What every device for which the term is true has as its driver. False absorbs the errors of the other
// parts.
std::optional<std::string> driver_in(const cel::PredicateTerm& term) {
  if (term.kind == cel::TermKind::And)
    for (const cel::PredicateTerm& part : term.parts)
      if (std::optional<std::string> driver = driver_in(part)) return driver;
  const bool compares = term.kind == cel::TermKind::Leaf && term.equals && !term.is_negated &&
                        term.equals->is(cel::Kind::String) && term.reads.size() == 1 &&
                        term.reads.front().field == cel::kDeviceDriver;
  return compares ? std::optional(std::string(term.equals->as_text())) : std::nullopt;
}

// Programs by text, or the compiler's error for the text.
class RecentPrograms {
 public:
  explicit RecentPrograms(cel::ResultRule rule) : rule_(rule) {}

  // Valid until the next call.
  const Result<cel::Program>& of(std::string_view text) {
    return recent_.at(text, [&] { return compiled(text); });
  }
  std::size_t size() const { return recent_.size(); }

 private:
  Result<cel::Program> compiled(std::string_view text) const {
    auto compiled = cel::compile(cel::dra_environment(), text, rule_);
    if (auto* program = std::get_if<cel::Program>(&compiled)) return std::move(*program);
    return Error(ErrorCode::Invalid, "CEL compile error: " + std::get<cel::CompileError>(compiled).text);
  }

  cel::ResultRule rule_;
  LruMap<Result<cel::Program>> recent_{kRecentProgramsMax};
};

}  // namespace

struct CelSelectors::State {
  RecentPrograms selectors{cel::ResultRule::Selector};
  RecentPrograms attributes{cel::ResultRule::Any};
  LruMap<std::optional<std::string>> drivers{kRecentProgramsMax};
};

CelSelectors::CelSelectors() : state_(std::make_unique<State>()) {}
CelSelectors::~CelSelectors() = default;

Result<bool> CelSelectors::evaluate(std::string_view text, std::string_view driver,
                                    const api::Device& device) {
  const Result<cel::Program>& program = state_->selectors.of(text);
  if (!program) return program.error();
  const cel::DeviceRecord record = record_of(driver, device);
  const Value variables[] = {Value::borrow_object(record)};
  const cel::EvalResult result = program->evaluate(variables);
  if (result.ok()) return result.value().is_true();
  return runtime_error(result.failure());
}

std::optional<std::string> CelSelectors::driver_of(std::string_view text) {
  return state_->drivers.at(text, [&] {
    const Result<cel::Program>& program = state_->selectors.of(text);
    return program ? driver_in(cel::split(*program)) : std::nullopt;
  });
}

Result<std::unique_ptr<VectorSelector>> CelSelectors::over(const DeviceColumns& columns,
                                                           std::string_view text) {
  return std::unique_ptr<VectorSelector>(
      std::make_unique<ColumnarSelector>(columns, TRY(Result<cel::Program>(state_->selectors.of(text)))));
}

Result<api::AttributeValue> CelSelectors::derive(std::string_view text, std::string_view driver,
                                                 const api::Device& device) {
  const Result<cel::Program>& program = state_->attributes.of(text);
  if (!program) return program.error();
  const cel::DeviceRecord record = record_of(driver, device);
  const Value variables[] = {Value::borrow_object(record)};
  const cel::EvalResult result = program->evaluate(variables);
  if (!result.ok()) return Error(ErrorCode::Invalid, result.failure().text);
  api::AttributeValue value = attribute_of(result.value());
  if (value.index() == 0)
    return Error(ErrorCode::Invalid, "a result of type " + std::string(result.value().type_name()) +
                                         " cannot be an attribute's value");
  return value;
}

std::size_t CelSelectors::kept() const {
  return state_->selectors.size() + state_->attributes.size();
}

}  // namespace berth::dra
