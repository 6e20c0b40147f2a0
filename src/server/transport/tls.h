// The server's TLS, on OpenSSL's own types: which peers may connect, and who the peer is.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

struct FreeTlsSession {
  void operator()(ssl_st* session) const;
};

// The server's side of one TLS connection, on a non-blocking socket that it does not own.
//
// One thread at a time. It holds a buffer (a record, 17 KiB) only while a part of a record has been read or
// could not be written.
class TlsSession {
 public:
  enum class State {
    Done,
    WantsRead,   // go on when the socket can be read
    WantsWrite,  // go on when it can be written; a write with the same bytes, which may have moved
    Ended,       // by the peer, or by an error
  };
  struct Step {
    State state;
    std::size_t bytes = 0;  // of a read or a write that is Done; at least one
  };

  // Later changes of `context` do not concern it.
  TlsSession(ssl_ctx_st* context, int socket);

  Step shake_hands();
  Step read(std::span<char> into);
  // At most one record: the first 16 KiB.
  Step write(std::string_view bytes);
  // Whether read() has something to look at that the socket does not show.
  bool holds_input() const;

  // The user of the verified client certificate, as in Kubernetes: CN is the name, every O a group. No name
  // without a certificate.
  User user() const;
  // Whether the handshake ended because the peer speaks plain HTTP.
  bool met_plain_http() const { return met_plain_http_; }

 private:
  Step step_of(int outcome, std::size_t bytes);

  std::unique_ptr<ssl_st, FreeTlsSession> session_;
  bool met_plain_http_ = false;
};

}  // namespace berth::server
