// One webhook of a configuration, compiled: whom it sees, how it is reached, what its failure means.
//
// Immutable, shared by threads. Cost: made once for each version of a configuration. Source:
// MutatingWebhook and ValidatingWebhook of admissionregistration.k8s.io/v1.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/match.h"
#include "admission/match_conditions.h"
#include "base/json.h"
#include "base/time.h"
#include "crd/webhook_client.h"

namespace berth::admission {

enum class Phase : std::uint8_t { Mutating, Validating };
// "admit" and "validating": the label `type` of metrics.
std::string_view metric_type(Phase phase);

struct Webhook {
  std::string configuration, name;
  Phase phase = Phase::Validating;
  crd::WebhookClient client;
  MatchCriteria match;
  MatchConditions conditions;
  bool ignores_failures = false;     // failurePolicy
  bool allows_dry_run = false;       // sideEffects None or NoneOnDryRun
  bool may_be_called_again = false;  // reinvocationPolicy IfNeeded
  Duration timeout = Duration::seconds(10);
  std::string review_version;  // "v1" or "v1beta1"; empty: it accepts neither
};
using WebhookPtr = std::shared_ptr<const Webhook>;

// In the order of the list. `configuration` is stored, so it has its defaults.
std::vector<WebhookPtr> read_webhooks(const Json& configuration, Phase phase);

// Webhooks do not see writes of what configures admission. Source: IsExemptAdmissionConfigurationResource.
bool is_exempt(const GroupVersionKind& kind);

}  // namespace berth::admission
