// The Kubernetes API over one store: serves health, discovery and pages itself, and requests of resources
// through the ResourceHandler.
//
// Thread-safe; `handle` runs on any pool thread. Owner: the process that also owns the store and the
// transport.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/access.h"
#include "server/admission_webhooks.h"
#include "server/audit_record.h"
#include "server/certificate_signer.h"
#include "server/conversion_webhooks.h"
#include "server/custom_garbage.h"
#include "server/custom_resources.h"
#include "server/flow_control.h"
#include "server/http.h"
#include "server/list_lane.h"
#include "server/own_objects.h"
#include "server/registry.h"
#include "server/request_path.h"
#include "server/resource_handler.h"
#include "server/service_account_tokens.h"
#include "server/token_secrets.h"
#include "server/watch_hub.h"

namespace berth::server {

struct ApiServerOptions {
  Audit audit;
  // Whether a create returns a Warning for resources that no controller here handles.
  bool warn_unacted = false;
  // Further ones ("deployments.apps"), whose controllers are switched off.
  std::vector<std::string> unacted;
  // The text of /metrics, in Prometheus' format; any thread. Empty: no such page.
  std::function<std::string()> metrics;
  // The JSON of further pages, by path; any thread. None: no such page.
  std::function<std::optional<std::string>(std::string_view path)> pages;
  // The address of the dashboard, for GET /ui/; each call may make a link for one browser. Any thread. Empty:
  // there is none.
  std::function<std::string()> dashboard;
  // Bytes of JSON text whose parsed form is cached (recent_documents.h); 0: none.
  std::size_t recent_documents_bytes = 0;
  // Whether objects of custom resources are garbage collected, as owners and as dependents.
  bool collect_custom_garbage = false;
  // Of one call of a conversion webhook.
  Duration conversion_timeout = Duration::seconds(kConversionTimeoutS);
  // Whether admission webhooks are called; they are reached over the network, so not in a simulated world.
  bool calls_admission_webhooks = false;
  // Where Services are that webhooks of both kinds name.
  WebhookServices webhook_services = {};
  // Signs the tokens of service accounts; none: there are no tokens.
  std::optional<TokenKey> token_key = {};
  // Of pods that are created before require_accounts().
  api::PodAccounts pod_accounts = api::PodAccounts::AsGiven;
};

class ApiServer final : public HttpHandler {
 public:
  ApiServer(Registry::Dependencies world, ApiServerOptions options);
  ~ApiServer() override;

  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override;
  // Creates the namespaces and priority classes of a new cluster. Waits for the store; not on a synchronous
  // store's callback.
  Status make_default_objects();
  // Creates the roles and bindings that every cluster has, and adds the rights that stored ones lack. The
  // same; without them nobody but administrators may even ask what is served.
  Status make_bootstrap_roles();
  // Creates the priority levels and FlowSchemas that every cluster has and this one lacks. The same; without
  // them no request waits for another.
  Status make_flow_objects();
  // From here on the objects that describe this server are kept (own_objects.h). Waits for the store.
  void keep_own_objects(ServerAddress address);
  // From here on a pod is refused whose service account does not exist. Where pods have accounts only.
  void require_accounts() { registry_.set_pod_accounts(api::PodAccounts::Required); }
  // From here on Secrets for tokens are filled in; `ca`: the certificate (PEM) of the cluster's CA, or empty.
  // Nothing without a key for tokens.
  void fill_token_secrets(std::string ca);
  // From here on approved requests for certificates are signed by `ca`.
  void sign_certificates(Identity ca) { signer_.begin(std::move(ca)); }
  // Watch timeouts and bookmarks, lists that take too long, own objects, and what deleted definitions leave
  // to do; about every 200 ms.
  void tick(Time monotonic_now) {
    watches_.tick(monotonic_now);
    watches_.end_replaced(served_.now());
    lists_.tick(monotonic_now);
    custom_.tick();
    own_.tick(monotonic_now);
    signer_.tick(monotonic_now);
    if (token_secrets_) token_secrets_->tick(monotonic_now);
    if (options_.collect_custom_garbage) garbage_.tick(monotonic_now);
    webhooks_.tick();
    flows_.tick(monotonic_now);
  }
  std::size_t open_watches() const { return watches_.open_count(); }
  void close_watches() { watches_.close_all(); }
  // Afterwards no webhook is called, no request that waits begins, and nothing that waits for one submits to
  // the store: called before the store ends.
  void stop_webhooks() {
    conversions_.stop();
    webhooks_.stop();
    flows_.stop();
  }
  // Of admission, and of priority and fairness.
  void write_metrics(MetricsText& text) const {
    webhooks_.write_metrics(text);
    flows_.write_metrics(text);
  }
  // Sets the result of /readyz.
  void set_ready(bool ready) { ready_ = ready; }

  Registry& registry() { return registry_; }

 private:
  // Of a page as a whole (no `check`) or of one of its checks; empty: none.
  std::string health_problem(std::string_view page, std::string_view check) const;
  std::string health_metrics() const;
  // `verbose`: a line for each check.
  HttpResponse health(std::string_view page, std::string_view check, bool verbose) const;
  // OpenID Connect's documents about tokens.
  std::optional<HttpResponse> token_page(std::string_view path) const;
  // Of a user who is known, when the request has its turn.
  void dispatch(HttpRequest request, const ParsedPath& path, std::shared_ptr<HttpExchange> exchange);
  // For a path that names no resource: discovery, metrics and other pages.
  ApiResult<HttpResponse> page(const HttpRequest& request, const ParsedPath& path);

  ConversionWebhooks conversions_;
  Registry registry_;
  FlowControl flows_;
  Access access_;
  const std::unique_ptr<ServiceAccountTokens> tokens_;  // or null
  const std::unique_ptr<TokenSecrets> token_secrets_;   // null without tokens
  std::string url_;                                     // where clients reach the server, once it is known
  ServedResources served_;
  CustomResources custom_;
  CustomGarbage garbage_;
  OwnObjects own_;
  CertificateSigner signer_;
  AdmissionWebhooks webhooks_;
  WatchHub watches_;
  ListLane lists_;
  const ApiServerOptions options_;
  ResourceHandler resources_;
  std::atomic<bool> ready_{false};
};

}  // namespace berth::server
