#include "crd/rules.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "base/ascii.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "crd/cel_types.h"

namespace berth::crd {
namespace {

constexpr std::string_view kNoField = "<nil>";

// How a message names the rule.
std::string rule_text(const Rule& rule) {
  return std::string(trimmed(rule.message.empty() ? rule.rule : rule.message));
}

// Eats a name or `['name']` from the front of a path.
bool eat_step(std::string_view& path, std::string& name) {
  if (path.starts_with("['")) {
    std::size_t at = 2;
    for (; at < path.size() && path[at] != '\''; ++at) {
      if (path[at] == '\\' && ++at == path.size()) return false;
      name += path[at];
    }
    if (path.substr(std::min(at, path.size()), 2) != "']") return false;
    path.remove_prefix(at + 2);
    return true;
  }
  if (!path.starts_with('.')) return false;
  path.remove_prefix(1);
  const std::size_t end = std::min(path.find_first_of(".["), path.size());
  name = path.substr(0, end);
  path.remove_prefix(end);
  return !name.empty();
}

// ".spec['a b'].size" as an error names it: "spec.a b.size". The path was checked with its definition.
std::string field_text(std::string_view path) {
  std::string field;
  while (!path.empty()) {
    std::string name;
    if (!eat_step(path, name)) break;
    field += (field.empty() ? "" : ".") + name;
  }
  return field;
}

}  // namespace

struct CompiledRule {
  const Rule* rule = nullptr;
  std::optional<cel::Program> program, message;
  std::string problem, message_problem;
  bool uses_old = false;
  std::string field;                         // below the value
  std::uint64_t cost = 0, message_cost = 0;  // estimates
  std::uint64_t values_max = 1;              // as many values fit a request
};

class RuleSet {
 public:
  // All rules of `root` and below.
  void compile(const Schema& root, DefinitionBudget& budget) {
    budget_ = &budget;
    visit(root, true);
    budget_ = nullptr;
    compiled_.clear();
  }

  const std::vector<CompiledRule>* rules_of(const Schema& schema) const {
    const auto found = rules_.find(&schema);
    return found == rules_.end() ? nullptr : &found->second;
  }
  bool is_root(const Schema& schema) const { return &schema == root_; }

 private:
  void visit(const Schema& schema, bool is_root) {
    if (is_root) root_ = &schema;
    if (!schema.has_rules) return;
    if (!schema.rules.empty()) compile_one(schema, is_root || schema.embedded);
    for (const Property& property : schema.properties) visit(property.schema, false);
    if (schema.items) visit(*schema.items, false);
    if (schema.additional) visit(*schema.additional, false);
  }

  const cel::Environment& environment_with(const cel::TypeRef& self, const cel::TypeRef& old,
                                           const CelTypes::Sizes& sizes) {
    environments_.push_back(cel::Environment::extending(types_.environment()));
    environments_.back().declare_variable("self", self);
    environments_.back().declare_variable("oldSelf", old);
    environments_.back().set_sizes(&sizes);
    return environments_.back();
  }

  void compile_one(const Schema& schema, bool is_resource) {
    std::vector<CompiledRule>& made = rules_[&schema];
    const cel::TypeRef self = types_.type_of(schema, is_resource);
    const cel::Environment *plain = nullptr, *optional = nullptr;
    for (const Rule& rule : schema.rules) {
      CompiledRule compiled;
      compiled.rule = &rule;
      if (!self) {
        compiled.problem = "rules need a schema with a type";
      } else if (budget_->rule_pattern_size > kRulePatternSizeMax) {
        compiled.problem = "the patterns of a definition's rules may have at most " +
                           std::to_string(kRulePatternSizeMax) + " instructions";
      } else if (problems_ >= kErrorsMax) {
        compiled.problem = "not compiled: other rules have errors";
      } else {
        const CelTypes::Sizes& sizes = types_.sizes_of(schema, is_resource);
        compiled.values_max = kRequestBytesMax / (sizes.least_bytes + 1);
        const cel::Environment*& environment = rule.optional_old_self ? optional : plain;
        if (!environment)
          environment =
              &environment_with(self, rule.optional_old_self ? cel::optional_type(self) : self, sizes);
        compile_texts(compiled, *environment);
      }
      if (!compiled.problem.empty() || !compiled.message_problem.empty()) ++problems_;
      made.push_back(std::move(compiled));
    }
  }

  using Compiled = std::variant<cel::Program, cel::CompileError>;

