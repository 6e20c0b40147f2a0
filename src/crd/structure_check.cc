#include "crd/structure_check.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "cel/regex.h"
#include "crd/budget.h"
#include "crd/lazy_path.h"
#include "crd/rules.h"
#include "crd/schema.h"
#include "crd/shaping.h"
#include "crd/values.h"

namespace berth::crd {
namespace {

using api::FieldErrors;

enum class Level : std::uint8_t { Root, Item, Field };

bool is_true(const Json& props, std::string_view member) {
  return props.bool_at(member);
}

const Json& int_or_string_options() {
  static const Json kOptions =
      Json::array({Json::object({{"type", "integer"}}), Json::object({{"type", "string"}})});
  return kOptions;
}

bool is_int_or_string(const Json& props) {
  return props.part("anyOf") == int_or_string_options();
}

// What may stand at the root beside a status subresource.
constexpr std::array<std::string_view, 22> kRootMembers = {"description",
                                                           "type",
                                                           "format",
                                                           "title",
                                                           "maximum",
                                                           "exclusiveMaximum",
                                                           "minimum",
                                                           "exclusiveMinimum",
                                                           "maxLength",
                                                           "minLength",
                                                           "pattern",
                                                           "maxItems",
                                                           "minItems",
                                                           "uniqueItems",
                                                           "multipleOf",
                                                           "required",
                                                           "items",
                                                           "properties",
                                                           "externalDocs",
                                                           "example",
                                                           "x-kubernetes-preserve-unknown-fields",
                                                           "x-kubernetes-validations"};
constexpr std::string_view kRootMembersText =
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength "
    "Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
    "XPreserveUnknownFields XValidations]";

// The shape: a type everywhere, restrictions that name nothing of their own.
class Structure {
 public:
  explicit Structure(DefinitionBudget& budget) : budget_(budget) {}
  BoundedErrors errors;

  void check(const Json& props, Level level, const LazyPath& path) {
    if (errors.is_full()) return;
    const std::string_view type = props.string_at("type");
    if (type == "array" && !props.find("items")) add(api::required(path.child("items"), "must be specified"));
    if (const Json* items = props.find("items"); items && items->is_object())
      check(*items, Level::Item, path.child("items"));
    for (const JsonMember& member : members(props, "properties"))
      check(member.value, Level::Field, path.child("properties").key(member.key));
    if (const Json* more = props.find("additionalProperties")) {
      if (level == Level::Root)
        add(api::forbidden(path.child("additionalProperties"), "must not be used at the root"));
      if (more->is_object()) check(*more, Level::Field, path.child("additionalProperties"));
    }
    check_extensions(props, path);
    check_restrictions(props, is_int_or_string(props), starts_with_int_or_string(props), path);
    check_type(props, level, path);
    check_type_members(props, level, path);
    if (level == Level::Root) complete(props, props, path, path);
  }

  // Everything that a restriction speaks of is described by the schema itself.
  void complete(const Json& restriction, const Json& props, const LazyPath& at, const LazyPath& said) {
    if (errors.is_full()) return;
    if (const Json* none = restriction.find("not")) complete_nested(*none, &props, at, said.child("not"));
    for (const char* word : {"allOf", "anyOf", "oneOf"}) {
      const JsonArray& options = restriction.items_at(word);
      for (std::size_t i = 0; i < options.size(); ++i)
        complete_nested(options[i], &props, at, said.child(word).index(i));
    }
  }

 private:
  void add(api::FieldError error) { errors.add(std::move(error)); }

  static const JsonObject& members(const Json& props, std::string_view name) {
    static const JsonObject kNone;
    const Json* found = props.find(name);
    return found && found->is_object() ? found->as_object() : kNone;
  }
  static bool starts_with_int_or_string(const Json& props) {
    const JsonArray& all = props.items_at("allOf");
    return !all.empty() && is_int_or_string(all.front());
  }

