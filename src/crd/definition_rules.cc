#include "crd/definition_rules.h"

#include <algorithm>
#include <array>

#include "api/names.h"
#include "api/type_table.h"
#include "crd/conversion_rules.h"
#include "crd/names.h"
#include "crd/structure_check.h"

namespace berth::crd {
namespace {

using api::FieldErrors;
using api::FieldPath;

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

// The sentences of a text that is no label, together.
std::string joined_label_problems(std::string_view text) {
  std::string joined;
  for (const std::string& problem : api::dns_1035_label_problems(text))
    joined += (joined.empty() ? "" : ",") + problem;
  return joined;
}

void check_label(FieldErrors& errors, const FieldPath& path, std::string_view text) {
  if (text.empty()) return;
  if (const std::string problem = joined_label_problems(text); !problem.empty())
    errors.push_back(api::invalid(path, text, problem));
}

void check_kind_name(FieldErrors& errors, const FieldPath& path, std::string_view text) {
  if (text.empty()) return;
  if (const std::string problem = joined_label_problems(lowered(text)); !problem.empty())
    errors.push_back(api::invalid(path, text, "may have mixed case, but should otherwise match: " + problem));
}

void check_names(FieldErrors& errors, const Json& names, const FieldPath& path) {
  for (const char* member : {"plural", "singular", "kind", "listKind"})
    if (names.string_at(member).empty()) errors.push_back(api::required(path.child(member)));
  check_label(errors, path.child("plural"), names.string_at("plural"));
  check_label(errors, path.child("singular"), names.string_at("singular"));
  check_kind_name(errors, path.child("kind"), names.string_at("kind"));
  check_kind_name(errors, path.child("listKind"), names.string_at("listKind"));
  for (const char* member : {"shortNames", "categories"}) {
    const JsonArray& list = names.items_at(member);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (const std::string problem = joined_label_problems(list[i].as_string()); !problem.empty())
        errors.push_back(api::invalid(path.child(member).index(i), list[i], problem));
  }
  if (!names.string_at("kind").empty() && names.string_at("kind") == names.string_at("listKind"))
    errors.push_back(api::invalid(path.child("listKind"), names.string_at("listKind"),
                                  "kind and listKind may not be the same"));
}

void check_group(FieldErrors& errors, std::string_view group, const FieldPath& path) {
  if (group.empty()) return errors.push_back(api::required(path));
  const api::NameProblems problems = api::dns_subdomain_problems(group);
  if (!problems.empty()) {
    std::string text;
    for (const std::string& problem : problems) text += (text.empty() ? "" : ",") + problem;
    return errors.push_back(api::invalid(path, group, text));
  }
  if (group.find('.') == std::string_view::npos)
    errors.push_back(api::invalid(path, group, "should be a domain with at least one dot"));
}

void check_path(FieldErrors& errors, std::string_view text, const FieldPath& path,
                std::initializer_list<std::string_view> roots, std::string_view where) {
  if (text.empty()) return errors.push_back(api::required(path));
  if (text.front() != '.')
    return errors.push_back(api::invalid(path, text, "must be a simple json path starting with ."));
  for (std::string_view root : roots)
    if (text.starts_with(root)) return;
  if (roots.size() > 0)
    errors.push_back(api::invalid(path, text, "should be a json path under " + std::string(where)));
}

void check_subresources(FieldErrors& errors, const Json& subresources, const FieldPath& path) {
  const Json* scale = subresources.find("scale");
  if (!scale) return;
  check_path(errors, scale->string_at("specReplicasPath"), path.child("scale.specReplicasPath"), {".spec."},
             ".spec");
  check_path(errors, scale->string_at("statusReplicasPath"), path.child("scale.statusReplicasPath"),
             {".status."}, ".status");
  if (const std::string_view selector = scale->string_at("labelSelectorPath"); !selector.empty())
    check_path(errors, selector, path.child("scale.labelSelectorPath"), {".spec.", ".status."},
               "either .spec or .status");
}

void check_columns(FieldErrors& errors, const JsonArray& columns, const FieldPath& path) {
  static constexpr std::array<std::string_view, 5> kTypes = {"boolean", "date", "integer", "number",
                                                             "string"};
  static constexpr std::array<std::string_view, 8> kFormats = {"byte",  "date",  "date-time", "double",
                                                               "float", "int32", "int64",     "password"};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view type = columns[i].string_at("type"), format = columns[i].string_at("format");
    if (columns[i].string_at("name").empty()) errors.push_back(api::required(at.child("name")));
    constexpr std::string_view kWhy = "must be one of boolean,date,integer,number,string";
    if (type.empty())
      errors.push_back(api::required(at.child("type"), kWhy));
    else if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      errors.push_back(api::invalid(at.child("type"), type, kWhy));
    if (!format.empty() && std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end())
      errors.push_back(api::invalid(at.child("format"), format,
                                    "must be one of byte,date,date-time,double,float,int32,int64,password"));
    check_path(errors, columns[i].string_at("jsonPath"), at.child("JSONPath"), {}, "");
  }
}

void check_selectable(FieldErrors& errors, const JsonArray& fields, const Json& schema,
                      const FieldPath& path) {
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const FieldPath at = path.index(i).child("jsonPath");
    const std::string_view text = fields[i].string_at("jsonPath");
    if (text.empty()) {
      errors.push_back(api::required(at));
      continue;
    }
    const Json* found = text.starts_with('.') ? &schema : nullptr;
    for (std::string_view rest = text; found && !rest.empty();) {
      rest.remove_prefix(1);
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      found = found->part("properties").find(rest.substr(0, dot));
      rest.remove_prefix(dot);
    }
    if (!found) {
      errors.push_back(api::invalid(at, text, "is an invalid path: does not refer to a valid field"));
      continue;
    }
    if (text.starts_with(".metadata"))
      errors.push_back(api::invalid(at, text, "must not point to fields in metadata"));
    const std::string_view type = found->string_at("type");
    if (type != "string" && type != "boolean" && type != "integer")
      errors.push_back(
          api::invalid(at, text,
                       "must point to a field of type string, boolean or integer. Enum string fields "
                       "and strings with formats are allowed."));
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) errors.push_back(api::duplicate(at, text));
    seen.push_back(text);
  }
  if (seen.size() > kSelectableFieldsMax)
    errors.push_back(api::too_many(path, seen.size(), kSelectableFieldsMax));
}

