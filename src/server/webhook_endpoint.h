// Where a webhook is reached: by its URL, or by the address that the operator gave for its Service.
//
// Immutable, any thread. Source: HookClient of k8s.io/apiserver 1.37 (names of certificates, texts).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/http_fetch.h"
#include "crd/webhook_client.h"

namespace berth::server {

inline constexpr std::size_t kWebhookServicesMax = 64;

// Addresses of Services, which this server has no network to reach.
class WebhookServices {
 public:
  // Each "NAMESPACE/NAME=https://HOST:PORT". Refuses (Invalid) another form, and a Service twice.
  static Result<WebhookServices> parse(const std::vector<std::string>& texts);
  // Null for one without an address.
  const std::string* find(std::string_view ns, std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> addresses_;  // by "namespace/name"
};

struct WebhookEndpoint {
  std::string server;            // "https://127.0.0.1:9443"
  std::string target;            // "/mutate"
  std::string certificate_name;  // empty: that of the server
  std::string ca_pem;            // empty: the machine's own authorities
  std::string shown_url;         // in errors, as the reference writes it
  std::string unreachable;       // why no call can be made; empty where one can
};

// A Service's certificate has its name, whatever its address.
WebhookEndpoint endpoint_of(const crd::WebhookClient& client, const WebhookServices& services);

// What informs the webhook how long the server waits: "?timeout=10s".
std::string timeout_query(Duration timeout);
// `Post "https://…?timeout=10s": `, which begins the error of a call.
std::string call_text(const WebhookEndpoint& endpoint, Duration timeout);

// What client-go says of an answer that is no success.
std::string refusal_text(const client::HttpReply& reply);

}  // namespace berth::server
