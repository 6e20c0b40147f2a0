#include "crd/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/key_index.h"
#include "base/utf8.h"
#include "cel/regex.h"
#include "cel/value.h"
#include "crd/formats.h"

namespace berth::crd {
namespace {

using api::FieldError;
using api::FieldErrors;
using api::FieldErrorType;

// Go's path of an error that belongs to no field.
constexpr std::string_view kNoPath = "<nil>";

// Judges one document. Errors of alternatives are collected apart and dropped.
class Judge {
 public:
  explicit Judge(ObjectBudget& budget) : budget_(budget) {}

  FieldErrors take() && {
    if (is_spent())
      return {{FieldErrorType::Internal, std::string(kNoPath),
               "Internal error: the object and its schema are too complex to be compared"}};
    return errors_.take();
  }

  // True when the value is what it was before: such a value has no errors.
  bool judge(const Json& value, const Json* old, const Schema& schema, const LazyPath& path);

 private:
  bool is_spent() const { return budget_.checks == 0 || budget_.steps == 0; }
  static std::string shown(const LazyPath& path) {
    const std::string text = path.text();
    return text.starts_with('.') ? text.substr(1) : text;
  }
  // "spec.size in body should …"
  static std::string in_body(const LazyPath& path, std::string_view rest) {
    return path.text() + " in body " + std::string(rest);
  }

  // Counts an error; true when its text would be dropped.
  bool is_counted_only() {
    ++found_;
    return errors_.is_full();
  }
  // What is_counted_only() has counted.
  void keep(FieldError error) {
    budget_.spend((error.path.size() + error.body.size()) / kBytesPerErrorStep);
    errors_.add(std::move(error));
  }
  void add_invalid(const LazyPath& path, const Json& value, std::string_view rest) {
    if (is_counted_only()) return;
    keep(api::invalid(shown(path), value, in_body(path, rest)));
  }
  void add_wrong_type(const LazyPath& path, const Json& value, const std::string& type) {
    if (is_counted_only()) return;
    FieldError error =
        api::invalid(shown(path), value, in_body(path, "must be of type " + type + ": " + to_string(value)));
    error.type = FieldErrorType::TypeInvalid;
    keep(std::move(error));
  }
  void add_plain(std::string_view text) {
    if (!is_counted_only()) keep(api::invalid(std::string(kNoPath), "", text));
  }

  bool check_type(const Json& value, const Schema& schema, const LazyPath& path);
  void check_alternatives(const Json& value, const Schema& schema, const LazyPath& path);
  void check_any(const Json& value, const Schema& schema, const LazyPath& path);
  void check_one(const Json& value, const Schema& schema, const LazyPath& path);
  void check_string(const std::string& text, const Schema& schema, const LazyPath& path);
  void check_number(const Json& value, const Schema& schema, const LazyPath& path);
  void check_choices(const Json& value, const Schema& schema, const LazyPath& path);
  bool check_items(const Json& value, const Json* old, const Schema& schema, const LazyPath& path);
  bool check_members(const Json& value, const Json* old, const Schema& schema, const LazyPath& path);

  // The errors of one alternative, which are not reported yet.
  struct Attempt {
    FieldErrors errors;
    std::size_t found = 0;
  };
  Attempt attempt(const Json& value, const Schema& schema, const LazyPath& path) {
    BoundedErrors kept = std::exchange(errors_, {});
    const std::size_t found = std::exchange(found_, 0);
    const bool outer = std::exchange(in_alternative_, true);
    judge(value, nullptr, schema, path);
    in_alternative_ = outer;
    Attempt made{errors_.take(), found_};
    errors_ = std::move(kept);
    found_ = found;
    return made;
  }
  void report(Attempt attempt) {
    found_ += attempt.errors.size();
    errors_.add_all(std::move(attempt.errors));
  }

  static constexpr std::size_t kBytesPerErrorStep = 32;

