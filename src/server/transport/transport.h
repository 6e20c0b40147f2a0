// HTTP/1.1 on real sockets, plain or TLS: connections become HttpRequests for one handler.
//
// Threads: its own pool; the handler is called on it, each connection's requests in order, one at a time.
// Cost: a request of a warm connection is one read, one parse and one write; a silent connection holds a
// socket and no buffer. Every wait and every buffer has a bound in TransportLimits or a name below. Source:
// RFC 9112; the transport's own refusals have metav1.Status bodies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "server/http.h"
#include "server/transport/tls.h"

namespace berth::server {

inline constexpr std::size_t kHeaderBytesMax = 64u << 10;      // of one request; more gets 431
inline constexpr std::size_t kPipelinedBytesMax = 256u << 10;  // read ahead while a response is being made
inline constexpr std::size_t kLingerBytesMax = 32u << 20;      // discarded after a connection's last response

struct TransportLimits {
  // A further one takes the slot of the longest silent stranger (strangers.h): one without a client
  // certificate or, in plain HTTP, a request. Without any stranger it is closed at once.
  std::size_t connections_max = 12'288;
  std::size_t strangers_per_address_max = 1024;
  // Of all answers together that peers have not read yet; while there are more, requests are answered 429.
  std::size_t unsent_bytes_max = 512u << 20;
  Duration header_timeout = Duration::seconds(15);  // TLS handshake; first byte to end of the header
  Duration body_timeout = Duration::seconds(60);    // end of the header to end of the body
  Duration idle_timeout = Duration::minutes(10);    // between requests; clients keep connections for long
  Duration stall_timeout = Duration::seconds(30);   // a write of which the peer reads nothing
  Duration linger_timeout = Duration::seconds(2);   // for the peer to read a last response
};

// Later: connections wait with the operating system until accept_now().
enum class Accepts { AtOnce, Later };

struct TransportOptions {
  std::string address = "127.0.0.1";  // numeric, or "localhost"
  std::uint16_t port = 0;             // 0: any free one
  std::optional<TlsMaterial> tls;     // absent: plain HTTP, where every request is `insecure_user`'s
  User insecure_user;
  std::vector<std::string> names;  // of this server in plain HTTP, beside those that need none (host_names.h)
  const Clock* clock = nullptr;    // for the Date header, outlives the transport; null: no Date
  unsigned threads = 2;
  TransportLimits limits;
  Accepts accepts = Accepts::AtOnce;
};

struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

class Transport {
 public:
  // Starts to serve. `handler` outlives the transport. With TLS, a request without a client certificate has a
  // user without a name: the handler reads its Authorization header. Refuses plain HTTP on an address that is
  // not loopback (Forbidden), material that is not a TLS identity (Invalid) and an address that cannot be
  // bound (Unavailable).
  static Result<std::unique_ptr<Transport>> listen(const TransportOptions& options, HttpHandler& handler);

  // Stops at once.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // Of a transport that accepts later: once.
  void accept_now();

  // With TLS: later connections get this identity, open ones keep theirs. Refuses (Invalid) material that is
  // not a TLS identity; then nothing changes. Thread-safe.
  Status use_identity(const TlsMaterial& material);

  Endpoint local() const;
  std::size_t connection_count() const;
  // Read and not parsed, or being written: of all connections, each asked on its strand. Not to be called
  // from the handler or after stop().
  std::size_t buffered_bytes() const;

  // Accepts nothing more, ends streams with a clean last chunk, gives responses in flight up to `grace`,
  // closes the rest and joins its threads. Blocks; not to be called from the handler. A second call does
  // nothing. Exchanges that handlers still hold stay usable and do nothing.
  void stop(Duration grace);

 private:
  class Pool;
  explicit Transport(std::unique_ptr<Pool> pool);
  std::unique_ptr<Pool> pool_;
};

}  // namespace berth::server
