// The server's TLS, on OpenSSL's own types: which peers may connect, and who the peer is.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "server/http.h"

struct ssl_ctx_st;
struct ssl_st;

namespace berth::server {

struct TlsMaterial {
  std::string certificate_pem;  // the server's, leaf first
  std::string key_pem;
  std::string client_ca_pem;  // client certificates must chain to one of these; empty: none are requested
};

struct FreeTlsContext {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTlsContext>;

// TLS 1.2 or newer, ALPN http/1.1 only (a client that offers only others is refused), client certificates
// optional, no session resumption. Refuses (Invalid) material that does not parse or fit together.
Result<TlsContext> server_tls(const TlsMaterial& material);

// The user of the verified client certificate, as in Kubernetes: CN is the name, every O a group. No name
// without a certificate.
User user_of(const ssl_st* connection);

// Whether a handshake failed because the peer speaks plain HTTP. `error` is OpenSSL's.
bool is_plain_http(unsigned long error);

}  // namespace berth::server