  ObjectBudget& budget_;
  BoundedErrors errors_;
  std::size_t found_ = 0;  // those that are not named too
  bool in_alternative_ = false;
};

// The type of a value as messages call it.
std::string_view type_word(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_int()) return "integer";
  if (value.is_double()) return "number";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

bool is_whole(const Json& value) {
  if (value.is_int()) return true;
  if (!value.is_double()) return false;
  const double number = value.as_double();
  return std::isfinite(number) && std::floor(number) == number && std::fabs(number) < 9007199254740992.0;
}

std::string type_text(const Schema& schema) {
  return schema.int_or_string ? "integer,string" : std::string(type_name(schema.type));
}

bool fits_type(const Json& value, const Schema& schema) {
  using Type = Schema::Type;
  if (schema.int_or_string) return is_whole(value) || value.is_string();
  switch (schema.type) {
    case Type::Any:
    case Type::Unknown:
      return true;
    case Type::Object:
      return value.is_object();
    case Type::Array:
      return value.is_array();
    case Type::String:
      return value.is_string();
    case Type::Integer:
      return is_whole(value);
    case Type::Number:
      return value.is_number();
    case Type::Boolean:
      return value.is_bool();
  }
  return true;
}

bool Judge::check_type(const Json& value, const Schema& schema, const LazyPath& path) {
  const bool typed = schema.int_or_string || !type_name(schema.type).empty();
  if (!typed || (value.is_null() && schema.nullable) || fits_type(value, schema)) return true;
  const bool names_format = !schema.format.empty() && !value.is_null() && !value.is_string() &&
                            !value.is_array() && schema.type == Schema::Type::String;
  add_wrong_type(path, std::string(type_word(value)), names_format ? schema.format : type_text(schema));
  return false;
}

std::string quoted_path(const LazyPath& path) {
  return to_string(Json(path.text()));
}

void Judge::check_any(const Json& value, const Schema& schema, const LazyPath& path) {
  std::optional<Attempt> best;
  for (const Schema& option : schema.any_of) {
    if (is_spent()) return;
    Attempt made = attempt(value, option, path);
    if (made.found == 0) return;
    if (!best || made.found < best->found) best = std::move(made);
  }
  add_plain(quoted_path(path) + " must validate at least one schema (anyOf)");
  report(std::move(*best));
}

void Judge::check_one(const Json& value, const Schema& schema, const LazyPath& path) {
  std::optional<Attempt> best;
  std::size_t valid = 0;
  for (const Schema& option : schema.one_of) {
    if (is_spent()) return;
    Attempt made = attempt(value, option, path);
    if (made.found == 0)
      ++valid;
    else if (!best || made.found < best->found)
      best = std::move(made);
  }
  if (valid == 1) return;
  add_plain(quoted_path(path) + " must validate one and only one schema (oneOf). " +
            (valid == 0 ? std::string("Found none valid")
                        : "Found " + std::to_string(valid) + " valid alternatives"));
  if (valid == 0 && best) report(std::move(*best));
}

void Judge::check_alternatives(const Json& value, const Schema& schema, const LazyPath& path) {
  if (!schema.any_of.empty()) check_any(value, schema, path);
  if (!schema.one_of.empty()) check_one(value, schema, path);
  std::size_t valid = 0;
  for (const Schema& part : schema.all_of) {
    if (is_spent()) return;
    Attempt made = attempt(value, part, path);
    if (made.found == 0) ++valid;
    report(std::move(made));
  }
  if (valid < schema.all_of.size())
    add_plain(quoted_path(path) + " must validate all the schemas (allOf)" +
              (valid == 0 ? ". None validated" : ""));
  if (schema.none_of && attempt(value, *schema.none_of, path).found == 0)
    add_plain(quoted_path(path) + " must not validate the schema (not)");
}

void Judge::check_string(const std::string& text, const Schema& schema, const LazyPath& path) {
  if (schema.length_min || schema.length_max) {
    const auto length = static_cast<std::int64_t>(cel::code_point_count(text));
    if (schema.length_max && length > *schema.length_max && !is_counted_only())
      keep(api::too_long(shown(path),
                         static_cast<std::size_t>(std::max<std::int64_t>(*schema.length_max, 0))));
    if (schema.length_min && length < *schema.length_min)
      add_invalid(path, text, "should be at least " + std::to_string(*schema.length_min) + " chars long");
  }
  if (schema.regex) budget_.spend(text.size() * schema.regex->size() / cel::kPatternBytesPerStep);
  if (!schema.pattern.empty() && (!schema.regex || is_spent() || !schema.regex->found_in(text)))
    add_invalid(path, text, "should match '" + schema.pattern + "'");
  if (!schema.format.empty() && !has_format(text, schema.format)) add_wrong_type(path, text, schema.format);
}

// Go's %v of a bound, for a value of this kind.
std::string bound_text(const Json& value, double bound) {
  return value.is_int() ? std::to_string(static_cast<std::int64_t>(bound)) : cel::double_text(bound);
}

bool is_multiple(const Json& value, double factor) {
  if (factor <= 0) return false;
  if (value.is_int() && factor == std::floor(factor) && factor < 9e18)
    return value.as_int() % static_cast<std::int64_t>(factor) == 0;
  const double ratio = factor < 1 ? 1 / factor * value.as_double() : value.as_double() / factor;
  return std::fabs(ratio - std::round(ratio)) < 1e-9;
}

void Judge::check_number(const Json& value, const Schema& schema, const LazyPath& path) {
  const double number = value.as_double();
  if (schema.type == Schema::Type::Integer) {
    const bool narrow = schema.format == "int32";
    const double most = narrow ? 2147483647.0 : 9223372036854775807.0;
    if (!is_whole(value) || number > most || number < -most - 1)
      add_plain("Checked value must be of type integer " +
                (schema.format.empty() ? std::string("(default format)") : "with format " + schema.format) +
                " in " + path.text());
  }
  if (schema.multiple_of && !is_multiple(value, *schema.multiple_of))
    add_invalid(path, value, "should be a multiple of " + bound_text(value, *schema.multiple_of));
  if (schema.maximum && (number > *schema.maximum || (schema.below_maximum && number == *schema.maximum)))
    add_invalid(path, value,
                "should be less than " + std::string(schema.below_maximum ? "" : "or equal to ") +
                    bound_text(value, *schema.maximum));
  if (schema.minimum && (number < *schema.minimum || (schema.above_minimum && number == *schema.minimum)))
    add_invalid(path, value,
                "should be greater than " + std::string(schema.above_minimum ? "" : "or equal to ") +
                    bound_text(value, *schema.minimum));
}

void Judge::check_choices(const Json& value, const Schema& schema, const LazyPath& path) {
  if (schema.choices.empty() || is_choice(schema, value) || is_counted_only()) return;
  std::vector<std::string> texts;
  for (const Json& choice : schema.choices)
    texts.push_back(choice.is_string() ? choice.as_string() : to_string(choice));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  keep(api::not_supported(shown(path), value, views));
}

// The items of a list of type map by their keys.
std::map<std::string, const Json*> by_keys(const Json* list, const Schema& schema) {
  std::map<std::string, const Json*> items;
  if (!list || !list->is_array() || schema.list != Schema::List::Map) return items;
  for (const Json& item : list->as_array()) {
    std::string key;
    for (const std::string& name : schema.map_keys) key += to_string(item.part(name)) + "\n";
    items.emplace(std::move(key), &item);
  }
  return items;
}

std::string key_of(const Json& item, const Schema& schema) {
  std::string key;
  for (const std::string& name : schema.map_keys) key += to_string(item.part(name)) + "\n";
  return key;
}

bool Judge::check_items(const Json& value, const Json* old, const Schema& schema, const LazyPath& path) {
  const JsonArray& items = value.as_array();
  const auto before = by_keys(old, schema);
  if (schema.items)
    for (std::size_t at = 0; at < items.size() && !is_spent(); ++at) {
      const auto found = before.empty() ? before.end() : before.find(key_of(items[at], schema));
      judge(items[at], found == before.end() ? nullptr : found->second, *schema.items, path.index(at));
    }
  const auto count = static_cast<std::int64_t>(items.size());
  if (schema.items_min && count < *schema.items_min)
    add_invalid(path, count, "should have at least " + std::to_string(*schema.items_min) + " items");
  if (schema.items_max && count > *schema.items_max && !is_counted_only())
    keep(api::too_many(shown(path), items.size(),
                       static_cast<std::size_t>(std::max<std::int64_t>(*schema.items_max, 0))));
  return old && value == *old;
}

bool Judge::check_members(const Json& value, const Json* old, const Schema& schema, const LazyPath& path) {
  const JsonObject& members = value.as_object();
  bool same = old && old->is_object() && old->as_object().size() == members.size();
  const auto count = static_cast<std::int64_t>(members.size());
  if (schema.members_min && count < *schema.members_min)
    add_invalid(path, count, "should have at least " + std::to_string(*schema.members_min) + " properties");
  if (schema.members_max && count > *schema.members_max && !is_counted_only())
    keep(api::too_many(shown(path), members.size(),
                       static_cast<std::size_t>(std::max<std::int64_t>(*schema.members_max, 0))));
  for (const JsonMember& member : members) {
    if (is_spent()) return false;
    const Json* before = old && old->is_object() ? old->find(member.key) : nullptr;
    const Schema* below = schema.member(member.key);
    if (!below) {
      same = same && before && member.value == *before;
      if (schema.refuses_other_members) add_invalid(path, member.key, "is a forbidden property");
      continue;
    }
    const bool is_named = schema.property(member.key) != nullptr;
    same &= judge(member.value, before, *below, is_named ? path.child(member.key) : path.dotted(member.key));
  }
  budget_.spend(schema.required.size());
  for (const std::string& name : schema.required) {
    if (is_spent()) return false;
    if (!members.find(name) && !is_counted_only()) keep(api::required(shown(path.dotted(name))));
  }
  return same;
}

bool Judge::judge(const Json& value, const Json* old, const Schema& schema, const LazyPath& path) {
  if (in_alternative_ && budget_.checks > 0) --budget_.checks;
  if (!budget_.spend(1) || is_spent()) return false;
  if (old && value.shares_with(*old)) return true;
  const std::size_t mark = errors_.size(), found = found_;
  bool same = false;
  check_type(value, schema, path);
  if (!value.is_null()) {
    check_alternatives(value, schema, path);
    if (value.is_string()) check_string(value.as_string(), schema, path);
    if (value.is_number()) check_number(value, schema, path);
  }
  check_choices(value, schema, path);
  if (value.is_array())
    same = check_items(value, old, schema, path);
  else if (value.is_object())
    same = check_members(value, old, schema, path);
  else
    same = old && value == *old;
  if (same) {
    errors_.cut(mark);
    found_ = found;
  }
  return same;
}

// The entries of a list that repeat an earlier one, each value once.
std::vector<std::size_t> repeated(const std::vector<std::string>& texts) {
  KeyIndex seen;
  std::vector<std::string_view> distinct;
  std::vector<bool> repeats_known;
  std::vector<std::size_t> repeats;
  seen.reserve(texts.size());
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const auto next = static_cast<std::uint32_t>(distinct.size());
    const std::uint32_t first = seen.add(texts[at], next, [&](std::uint32_t i) { return distinct[i]; });
    if (first == next) {
      distinct.push_back(texts[at]);
      repeats_known.push_back(false);
    } else if (!repeats_known[first]) {
      repeats_known[first] = true;
      repeats.push_back(at);
    }
  }
  return repeats;
}

Json keys_of(const Json& item, const Schema& schema) {
  Json keys = Json::object();
  for (const std::string& name : schema.map_keys)
    if (const Json* value = item.find(name)) keys[name] = *value;
  return keys;
}

void check_unique(const JsonArray& items, const Schema& schema, const LazyPath& path, BoundedErrors& errors) {
  if (schema.list != Schema::List::Set && schema.list != Schema::List::Map) return;
  const bool is_map = schema.list == Schema::List::Map;
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (is_map && !items[at].is_object() && !items[at].is_null()) {
      errors.add(api::invalid(path.index(at), items[at], "must be an object for an array of list-type map"));
      return;
    }
    texts.push_back(sorted_text(is_map ? keys_of(items[at], schema) : items[at]));
  }
  for (const std::size_t at : repeated(texts)) {
    if (errors.is_full()) return;
    errors.add(api::duplicate(path.index(at), is_map ? keys_of(items[at], schema) : items[at]));
  }
}

