#include "api/kinds/resource_claim.h"

#include <algorithm>

#include "api/kinds/core_parts.h"

namespace berth::api {
namespace {

constexpr std::size_t kRequestsMax = 32;
constexpr std::size_t kSubRequestsMax = 8;
constexpr std::size_t kConstraintsMax = 32;
constexpr std::size_t kDerivedAttributesMax = 32;
constexpr std::string_view kAdminLabel = "resource.kubernetes.io/admin-access";

constexpr std::string_view kOneOfText = "exactly one of `exactly` or `firstAvailable` is required";

const Json& devices_of(const Json& spec) {
  static const Json kNone = Json::object();
  const Json* devices = present(spec, "devices");
  return devices ? *devices : kNone;
}

// An exact request or a subrequest: both have the same fields.
void default_request(Json& request, const TypeInfo& type) {
  if (text_at(request, "allocationMode").empty()) put(request, type, "allocationMode", "ExactCount");
  if (text_at(request, "allocationMode") == "ExactCount" && request.int_at("count") == 0)
    put(request, type, "count", 1);
  default_tolerations(request);
}

FieldErrors check_mode(const FieldPath& path, const Json& request) {
  const std::string_view mode = text_at(request, "allocationMode");
  const std::int64_t count = request.int_at("count");
  if (mode == "All") {
    if (count == 0) return {};
    return {invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'")};
  }
  if (mode == "ExactCount") {
    if (count > 0) return {};
    return {invalid(path.child("count"), count, "must be greater than zero")};
  }
  return {not_supported(path.child("allocationMode"), mode, {"All", "ExactCount"})};
}

constexpr std::uint64_t kDerivedCostMax = 1000000;  // of all derived attributes of a claim

// The total cost of a claim's derived attributes, and the references to them.
struct Derivation {
  const JsonArray& constraints;
  std::uint64_t cost = 0;
};

bool is_used(const Derivation& derivation, std::string_view attribute, std::string_view request,
             std::string_view sub_request) {
  return std::any_of(
      derivation.constraints.begin(), derivation.constraints.end(), [&](const Json& constraint) {
        if (text_at(constraint, "matchAttribute") != attribute &&
            text_at(constraint, "distinctAttribute") != attribute)
          return false;
        const JsonArray& names = items(&constraint, "requests");
        if (names.size() > kRequestNamesMax) return false;  // refused for that reason
        const auto has = [&](const std::string& name) {
          return std::find(names.begin(), names.end(), Json(name)) != names.end();
        };
        if (names.empty() || has(std::string(request))) return true;
        return !sub_request.empty() && has(std::string(request) + "/" + std::string(sub_request));
      });
}

void check_derived_expression(const FieldPath& path, std::string_view expression, const RuleContext& ctx,
                              Derivation& derivation, FieldErrors& errors) {
  if (expression.empty()) return errors.push_back(required(path));
  if (expression.size() > kExpressionBytesMax) return errors.push_back(too_long(path, kExpressionBytesMax));
  const CelVerdict verdict = ctx.check_cel(expression, CelUse::DerivedAttribute, ctx.gates);
  if (!verdict.complaint.empty()) return errors.push_back(invalid(path, expression, verdict.complaint));
  derivation.cost += verdict.cost_max;
  if (verdict.too_complex) errors.push_back(forbidden(path, "too complex, exceeds cost limit"));
}

void check_derived(const FieldPath& path, const Json& owner, std::string_view request,
                   std::string_view sub_request, const RuleContext& ctx, Derivation& derivation,
                   Findings& findings) {
  const JsonArray& derived = items(&owner, "derivedAttributes");
  append(findings.declared, check_count(path, derived.size(), kDerivedAttributesMax));
  if (derived.size() > kDerivedAttributesMax) return;
  for (std::size_t i = 0; i < derived.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = text_at(derived[i], "name");
    if (!is_used(derivation, name, request, sub_request))
      findings.by_hand.push_back(
          invalid(at.child("name"), name,
                  "must be referenced by at least one matchAttribute or distinctAttribute "
                  "constraint targeting this request"));
    if (item_named(derived, "name", name) != &derived[i])
      findings.declared.push_back(duplicate(at, derived[i]));
    if (name.empty())
      findings.declared.push_back(required(at.child("name")));
    else
      append(findings.declared, check_full_name(at.child("name"), name));
    check_derived_expression(at.child("expression"), text_at(derived[i], "expression"), ctx, derivation,
                             findings.by_hand);
  }
}

void check_sub_request(const FieldPath& path, const Json& request, const RuleContext& ctx,
                       Findings& findings) {
  append(findings.by_hand, check_required(path.child("deviceClassName"), text_at(request, "deviceClassName"),
                                          dns_subdomain_problems));
  check_selectors(path, request, nullptr, ctx, findings);
  append(findings.by_hand, check_mode(path, request));
  check_tolerations(path, request, findings);
}

void check_alternatives(const FieldPath& path, const Json& request, const RuleContext& ctx,
                        Derivation& derivation, Findings& findings) {
  const JsonArray& alternatives = items(&request, "firstAvailable");
  append(findings.declared, check_count(path, alternatives.size(), kSubRequestsMax));
  if (alternatives.size() > kSubRequestsMax) return;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = text_at(alternatives[i], "name");
    append(findings.by_hand, check_format(at.child("name"), name, dns_label_problems));
    check_sub_request(at, alternatives[i], ctx, findings);
    check_derived(at.child("derivedAttributes"), alternatives[i], text_at(request, "name"), name, ctx,
                  derivation, findings);
    if (item_named(alternatives, "name", name) != &alternatives[i])
      findings.declared.push_back(duplicate(at, alternatives[i]));
  }
}

void check_request(const FieldPath& path, const Json& request, const RuleContext& ctx, Derivation& derivation,
                   Findings& findings) {
  append(findings.by_hand, check_format(path.child("name"), text_at(request, "name"), dns_label_problems));
  const Json* exactly = present(request, "exactly");
  const bool alternatives = !items(&request, "firstAvailable").empty();
  if (!exactly && !alternatives) findings.by_hand.push_back(required(path, kOneOfText));
  if (exactly && alternatives)
    findings.by_hand.push_back(
        invalid(path, nullptr, std::string(kOneOfText) + ", but multiple fields are set"));
  if (exactly && alternatives) return;
  if (exactly) {
    check_sub_request(path.child("exactly"), *exactly, ctx, findings);
    check_derived(path.child("exactly").child("derivedAttributes"), *exactly, text_at(request, "name"), "",
                  ctx, derivation, findings);
  }
  check_alternatives(path.child("firstAvailable"), request, ctx, derivation, findings);
}

// Its domain has no capital letters, unlike that of a driver.
FieldErrors check_attribute_name(const std::string& path, std::string_view name) {
  FieldErrors errors = check_full_name(path, name);
  if (!errors.empty()) return errors;
  const std::string_view domain = name.substr(0, name.find('/'));
  for (const std::string& problem : dns_subdomain_problems(domain))
    errors.push_back(invalid(path, domain, "prefix: " + problem));
  return errors;
}

void check_constraint(const FieldPath& path, const Json& constraint, const std::set<std::string>& known,
                      const RuleContext& ctx, Findings& findings) {
  append(findings.by_hand,
         check_request_names(path.child("requests"), items(&constraint, "requests"), known));
  const Json* match = present(constraint, "matchAttribute");
  const Json* distinct = present(constraint, "distinctAttribute");
  if (match) append(findings.by_hand, check_attribute_name(path.child("matchAttribute"), match->as_string()));
  if (distinct)
    append(findings.by_hand, check_attribute_name(path.child("distinctAttribute"), distinct->as_string()));
  if (match || distinct) return;
  if (!ctx.gates.enabled("DRAConsumableCapacity"))
    findings.by_hand.push_back(required(path.child("matchAttribute")));
  else
    findings.by_hand.push_back(
        required(path,
                 "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
                 "multiple fields are set"));
}

FieldErrors check_admin_requests(const Json& object, const Json* spec, const RuleContext& ctx) {
  FieldErrors errors;
  if (!spec) return errors;
  const JsonArray& requests = items(&devices_of(*spec), "requests");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Json* exactly = present(requests[i], "exactly");
    if (!exactly || !exactly->bool_at("adminAccess")) continue;
    const Json* ns = present_at(object, {"metadata", "namespace"});
    if (allows_admin_access(ctx, ns ? std::string_view(ns->as_string()) : "")) break;
    errors.push_back(admin_access_forbidden(
        FieldPath("spec").child("devices").child("requests").index(i).child("adminAccess")));
  }
  return errors;
}

FieldErrors validate_claim(const Json& claim, const RuleContext& ctx) {
  static const Json kNone = Json::object();
  const Json* spec = present(claim, "spec");
  Findings findings;
  findings.by_hand = check_admin_requests(claim, spec, ctx);
  check_claim_spec(FieldPath("spec"), spec ? *spec : kNone, ctx, findings);
  return std::move(findings).all();
}

FieldErrors validate_claim_update(const Json& next, const Json& old, const RuleContext&) {
  if (same(present(next, "spec"), present(old, "spec"))) return {};
  return {invalid("spec", nullptr, "field is immutable")};
}

void prepare_claim(Json& claim, const RuleContext& ctx) {
  claim["status"] = Json::object();
  drop_gated_fields(resource_type("ResourceClaim"), claim, nullptr, ctx.gates);
}

// Of a template's metadata only labels and annotations apply.
FieldErrors check_template_metadata(const FieldPath& path, const Json* metadata) {
  FieldErrors errors;
  if (!metadata) return errors;
  for (std::string_view name : {"name", "generateName", "namespace", "uid", "resourceVersion", "generation",
                                "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                                "ownerReferences", "finalizers", "managedFields", "selfLink"})
    if (present(*metadata, name)) errors.push_back(forbidden(path.child(name), "cannot be set"));
  append(errors, check_labels(path.child("labels"), present(*metadata, "labels")));
  append(errors, check_annotations(path.child("annotations"), present(*metadata, "annotations")));
  return errors;
}

FieldErrors validate_template(const Json& object, const RuleContext& ctx) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* spec = present(object, "spec");
  const Json* claim_spec = present(spec, "spec");
  Findings findings;
  findings.by_hand = check_admin_requests(object, claim_spec, ctx);
  append(findings.by_hand, check_template_metadata(path.child("metadata"), present(spec, "metadata")));
  check_claim_spec(path.child("spec"), claim_spec ? *claim_spec : kNone, ctx, findings);
  return std::move(findings).all();
}

FieldErrors validate_template_update(const Json& next, const Json& old, const RuleContext&) {
  return check_immutable("spec", present(next, "spec"), present(old, "spec"),
                         resource_type("ResourceClaimTemplateSpec"));
}

}  // namespace

bool allows_admin_access(const RuleContext& ctx, std::string_view ns) {
  const std::optional<Json> found = ctx.read("namespaces", "", ns);
  if (!found) return false;
  const Json* labels = present_at(*found, {"metadata", "labels"});
  return labels && text_at(*labels, kAdminLabel) == "true";
}

FieldError admin_access_forbidden(std::string path) {
  return forbidden(
      std::move(path),
      "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the "
      "containing namespace");
}

void default_tolerations(Json& owner) {
  for (Json& toleration : items(owner, "tolerations"))
    if (text_at(toleration, "operator").empty())
      put(toleration, resource_type("DeviceToleration"), "operator", "Equal");
}

void default_claim_spec(Json& spec) {
  Json* devices = present(spec, "devices");
  if (!devices) return;
  for (Json& request : items(*devices, "requests")) {
    if (Json* exactly = present(request, "exactly"))
      default_request(*exactly, resource_type("ExactDeviceRequest"));
    for (Json& alternative : items(request, "firstAvailable"))
      default_request(alternative, resource_type("DeviceSubRequest"));
  }
}

std::set<std::string> request_names(const Json& spec) {
  std::set<std::string> names;
  for (const Json& request : items(&devices_of(spec), "requests")) {
    const std::string name(text_at(request, "name"));
    names.insert(name);
    for (const Json& alternative : items(&request, "firstAvailable"))
      names.insert(name + "/" + std::string(text_at(alternative, "name")));
  }
  return names;
}

FieldError unknown_request(std::string path, std::string_view name) {
  return invalid(
      std::move(path), name,
      "must be the name of a request in the claim or the name of a request and a subrequest separated by "
      "'/'");
}

FieldErrors check_request_reference(const std::string& path, std::string_view name,
                                    const std::set<std::string>& known) {
  FieldErrors errors;
  const std::size_t slash = name.find('/');
  const bool deeper = slash != std::string_view::npos && name.find('/', slash + 1) != std::string_view::npos;
  if (!deeper) append(errors, check_format(path, name.substr(0, slash), dns_label_problems));
  if (!deeper && slash != std::string_view::npos)
    append(errors, check_format(path, name.substr(slash + 1), dns_label_problems));
  if (!known.contains(std::string(name))) errors.push_back(unknown_request(path, name));
  return errors;
}

FieldErrors check_request_names(const FieldPath& path, const JsonArray& names,
                                const std::set<std::string>& known) {
  FieldErrors errors = check_count(path, names.size(), kRequestNamesMax);
  if (!errors.empty()) return errors;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i].as_string();
    append(errors, check_request_reference(path.index(i), name, known));
    if (!seen.insert(name).second) errors.push_back(duplicate(path.index(i), name));
  }
  return errors;
}

