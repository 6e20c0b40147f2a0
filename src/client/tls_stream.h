// A TLS connection to an API server on a non-blocking socket, and what it trusts and shows.
//
// Owner: one thread. Nothing waits, but for the lookup of a host that is a name (getaddrinfo; its time is
// bounded by resolv.conf). OpenSSL works on memory, so that a system call carries many records: flush() is
// one send of all that was written, receive() one recv of up to kTlsReadBytes. Source: RFC 8446, RFC 6125,
// RFC 7301.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/kubeconfig.h"
#include "client/url.h"

struct addrinfo;
struct ssl_ctx_st;
struct ssl_st;

namespace berth::client {

inline constexpr std::size_t kTlsReadBytes = 64u << 10;
inline constexpr std::size_t kTlsAddressesMax = 16;  // of one host; more are not tried

struct FreeTls {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* session) const;
  void operator()(addrinfo* addresses) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTls>;

// Unavailable: of a connection that does not come about, or ends.
Error broken_connection(std::string sentence);

// TLS 1.2 or newer, offering h2 and http/1.1; authorities (the machine's own when `access` names none) and
// client certificate of `access`. Refuses (Invalid) PEM texts that do not parse or do not fit together.
Result<TlsContext> client_tls(const ClusterAccess& access);

class TlsStream {
 public:
  // Begins to connect. `name` is what the server's certificate must bear, and `context` outlives the stream.
  // Refuses (Unavailable) a host that has no address.
  static Result<std::unique_ptr<TlsStream>> connect(ssl_ctx_st* context, const ServerUrl& server,
                                                    const std::string& name, Time deadline);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // The socket and what to wait for before the next call…
  pollfd awaited() const;
  // …and, before the stream is open, until when.
  Time advances_at() const { return address_deadline_; }
  // Connects and shakes hands as far as that goes; each address gets its share of the time. True once the
  // stream is open. Refuses (Unavailable) when the last address failed or the deadline has passed.
  Result<bool> advance(Time now);
  // Whether the server chose HTTP/2. Of an open stream.
  bool speaks_h2() const;

  // Takes what has arrived, at most kTlsReadBytes, and returns its size. decrypted() then returns it piece by
  // piece, each valid until the next call, and an empty one at the end. Both refuse (Unavailable) when the
  // connection is over.
  Result<std::size_t> receive();
  Result<std::string_view> decrypted();

  // Encrypts `plain` for the next flush(), which sends what the socket takes. Both refuse (Unavailable).
  Status write(std::string_view plain);
  Status flush();
  bool has_unsent() const { return sent_ < unsent_.size(); }

 private:
  enum class State { Connecting, Handshaking, Open };

  TlsStream(ssl_ctx_st* context, std::string name);
  Status try_next_address(Time now);
  Status begin_handshake();
  Result<bool> finish_connect();
  Result<bool> shake_hands();
  void take_encrypted();
  void close_socket();

  ssl_ctx_st* const context_;
  const std::string name_;
  std::unique_ptr<addrinfo, FreeTls> addresses_;
  addrinfo* next_address_ = nullptr;
  std::size_t addresses_left_ = 0;
  Time deadline_;
  Time address_deadline_;
  std::string trouble_;  // of the address that was tried last

  int file_ = -1;
  State state_ = State::Connecting;
  std::unique_ptr<ssl_st, FreeTls> tls_;
  std::vector<char> room_;  // for what is received, then for what is decrypted
  std::string unsent_;      // encrypted
  std::size_t sent_ = 0;    // of unsent_
};

}  // namespace berth::client
