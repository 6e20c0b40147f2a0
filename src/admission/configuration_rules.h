// The API server's rules for MutatingWebhookConfiguration and ValidatingWebhookConfiguration: defaults and
// validation.
//
// Pure, any thread. Cost: linear in the configuration, plus compilation of its conditions. Source: validation
// of admissionregistration.k8s.io in Kubernetes 1.37.
#pragma once

#include <optional>

#include "admission/webhook.h"
#include "api/kind_rules.h"
#include "api/type_table.h"

namespace berth::admission {

std::string_view plural_of(Phase phase);
// Nothing for every other resource.
std::optional<Phase> phase_of(const api::ResourceInfo& resource);

const api::KindRules& configuration_rules(Phase phase);

}  // namespace berth::admission
