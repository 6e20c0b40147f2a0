#include "admission/webhook.h"

#include <algorithm>

namespace berth::admission {
namespace {

std::string review_version_of(const JsonArray& versions) {
  for (const Json& version : versions)
    for (const std::string_view known : {"v1", "v1beta1"})
      if (version == Json(known)) return std::string(known);
  return "";
}

WebhookPtr read_webhook(const Json& webhook, std::string_view configuration, Phase phase) {
  auto read = std::make_shared<Webhook>();
  read->configuration = configuration;
  read->name = webhook.string_at("name");
  read->phase = phase;
  read->client = crd::read_webhook_client(webhook.part("clientConfig"));
  read->match = read_match(webhook);
  read->conditions = MatchConditions(condition_environment(), webhook.items_at("matchConditions"));
  read->ignores_failures = webhook.string_at("failurePolicy") == "Ignore";
  const std::string_view effects = webhook.string_at("sideEffects");
  read->allows_dry_run = effects == "None" || effects == "NoneOnDryRun";
  read->may_be_called_again = webhook.string_at("reinvocationPolicy") == "IfNeeded";
  read->timeout = Duration::seconds(webhook.int_at("timeoutSeconds", read->timeout.whole_seconds()));
  read->review_version = review_version_of(webhook.items_at("admissionReviewVersions"));
  return read;
}

}  // namespace

std::string_view metric_type(Phase phase) {
  return phase == Phase::Mutating ? "admit" : "validating";
}

std::vector<WebhookPtr> read_webhooks(const Json& configuration, Phase phase) {
  std::vector<WebhookPtr> webhooks;
  const std::string_view name = configuration.part("metadata").string_at("name");
  for (const Json& webhook : configuration.items_at("webhooks"))
    webhooks.push_back(read_webhook(webhook, name, phase));
  return webhooks;
}

bool is_exempt(const GroupVersionKind& kind) {
  constexpr std::string_view kKinds[] = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
                                         "ValidatingAdmissionPolicy",      "ValidatingAdmissionPolicyBinding",
                                         "MutatingAdmissionPolicy",        "MutatingAdmissionPolicyBinding"};
  return kind.group == kRegistrationGroup &&
         std::find(std::begin(kKinds), std::end(kKinds), kind.kind) != std::end(kKinds);
}

}  // namespace berth::admission
