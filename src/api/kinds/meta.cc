// Validation of metadata for every kind. Source: k8s.io/apimachinery api/validation (texts observed from
// 1.37).
#include <algorithm>
#include <array>

#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/kinds/formats.h"
#include "api/names.h"

namespace berth::api {
namespace {

constexpr std::array<std::string_view, 3> kStandardFinalizers = {"orphan", "foregroundDeletion",
                                                                 "kubernetes"};

const Json& metadata_of(const Json& object) {
  static const Json kNone = Json::object();
  const Json* metadata = object.find("metadata");
  return metadata && metadata->is_object() ? *metadata : kNone;
}

NameProblems name_problems(NameRule rule, std::string_view name) {
  switch (rule) {
    case NameRule::Label:
      return dns_label_problems(name);
    case NameRule::PathSegment:
      return path_segment_problems(name);
    case NameRule::Subdomain:
      break;
  }
  NameProblems problems = dns_subdomain_problems(name);
  // The limit on object names has the reference's older wording.
  if (name.size() > kDnsSubdomainBytesMax)
    problems.front() = "must be no more than " + std::to_string(kDnsSubdomainBytesMax) + " characters";
  return problems;
}

void add(FieldErrors& errors, const std::string& path, const Json& value, const NameProblems& problems) {
  for (const std::string& problem : problems) errors.push_back(invalid(path, value, problem));
}

bool is_group_version(std::string_view text) {
  return text.back() != '/' && std::count(text.begin(), text.end(), '/') <= 1;
}

void check_owner(FieldErrors& errors, const Json& owner, const std::string& path) {
  const std::string_view api_version = owner.string_at("apiVersion");
  for (std::string_view key : {"apiVersion", "kind", "name", "uid"}) {
    if (owner.string_at(key).empty())
      errors.push_back(required(path + "." + std::string(key), "must not be empty"));
    else if (key == "apiVersion" && !is_group_version(api_version))
      errors.push_back(invalid(path + ".apiVersion", api_version, "must be <group>/<version> or <version>"));
  }
  const bool is_event =
      owner.string_at("kind") == "Event" && (api_version == "v1" || api_version == "events.k8s.io/v1");
  if (!is_event) return;
  const std::string group = api_version == "v1" ? "/" : "";
  errors.push_back(invalid(
      path, owner, group + std::string(api_version) + ", Kind=Event is disallowed from being an owner"));
}

void check_owners(FieldErrors& errors, const Json& metadata) {
  const JsonArray& owners = metadata.items_at("ownerReferences");
  std::string controller;
  for (std::size_t i = 0; i < owners.size() && !errors.full(); ++i) {
    check_owner(errors, owners[i], "metadata.ownerReferences[" + std::to_string(i) + "]");
    if (!owners[i].bool_at("controller")) continue;
    const std::string name =
        std::string(owners[i].string_at("kind")) + "/" + std::string(owners[i].string_at("name"));
    if (!controller.empty())
      errors.push_back(
          invalid("metadata.ownerReferences", owners,
                  "Only one reference can have Controller set to true. Found \"true\" in references for " +
                      controller + " and " + name));
    controller = name;
  }
}

void check_finalizers(FieldErrors& errors, const Json& metadata, bool may_be_plain) {
  const JsonArray& finalizers = metadata.items_at("finalizers");
  bool orphan = false, foreground = false;
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    if (!finalizers[i].is_string()) continue;
    const std::string& name = finalizers[i].as_string();
    const std::string path = "metadata.finalizers[" + std::to_string(i) + "]";
    add(errors, "metadata.finalizers", name, qualified_name_problems(name));
    const bool known =
        std::find(kStandardFinalizers.begin(), kStandardFinalizers.end(), name) != kStandardFinalizers.end();
    if (name.find('/') == std::string::npos && !known && !may_be_plain)
      errors.push_back(
          invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"));
    orphan |= name == "orphan";
    foreground |= name == "foregroundDeletion";
  }
  if (orphan && foreground)
    errors.push_back(invalid("metadata.finalizers", finalizers,
                             "finalizer orphan and foregroundDeletion cannot be both set"));
}

void check_new_finalizers(FieldErrors& errors, const Json& next, const Json& old) {
  const ItemSet before(old.items_at("finalizers"));
  std::string added;
  for (const Json& finalizer : next.items_at("finalizers")) {
    if (before.has(finalizer)) continue;
    if (!added.empty()) added += ", ";
    added += to_string(finalizer);
  }
  if (added.empty()) return;
  errors.push_back(
      forbidden("metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                "[]string{" +
                    added + "}"));
}

}  // namespace

FieldErrors validate_meta(const Json& object, bool namespaced, const KindRules& rules) {
  const auto problems_of = [&](std::string_view name) {
    return rules.name_problems ? rules.name_problems(object, name) : name_problems(rules.name_rule, name);
  };
  FieldErrors errors;
  const Json& metadata = metadata_of(object);
  const std::string_view prefix = metadata.string_at("generateName"), name = metadata.string_at("name");
  if (!prefix.empty())
    add(errors, "metadata.generateName", prefix, problems_of(with_masked_trailing_dash(prefix)));
  if (name.empty())
    errors.push_back(required("metadata.name", "name or generateName is required"));
  else
    add(errors, "metadata.name", name, problems_of(name));
  const std::string_view ns = metadata.string_at("namespace");
  if (namespaced && ns.empty()) errors.push_back(required("metadata.namespace"));
  if (namespaced && !ns.empty()) add(errors, "metadata.namespace", ns, dns_label_problems(ns));
  if (!namespaced && !ns.empty())
    errors.push_back(forbidden("metadata.namespace", "not allowed on this type"));
  if (metadata.int_at("generation") < 0)
    errors.push_back(
        invalid("metadata.generation", metadata.int_at("generation"), "must be greater than or equal to 0"));
  append(errors, check_labels("metadata.labels", metadata.find("labels")));
  append(errors, check_annotations("metadata.annotations", metadata.find("annotations")));
  check_owners(errors, metadata);
  check_finalizers(errors, metadata, rules.plain_finalizers);
  return errors;
}

FieldErrors validate_meta_update(const Json& next_object, const Json& old_object, const KindRules& rules) {
  FieldErrors errors;
  const Json &next = metadata_of(next_object), &old = metadata_of(old_object);
  if (!old.string_at("deletionTimestamp").empty()) check_new_finalizers(errors, next, old);
  for (std::string_view key :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const Json *now = next.find(key), *before = old.find(key);
    if (now && !(before && *now == *before))
      errors.push_back(invalid("metadata." + std::string(key), *now, "field is immutable"));
  }
  append(errors, check_labels("metadata.labels", next.find("labels")));
  append(errors, check_annotations("metadata.annotations", next.find("annotations")));
  check_owners(errors, next);
  check_finalizers(errors, next, rules.plain_finalizers);
  return errors;
}

}  // namespace berth::api
