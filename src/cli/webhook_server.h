// The binder's admission webhook: AdmissionReviews over HTTPS (server/admission_review.h).
//
// Every replica serves it, leader or not: an answer depends on the request alone. The certificate is read
// again when its files change; open connections keep the one that they began with.
#pragma once

#include <memory>
#include <string>

#include "api/admission.h"
#include "base/time.h"
#include "server/transport/transport.h"

namespace berth::cli {

inline constexpr std::size_t kTlsFileBytesMax = 1u << 20;
inline constexpr Duration kTlsReloadPeriod = Duration::seconds(1);

struct WebhookOptions {
  std::string listen;  // ADDR:PORT
  std::string certificate_file;
  std::string key_file;
};

// Owner: one thread. Serves until its destruction.
class WebhookServer {
 public:
  // `pods` outlives it. Refuses missing files, files that are no PEM identity, and what parse_listen and
  // Transport::listen refuse.
  static Result<std::unique_ptr<WebhookServer>> open(WebhookOptions options, const api::Admission& pods);
  ~WebhookServer();

  // Uses the files' new contents, at most once in kTlsReloadPeriod. Contents that are no identity are logged
  // and not used.
  void reload(Time monotonic_now);
  const std::string& url() const { return url_; }

 private:
  class Handler;
  WebhookServer(WebhookOptions options, const api::Admission& pods);
  Result<server::TlsMaterial> read_files() const;

  const WebhookOptions options_;
  std::unique_ptr<Handler> handler_;
  std::unique_ptr<server::Transport> transport_;
  server::TlsMaterial seen_;  // the latest contents, used or refused
  Time next_reload_;
  std::string url_;
};

}  // namespace berth::cli
