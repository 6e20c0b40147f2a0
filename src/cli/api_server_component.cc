#include "cli/api_server_component.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "api/metric_table.h"
#include "base/log.h"
#include "cli/audit_log.h"
#include "cli/line_file.h"
#include "cli/open_files.h"
#include "cli/request_counts.h"
#include "cli/served_names.h"
#include "dra/cel_check.h"

namespace berth::cli {
namespace {

constexpr std::size_t kPoolThreads = 2;
constexpr auto kTickPeriod = std::chrono::milliseconds(200);
constexpr int kTicksOfRenewal = 5 * 3600;  // an hour

}  // namespace

class ApiServerComponent::Ticker {
 public:
  explicit Ticker(ApiServerComponent& owner)
      : thread_([this, &owner](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          for (int tick = 1; !stop.stop_requested(); ++tick) {
            wake_.wait_for(lock, stop, kTickPeriod, [] { return false; });
            owner.server_->tick(owner.clock_.monotonic());
            if (tick % kTicksOfRenewal == 0) owner.renew_certificates();
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

ApiServerComponent::ApiServerComponent(ServerOptions options)
    : options_(std::move(options)), requests_(std::make_unique<RequestCounts>()) {}

ApiServerComponent::~ApiServerComponent() {
  stop(Duration::seconds(0));
}

Result<std::unique_ptr<ApiServerComponent>> ApiServerComponent::open(ServerOptions options,
                                                                     const api::Gates& gates) {
  std::unique_ptr<ApiServerComponent> component(new ApiServerComponent(std::move(options)));
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
  server_options.unacted = component->options_.unacted;
  if (component->options_.insecure)
    server_options.unacted.emplace_back("certificatesigningrequests.certificates.k8s.io");
  server_options.calls_admission_webhooks = true;
  server_options.webhook_services = TRY(server::WebhookServices::parse(component->options_.webhook_services));
  server_options.collect_custom_garbage = component->options_.collect_custom_garbage;
  server_options.audit = [audit = component->audit_.get(),
                          counts = component->requests_.get()](const server::AuditRecord& record) {
    counts->count(record);
    if (audit) audit->append(audit_line(record));
  };
  server_options.pages = [owner = component.get()](std::string_view path) { return owner->page(path); };
  server_options.dashboard = [owner = component.get()] { return owner->dashboard(); };
  server_options.metrics = [owner = component.get()] { return owner->metrics(); };
  server_options.token_key = TRY(component->token_key());
  server_options.pod_accounts = component->options_.pod_accounts;
  component->server_ = std::make_unique<server::ApiServer>(
      server::Registry::Dependencies{*component->store_, *component->pool_, component->clock_,
                                     component->random_, gates, dra::check_cel,
                                     component->options_.pod_admission},
      std::move(server_options));
  if (Status made = component->server_->make_default_objects(); !made) return made.error();
  if (Status made = component->server_->make_bootstrap_roles(); !made) return made.error();
  if (Status made = component->server_->make_flow_objects(); !made) return made.error();
  return component;
}

Result<server::Certificates> ApiServerComponent::certificates() const {
  const std::vector<std::string> names = names_of(listen_, options_.tls_names, machine_);
  return options_.certificate_directory.empty()
             ? server::generate_certificates(names, clock_.now())
             : server::certificates_in(options_.certificate_directory, names, clock_.now());
}

Result<server::TokenKey> ApiServerComponent::token_key() const {
  const std::string& folder = options_.certificate_directory;
  if (folder.empty()) return server::TokenKey::generate();
  TRY(server::make_certificate_folder(folder));
  return server::TokenKey::in_file(folder + "/sa.key");
}

// A port of the last start that others took meanwhile is given up: clients need the new kubeconfig.
Status ApiServerComponent::bind(server::TransportOptions transport) {
  const bool any_port = transport.port == 0 && !options_.certificate_directory.empty();
  if (any_port) transport.port = remembered_port(port_file());
  auto bound = server::Transport::listen(transport, *server_);
  if (!bound && any_port && transport.port != 0 && bound.error().code() == ErrorCode::Unavailable) {
    log(LogLevel::Warning, "the port of the last start is in use: kubeconfigs of then do not work",
        {{"port", std::to_string(transport.port)}});
    transport.port = 0;
    bound = server::Transport::listen(transport, *server_);
  }
  if (!bound) return bound.error();
  transport_ = std::move(*bound);
  return any_port ? remember_port(port_file(), transport_->local().port) : Status();
}

Status ApiServerComponent::start() {
  server::TransportOptions transport;
  listen_ = TRY(parse_listen(options_.listen));
  machine_ = machine_addresses();
  transport.address = listen_.address;
  transport.port = listen_.port;
  transport.clock = &clock_;
  transport.accepts = server::Accepts::Later;
  transport.names = names_of(listen_, options_.tls_names, machine_);
  for (const std::string& name : options_.allowed_hosts) transport.names.push_back(name);
  if (const Status files = raise_open_files(transport.limits.connections_max); !files)
    log(LogLevel::Warning, files.error().message());
  if (options_.insecure) {
    transport.insecure_user = {"kubernetes-admin", {"system:masters"}};
  } else {
    certificates_ = TRY(certificates());
    transport.tls = server::TlsMaterial{certificates_.server.certificate_pem, certificates_.server.key_pem,
                                        certificates_.ca.certificate_pem};
    server_->sign_certificates(certificates_.ca);
  }
  if (options_.fills_token_secrets) server_->fill_token_secrets(certificates_.ca.certificate_pem);
  TRY(bind(std::move(transport)));
  url_ = url_of(options_.insecure ? "http" : "https",
                reachable_address(listen_, options_.tls_names, machine_), transport_->local().port);
  server_->keep_own_objects({endpoint_address(listen_, machine_), transport_->local().port});
  ticker_ = std::make_unique<Ticker>(*this);
  return {};
}

Status ApiServerComponent::ready() {
  server_->set_ready(true);
  return write_kubeconfig();
}

client::ClusterAccess ApiServerComponent::administrator() const {
  client::ClusterAccess access;
  access.server = url_;
  access.ca_pem = certificates_.ca.certificate_pem;
  access.client_certificate_pem = certificates_.admin.certificate_pem;
  access.client_key_pem = certificates_.admin.key_pem;
  return access;
}

Status ApiServerComponent::write_kubeconfig() const {
  return options_.kubeconfig.empty() ? Status()
                                     : client::write_kubeconfig(options_.kubeconfig, administrator());
}

// Those that end soon are issued anew; what cannot be renewed now is tried again.
void ApiServerComponent::renew_certificates() {
  if (options_.insecure || options_.certificate_directory.empty()) return;
  Result<server::Certificates> found = certificates();
  if (found && found->server.certificate_pem == certificates_.server.certificate_pem &&
      found->admin.certificate_pem == certificates_.admin.certificate_pem)
    return;
  Status done = found ? transport_->use_identity(
                            {found->server.certificate_pem, found->server.key_pem, found->ca.certificate_pem})
                      : Status(found.error());
  if (done.ok()) {
    certificates_ = *std::move(found);
    done = write_kubeconfig();
  }
  if (done.ok())
    log(LogLevel::Info, "certificates were renewed", {{"folder", options_.certificate_directory}});
  else
    log(LogLevel::Warning, "certificates could not be renewed", {{"error", done.error().text()}});
}

void ApiServerComponent::show(Shown shown) {
  const std::lock_guard lock(shown_mutex_);
  shown_ = std::move(shown);
}

std::optional<std::string> ApiServerComponent::page(std::string_view path) {
  const std::lock_guard lock(shown_mutex_);
  return shown_.pages ? shown_.pages(path) : std::nullopt;
}

std::string ApiServerComponent::dashboard() {
  const std::lock_guard lock(shown_mutex_);
  return shown_.dashboard ? shown_.dashboard() : "";
}

std::string ApiServerComponent::metrics() {
  MetricsText text;
  requests_->write_metrics(text);
  text.family(api::family_of(api::Metric::OpenWatches));
  text.sample({"WATCH"}, server_->open_watches());
  text.single(api::family_of(api::Metric::StoreRevision), store_->revision());
  text.single(api::family_of(api::Metric::StoreObjects), store_->count(""));
  server_->write_metrics(text);
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
  // Work of the pool and conversions may submit to the store, whose results may post to both: this order ends
  // all of them.
  pool_->stop();
  server_->stop_webhooks();
  store_.reset();
  server_.reset();
  if (options_.kubeconfig_is_temporary) client::remove_kubeconfig(options_.kubeconfig);
}

}  // namespace berth::cli