// Kubernetes keeps what all versions have in common above them; its errors name it there.
bool is_common(const JsonArray& versions, std::string_view member) {
  if (versions.empty() || !versions.front().find(member)) return false;
  return std::all_of(versions.begin(), versions.end(), [&](const Json& version) {
    const Json* value = version.find(member);
    return value && *value == *versions.front().find(member);
  });
}

// Whether the schema of the version is what it was in `old`, the versions before an update.
bool is_stored_schema(const Json& version, const JsonArray& old) {
  return std::any_of(old.begin(), old.end(), [&](const Json& before) {
    return before.string_at("name") == version.string_at("name") &&
           before.part("schema") == version.part("schema");
  });
}

void check_schemas(FieldErrors& errors, const JsonArray& versions, const JsonArray& old,
                   const FieldPath& path) {
  DefinitionBudget budget;
  const bool common = is_common(versions, "schema");
  bool any_status = false;
  for (const Json& version : versions) any_status |= version.part("subresources").find("status") != nullptr;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const FieldPath at = path.child("versions").index(i);
    const Json* schema = versions[i].part("schema").find("openAPIV3Schema");
    if (!schema) {
      errors.push_back(api::required(at.child("schema").child("openAPIV3Schema")));
      continue;
    }
    if (common && i > 0) continue;
    const FieldPath of_schema = common ? path.child("validation") : at.child("schema");
    const bool has_status = common ? any_status : versions[i].part("subresources").find("status") != nullptr;
    api::append(errors, check_schema(*schema, of_schema.child("openAPIV3Schema"), has_status, budget,
                                     is_stored_schema(versions[i], old) ? CostCheck::AllTogether
                                                                        : CostCheck::EachAndAll));
  }
}

void check_versions(FieldErrors& errors, const JsonArray& versions, const FieldPath& path) {
  std::vector<std::string_view> names;
  std::size_t stored = 0;
  bool unique = true;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Json& version = versions[i];
    const FieldPath at = path.child("versions").index(i);
    const std::string_view name = version.string_at("name");
    unique &= std::find(names.begin(), names.end(), name) == names.end();
    names.push_back(name);
    stored += version.bool_at("storage") ? 1 : 0;
    if (const std::string problem = joined_label_problems(name); !problem.empty())
      errors.push_back(api::invalid(at.child("name"), name, problem));
    if (const Json* warning = version.find("deprecationWarning")) {
      if (!version.bool_at("deprecated"))
        errors.push_back(api::invalid(at.child("deprecationWarning"), *warning,
                                      "can only be set for deprecated versions"));
      else if (warning->as_string().empty() || warning->as_string().size() > 256)
        errors.push_back(api::invalid(
            at.child("deprecationWarning"), *warning,
            warning->as_string().empty() ? "must not be an empty string" : "must be <= 256 characters long"));
    }
    check_subresources(errors, version.part("subresources"), at.child("subresources"));
    check_columns(errors, version.items_at("additionalPrinterColumns"), at.child("additionalPrinterColumns"));
    check_selectable(errors, version.items_at("selectableFields"),
                     version.part("schema").part("openAPIV3Schema"), at.child("selectableFields"));
  }
  const auto refuse = [&](std::string_view why) {
    errors.push_back({api::FieldErrorType::Invalid, path.child("versions").text(),
                      "Invalid value: " + to_string(Json(versions)) + ": " + std::string(why)});
  };
  if (!unique) refuse("must contain unique version names");
  if (stored != 1) refuse("must have exactly one version marked as storage version");
}