  void complete_nested(const Json& nested, const Json* props, const LazyPath& at, const LazyPath& said) {
    if (!props) return add(api::required(at, "because it is defined in " + said.text()));
    complete(nested, *props, at, said);
    if (const Json* items = nested.find("items"))
      complete_nested(*items, props->find("items"), at.child("items"), said.child("items"));
    for (const JsonMember& member : members(nested, "properties")) {
      const LazyPath inner = said.child("properties").key(member.key);
      complete_nested(member.value, props->part("properties").find(member.key),
                      at.child("properties").key(member.key), inner);
    }
  }

  void check_extensions(const Json& props, const LazyPath& path) {
    if (!is_true(props, "x-kubernetes-int-or-string")) return;
    if (is_true(props, "x-kubernetes-preserve-unknown-fields"))
      add(api::invalid(path.child("x-kubernetes-preserve-unknown-fields"), true,
                       "must be false if x-kubernetes-int-or-string is true"));
    if (is_true(props, "x-kubernetes-embedded-resource"))
      add(api::invalid(path.child("x-kubernetes-embedded-resource"), true,
                       "must be false if x-kubernetes-int-or-string is true"));
  }

  void check_type(const Json& props, Level level, const LazyPath& path) {
    const std::string_view type = props.string_at("type");
    const bool embedded = is_true(props, "x-kubernetes-embedded-resource");
    if (embedded && type != "object") {
      constexpr std::string_view kWhy = "must be object if x-kubernetes-embedded-resource is true";
      add(type.empty() ? api::required(path.child("type"), kWhy)
                       : api::invalid(path.child("type"), type, kWhy));
    } else if (type.empty() && !is_true(props, "x-kubernetes-int-or-string") &&
               !is_true(props, "x-kubernetes-preserve-unknown-fields")) {
      add(api::required(path.child("type"), level == Level::Root ? "must not be empty at the root"
                                            : level == Level::Item
                                                ? "must not be empty for specified array items"
                                                : "must not be empty for specified object fields"));
    }
    if (embedded && props.find("additionalProperties"))
      add(api::forbidden(path.child("additionalProperties"),
                         "must not be used if x-kubernetes-embedded-resource is set"));
    if (level == Level::Root && !type.empty() && type != "object")
      add(api::invalid(path.child("type"), type, "must be object at the root"));
  }

  void check_type_members(const Json& props, Level level, const LazyPath& path) {
    const bool embedded = is_true(props, "x-kubernetes-embedded-resource");
    const bool is_object = level == Level::Root || embedded;
    const Json& properties = props.part("properties");
    const LazyPath below = path.child("properties");
    for (const char* name : {"kind", "apiVersion"})
      if (const Json* found = properties.find(name);
          found && is_object && found->string_at("type") != "string")
        add(api::invalid(below.key(name).child("type"), found->string_at("type"), "must be string"));
    if (const Json* metadata = properties.find("metadata"))
      check_metadata(*metadata, is_object, level, below.key("metadata"));
    if (embedded && !is_true(props, "x-kubernetes-preserve-unknown-fields") &&
        members(props, "properties").empty())
      add(api::required(below,
                        "must not be empty if x-kubernetes-embedded-resource is true without "
                        "x-kubernetes-preserve-unknown-fields"));
  }

  void check_metadata(const Json& metadata, bool is_object, Level level, const LazyPath& path) {
    if (is_object && metadata.string_at("type") != "object")
      add(api::invalid(path.child("type"), metadata.string_at("type"), "must be object"));
    if (level != Level::Root) return;
    bool more = false;
    for (const JsonMember& member : metadata.as_object())
      more |= member.key != "type" && member.key != "properties" && member.key != "description" &&
              member.key != "title" && member.key != "default";
    for (const JsonMember& member : members(metadata, "properties"))
      more |= member.key != "name" && member.key != "generateName";
    if (more)
      add(api::forbidden(
          path,
          "must not specify anything other than name and generateName, but metadata is implicitly "
          "specified"));
  }