  // Equal texts on the same value are one program.
  const Compiled& compiled_text(const cel::Environment& environment, const std::string& text,
                                cel::ResultRule result) {
    auto key = std::tuple(&environment, result, text);
    if (const auto found = compiled_.find(key); found != compiled_.end()) return found->second;
    Compiled made = cel::compile(environment, text, result);
    const auto* program = std::get_if<cel::Program>(&made);
    budget_->rule_pattern_size +=
        program ? program->pattern_size() : std::get<cel::CompileError>(made).pattern_size;
    return compiled_.emplace(std::move(key), std::move(made)).first->second;
  }

  void compile_texts(CompiledRule& compiled, const cel::Environment& environment) {
    const Rule& rule = *compiled.rule;
    const Compiled& program = compiled_text(environment, rule.rule, cel::ResultRule::Selector);
    if (const auto* error = std::get_if<cel::CompileError>(&program)) {
      compiled.problem = error->text;
      if (error->text.starts_with("must evaluate to bool"))
        compiled.problem = "cel expression must evaluate to a bool";
      return;
    }
    compiled.program = std::get<cel::Program>(program);
    compiled.field = field_text(rule.field_path);
    compiled.cost = compiled.program->estimated_cost();
    compiled.uses_old = compiled.program->reads("oldSelf");
    if (rule.message_expression.empty()) return;
    const Compiled& message = compiled_text(environment, rule.message_expression, cel::ResultRule::Any);
    if (const auto* error = std::get_if<cel::CompileError>(&message)) {
      compiled.message_problem = "messageExpression " + error->text;
      return;
    }
    if (std::get<cel::Program>(message).result_type() != "string") {
      compiled.message_problem = "messageExpression must evaluate to a string";
      return;
    }
    compiled.message = std::get<cel::Program>(message);
    compiled.message_cost = compiled.message->estimated_cost();
  }

  CelTypes types_;
  std::deque<cel::Environment> environments_;  // programs point to them
  std::unordered_map<const Schema*, std::vector<CompiledRule>> rules_;
  const Schema* root_ = nullptr;
  // While it compiles.
  DefinitionBudget* budget_ = nullptr;
  std::size_t problems_ = 0;
  std::map<std::tuple<const cel::Environment*, cel::ResultRule, std::string>, Compiled> compiled_;
};

namespace {

// Whether the values are equal; false when the budget ends before that is known.
bool is_same(const Json& a, const Json& b, ObjectBudget& budget) {
  if (a.shares_with(b)) return true;
  if (!budget.spend(1)) return false;
  if (a.is_array() && b.is_array())
    return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(),
                      [&](const Json& left, const Json& right) { return is_same(left, right, budget); });
  if (!a.is_object() || !b.is_object()) return a == b;
  return a.as_object().size() == b.as_object().size() &&
         std::all_of(a.as_object().begin(), a.as_object().end(), [&](const JsonMember& member) {
           const Json* other = b.find(member.key);
           return other && is_same(member.value, *other, budget);
         });
}

// A value and what it was before the update; those around it.
struct Correlation {
  const Json* value;
  const Json* old;  // null: it has no counterpart
  const Correlation* around;
  mutable std::optional<bool> same = std::nullopt;  // once it is known

  bool is_unchanged(ObjectBudget& budget) const {
    const Correlation* at = this;
    while (at && !at->old) at = at->around;
    if (!at) return false;
    if (!at->same) at->same = is_same(*at->value, *at->old, budget);
    return *at->same;
  }
};

class Verdict {
 public:
  Verdict(const RuleSet& rules, ObjectBudget& budget) : rules_(rules), budget_(budget) {}

  BoundedErrors errors;

  void visit(const Schema& schema, const Json& value, const Json* old, const Correlation* around,
             const LazyPath& path) {
    if (!schema.has_rules || spent_ || value.is_null()) return;
    const Correlation here{&value, old, around};
    if (const std::vector<CompiledRule>* rules = rules_.rules_of(schema)) judge(schema, *rules, here, path);
    if (value.is_array() && schema.items) visit_items(schema, here, path);
    if (value.is_object()) visit_members(schema, here, path);
  }

 private:
  void visit_members(const Schema& schema, const Correlation& here, const LazyPath& path) {
    for (const JsonMember& member : here.value->as_object()) {
      const Schema* own = schema.property(member.key);
      const Schema* below = own ? own : schema.additional.get();
      if (!below || !below->has_rules) continue;
      const Json* old = here.old ? here.old->find(member.key) : nullptr;
      visit(*below, member.value, old, &here, own ? path.child(member.key) : path.key(member.key));
    }
  }

