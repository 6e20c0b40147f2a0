#include "admission/configuration_rules.h"

#include <algorithm>
#include <set>

#include "admission/rule_checks.h"
#include "api/names.h"
#include "crd/webhook_client.h"

namespace berth::admission {
namespace {

using api::FieldErrors;
using api::FieldPath;

constexpr std::int64_t kTimeoutSecondsMax = 30;

// What an update need not fulfil, because the stored configuration does not.
struct Leniency {
  bool side_effects = false, review_versions = false, names = false, selectors = false, conditions = false;
};

void check_name(FieldErrors& errors, std::string_view name, const FieldPath& path) {
  constexpr std::ptrdiff_t kDotsMin = 2;
  if (name.empty()) return errors.push_back(api::required(path));
  if (const std::vector<std::string> problems = api::dns_subdomain_problems(name); !problems.empty())
    return errors.push_back(api::invalid(path, name, joined(problems)));
  if (std::count(name.begin(), name.end(), '.') < kDotsMin)
    errors.push_back(
        api::invalid(path, name, "should be a domain with at least three segments separated by dots"));
}

void check_side_effects(FieldErrors& errors, const Json& webhook, const FieldPath& path,
                        const Leniency& leniency) {
  const bool is_set = !webhook.string_at("sideEffects").empty();
  if (!is_set)
    errors.push_back(
        api::required(path.child("sideEffects"), leniency.side_effects
                                                     ? "must specify one of None, NoneOnDryRun, Some, Unknown"
                                                     : "must specify one of None, NoneOnDryRun"));
  else if (leniency.side_effects)
    check_choice(errors, webhook, "sideEffects", {"None", "NoneOnDryRun", "Some", "Unknown"}, path);
  else
    check_choice(errors, webhook, "sideEffects", {"None", "NoneOnDryRun"}, path);
}

void check_client(FieldErrors& errors, const Json& config, const FieldPath& path) {
  const Json *url = config.find("url"), *service = config.find("service");
  const bool has_url = url && url->is_string(), has_service = service && service->is_object();
  if (has_url == has_service)
    return errors.push_back(api::required(path, "exactly one of url or service is required"));
  if (has_url)
    crd::check_webhook_url(errors, url->as_string(), path.child("url"));
  else
    crd::check_webhook_service(errors, *service, path.child("service"));
}

bool is_known_review(const Json& version) {
  return version == Json("v1") || version == Json("v1beta1");
}

void check_review_versions(FieldErrors& errors, const JsonArray& versions, const FieldPath& path,
                           const Leniency& leniency) {
  if (versions.empty()) return errors.push_back(api::required(path, "must specify one of v1, v1beta1"));
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (std::find(versions.begin(), versions.begin() + static_cast<std::ptrdiff_t>(i), versions[i]) !=
        versions.begin() + static_cast<std::ptrdiff_t>(i)) {
      errors.push_back(api::invalid(path.index(i), versions[i], "duplicate version"));
      continue;
    }
    const std::string_view text = versions[i].is_string() ? std::string_view(versions[i].as_string()) : "";
    for (const std::string& problem : api::dns_1035_label_problems(text))
      errors.push_back(api::invalid(path.index(i), text, problem));
  }
  if (!leniency.review_versions && std::none_of(versions.begin(), versions.end(), is_known_review))
    errors.push_back(api::invalid(path, versions, "must include at least one of v1, v1beta1"));
}

void check_webhook(FieldErrors& errors, const Json& webhook, const FieldPath& path,
                   const Leniency& leniency) {
  check_name(errors, webhook.string_at("name"), path.child("name"));
  const JsonArray& rules = webhook.items_at("rules");
  for (std::size_t i = 0; i < rules.size() && !errors.full(); ++i)
    check_rule(errors, rules[i], path.child("rules").index(i));
  check_choice(errors, webhook, "failurePolicy", {"Fail", "Ignore"}, path);
  check_choice(errors, webhook, "matchPolicy", {"Equivalent", "Exact"}, path);
  check_side_effects(errors, webhook, path, leniency);
  const Json* seconds = webhook.find("timeoutSeconds");
  if (seconds && seconds->is_int() && (seconds->as_int() < 1 || seconds->as_int() > kTimeoutSecondsMax))
    errors.push_back(api::invalid(path.child("timeoutSeconds"), *seconds,
                                  "the timeout value must be between 1 and 30 seconds"));
  if (!leniency.selectors) api::append(errors, selector_problems(webhook, path));
  check_choice(errors, webhook, "reinvocationPolicy", {"IfNeeded", "Never"}, path);
  check_client(errors, webhook.part("clientConfig"), path.child("clientConfig"));
  if (!leniency.conditions)
    check_conditions(errors, webhook.items_at("matchConditions"), condition_environment(),
                     path.child("matchConditions"));
  check_review_versions(errors, webhook.items_at("admissionReviewVersions"),
                        path.child("admissionReviewVersions"), leniency);
}

FieldErrors problems_of(const Json& configuration, const Leniency& leniency) {
  FieldErrors errors;
  std::set<std::string_view> names;
  const JsonArray& webhooks = configuration.items_at("webhooks");
  const FieldPath path("webhooks");
  for (std::size_t i = 0; i < webhooks.size() && !errors.full(); ++i) {
    check_webhook(errors, webhooks[i], path.index(i), leniency);
    const std::string_view name = webhooks[i].string_at("name");
    if (!leniency.names && !name.empty() && !names.insert(name).second)
      errors.push_back(api::duplicate(path.index(i).child("name"), name));
  }
  return errors;
}

bool has_same_conditions(const JsonArray& next, const JsonArray& old) {
  return std::equal(next.begin(), next.end(), old.begin(), old.end(), [](const Json& a, const Json& b) {
    return a.part("matchConditions") == b.part("matchConditions");
  });
}

Leniency leniency_of(const Json& next, const Json& old) {
  Leniency leniency;
  std::set<std::string_view> names;
  const JsonArray& webhooks = old.items_at("webhooks");
  for (const Json& webhook : webhooks) {
    const std::string_view effects = webhook.string_at("sideEffects");
    const JsonArray& versions = webhook.items_at("admissionReviewVersions");
    leniency.side_effects |= effects != "None" && effects != "NoneOnDryRun";
    leniency.review_versions |=
        !versions.empty() && std::none_of(versions.begin(), versions.end(), is_known_review);
    leniency.names |= !names.insert(webhook.string_at("name")).second;
    leniency.selectors |= !selector_problems(webhook, FieldPath("webhooks")).empty();
  }
  leniency.conditions = has_same_conditions(next.items_at("webhooks"), webhooks);
  return leniency;
}

FieldErrors validate_create(const Json& configuration, const api::RuleContext&) {
  return problems_of(configuration, {});
}

FieldErrors validate_update(const Json& next, const Json& old, const api::RuleContext&) {
  return problems_of(next, leniency_of(next, old));
}

api::KindRules made_rules(Phase phase) {
  api::KindRules rules = api::rules_of(kRegistrationGroup, plural_of(phase));
  rules.validate_create = validate_create;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace

std::string_view plural_of(Phase phase) {
  return phase == Phase::Mutating ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations";
}

std::optional<Phase> phase_of(const api::ResourceInfo& resource) {
  if (resource.group != kRegistrationGroup) return std::nullopt;
  for (const Phase phase : {Phase::Mutating, Phase::Validating})
    if (resource.plural == plural_of(phase)) return phase;
  return std::nullopt;
}

const api::KindRules& configuration_rules(Phase phase) {
  static const api::KindRules kMutating = made_rules(Phase::Mutating),
                              kValidating = made_rules(Phase::Validating);
  return phase == Phase::Mutating ? kMutating : kValidating;
}

}  // namespace berth::admission