  void check_restrictions(const Json& props, bool skip_any, bool skip_first_any, const LazyPath& path) {
    struct Word {
      const char* name;
      bool with_rules;  // rules may stand in these
    };
    for (const Word& word : {Word{"anyOf", false}, Word{"allOf", true}, Word{"oneOf", false}}) {
      const bool is_any = std::string_view(word.name) == "anyOf",
                 is_all = std::string_view(word.name) == "allOf";
      if (is_any && skip_any) continue;
      const JsonArray& options = props.items_at(word.name);
      for (std::size_t i = 0; i < options.size(); ++i)
        check_nested(options[i], is_all && skip_first_any && i == 0, path.child(word.name).index(i));
    }
    if (const Json* none = props.find("not")) check_nested(*none, false, path.child("not"));
    check_pattern(props, path);
  }

  void check_pattern(const Json& props, const LazyPath& path) {
    const std::string_view pattern = props.string_at("pattern");
    if (pattern.empty()) return;
    if (++budget_.patterns == kPatternsMax + 1)
      add(api::forbidden(path.child("pattern"),
                         "a definition may have at most " + std::to_string(kPatternsMax) + " patterns"));
    if (budget_.patterns > kPatternsMax || budget_.pattern_size > kPatternSizeMax) return;
    const bool is_new = !budget_.compiled.contains(pattern);
    std::string reason;
    const cel::Regex* regex = cel::cached_pattern(budget_.compiled, pattern, reason).get();
    if (is_new) budget_.pattern_size += cel::pattern_size(regex);
    if (budget_.pattern_size > kPatternSizeMax)
      add(api::forbidden(path.child("pattern"), "the patterns of a definition may have at most " +
                                                    std::to_string(kPatternSizeMax) + " instructions"));
    if (!regex)
      add(api::invalid(path.child("pattern"), pattern,
                       "must be a valid regular expression, but isn't: " + reason));
  }

  void check_nested(const Json& nested, bool skip_any, const LazyPath& path) {
    if (errors.is_full()) return;
    check_restrictions(nested, skip_any, false, path);
    if (const Json* items = nested.find("items"); items && items->is_object())
      check_nested(*items, false, path.child("items"));
    for (const JsonMember& member : members(nested, "properties"))
      check_nested(member.value, false, path.child("properties").key(member.key));
    struct Word {
      const char *name, *why;
    };
    static constexpr Word kForbidden[] = {
        {"type", "must be empty to be structural"},
        {"additionalProperties", "must be undefined to be structural"},
        {"default", "must be undefined to be structural"},
        {"title", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"nullable", "must be false to be structural"},
        {"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
        {"x-kubernetes-embedded-resource", "must be false to be structural"},
        {"x-kubernetes-int-or-string", "must be false to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"},
    };
    for (const Word& word : kForbidden) {
      const Json* found = nested.find(word.name);
      if (found && !(found->is_bool() && !found->as_bool()))
        add(api::forbidden(path.child(word.name), word.why));
    }
    if (nested.part("properties").find("metadata"))
      add(api::forbidden(path.child("properties").key("metadata"),
                         "must not be specified in a nested context"));
  }

  DefinitionBudget& budget_;
};

// Each default is a value that its own schema takes, and that pruning leaves as it is.
class Defaults {
 public:
  Defaults(const RuleSet* rules, ObjectBudget& budget) : rules_(rules), budget_(budget) {}
  BoundedErrors errors;

  void check(const Schema& schema, const LazyPath& path) {
    if (errors.is_full()) return;
    if (schema.fallback) check_default(*schema.fallback, schema, path.child("default"));
    if (!schema.has_fallbacks) return;
    if (schema.items) check(*schema.items, path.child("items"));
    for (const Property& property : schema.properties)
      check(property.schema, path.child("properties").key(property.name));
  }