  static std::string key_text(const Json& item, const Schema& schema) {
    std::string key;
    for (const std::string& name : schema.map_keys) key += to_string(item.part(name)) + "\n";
    return key;
  }

  void visit_items(const Schema& schema, const Correlation& here, const LazyPath& path) {
    std::map<std::string, const Json*> before;
    if (schema.list == Schema::List::Map && here.old && here.old->is_array())
      for (const Json& item : here.old->as_array()) before.emplace(key_text(item, schema), &item);
    const JsonArray& items = here.value->as_array();
    for (std::size_t at = 0; at < items.size() && !spent_; ++at) {
      const auto found = before.empty() ? before.end() : before.find(key_text(items[at], schema));
      visit(*schema.items, items[at], found == before.end() ? nullptr : found->second, &here, path.index(at));
    }
  }

  void judge(const Schema& schema, const std::vector<CompiledRule>& rules, const Correlation& here,
             const LazyPath& path) {
    const bool is_resource = schema.embedded || rules_.is_root(schema);
    const cel::Value self = cel_value(*here.value, schema, is_resource);
    cel::Value old, optional_old = cel::Value::none();
    if (here.old) {
      old = cel_value(*here.old, schema, is_resource);
      optional_old = cel::Value::some(old);
    }
    for (const CompiledRule& rule : rules) {
      if (spent_) return;
      const bool optional = rule.rule->optional_old_self;
      if (rule.uses_old && !here.old && !optional) continue;
      if (!rule.program) {
        add(failure(schema, path, "rule compile error: " + rule.problem));
        continue;
      }
      const cel::Value variables[] = {self, optional ? optional_old : old};
      judge_one(schema, rule, variables, here, path);
    }
  }

  void judge_one(const Schema& schema, const CompiledRule& rule, std::span<const cel::Value> variables,
                 const Correlation& here, const LazyPath& path) {
    const cel::EvalResult result = rule.program->evaluate(variables, {kRuleCostMax, &budget_.rule_work});
    if (!charge(schema, result.cost, path)) return;
    if (!result.ok()) return add_failure(schema, rule, result.failure(), path);
    if (result.value().is_true()) return;
    if (!rule.uses_old && here.is_unchanged(budget_)) return;
    if (errors.is_full()) return;
    std::string detail = rule.message ? told(schema, rule, variables, path) : "";
    if (spent_) return;
    if (detail.empty())
      detail = rule.rule->message.empty() ? "failed rule: " + rule_text(*rule.rule) : rule_text(*rule.rule);
    const std::string base = path.text();
    const std::string field = rule.field.empty()                            ? base
                              : base.empty() || rule.field.starts_with("[") ? base + rule.field
                                                                            : base + "." + rule.field;
    add(error_for(*rule.rule, field.empty() ? std::string(kNoField) : field, *here.value, schema, detail));
  }

  // False when nothing is left of the budget: then no further rule runs.
  bool charge(const Schema& schema, std::uint64_t cost, const LazyPath& path) {
    if (cost <= budget_.rule_cost && budget_.rule_work > 0) {
      budget_.rule_cost -= cost;
      return true;
    }
    budget_.rule_cost = 0;
    spent_ = true;
    add(failure(
        schema, path,
        "validation failed due to running out of cost budget, no further validation rules will be run"));
    return false;
  }

  void add_failure(const Schema& schema, const CompiledRule& rule, const cel::Failure& failed,
                   const LazyPath& path) {
    std::string text = failed.text;
    if (const std::size_t advice = text.find(cel::kMissingKeyAdvice); advice != std::string::npos)
      text.erase(advice, cel::kMissingKeyAdvice.size());
    if (failed.failure_class == cel::FailureClass::Cost) {
      spent_ = true;
      add(failure(schema, path,
                  "'" + text +
                      "': no further validation rules will be run due to call cost exceeds limit "
                      "for rule: " +
                      rule_text(*rule.rule)));
    } else if (text.starts_with("no such overload")) {
      add(failure(schema, path,
                  "'" + text +
                      "': call arguments did not match a supported operator, function or macro "
                      "signature for rule: " +
                      rule_text(*rule.rule)));
    } else {
      add(failure(schema, path, text + " evaluating rule: " + rule_text(*rule.rule)));
    }
  }

