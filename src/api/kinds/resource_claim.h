// ResourceClaim and ResourceClaimTemplate: a pod's request for devices, and its allocation.
//
// Source: dra types of resource.k8s.io/v1; strategies of resourceclaims and resourceclaimtemplates.
#pragma once

#include <set>
#include <string>

#include "api/kind_rules.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {

inline constexpr std::size_t kResultsMax = 32;
inline constexpr std::size_t kConfigMax = 32;
inline constexpr std::size_t kRequestNamesMax = 32;

KindRules resource_claim_rules();
KindRules resource_claim_template_rules();

// `spec` is a ResourceClaimSpec at `path`.
void default_claim_spec(Json& spec);
void check_claim_spec(const FieldPath& path, const Json& spec, const RuleContext& ctx, Findings& findings);
// "req" and "req/sub": the names for results, constraints and configuration.
std::set<std::string> request_names(const Json& spec);
// Entries of `requests` must be such names, without repetition.
FieldErrors check_request_names(const FieldPath& path, const JsonArray& names,
                                const std::set<std::string>& known);
FieldErrors check_request_reference(const std::string& path, std::string_view name,
                                    const std::set<std::string>& known);
FieldError unknown_request(std::string path, std::string_view name);

// Missing operators of tolerations in `owner` become Equal.
void default_tolerations(Json& owner);

// Admin access requires a label on the namespace.
bool allows_admin_access(const RuleContext& ctx, std::string_view ns);
FieldError admin_access_forbidden(std::string path);

// resource_claim_status.cc
FieldErrors check_claim_status_update(const Json& next, const Json& old, const RuleContext& ctx);
// Everything but status is the old object's; states of devices that are no longer allocated are removed.
void prepare_claim_status(Json& next, const Json& old, const RuleContext& ctx);

}  // namespace berth::api