void check_claim_spec(const FieldPath& path, const Json& spec, const RuleContext& ctx, Findings& findings) {
  const Json& devices = devices_of(spec);
  const FieldPath at = path.child("devices");
  const std::set<std::string> known = request_names(spec);
  const JsonArray& requests = items(&devices, "requests");
  const JsonArray& constraints = items(&devices, "constraints");
  const JsonArray& config = items(&devices, "config");
  Derivation derivation{constraints};
  const auto fits = [&](std::string_view list, std::size_t count, std::size_t count_max) {
    append(findings.declared, check_count(at.child(list), count, count_max));
    return count <= count_max;
  };
  if (fits("requests", requests.size(), kRequestsMax))
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const FieldPath request_path = at.child("requests").index(i);
      check_request(request_path, requests[i], ctx, derivation, findings);
      if (item_named(requests, "name", text_at(requests[i], "name")) != &requests[i])
        findings.declared.push_back(duplicate(request_path, requests[i]));
    }
  if (fits("constraints", constraints.size(), kConstraintsMax))
    for (std::size_t i = 0; i < constraints.size(); ++i)
      check_constraint(at.child("constraints").index(i), constraints[i], known, ctx, findings);
  if (fits("config", config.size(), kConfigMax))
    for (std::size_t i = 0; i < config.size(); ++i) {
      const FieldPath entry = at.child("config").index(i);
      append(findings.by_hand,
             check_request_names(entry.child("requests"), items(&config[i], "requests"), known));
      check_opaque(entry, config[i], findings);
    }
  if (derivation.cost > kDerivedCostMax)
    findings.by_hand.push_back(forbidden(
        at, "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"));
}