  // What the messageExpression says; empty when it says nothing usable.
  std::string told(const Schema& schema, const CompiledRule& rule, std::span<const cel::Value> variables,
                   const LazyPath& path) {
    const cel::EvalResult result = rule.message->evaluate(variables, {kRuleCostMax, &budget_.rule_work});
    if (!charge(schema, result.cost, path) || !result.ok() || !result.value().is(cel::Kind::String))
      return {};
    std::string text(trimmed(result.value().as_text()));
    const bool usable =
        text.size() <= kRuleMessageBytesMax && text.find_first_of("\r\n") == std::string::npos;
    return usable ? text : std::string();
  }

  static api::FieldError failure(const Schema& schema, const LazyPath& path, std::string_view text) {
    const std::string field = path.text();
    return api::invalid(field.empty() ? std::string(kNoField) : field, type_name(schema.type), text);
  }

  static api::FieldError error_for(const Rule& rule, const std::string& field, const Json& value,
                                   const Schema& schema, const std::string& detail) {
    const bool whole = schema.type == Schema::Type::Object || schema.type == Schema::Type::Array;
    if (rule.reason == "FieldValueForbidden") return api::forbidden(field, detail);
    if (rule.reason == "FieldValueRequired") return api::required(field, detail);
    if (rule.reason == "FieldValueDuplicate")
      return whole ? api::FieldError{api::FieldErrorType::Duplicate, field, "Duplicate value"}
                   : api::duplicate(field, value);
    if (!whole) return api::invalid(field, value, detail);
    return {api::FieldErrorType::Invalid, field, "Invalid value: " + detail};
  }

  void add(api::FieldError error) { errors.add(std::move(error)); }

  const RuleSet& rules_;
  ObjectBudget& budget_;
  bool spent_ = false;
};

constexpr std::uint64_t kEstimateMax = 10'000'000, kEstimatesMax = 100'000'000;

std::uint64_t product_of(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

std::string budget_text(std::string_view what, std::uint64_t cost, std::uint64_t most) {
  const double factor = static_cast<double>(cost) / static_cast<double>(most);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), factor < 1.5 ? "%fx" : "%.1fx", factor);
  return std::string(what) + " exceeds budget by factor of " +
         (factor > 100 ? "more than 100x" : text.data()) +
         " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, "
         "and "
         "strings are declared)";
}

// The estimates of all rules of a schema.
class Estimates {
 public:
  void add(const LazyPath& path, std::uint64_t cost) {
    constexpr std::size_t kNamedMax = 4;
    constexpr std::uint64_t kNamedMin = kEstimatesMax / 100;
    total_ = cost > UINT64_MAX - total_ ? UINT64_MAX : total_ + cost;
    if (cost < kNamedMin) return;
    const auto place = std::find_if(largest_.begin(), largest_.end(),
                                    [cost](const auto& other) { return other.second < cost; });
    largest_.insert(place, {path, cost});
    if (largest_.size() > kNamedMax) largest_.pop_back();
  }