 private:
  void check_default(const Json& fallback, const Schema& schema, const LazyPath& path) {
    Json pruned = fallback;
    if (!prune(pruned, schema, schema.embedded).empty())
      errors.add(api::invalid(path, fallback, "must not have unknown fields"));
    errors.add_all(check_embedded(fallback, schema, path));
    errors.add_all(prefixed(check_value(fallback, nullptr, schema, LazyPath(""), budget_), path));
    if (errors.empty() && rules_)
      errors.add_all(check_rules(*rules_, schema, fallback, nullptr, path, budget_));
  }

  static FieldErrors prefixed(FieldErrors errors, const LazyPath& path) {
    for (api::FieldError& error : errors)
      error.path = error.path.empty() || error.path == "<nil>" ? path.text() : path.text() + "." + error.path;
    return errors;
  }

  const RuleSet* rules_;
  ObjectBudget& budget_;
};

// What a definition may say of any schema in it.
class Standards {
 public:
  explicit Standards(DefinitionBudget& budget) : budget_(budget) {}
  BoundedErrors errors;

  void check(const Json& props, const LazyPath& path, bool in_metadata, std::string_view no_default) {
    if (errors.is_full()) return;
    check_words(props, path, in_metadata, no_default);
    check_maps_and_lists(props, path);
    check_list_keys(props, path);
    check_rule_texts(props, path);
    check_children(props, path, in_metadata, no_default);
  }

  void check_root(const Json& props, const LazyPath& path) {
    is_root_ = true;
    check(props, path, false, "");
  }

 private:
  void add(api::FieldError error) { errors.add(std::move(error)); }

