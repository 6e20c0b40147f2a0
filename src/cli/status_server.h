// /healthz, /livez, /readyz, /metrics and further pages of a component.
//
// Plain HTTP on loopback. Any other address, for a kubelet's probes and Prometheus, has only those four
// pages. It uses TLS with a self-signed certificate made at the start, like kube-scheduler's. The API server
// decides who may read /metrics there (metrics_access.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "server/transport/transport.h"

namespace berth::cli {

class MetricsAccess;

struct StatusPages {
  std::function<bool()> ready;
  // What the API server refuses that the component needs, a sentence each: it is not ready.
  std::function<std::vector<std::string>()> refused;
  std::function<std::string()> metrics;  // in Prometheus' text format
  // Further pages in JSON, by path; none: no such page. Loopback only.
  std::function<std::optional<std::string>(std::string_view path)> pages;
};

class StatusServer {
 public:
  // Serves until its destruction. The functions are called on its threads. `now` is for the certificate.
  // `reviewer` (who asks for /metrics, unless on loopback) and `clock` outlive it. Refuses what parse_listen
  // and Transport::listen refuse.
  static Result<std::unique_ptr<StatusServer>> open(const std::string& listen, StatusPages pages,
                                                    client::ApiClient& reviewer, const Clock& clock);
  ~StatusServer();
  const std::string& url() const { return url_; }

 private:
  class Handler;
  StatusServer(StatusPages pages, std::shared_ptr<MetricsAccess> access);
  std::shared_ptr<Handler> handler_;  // also of answers under way
  std::unique_ptr<server::Transport> transport_;
  std::string url_;
};

}  // namespace berth::cli