  void report(const LazyPath& schema, BoundedErrors& errors) const {
    if (total_ <= kEstimatesMax) return;
    for (const auto& [path, cost] : largest_)
      errors.add(api::forbidden(path,
                                "contributed to estimated rule cost total exceeding cost limit for entire "
                                "OpenAPIv3 schema"));
    errors.add(api::forbidden(
        schema, budget_text("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                            total_, kEstimatesMax)));
  }

 private:
  std::uint64_t total_ = 0;
  std::vector<std::pair<LazyPath, std::uint64_t>> largest_;
};

// Walks the rules beside the document that says them.
class Problems {
 public:
  Problems(const RuleSet& rules, CostCheck cost_check) : rules_(rules), cost_check_(cost_check) {}
  BoundedErrors errors;
  Estimates estimates;

  // Where a schema stands.
  struct Place {
    LazyPath path;
    LazyPath adrift;  // of the list around, whose items have no counterpart in an old object
    bool is_adrift = false;
    std::optional<std::uint64_t> values =
        1;  // that an object may have here; nothing: only its size bounds them
  };

  void visit(const Schema& schema, const Json& props, const Place& place) {
    if (!schema.has_rules || errors.is_full()) return;
    const auto below = [&](LazyPath path) {
      Place inner = place;
      inner.path = std::move(path);
      inner.values = values_below(schema, props, place.values);
      return inner;
    };
    if (schema.additional)
      visit(*schema.additional, props.part("additionalProperties"),
            below(place.path.child("additionalProperties")));
    for (const Property& property : schema.properties)
      visit(property.schema, props.part("properties").part(property.name),
            below(place.path.child("properties").key(property.name)));
    if (schema.items) {
      Place items = below(place.path.child("items"));
      if (!place.is_adrift && schema.list != Schema::List::Map) {
        items.adrift = place.path;
        items.is_adrift = true;
      }
      visit(*schema.items, props.part("items"), items);
    }
    if (const std::vector<CompiledRule>* rules = rules_.rules_of(schema)) add(*rules, props, place);
  }

 private:
  static std::optional<std::uint64_t> values_below(const Schema& schema, const Json& props,
                                                   const std::optional<std::uint64_t>& values) {
    const bool is_map = schema.type == Schema::Type::Object && props.find("additionalProperties");
    const bool is_list = schema.type == Schema::Type::Array;
    if (!values || (!is_map && !is_list)) return values;
    const std::optional<std::int64_t>& most = is_list ? schema.items_max : schema.members_max;
    if (!most) return std::nullopt;
    return product_of(*values, static_cast<std::uint64_t>(std::max<std::int64_t>(*most, 0)));
  }

  void add_cost(std::string_view what, const LazyPath& path, std::uint64_t cost) {
    if (cost_check_ == CostCheck::EachAndAll && cost > kEstimateMax)
      errors.add(api::forbidden(path, budget_text(what, cost, kEstimateMax)));
    estimates.add(path, cost);
  }

  void add(const std::vector<CompiledRule>& rules, const Json& props, const Place& place) {
    const JsonArray& said = props.items_at("x-kubernetes-validations");
    for (std::size_t i = 0; i < rules.size() && i < said.size(); ++i) {
      const CompiledRule& rule = rules[i];
      const LazyPath at = place.path.child("x-kubernetes-validations").index(i);
      add_cost("estimated rule cost", at.child("rule"),
               product_of(rule.cost, place.values.value_or(rule.values_max)));
      if (!rule.problem.empty()) errors.add(api::invalid(at.child("rule"), said[i], rule.problem));
      if (!rule.message_problem.empty())
        errors.add(api::invalid(at.child("messageExpression"), said[i], rule.message_problem));
      else if (rule.message)
        add_cost("estimated messageExpression cost", at.child("messageExpression"), rule.message_cost);
      if (rule.uses_old && place.is_adrift)
        errors.add(api::invalid(at.child("rule"), rule.rule->rule,
                                "oldSelf cannot be used on the uncorrelatable portion of the schema within " +
                                    place.adrift.text()));
      if (!rule.uses_old && said[i].find("optionalOldSelf"))
        errors.add(api::invalid(at.child("optionalOldSelf"), said[i].bool_at("optionalOldSelf"),
                                "may not be set if oldSelf is not used in rule"));
    }
  }

  const RuleSet& rules_;
  const CostCheck cost_check_;
};

}  // namespace

std::shared_ptr<const RuleSet> compile_rules(const Schema& schema, DefinitionBudget& budget) {
  if (!schema.has_rules) return nullptr;
  auto rules = std::make_shared<RuleSet>();
  rules->compile(schema, budget);
  return rules;
}

api::FieldErrors check_rules(const RuleSet& rules, const Schema& schema, const Json& value, const Json* old,
                             const LazyPath& path, ObjectBudget& budget) {
  Verdict verdict(rules, budget);
  verdict.visit(schema, value, old, nullptr, path);
  return verdict.errors.take();
}

api::FieldErrors rule_problems(const RuleSet& rules, const Schema& schema, const Json& props,
                               const std::string& path, CostCheck cost_check) {
  Problems problems(rules, cost_check);
  const LazyPath root(path);
  problems.visit(schema, props, {root, root});
  problems.estimates.report(root, problems.errors);
  return problems.errors.take();
}

std::optional<std::string> rule_field(const Json& props, std::string_view path) {
  const Json* at = &props;
  std::string field;
  while (!path.empty()) {
    std::string name;
    if (!eat_step(path, name)) return std::nullopt;
    const Json& properties = at->part("properties");
    if (properties.is_object() && !properties.as_object().empty()) {
      at = properties.find(name);
      field += (field.empty() ? "" : ".") + name;
    } else {
      at = at->find("additionalProperties");
      if (at && !at->is_object()) at = nullptr;
      field += "[" + name + "]";
    }
    if (!at) return std::nullopt;
  }
  return field;
}

}  // namespace berth::crd
