#include "cli/webhook_server.h"

#include "base/log.h"
#include "base/text_file.h"
#include "cli/listen_address.h"
#include "server/admission_review.h"

namespace berth::cli {

class WebhookServer::Handler final : public server::HttpHandler {
 public:
  explicit Handler(const api::Admission& pods) : pods_(pods) {}
  void handle(server::HttpRequest request, std::shared_ptr<server::HttpExchange> exchange) override {
    exchange->respond(server::review_admission(request, pods_));
  }

 private:
  const api::Admission& pods_;
};

WebhookServer::WebhookServer(WebhookOptions options, const api::Admission& pods)
    : options_(std::move(options)), handler_(std::make_unique<Handler>(pods)) {}
WebhookServer::~WebhookServer() = default;

Result<server::TlsMaterial> WebhookServer::read_files() const {
  server::TlsMaterial material;
  material.certificate_pem = TRY(read_text_file(options_.certificate_file, kTlsFileBytesMax));
  material.key_pem = TRY(read_text_file(options_.key_file, kTlsFileBytesMax));
  return material;
}

Result<std::unique_ptr<WebhookServer>> WebhookServer::open(WebhookOptions options,
                                                           const api::Admission& pods) {
  for (const auto& [flag, file] : {std::pair("--tls-cert-file", &options.certificate_file),
                                   std::pair("--tls-private-key-file", &options.key_file)})
    if (file->empty())
      return Error(ErrorCode::Invalid, flag, "is needed by --webhook: API servers call webhooks over HTTPS");
  const ListenAddress address = TRY(parse_listen(options.listen));
  std::unique_ptr<WebhookServer> server(new WebhookServer(std::move(options), pods));
  server->seen_ = TRY(server->read_files());
  server::TransportOptions transport;
  transport.address = address.address;
  transport.port = address.port;
  transport.tls = server->seen_;
  server->transport_ = TRY(server::Transport::listen(transport, *server->handler_));
  const server::Endpoint local = server->transport_->local();
  server->url_ = url_of("https", local.address, local.port);
  return server;
}

void WebhookServer::reload(Time monotonic_now) {
  if (monotonic_now < next_reload_) return;
  next_reload_ = monotonic_now + kTlsReloadPeriod;
  Result<server::TlsMaterial> found = read_files();
  if (!found) return;  // being replaced; the identity in use stays valid
  if (found->certificate_pem == seen_.certificate_pem && found->key_pem == seen_.key_pem) return;
  seen_ = *std::move(found);
  if (const Status used = transport_->use_identity(seen_); !used)
    return log(LogLevel::Warning, "the webhook keeps its certificate: the new files are not used",
               {{"file", options_.certificate_file}, {"error", used.error().text()}});
  log(LogLevel::Info, "the webhook uses a new certificate", {{"file", options_.certificate_file}});
}

}  // namespace berth::cli
