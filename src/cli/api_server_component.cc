#include "cli/api_server_component.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "api/metric_table.h"
#include "base/log.h"
#include "cli/audit_log.h"
#include "cli/line_file.h"
#include "cli/listen_address.h"
#include "cli/request_counts.h"
#include "client/kubeconfig.h"
#include "dra/cel_check.h"
#include "server/transport/certificates.h"

namespace berth::cli {
namespace {

constexpr std::size_t kPoolThreads = 2;
constexpr auto kTickPeriod = std::chrono::milliseconds(200);

}  // namespace

class ApiServerComponent::Ticker {
 public:
  Ticker(server::ApiServer& server, const Clock& clock)
      : thread_([this, &server, &clock](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!stop.stop_requested()) {
            wake_.wait_for(lock, stop, kTickPeriod, [] { return false; });
            server.tick(clock.monotonic());
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

ApiServerComponent::ApiServerComponent(ServerOptions options, const api::Gates& gates)
    : options_(std::move(options)), gates_(gates), requests_(std::make_unique<RequestCounts>()) {}

ApiServerComponent::~ApiServerComponent() {
  stop(Duration::seconds(0));
}

Result<std::unique_ptr<ApiServerComponent>> ApiServerComponent::open(ServerOptions options,
                                                                     const api::Gates& gates) {
  std::unique_ptr<ApiServerComponent> component(new ApiServerComponent(std::move(options), gates));
  if (!component->options_.audit_log.empty())
    component->audit_ = TRY(LineFile::open(component->options_.audit_log, "--audit-log"));
  store::StoreOptions store_options;
  store_options.directory = component->options_.data_directory;
  store_options.watch_window_events = component->options_.watch_window_events;
  store_options.accept_data_loss = component->options_.accept_data_loss;
  component->store_ = TRY(store::open_store(std::move(store_options)));
  component->pool_ = make_thread_pool(kPoolThreads);
  server::ApiServerOptions server_options;
  server_options.warn_unacted = component->options_.warn_unacted;
  server_options.audit = [audit = component->audit_.get(),
                          counts = component->requests_.get()](const server::AuditRecord& record) {
    counts->count(record);
    if (audit) audit->append(audit_line(record));
  };
  server_options.pages = [owner = component.get()](std::string_view path) { return owner->page(path); };
  server_options.metrics = [owner = component.get()] { return owner->metrics(); };
  component->server_ = std::make_unique<server::ApiServer>(
      server::Registry::Dependencies{*component->store_, *component->pool_, component->clock_,
                                     component->random_, gates, dra::check_cel,
                                     component->options_.pod_admission},
      std::move(server_options));
  if (Status made = component->server_->make_default_objects(); !made) return made.error();
  return component;
}

Status ApiServerComponent::start() {
  server::TransportOptions transport;
  const ListenAddress listen = TRY(parse_listen(options_.listen));
  transport.address = listen.address;
  transport.port = listen.port;
  transport.clock = &clock_;
  if (options_.insecure) {
    transport.insecure_user = {"kubernetes-admin", {"system:masters"}};
  } else {
    const server::Certificates certificates =
        options_.data_directory.empty()
            ? TRY(server::generate_certificates({transport.address}, clock_.now()))
            : TRY(server::certificates_in(options_.data_directory + "/pki", {transport.address},
                                          clock_.now()));
    transport.tls = server::TlsMaterial{certificates.server.certificate_pem, certificates.server.key_pem,
                                        certificates.ca.certificate_pem};
    ca_pem_ = certificates.ca.certificate_pem;
    admin_certificate_pem_ = certificates.admin.certificate_pem;
    admin_key_pem_ = certificates.admin.key_pem;
  }
  transport_ = TRY(server::Transport::listen(transport, *server_));
  const server::Endpoint endpoint = transport_->local();
  url_ = url_of(options_.insecure ? "http" : "https", endpoint.address, endpoint.port);
  ticker_ = std::make_unique<Ticker>(*server_, clock_);
  return {};
}

Status ApiServerComponent::ready() {
  server_->set_ready(true);
  if (options_.kubeconfig.empty()) return {};
  client::ClusterAccess access;
  access.server = url_;
  access.ca_pem = ca_pem_;
  access.client_certificate_pem = admin_certificate_pem_;
  access.client_key_pem = admin_key_pem_;
  return client::write_kubeconfig(options_.kubeconfig, access);
}

void ApiServerComponent::show(Shown shown) {
  const std::lock_guard lock(shown_mutex_);
  shown_ = std::move(shown);
}

std::optional<std::string> ApiServerComponent::page(std::string_view path) {
  const std::lock_guard lock(shown_mutex_);
  return shown_.pages ? shown_.pages(path) : std::nullopt;
}

std::string ApiServerComponent::metrics() {
  MetricsText text;
  requests_->write_metrics(text);
  text.family(api::family_of(api::Metric::OpenWatches));
  text.sample({"WATCH"}, server_->open_watches());
  text.single(api::family_of(api::Metric::StoreRevision), store_->revision());
  text.single(api::family_of(api::Metric::StoreObjects), store_->count(""));
  const std::lock_guard lock(shown_mutex_);
  if (shown_.metrics) shown_.metrics(text);
  return text.take();
}

void ApiServerComponent::stop(Duration grace) {
  if (!server_) return;
  server_->set_ready(false);
  ticker_.reset();
  server_->close_watches();
  if (transport_) transport_->stop(grace);
  transport_.reset();
  // Work of the pool may submit to the store, and the store's results may post to the pool: this order ends
  // both.
  pool_->stop();
  store_.reset();
  server_.reset();
  if (options_.kubeconfig_is_temporary) client::remove_kubeconfig(options_.kubeconfig);
}

}  // namespace berth::cli
