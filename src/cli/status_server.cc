#include "cli/status_server.h"

#include <mutex>

#include "cli/listen_address.h"
#include "cli/metrics_access.h"
#include "server/transport/certificates.h"

namespace berth::cli {
namespace {

server::HttpResponse page(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

server::HttpResponse metrics_refusal(MetricsAccess::Answer answer) {
  switch (answer) {
    case MetricsAccess::Answer::NoUser: {
      server::HttpResponse response = page(401, "metrics are for users: send a token of the cluster\n");
      response.headers.emplace_back("WWW-Authenticate", "Bearer");
      return response;
    }
    case MetricsAccess::Answer::Forbidden:
      return page(403, "this user has no right to get the path /metrics\n");
    default:
      return page(503, "the API server did not say who asks\n");
  }
}

}  // namespace

class StatusServer::Handler final : public server::HttpHandler,
                                    public std::enable_shared_from_this<StatusServer::Handler> {
 public:
  // `access`: null on loopback.
  Handler(StatusPages pages, std::shared_ptr<MetricsAccess> access)
      : pages_(std::move(pages)), access_(std::move(access)) {}

  void handle(server::HttpRequest request, std::shared_ptr<server::HttpExchange> exchange) override {
    if (!access_ || request.path != "/metrics" || !reads(request)) return exchange->respond(answer(request));
    access_->ask(request.header("Authorization"),
                 [weak = weak_from_this(), exchange](MetricsAccess::Answer access) {
                   if (access != MetricsAccess::Answer::Allowed)
                     exchange->respond(metrics_refusal(access));
                   else if (const auto self = weak.lock())
                     self->show_metrics(*exchange);
                 });
  }

  // What the pages show may be gone afterwards.
  void shut() {
    const std::lock_guard lock(mutex_);
    shut_ = true;
  }

 private:
  static bool reads(const server::HttpRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
  }

  server::HttpResponse answer(const server::HttpRequest& request) const {
    if (!reads(request)) return page(405, "method not allowed\n");
    if (request.path == "/healthz" || request.path == "/livez") return page(200, "ok");
    if (request.path == "/readyz") return readiness();
    if (pages_.pages)
      if (std::optional<std::string> found = pages_.pages(request.path))
        return {200, {{"Content-Type", "application/json"}}, *std::move(found)};
    return request.path == "/metrics" ? metrics() : page(404, "404 page not found\n");
  }

  server::HttpResponse metrics() const {
    return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, pages_.metrics()};
  }

  server::HttpResponse readiness() const {
    std::string text = "not ready";
    const std::vector<std::string> refused = pages_.refused();
    for (const std::string& sentence : refused) text += "\n" + sentence;
    return pages_.ready() && refused.empty() ? page(200, "ok") : page(500, std::move(text));
  }

  void show_metrics(server::HttpExchange& exchange) {
    const std::lock_guard lock(mutex_);
    exchange.respond(shut_ ? page(503, "stopping\n") : metrics());
  }

  const StatusPages pages_;
  const std::shared_ptr<MetricsAccess> access_;
  std::mutex mutex_;
  bool shut_ = false;
};

StatusServer::StatusServer(StatusPages pages, std::shared_ptr<MetricsAccess> access)
    : handler_(std::make_shared<Handler>(std::move(pages), std::move(access))) {}

StatusServer::~StatusServer() {
  handler_->shut();
  transport_.reset();
}

Result<std::unique_ptr<StatusServer>> StatusServer::open(const std::string& listen, StatusPages pages,
                                                         client::ApiClient& reviewer, const Clock& clock) {
  const ListenAddress address = TRY(parse_listen(listen));
  const bool local_only = is_loopback(address);
  std::shared_ptr<MetricsAccess> access;
  if (!local_only) {
    pages.pages = nullptr;
    access = std::make_shared<MetricsAccess>(reviewer, clock);
  }
  std::unique_ptr<StatusServer> server(new StatusServer(std::move(pages), std::move(access)));
  server::TransportOptions options;
  options.address = address.address;
  options.port = address.port;
  options.threads = 1;
  if (!local_only) {
    const server::Identity own = TRY(server::generate_certificates({address.address}, clock.now())).server;
    options.tls = server::TlsMaterial{own.certificate_pem, own.key_pem, ""};
  }
  server->transport_ = TRY(server::Transport::listen(options, *server->handler_));
  const server::Endpoint local = server->transport_->local();
  server->url_ = url_of(local_only ? "http" : "https", local.address, local.port);
  return server;
}

}  // namespace berth::cli
