// /healthz, /livez, /readyz, /metrics and perhaps more of a part, over plain HTTP.
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
  // JSON of further pages, by path; none: no such page.
  std::function<std::optional<std::string>(std::string_view path)> pages;
};

class StatusServer {
 public:
  // Serves until it is destroyed. The functions are called on its threads. Refuses what parse_listen and
  // Transport::listen refuse: plain HTTP stays on loopback.
  static Result<std::unique_ptr<StatusServer>> open(const std::string& listen, StatusPages pages);
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
