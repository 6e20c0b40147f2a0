// HTTP for the API server: a request and an exchange for its response. The transport (server/transport) and
// the in-process client both drive this interface; nothing here knows sockets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rbac/user.h"

namespace berth::server {

using rbac::User;

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // upper case
  std::string path;    // percent-decoded, without the query
  std::vector<std::pair<std::string, std::string>>
      query;        // decoded, in order; a flag without '=' has an empty value
  Headers headers;  // as sent; look up with header()
  std::string body;
  User user;  // as the transport established it (client certificate) or --insecure; nameless: nobody
  bool in_process = false;  // a loop of this process asks

  // The first value of the header, case-insensitive; empty when absent.
  std::string_view header(std::string_view name) const;
  // The first value of the query parameter; null when absent.
  const std::string* parameter(std::string_view name) const;
};

// The token in an Authorization header of the scheme Bearer (RFC 6750); empty: there is none.
std::string_view bearer_token(std::string_view authorization);

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
};

// The response side of one request. Every method may be called from any thread, also after the peer has
// disconnected. Exactly one of respond() or begin_stream() is called, once.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  virtual void respond(HttpResponse response) = 0;

  // A chunked response of unknown length (watches).
  virtual void begin_stream(int status, Headers headers) = 0;
  // A chunked response that ends by itself (lists): a peer that sends nothing more still wants it.
  virtual void begin_body(int status, Headers headers) { begin_stream(status, std::move(headers)); }
  // Queues one chunk. False when the peer has disconnected or more than kStreamBufferBytesMax are unsent: the
  // stream is then closed and the caller stops.
  virtual bool send(std::string chunk) = 0;
  // Fewer than kStreamFillBytes wait unsent, or the peer has gone. A sender of much asks before each chunk.
  virtual bool has_room() const { return true; }
  // Calls `callback` once when there is room; at once if there is. It must only hand over. A stream that
  // closes forgets it.
  virtual void on_room(std::function<void()> callback) { callback(); }
  virtual void end_stream() = 0;
  // Closes the connection in the middle, so that the peer sees that something is missing.
  virtual void cut_stream() { end_stream(); }
  // Called once, when the peer has disconnected or the stream was closed; at once if that already happened.
  // A later callback takes the place of an earlier one.
  virtual void on_close(std::function<void()> callback) = 0;
};

inline constexpr std::size_t kStreamBufferBytesMax = 8u << 20;
inline constexpr std::size_t kStreamFillBytes = 256u << 10;
inline constexpr std::size_t kBodyBytesMax = 3u << 20;  // larger bodies are answered 413

// The pages and single checks of health, which no load delays or refuses: "healthz" and "etcd" of
// "/healthz/etcd"; the store takes the place of etcd. Nothing for another path.
struct HealthPath {
  std::string_view page, check;
};
inline constexpr std::string_view kHealthPages[] = {"healthz", "livez", "readyz"};
inline constexpr std::string_view kHealthChecks[] = {"ping", "log", "etcd"};
std::optional<HealthPath> health_path(std::string_view path);

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Called on a pool thread; must not block, apart from short computations.
  virtual void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) = 0;
};

}  // namespace berth::server
