// Kinds of kinds/stored_kinds.cc whose rules are more than traits; one .cc file each.
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

void adjust_signing_requests(KindRules& rules);  // certificate_signing_request.cc
void adjust_api_services(KindRules& rules);      // api_service.cc
void adjust_runtime_classes(KindRules& rules);   // runtime_class.cc
void adjust_autoscalers(KindRules& rules);       // horizontal_pod_autoscaler.cc
void adjust_limit_ranges(KindRules& rules);      // limit_range.cc
void adjust_flow_schemas(KindRules& rules);      // flow_control.cc
void adjust_priority_levels(KindRules& rules);   // flow_control.cc
void adjust_ip_addresses(KindRules& rules);      // service_addresses.cc
void adjust_service_cidrs(KindRules& rules);     // service_addresses.cc
// roles.cc
void adjust_roles(KindRules& rules);
void adjust_cluster_roles(KindRules& rules);
void adjust_role_bindings(KindRules& rules);
void adjust_cluster_role_bindings(KindRules& rules);

// What the class of a new pod adds to it (overhead, nodeSelector, tolerations), or why it is refused.
std::optional<Rejection> admit_runtime_class(Json& pod, const RuleContext& ctx);  // runtime_class.cc

// What its service account gives to a new pod, or why it is refused: the account is absent, or does not list
// a secret that the pod reads. Ephemeral containers are refused for such a secret too.
std::optional<Rejection> admit_account(Json& pod, const RuleContext& ctx);                  // pod_account.cc
std::optional<Rejection> admit_ephemeral_secrets(const Json& pod, const RuleContext& ctx);  // pod_account.cc

// What the LimitRanges of its namespace give to a new pod, or why they refuse it; and a claim of a volume.
std::optional<Rejection> admit_limits(Json& pod, const RuleContext& ctx);                // limit_range.cc
std::optional<Rejection> admit_claim_limits(const Json& claim, const RuleContext& ctx);  // limit_range.cc

}  // namespace berth::api