  void check_words(const Json& props, const LazyPath& path, bool in_metadata, std::string_view no_default) {
    const std::string_view type = props.string_at("type");
    static constexpr std::string_view kTypes[] = {"array",  "boolean", "integer",
                                                  "number", "object",  "string"};
    if (!type.empty() && std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
      add(api::not_supported(path.child("type"), type, kTypes));
    if (!no_default.empty() && props.find("default"))
      add(api::forbidden(path.child("default"), "must not be set " + std::string(no_default)));
    for (const char* word :
         {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"})
      if (props.find(word)) add(api::forbidden(path.child(word), std::string(word) + " is not supported"));
    if (type == "null")
      add(api::forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative"));
    if (props.part("items").is_array())
      add(api::forbidden(path.child("items"), "items must be a schema object and not an array"));
    if (in_metadata && is_true(props, "x-kubernetes-embedded-resource"))
      add(api::forbidden(path.child("x-kubernetes-embedded-resource"),
                         "must not be used inside of resource meta"));
    if (is_true(props, "uniqueItems"))
      add(api::forbidden(path.child("uniqueItems"),
                         "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
    const Json* more = props.find("additionalProperties");
    const bool is_open = more && more->is_bool() && more->as_bool();
    if (more && !is_open && props.part("properties").is_object() &&
        !props.part("properties").as_object().empty())
      add(api::forbidden(path.child("additionalProperties"),
                         "additionalProperties and properties are mutual exclusive"));
    if (const Json* keeps = props.find("x-kubernetes-preserve-unknown-fields");
        keeps && *keeps == Json(false))
      add(api::invalid(path.child("x-kubernetes-preserve-unknown-fields"), false,
                       "must be true or undefined"));
  }

  void check_maps_and_lists(const Json& props, const LazyPath& path) {
    const std::string_view type = props.string_at("type");
    const auto demand = [&](std::string_view word, std::string_view wanted) {
      if (type == wanted) return;
      const std::string why = "must be " + std::string(wanted) + " if " + std::string(word) + " is specified";
      add(type.empty() ? api::required(path.child("type"), why)
                       : api::invalid(path.child("type"), type, why));
    };
    const Json *map = props.find("x-kubernetes-map-type"), *list = props.find("x-kubernetes-list-type");
    if (map) {
      demand("x-kubernetes-map-type", "object");
      if (*map != Json("atomic") && *map != Json("granular"))
        add(api::not_supported(path.child("x-kubernetes-map-type"), *map, {"atomic", "granular"}));
    }
    if (!list) return;
    demand("x-kubernetes-list-type", "array");
    const Json& items = props.part("items");
    const LazyPath below = path.child("items");
    if (type == "array" && *list == Json("set") && items.is_object()) {
      constexpr std::string_view kWhy = "must be atomic as item of a list with x-kubernetes-list-type=set";
      const std::string_view item = items.string_at("type"), own = items.string_at("x-kubernetes-list-type");
      if (item == "array" && !own.empty() && own != "atomic")
        add(api::invalid(below.child("x-kubernetes-list-type"), own, kWhy));
      if (item == "object" && items.string_at("x-kubernetes-map-type") != "atomic")
        add(api::invalid(below.child("x-kubernetes-map-type"), own.empty() ? Json() : Json(own), kWhy));
    }
    if (*list != Json("atomic") && *list != Json("set") && *list != Json("map"))
      add(api::not_supported(path.child("x-kubernetes-list-type"), *list, {"atomic", "set", "map"}));
    if ((*list == Json("set") || *list == Json("map")) && is_true(items, "nullable"))
      add(api::forbidden(below.child("nullable"),
                         "cannot be nullable when x-kubernetes-list-type is " + list->as_string()));
  }

  void check_list_keys(const Json& props, const LazyPath& path) {
    const Json* list = props.find("x-kubernetes-list-type");
    const Json& keys = props.part("x-kubernetes-list-map-keys");
    const bool has_keys = keys.is_array() && !keys.as_array().empty();
    if (has_keys && !list)
      add(api::required(path.child("x-kubernetes-list-type"),
                        "must be map if x-kubernetes-list-map-keys is non-empty"));
    if (has_keys && list && *list != Json("map"))
      add(api::invalid(path.child("x-kubernetes-list-type"), *list,
                       "must be map if x-kubernetes-list-map-keys is non-empty"));
    if (!list || *list != Json("map")) return;
    if (!has_keys)
      add(api::required(path.child("x-kubernetes-list-map-keys"),
                        "must not be empty if x-kubernetes-list-type is map"));
    const Json* items = props.find("items");
    if (!items)
      return add(api::required(path.child("items"), "must have a schema if x-kubernetes-list-type is map"));
    if (items->string_at("type") != "object")
      return add(api::invalid(path.child("items").child("type"), items->string_at("type"),
                              "must be object if parent array's x-kubernetes-list-type is map"));
    if (keys.is_array() && keys.as_array().size() > kListKeysMax)
      return add(
          api::too_many(path.child("x-kubernetes-list-map-keys"), keys.as_array().size(), kListKeysMax));
    std::vector<Json> seen;
    for (const Json& key : props.items_at("x-kubernetes-list-map-keys")) {
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        add(api::invalid(path.child("x-kubernetes-list-map-keys"), keys,
                         "must not contain duplicate entries"));
      seen.push_back(key);
      if (key.is_string()) check_key(*items, key.as_string(), keys, path);
    }
  }

  void check_key(const Json& items, const std::string& key, const Json& keys, const LazyPath& path) {
    const Json* property = items.part("properties").find(key);
    if (!property)
      return add(api::invalid(path.child("x-kubernetes-list-map-keys"), keys,
                              "entries must all be names of item properties"));
    const LazyPath below = path.child("items").child("properties").key(key);
    const std::string_view type = property->string_at("type");
    if (type == "array" || type == "object")
      add(api::invalid(below.child("type"), items.string_at("type"),
                       "must be a scalar type if parent array's x-kubernetes-list-type is map"));
    const JsonArray& required = items.items_at("required");
    if (std::find(required.begin(), required.end(), Json(key)) == required.end() &&
        !property->find("default"))
      add(api::required(below.child("default"),
                        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                        "required property"));
    if (is_true(*property, "nullable"))
      add(api::forbidden(below.child("nullable"),
                         "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"));
  }

  static bool has_newline(std::string_view text) {
    return text.find_first_of("\r\n") != std::string_view::npos;
  }

  void check_rule_texts(const Json& props, const LazyPath& path) {
    const JsonArray& rules = props.items_at("x-kubernetes-validations");
    const LazyPath below = path.child("x-kubernetes-validations");
    for (std::size_t i = 0; i < rules.size() && !errors.is_full(); ++i)
      if (is_within_budget(rules[i], below.index(i))) check_rule_text(rules[i], props, below.index(i));
  }

  // The first rule beyond a bound is named; those after it are not looked at.
  bool is_within_budget(const Json& rule, const LazyPath& path) {
    const bool fitted = budget_.rules <= kRulesMax && budget_.rule_text <= kRuleTextMax;
    if (!fitted) return false;
    ++budget_.rules;
    budget_.rule_text += rule.string_at("rule").size() + rule.string_at("messageExpression").size();
    if (budget_.rules > kRulesMax)
      add(api::forbidden(path, "a definition may have at most " + std::to_string(kRulesMax) + " rules"));
    else if (budget_.rule_text > kRuleTextMax)
      add(api::forbidden(path.child("rule"), "the rules of a definition may have at most " +
                                                 std::to_string(kRuleTextMax) + " bytes of expressions"));
    else
      return true;
    return false;
  }

  void check_rule_text(const Json& rule, const Json& props, const LazyPath& path) {
    const std::string_view text = trimmed(rule.string_at("rule")),
                           message = trimmed(rule.string_at("message"));
    const Json* given = rule.find("message");
    const bool has_message = given && given->is_string() && !given->as_string().empty();
    if (text.empty())
      add(api::required(path.child("rule"), "rule is not specified"));
    else if (has_message && message.empty())
      add(api::invalid(path.child("message"), *given, "must be non-empty if specified"));
    else if (has_newline(message))
      add(api::invalid(path.child("message"), *given, "must not contain line breaks"));
    else if (has_newline(text) && message.empty())
      add(api::required(path.child("message"), "message must be specified if rule contains line breaks"));
    const std::string_view expression = rule.string_at("messageExpression");
    if (!expression.empty() && trimmed(expression).empty())
      add(api::required(path.child("messageExpression"), "messageExpression must be non-empty if specified"));
    static constexpr std::string_view kReasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                                    "FieldValueInvalid", "FieldValueRequired"};
    if (const Json* reason = rule.find("reason");
        reason &&
        std::find(std::begin(kReasons), std::end(kReasons), rule.string_at("reason")) == std::end(kReasons))
      add(api::not_supported(path.child("reason"), *reason, kReasons));
    const std::string_view field = rule.string_at("fieldPath");
    if (field.empty()) return;
    if (trimmed(field).empty())
      add(api::invalid(path.child("fieldPath"), field, "must be non-empty if specified"));
    if (has_newline(field)) add(api::invalid(path.child("fieldPath"), field, "must not contain line breaks"));
    if (!rule_field(props, field)) add(api::invalid(path.child("fieldPath"), field, "must be a valid path"));
  }

  void check_children(const Json& props, const LazyPath& path, bool in_metadata,
                      std::string_view no_default) {
    const bool is_object = is_root_ || is_true(props, "x-kubernetes-embedded-resource");
    const bool is_root = is_root_;
    is_root_ = false;
    if (const Json* more = props.find("additionalProperties"); more && more->is_object())
      check(*more, path.child("additionalProperties"), in_metadata,
            in_metadata ? "inside additionalProperties applying to object metadata" : no_default);
    if (const Json* properties = props.find("properties"); properties && properties->is_object())
      for (const JsonMember& member : properties->as_object()) {
        const bool is_meta =
            is_object && (member.key == "metadata" || member.key == "kind" || member.key == "apiVersion");
        check(member.value, path.child("properties").key(member.key), in_metadata || is_meta,
              is_meta && is_root ? "in top-level " + member.key : std::string(no_default));
      }
    if (const Json* none = props.find("not")) check(*none, path.child("not"), in_metadata, no_default);
    for (const char* word : {"allOf", "oneOf", "anyOf"}) {
      const JsonArray& options = props.items_at(word);
      for (std::size_t i = 0; i < options.size(); ++i)
        check(options[i], path.child(word).index(i), in_metadata, no_default);
    }
    if (const Json* items = props.find("items"); items && items->is_object())
      check(*items, path.child("items"), in_metadata, no_default);
  }

  DefinitionBudget& budget_;
  bool is_root_ = false;
};

// Levels and number of the schemas; the rest of the checks recurse.
struct Extent {
  int depth = 0;
  std::size_t nodes = 0;
};

void measure(const Json& props, int depth, Extent& extent) {
  extent.depth = std::max(extent.depth, depth);
  ++extent.nodes;
  if (depth > kSchemaDepthMax || extent.nodes > kSchemaNodesMax) return;
  const auto visit = [&](const Json& below) {
    if (below.is_object()) measure(below, depth + 1, extent);
  };
  for (const char* word : {"items", "additionalProperties", "not"}) visit(props.part(word));
  for (const char* word : {"allOf", "anyOf", "oneOf"})
    for (const Json& option : props.items_at(word)) visit(option);
  if (const Json& properties = props.part("properties"); properties.is_object())
    for (const JsonMember& member : properties.as_object()) visit(member.value);
}

void check_root_members(const Json& props, const LazyPath& path, FieldErrors& errors) {
  if (!props.is_object()) return;
  for (const JsonMember& member : props.as_object()) {
    if (member.key == "type" && member.value != Json("object"))
      errors.push_back(api::invalid(path.child("type"), member.value,
                                    "only \"object\" is allowed as the type at the root of the schema if the "
                                    "status subresource is enabled"));
    const bool allowed =
        std::find(kRootMembers.begin(), kRootMembers.end(), member.key) != kRootMembers.end();
    if (allowed) continue;
    api::FieldError error = api::invalid(path, Json(),
                                         "only " + std::string(kRootMembersText) +
                                             " fields are allowed at the root of the schema if the "
                                             "status subresource is enabled");
    errors.push_back(std::move(error));
    return;
  }
}

}  // namespace

api::FieldErrors check_schema(const Json& props, const std::string& path, bool has_status,
                              DefinitionBudget& budget, CostCheck cost_check) {
  const LazyPath at(path);
  Extent extent{0, budget.nodes};
  measure(props, 1, extent);
  budget.nodes = extent.nodes;
  if (extent.depth > kSchemaDepthMax)
    return {api::forbidden(path, "a schema may nest at most " + std::to_string(kSchemaDepthMax) + " deep")};
  if (extent.nodes > kSchemaNodesMax)
    return {
        api::forbidden(path, "a definition may have at most " + std::to_string(kSchemaNodesMax) + " parts")};
  FieldErrors errors;
  if (has_status) check_root_members(props, at, errors);
  if (props.bool_at("nullable"))
    errors.push_back(api::forbidden(at.child("nullable"), "nullable cannot be true at the root"));
  Structure structure(budget);
  structure.check(props, Level::Root, at);
  const bool structural = structure.errors.empty();
  FieldErrors found = structure.errors.take();
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return std::tie(a.path, a.body) < std::tie(b.path, b.body); });
  api::append(errors, std::move(found));
  Standards standards(budget);
  standards.check_root(props, at);
  const bool standard = standards.errors.empty();
  api::append(errors, standards.errors.take());
  if (!structural || !standard) return errors;
  const Schema schema = read_schema(props, budget.compiled);
  const std::shared_ptr<const RuleSet> rules = compile_rules(schema, budget);
  if (rules) api::append(errors, rule_problems(*rules, schema, props, path, cost_check));
  Defaults defaults(errors.empty() ? rules.get() : nullptr, budget.defaults);
  defaults.check(schema, at);
  api::append(errors, defaults.errors.take());
  return errors;
}

}  // namespace berth::crd