// Groups that belong to Kubernetes need its approval.
void check_approval(FieldErrors& errors, const Json& crd, std::string_view group) {
  const auto within = [group](std::string_view domain) {
    return group == domain || group.ends_with("." + std::string(domain));
  };
  if (!within("k8s.io") && !within("kubernetes.io")) return;
  constexpr const char* kAnnotation = "api-approved.kubernetes.io";
  const std::string_view value = crd.part("metadata").part("annotations").string_at(kAnnotation);
  const FieldPath path = FieldPath("metadata").child("annotations").key(kAnnotation);
  if (value.empty())
    errors.push_back(
        api::required(path,
                      "protected groups must have approval annotation \"api-approved.kubernetes.io\", see "
                      "https://github.com/kubernetes/enhancements/pull/1111"));
  else if (!value.starts_with("unapproved") && !value.starts_with("http://") &&
           !value.starts_with("https://"))
    errors.push_back(
        api::invalid(path, value,
                     "protected groups must have approval annotation \"api-approved.kubernetes.io\" "
                     "with either a URL or a reason starting with \"unapproved\", see "
                     "https://github.com/kubernetes/enhancements/pull/1111"));
}

FieldErrors spec_errors(const Json& crd, const Json& old) {
  FieldErrors errors;
  const FieldPath path("spec");
  const Json& spec = crd.part("spec");
  const std::string_view group = spec.string_at("group"), scope = spec.string_at("scope");
  check_group(errors, group, path.child("group"));
  if (scope.empty())
    errors.push_back(api::required(path.child("scope")));
  else if (scope != "Cluster" && scope != "Namespaced")
    errors.push_back(api::not_supported(path.child("scope"), scope, {"Cluster", "Namespaced"}));
  const JsonArray& versions = spec.items_at("versions");
  if (versions.size() > kVersionsMax) {
    errors.push_back(api::too_many(path.child("versions"), versions.size(), kVersionsMax));
    return errors;
  }
  check_schemas(errors, versions, old.part("spec").items_at("versions"), path);
  check_versions(errors, versions, path);
  check_names(errors, spec.part("names"), path.child("names"));
  api::append(errors, check_conversion(spec.part("conversion"), path.child("conversion"), old));
  check_approval(errors, crd, group);
  if (spec.bool_at("preserveUnknownFields"))
    errors.push_back(api::invalid(path.child("preserveUnknownFields"), true,
                                  "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                                  "spec.versions[*].schema instead"));
  return errors;
}

std::string_view storage_version(const Json& crd) {
  for (const Json& version : crd.part("spec").items_at("versions"))
    if (version.bool_at("storage")) return version.string_at("name");
  return {};
}

void set_defaults(Json& crd) {
  if (!std::as_const(crd).part("spec").is_object()) return;
  Json& spec = crd["spec"];
  if (std::as_const(spec).part("names").is_object()) {
    Json& names = spec["names"];
    const std::string kind(names.string_at("kind"));
    if (names.string_at("singular").empty() && !kind.empty()) names["singular"] = lowered(kind);
    if (names.string_at("listKind").empty() && !kind.empty()) names["listKind"] = kind + "List";
  }
  if (std::as_const(spec).part("conversion").is_null())
    spec["conversion"] = Json::object({{"strategy", "None"}});
  const Json& service =
      std::as_const(spec).part("conversion").part("webhook").part("clientConfig").part("service");
  if (service.is_object() && !service.find("port"))
    spec["conversion"]["webhook"]["clientConfig"]["service"]["port"] = 443;
}

void prepare_create(Json& crd, const api::RuleContext&) {
  Json versions = Json::array();
  if (const std::string_view stored = storage_version(crd); !stored.empty())
    versions.as_array().emplace_back(stored);
  crd["status"] = Json::object({{"conditions", Json()},
                                {"acceptedNames", Json::object({{"plural", ""}, {"kind", ""}})},
                                {"storedVersions", std::move(versions)}});
}

// A version that becomes the stored one is one that objects are stored in from now on.
void prepare_update(Json& next, const Json&, const api::RuleContext&) {
  const std::string stored(storage_version(next));
  if (stored.empty()) return;
  Json& versions = next["status"]["storedVersions"];
  if (!versions.is_array()) versions = Json::array();
  for (const Json& version : std::as_const(versions).as_array())
    if (version == Json(stored)) return;
  versions.as_array().emplace_back(stored);
}

FieldErrors stored_version_errors(const Json& crd) {
  FieldErrors errors;
  const FieldPath path = FieldPath("status").child("storedVersions");
  const JsonArray& stored = crd.part("status").items_at("storedVersions");
  const JsonArray& versions = crd.part("spec").items_at("versions");
  if (stored.empty()) return {api::invalid(path, Json::array({}), "must have at least one stored version")};
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const bool known = std::any_of(versions.begin(), versions.end(), [&](const Json& version) {
      return version.string_at("name") == stored[i].as_string();
    });
    if (known) continue;
    const std::string& name = stored[i].as_string();
    errors.push_back(
        api::invalid(path.index(i), name,
                     "missing from spec.versions; " + name +
                         " was previously a storage version, and must remain in spec.versions until a "
                         "storage migration ensures no data remains persisted in " +
                         name + " and removes " + name + " from status.storedVersions"));
  }
  return errors;
}

FieldErrors validate_create(const Json& crd, const api::RuleContext&) {
  FieldErrors errors;
  const Json& spec = crd.part("spec");
  const std::string_view name = crd.part("metadata").string_at("name");
  const std::string wanted =
      std::string(spec.part("names").string_at("plural")) + "." + std::string(spec.string_at("group"));
  if (name != wanted)
    errors.push_back(api::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
  api::append(errors, spec_errors(crd, Json()));
  return errors;
}

void check_unchanged(FieldErrors& errors, const Json& next, const Json& old,
                     std::initializer_list<std::string_view> path) {
  const Json *after = next.find_path(path), *before = old.find_path(path);
  if (before && after && *before == *after) return;
  std::string text;
  for (std::string_view step : path) text += (text.empty() ? "" : ".") + std::string(step);
  errors.push_back(api::invalid(std::move(text), after ? *after : Json(""), "field is immutable"));
}

FieldErrors validate_update(const Json& next, const Json& old, const api::RuleContext&) {
  FieldErrors errors;
  if (!(next.part("spec") == old.part("spec"))) errors = spec_errors(next, old);
  if (is_established(old)) {
    check_unchanged(errors, next, old, {"spec", "scope"});
    check_unchanged(errors, next, old, {"spec", "names", "kind"});
  }
  check_unchanged(errors, next, old, {"spec", "group"});
  check_unchanged(errors, next, old, {"spec", "names", "plural"});
  api::append(errors, stored_version_errors(next));
  return errors;
}

FieldErrors validate_status(const Json& next, const Json&, const api::RuleContext&) {
  return stored_version_errors(next);
}

std::vector<std::string> warnings(const Json& crd, const Json*, const api::RuleContext&) {
  const Json& conversion = crd.part("spec").part("conversion");
  const bool by_service = conversion.string_at("strategy") == "Webhook" &&
                          conversion.part("webhook").part("clientConfig").find("service");
  if (!by_service) return {};
  return {
      "spec.conversion.webhook.clientConfig.service: this server does not reach Services: objects that need "
      "a conversion are refused until clientConfig.url or the flag --webhook-service names the webhook"};
}

api::KindRules made_rules() {
  api::KindRules rules;
  rules.group = kDefinitionGroup;
  rules.resource = kDefinitionPlural;
  rules.has_generation = true;
  rules.plain_finalizers = true;
  rules.set_defaults = set_defaults;
  rules.prepare_create = prepare_create;
  rules.prepare_update = prepare_update;
  rules.validate_create = validate_create;
  rules.validate_update = validate_update;
  rules.validate_status_update = validate_status;
  rules.warnings = warnings;
  return rules;
}

}  // namespace

const api::KindRules& definition_rules() {
  static const api::KindRules kRules = made_rules();
  return kRules;
}

bool is_definition(const api::ResourceInfo& resource) {
  return resource.plural == kDefinitionPlural && resource.group == kDefinitionGroup;
}

}  // namespace berth::crd
