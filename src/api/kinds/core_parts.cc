#include "api/kinds/core_parts.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "api/kinds/resource_parts.h"
#include "api/types/pod.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

constexpr std::string_view kNotNegative = "must be greater than or equal to 0";
constexpr std::string_view kHugePages = "hugepages-";
constexpr std::int64_t kPortMax = 65535;
constexpr std::size_t kConfigKeyBytesMax = 253;

constexpr std::string_view kContainerResources[] = {"cpu", "memory", "ephemeral-storage"};
// Further names that a quota may use.
constexpr std::string_view kStandardResources[] = {
    "pods",    "services",   "replicationcontrollers", "resourcequotas",
    "secrets", "configmaps", "persistentvolumeclaims", "storage"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

FieldErrors check_resource_name(const std::string& path, std::string_view name) {
  FieldErrors errors = check_format(path, name, qualified_name_problems);
  if (!errors.empty()) return errors;
  if (name.find('/') != std::string_view::npos) {
    if (!is_native(name) && !is_extended_resource(name))
      errors.push_back(invalid(path, name, "doesn't follow extended resource name standard"));
    return errors;
  }
  if (contains(kContainerResources, name) || name.starts_with(kHugePages)) return {};
  if (!contains(kStandardResources, name))
    errors.push_back(invalid(path, name, "must be a standard resource type or fully qualified"));
  errors.push_back(invalid(path, name, "must be a standard resource for containers"));
  return errors;
}

bool may_be_overcommitted(std::string_view name) {
  return is_native(name) && !name.starts_with(kHugePages);
}

FieldErrors check_against_limit(const FieldPath& path, const JsonMember& request, const Json* limits) {
  const FieldPath requests = path.child("requests");
  const Json* limit = limits ? present(*limits, request.key) : nullptr;
  const bool overcommit = may_be_overcommitted(request.key);
  if (!limit) {
    if (overcommit) return {};
    return {required(path.child("limits"), "Limit must be set for non overcommitable resources")};
  }
  const Result<Quantity> asked = parse_quantity(request.value.as_string());
  const Result<Quantity> most = parse_quantity(limit->as_string());
  if (!asked || !most) return {};
  const std::string detail = request.key + " limit of " + limit->as_string();
  if (*asked > *most) return {invalid(requests, request.value, "must be less than or equal to " + detail)};
  if (!overcommit && *asked != *most) return {invalid(requests, request.value, "must be equal to " + detail)};
  return {};
}

std::string unknown_claim_detail(const JsonArray& claims) {
  std::set<std::string_view> known;
  for (const Json& claim : claims) known.insert(claim.string_at("name"));
  std::string detail = "must be one of the names in pod.spec.resourceClaims";
  detail += known.empty() ? " which is empty" : ": ";
  for (std::string_view name : known) detail.append(name == *known.begin() ? "" : ", ").append(name);
  return detail;
}

FieldErrors check_container_claims(const FieldPath& path, const JsonArray& wanted, const NamedItems& claims) {
  FieldErrors errors;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < wanted.size() && !errors.full(); ++i) {
    const FieldPath at = path.index(i);
    const std::string name(wanted[i].string_at("name"));
    if (name.empty()) {
      errors.push_back(required(at));
      continue;
    }
    const std::string_view request = wanted[i].string_at("request");
    const std::string key = request.empty() ? name : name + "/" + std::string(request);
    if (!seen.insert(key).second) errors.push_back(duplicate(at, key));
    if (!claims.find(name)) errors.push_back(not_found(at, name, unknown_claim_detail(claims.list())));
  }
  return errors;
}

FieldErrors check_compared_value(const FieldPath& path, std::string_view value) {
  FieldErrors errors;
  if (value.empty())
    errors.push_back(invalid(path, value, "must be non-empty"));
  else if (!is_decimal_integer(value))
    errors.push_back(invalid(path, value, "must be a valid decimal integer in canonical form"));
  std::string_view read = value;  // Go accepts a plus as well
  if (read.starts_with('+') && !read.starts_with("+-")) read.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(read.data(), read.data() + read.size(), number);
  const bool range = error == std::errc::result_out_of_range;
  if (range || error != std::errc() || end != read.data() + read.size())
    errors.push_back(invalid(path, value,
                             "strconv.ParseInt: parsing \"" + std::string(value) +
                                 "\": " + (range ? "value out of range" : "invalid syntax")));
  return errors;
}

