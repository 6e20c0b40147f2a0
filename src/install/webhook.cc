#include "install/webhook.h"

#include "install/workloads.h"

namespace berth::install {
namespace {

// By cert-manager, from the Certificate that has the name of its Secret.
constexpr std::string_view kInjectCa = "cert-manager.io/inject-ca-from";
constexpr std::int64_t kServicePort = 443;
constexpr std::int64_t kTimeoutSeconds = 5;

struct WebhookRow {
  std::string_view kind;
  std::string_view name;
  std::string_view path;
  std::string_view operations;
};
constexpr WebhookRow kValidating = {"ValidatingWebhookConfiguration", "validate.binder.berth.dev",
                                    "/validate", "CREATE,UPDATE"};
constexpr WebhookRow kMutating = {"MutatingWebhookConfiguration", "mutate.binder.berth.dev", "/mutate",
                                  "CREATE"};

Json configuration(const WebhookRow& row, std::string_view failure_policy, const InstallOptions& options) {
  Json client = Json::object({{"service", Json::object({{"namespace", options.ns},
                                                        {"name", kWebhookName},
                                                        {"path", row.path},
                                                        {"port", kServicePort}})}});
  if (!options.webhook_ca_bundle.empty()) client["caBundle"] = options.webhook_ca_bundle;
  const Json rule = Json::object({{"apiGroups", Json::array({""})},
                                  {"apiVersions", Json::array({"v1"})},
                                  {"resources", Json::array({"pods"})},
                                  {"operations", words(row.operations)},
                                  {"scope", "Namespaced"}});
  const Json own_pods =
      Json::object({{"name", "own-pods"},
                    {"expression", "object.spec.schedulerName == '" + options.scheduler_name + "'"}});
  Json metadata = Json::object({{"name", "berth"}});
  if (options.webhook_ca == WebhookCa::CertManager)
    metadata["annotations"] =
        Json::object({{std::string(kInjectCa), options.ns + "/" + options.webhook_secret}});
  return Json::object(
      {{"apiVersion", "admissionregistration.k8s.io/v1"},
       {"kind", row.kind},
       {"metadata", std::move(metadata)},
       {"webhooks", Json::array({Json::object({{"name", row.name},
                                               {"admissionReviewVersions", Json::array({"v1"})},
                                               {"sideEffects", "None"},
                                               {"timeoutSeconds", kTimeoutSeconds},
                                               {"failurePolicy", failure_policy},
                                               {"clientConfig", std::move(client)},
                                               {"rules", Json::array({rule})},
                                               {"matchConditions", Json::array({own_pods})}})})}});
}

}  // namespace

Json webhook_service(const InstallOptions& options) {
  const Json port = Json::object(
      {{"name", "https-webhook"}, {"port", kServicePort}, {"protocol", "TCP"}, {"targetPort", kWebhookPort}});
  return Json::object(
      {{"apiVersion", "v1"},
       {"kind", "Service"},
       {"metadata", Json::object({{"name", kWebhookName}, {"namespace", options.ns}})},
       {"spec", Json::object({{"selector", scheduler_labels()}, {"ports", Json::array({port})}})}});
}

Json validating_webhook(const InstallOptions& options) {
  return configuration(kValidating, "Ignore", options);
}

Json mutating_webhook(const InstallOptions& options) {
  return configuration(kMutating, options.webhook_failure_policy, options);
}

}  // namespace berth::install
