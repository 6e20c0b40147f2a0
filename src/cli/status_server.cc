#include "cli/status_server.h"

#include "cli/listen_address.h"
#include "server/transport/certificates.h"

namespace berth::cli {
namespace {

server::HttpResponse page(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

}  // namespace

class StatusServer::Handler final : public server::HttpHandler {
 public:
  explicit Handler(StatusPages pages) : pages_(std::move(pages)) {}

  void handle(server::HttpRequest request, std::shared_ptr<server::HttpExchange> exchange) override {
    exchange->respond(answer(request));
  }

 private:
  server::HttpResponse answer(const server::HttpRequest& request) const {
    if (request.method != "GET" && request.method != "HEAD") return page(405, "method not allowed\n");
    if (request.path == "/healthz" || request.path == "/livez") return page(200, "ok");
    if (request.path == "/readyz") return pages_.ready() ? page(200, "ok") : page(500, "not ready");
    if (pages_.pages)
      if (std::optional<std::string> found = pages_.pages(request.path))
        return {200, {{"Content-Type", "application/json"}}, *std::move(found)};
    if (request.path != "/metrics") return page(404, "404 page not found\n");
    return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, pages_.metrics()};
  }

  StatusPages pages_;
};

StatusServer::StatusServer(StatusPages pages) : handler_(std::make_unique<Handler>(std::move(pages))) {}
StatusServer::~StatusServer() = default;

Result<std::unique_ptr<StatusServer>> StatusServer::open(const std::string& listen, StatusPages pages,
                                                         Time now) {
  const ListenAddress address = TRY(parse_listen(listen));
  const bool local_only = is_loopback(address);
  if (!local_only) pages.pages = nullptr;
  std::unique_ptr<StatusServer> server(new StatusServer(std::move(pages)));
  server::TransportOptions options;
  options.address = address.address;
  options.port = address.port;
  options.threads = 1;
  if (!local_only) {
    const server::Identity own = TRY(server::generate_certificates({address.address}, now)).server;
    options.tls = server::TlsMaterial{own.certificate_pem, own.key_pem, ""};
  }
  server->transport_ = TRY(server::Transport::listen(options, *server->handler_));
  const server::Endpoint local = server->transport_->local();
  server->url_ = url_of(local_only ? "http" : "https", local.address, local.port);
  return server;
}

}  // namespace berth::cli