FieldErrors check_core_toleration(const FieldPath& path, const Json& toleration) {
  FieldErrors errors;
  const std::string_view key = toleration.string_at("key");
  const std::string_view value = toleration.string_at("value");
  const std::string_view effect = toleration.string_at("effect");
  const std::string_view the_operator = toleration.string_at("operator");
  if (!key.empty()) append(errors, check_format(path.child("key"), key, qualified_name_problems));
  if (key.empty() && the_operator != "Exists")
    errors.push_back(invalid(
        path.child("operator"), the_operator,
        R"(operator must be Exists when `key` is empty, which means "match all values and all keys")"));
  if (present(toleration, "tolerationSeconds") && effect != "NoExecute")
    errors.push_back(
        invalid(path.child("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  if (the_operator.empty() || the_operator == "Equal") {
    append(errors, check_format(path.child("operator"), value, label_value_problems));
  } else if (the_operator == "Exists") {
    if (!value.empty())
      errors.push_back(
          invalid(path.child("operator"), value, "value must be empty when `operator` is 'Exists'"));
  } else if (the_operator == "Gt" || the_operator == "Lt") {
    append(errors, check_compared_value(path.child("value"), value));
  } else {
    append(errors, check_one_of(path.child("operator"), the_operator, {"Equal", "Exists"}));
  }
  if (!effect.empty())
    append(errors,
           check_one_of(path.child("effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
  return errors;
}

}  // namespace

const TypeInfo& core_type(std::string_view name) {
  return table_type("", "v1", name);
}

void put_default(Json& object, const TypeInfo& type, std::string_view key, Json value) {
  if (!present(object, key)) put(object, type, key, std::move(value));
}

bool is_extended_resource(std::string_view name) {
  return !is_native(name) && !name.starts_with("requests.") &&
         qualified_name_problems("requests." + std::string(name)).empty();
}

FieldErrors check_amount(const std::string& path, std::string_view resource, std::string_view text) {
  const Result<Quantity> amount = parse_quantity(text);
  if (!amount) return {};
  FieldErrors errors;
  if (amount->is_negative()) errors.push_back(invalid(path, text, kNotNegative));
  const bool whole = is_extended_resource(resource) || resource == "pods";
  if (whole && !amount->is_integer()) errors.push_back(invalid(path, text, "must be an integer"));
  return errors;
}

FieldErrors check_resources(const FieldPath& path, const Json& resources, const NamedItems& claims) {
  FieldErrors errors;
  const Json* limits = present(resources, "limits");
  for (std::string_view which : {"limits", "requests"})
    for (const JsonMember& member : entries(present(resources, which))) {
      const FieldPath at = path.child(which).key(member.key);
      append(errors, check_resource_name(at, member.key));
      append(errors, check_amount(at, member.key, member.value.as_string()));
      if (which == "requests") append(errors, check_against_limit(path, member, limits));
    }
  append(errors, check_container_claims(path.child("claims"), items(&resources, "claims"), claims));
  return errors;
}

FieldErrors check_one_of(const std::string& path, std::string_view value,
                         std::initializer_list<std::string_view> supported) {
  if (contains(supported, value)) return {};
  return {not_supported(path, value, supported)};
}

FieldErrors check_port(const std::string& path, std::int64_t port) {
  if (port >= 1 && port <= kPortMax) return {};
  return {invalid(path, port, "must be between 1 and 65535, inclusive")};
}

FieldErrors check_taints(const FieldPath& path, const JsonArray& taints) {
  FieldErrors errors;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& taint = taints[i];
    const std::string_view effect = taint.string_at("effect");
    append(errors, check_format(at.child("key"), taint.string_at("key"), qualified_name_problems));
    append(errors, check_format(at.child("value"), taint.string_at("value"), label_value_problems));
    if (effect.empty())
      errors.push_back(required(at.child("effect")));
    else
      append(errors,
             check_one_of(at.child("effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
    if (seen.insert({effect, taint.string_at("key")}).second) continue;
    errors.push_back(duplicate(at, go_form(taint, core_type("Taint"))));
    errors.back().body += ": taints must be unique by key and effect pair";
  }
  return errors;
}

FieldErrors check_pod_tolerations(const FieldPath& path, const JsonArray& tolerations) {
  FieldErrors errors;
  for (std::size_t i = 0; i < tolerations.size(); ++i)
    append(errors, check_core_toleration(path.index(i), tolerations[i]));
  return errors;
}

FieldErrors check_label_values(const FieldPath& path, const JsonArray& values) {
  FieldErrors errors;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].is_string())
      append(errors, check_format(path.index(i), values[i].as_string(), label_value_problems));
  return errors;
}

FieldErrors check_label_selector(const FieldPath& path, const Json& selector) {
  FieldErrors errors = check_labels(path.child("matchLabels"), present(selector, "matchLabels"));
  const JsonArray& requirements = items(&selector, "matchExpressions");
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    const FieldPath at = path.child("matchExpressions").index(i);
    const std::string_view the_operator = requirements[i].string_at("operator");
    const bool has_values = !items(&requirements[i], "values").empty();
    if (the_operator == "In" || the_operator == "NotIn") {
      if (!has_values)
        errors.push_back(
            required(at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (the_operator == "Exists" || the_operator == "DoesNotExist") {
      if (has_values)
        errors.push_back(forbidden(at.child("values"),
                                   "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else {
      errors.push_back(invalid(at.child("operator"), the_operator, "not a valid selector operator"));
    }
    append(errors, check_format(at.child("key"), requirements[i].string_at("key"), qualified_name_problems));
    append(errors, check_label_values(at.child("values"), items(&requirements[i], "values")));
  }
  return errors;
}

NameProblems config_key_problems(std::string_view key) {
  NameProblems problems;
  if (key.size() > kConfigKeyBytesMax)
    problems.push_back("must be no more than " + std::to_string(kConfigKeyBytesMax) + " characters");
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (key.empty() || !std::all_of(key.begin(), key.end(), is_good))
    problems.emplace_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
        "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
  if (key == ".")
    problems.emplace_back("must not be '.'");
  else if (key == "..")
    problems.emplace_back("must not be '..'");
  else if (key.starts_with(".."))
    problems.emplace_back("must not start with '..'");
  return problems;
}

FieldErrors check_not_negative(const std::string& path, const Json& object, std::string_view key) {
  const Json* number = present(object, key);
  if (!number || number->as_int() >= 0) return {};
  return {invalid(path, *number, kNotNegative)};
}

FieldErrors check_immutable(const std::string& path, const Json* next, const Json* old) {
  if (same(next, old)) return {};
  return {invalid(path, value_or_null(next), "field is immutable")};
}

FieldErrors check_immutable(const std::string& path, const Json* next, const Json* old,
                            const TypeInfo& type) {
  if (same(next, old)) return {};
  return {invalid(path, go_form(next ? *next : Json::object(), type), "field is immutable")};
}

FieldErrors check_access_modes(const FieldPath& path, const Json* spec) {
  constexpr std::string_view kOncePod = "ReadWriteOncePod";
  FieldErrors errors;
  bool once_pod = false, others = false;
  for (const Json& item : items(spec, "accessModes")) {
    const std::string_view mode = item.is_string() ? std::string_view(item.as_string()) : std::string_view();
    const FieldErrors unknown =
        check_one_of(path, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", kOncePod});
    if (unknown.empty()) (mode == kOncePod ? once_pod : others) = true;
    append(errors, unknown);
  }
  if (once_pod && others)
    errors.push_back(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  return errors;
}

}  // namespace berth::api
