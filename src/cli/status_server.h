// /healthz, /livez, /readyz, /metrics and perhaps more of a part.
//
// Plain HTTP on loopback. On any other address, where a kubelet probes and Prometheus collects: TLS with a
// certificate made at the start that nobody has signed, as kube-scheduler does, and only those four pages,
// because requests bear no user there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/transport/transport.h"

namespace berth::cli {

struct StatusPages {
  std::function<bool()> ready;
  std::function<std::string()> metrics;  // in the text form of Prometheus
  // JSON of further pages, by path; none: no such page. Loopback only.
  std::function<std::optional<std::string>(std::string_view path)> pages;
};

class StatusServer {
 public:
  // Serves until it is destroyed. The functions are called on its threads. `now` is of the certificate.
  // Refuses what parse_listen and Transport::listen refuse.
  static Result<std::unique_ptr<StatusServer>> open(const std::string& listen, StatusPages pages, Time now);
  ~StatusServer();
  const std::string& url() const { return url_; }

 private:
  class Handler;
  explicit StatusServer(StatusPages pages);
  std::unique_ptr<Handler> handler_;
  std::unique_ptr<server::Transport> transport_;
  std::string url_;
};

}  // namespace berth::cli