void add_list_errors(const Json& value, const Schema& schema, const LazyPath& path, BoundedErrors& errors) {
  if (!schema.has_unique || errors.is_full()) return;
  if (value.is_object()) {
    for (const JsonMember& member : value.as_object()) {
      const Schema* own = schema.property(member.key);
      const Schema* below = own ? own : schema.additional.get();
      if (!below) continue;
      add_list_errors(member.value, *below, own ? path.child(member.key) : path.key(member.key), errors);
    }
    return;
  }
  if (!value.is_array()) return;
  check_unique(value.as_array(), schema, path, errors);
  if (!schema.items) return;
  for (std::size_t at = 0; at < value.as_array().size(); ++at)
    add_list_errors(value.as_array()[at], *schema.items, path.index(at), errors);
}

void add_embedded_errors(const Json& value, const Schema& schema, const LazyPath& at, BoundedErrors& errors) {
  if (!schema.has_embedded || errors.is_full()) return;
  if (value.is_object()) {
    if (schema.embedded) {
      for (const char* name : {"apiVersion", "kind"}) {
        const Json* member = value.find(name);
        if (!member || (member->is_string() && member->as_string().empty()))
          errors.add(api::required(at.child(name), "must not be empty"));
        else if (!member->is_string())
          errors.add(api::invalid(at.child(name), *member, "must be a string"));
      }
      const Json* metadata = value.find("metadata");
      if (metadata && !metadata->is_object())
        errors.add(api::invalid(at.child("metadata"), *metadata, "must be an object"));
    }
    for (const JsonMember& member : value.as_object())
      if (const Schema* below = schema.member(member.key))
        add_embedded_errors(member.value, *below,
                            schema.property(member.key) ? at.child(member.key) : at.key(member.key), errors);
  } else if (value.is_array() && schema.items) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i)
      add_embedded_errors(value.as_array()[i], *schema.items, at.index(i), errors);
  }
}

}  // namespace

api::FieldErrors check_value(const Json& value, const Json* old, const Schema& schema, const LazyPath& path,
                             ObjectBudget& budget) {
  Judge judge(budget);
  judge.judge(value, old, schema, path);
  return std::move(judge).take();
}

api::FieldErrors check_lists(const Json& value, const Schema& schema, const LazyPath& path) {
  BoundedErrors errors;
  add_list_errors(value, schema, path, errors);
  return errors.take();
}

api::FieldErrors check_embedded(const Json& value, const Schema& schema, const LazyPath& path) {
  BoundedErrors errors;
  add_embedded_errors(value, schema, path, errors);
  return errors.take();
}

}  // namespace berth::crd
