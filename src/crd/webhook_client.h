// The clientConfig of a webhook: what it may say, and where it says that the webhook is. Conversion webhooks
// and admission webhooks have the same.
//
// Pure, any thread. Source: ValidateWebhookURL and ValidateWebhookService of k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <string>

#include "api/field_error.h"
#include "base/json.h"

namespace berth::crd {

struct WebhookClient {
  std::string url;  // empty: the webhook is a Service
  std::string service_ns, service_name, service_path;
  std::int64_t service_port = 443;
  std::string ca_pem;  // empty: the machine's own authorities
};

// `config` is a stored clientConfig.
WebhookClient read_webhook_client(const Json& config);

void check_webhook_url(api::FieldErrors& errors, const std::string& url, const api::FieldPath& path);
void check_webhook_service(api::FieldErrors& errors, const Json& service, const api::FieldPath& path);

}  // namespace berth::crd
