// The API server as a component of the process: store, pool, routes, transport, kubeconfig.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/gates.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/metrics.h"
#include "base/random.h"
#include "cli/listen_address.h"
#include "client/kubeconfig.h"
#include "server/api_server.h"
#include "server/transport/certificates.h"
#include "server/transport/transport.h"
#include "store/store.h"

namespace berth::api {
class Admission;
}

namespace berth::cli {

struct ServerOptions {
  const api::Admission* pod_admission = nullptr;  // outlives the server; null: none
  std::string data_directory;                     // empty: in memory
  std::string listen = "127.0.0.1:0";
  std::string certificate_directory;          // empty: made anew at every start
  std::vector<std::string> tls_names;         // of the server's certificate, beside those of the address
  std::vector<std::string> allowed_hosts;     // further names in plain HTTP (server::TransportOptions::names)
  std::vector<std::string> webhook_services;  // server::WebhookServices::parse()
  std::string kubeconfig;                     // written once the server is ready; empty: none
  bool kubeconfig_is_temporary = false;       // removed with its folder when the server stops
  std::string audit_log;
  std::size_t watch_window_events = store::StoreOptions{}.watch_window_events;
  bool accept_data_loss = false;
  bool insecure = false;
  bool warn_unacted = false;
  bool collect_custom_garbage = false;                        // server::ApiServerOptions
  std::vector<std::string> unacted;                           // the same
  bool fills_token_secrets = false;                           // server::ApiServer
  api::PodAccounts pod_accounts = api::PodAccounts::AsGiven;  // the same
};

class LineFile;
class RequestCounts;

// Owner: the main thread. Serves from start() until stop().
class ApiServerComponent {
 public:
  // Opens the store and creates the default objects; nothing is reachable yet.
  static Result<std::unique_ptr<ApiServerComponent>> open(ServerOptions options, const api::Gates& gates);
  ~ApiServerComponent();

  // Binds; connections wait until serve().
  Status start();
  // Serves requests; /readyz fails until ready().
  void serve() { transport_->accept_now(); }
  // /readyz succeeds, and the kubeconfig is written.
  Status ready();
  void stop(Duration grace);

  // Metrics that the server adds to its own, further pages, and a link to the dashboard; empty removes them.
  // Called on the server's threads.
  struct Shown {
    std::function<void(MetricsText&)> metrics;
    std::function<std::optional<std::string>(std::string_view path)> pages;
    std::function<std::string()> dashboard = {};
  };
  void show(Shown shown);

  server::ApiServer& server() { return *server_; }
  store::Store& store() { return *store_; }
  // "https://127.0.0.1:6443"
  const std::string& url() const { return url_; }
  // Where the kubeconfig is written; empty for none.
  const std::string& kubeconfig() const { return options_.kubeconfig; }
  // PEM; empty when it serves plain HTTP. After start().
  const std::string& ca_certificate() const { return certificates_.ca.certificate_pem; }
  // What the administrator's kubeconfig says. After start().
  client::ClusterAccess administrator() const;
  // Empty in memory.
  const std::string& data_directory() const { return options_.data_directory; }

 private:
  std::string metrics();
  std::optional<std::string> page(std::string_view path);
  std::string dashboard();
  explicit ApiServerComponent(ServerOptions options);
  Result<server::Certificates> certificates() const;
  // Kept with the certificates, or made again at every start.
  Result<server::TokenKey> token_key() const;
  void renew_certificates();
  Status bind(server::TransportOptions transport);
  Status write_kubeconfig() const;
  std::string port_file() const { return options_.certificate_directory + "/port"; }

  ServerOptions options_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<LineFile> audit_;
  std::unique_ptr<RequestCounts> requests_;
  std::mutex shown_mutex_;
  Shown shown_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<server::ApiServer> server_;
  std::unique_ptr<server::Transport> transport_;
  std::string url_;
  ListenAddress listen_;
  std::vector<std::string> machine_;  // addresses and name
  server::Certificates certificates_;
  class Ticker;
  std::unique_ptr<Ticker> ticker_;  // watch timeouts and bookmarks, renewed certificates
};

}  // namespace berth::cli