KindRules resource_claim_rules() {
  KindRules rules;
  rules.group = "resource.k8s.io";
  rules.resource = "resourceclaims";
  rules.answers_deleted_object = true;
  rules.set_defaults = [](Json& claim) {
    if (Json* spec = present(claim, "spec")) default_claim_spec(*spec);
    if (Json* devices = present_at(claim, {"status", "allocation", "devices"}))
      for (Json& result : items(*devices, "results")) default_tolerations(result);
  };
  rules.prepare_create = prepare_claim;
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(resource_type("ResourceClaim"), next, &old, ctx.gates);
  };
  rules.prepare_status_update = prepare_claim_status;
  rules.validate_create = validate_claim;
  rules.validate_update = validate_claim_update;
  rules.validate_status_update = check_claim_status_update;
  return rules;
}

KindRules resource_claim_template_rules() {
  KindRules rules;
  rules.group = "resource.k8s.io";
  rules.resource = "resourceclaimtemplates";
  rules.answers_deleted_object = true;
  rules.set_defaults = [](Json& object) {
    if (Json* spec = present_at(object, {"spec", "spec"})) default_claim_spec(*spec);
  };
  rules.prepare_create = [](Json& object, const RuleContext& ctx) {
    drop_gated_fields(resource_type("ResourceClaimTemplate"), object, nullptr, ctx.gates);
  };
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(resource_type("ResourceClaimTemplate"), next, &old, ctx.gates);
  };
  rules.validate_create = validate_template;
  rules.validate_update = validate_template_update;
  return rules;
}

}  // namespace berth::api
