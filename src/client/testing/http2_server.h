// An HTTP/2 server on loopback, over TLS, that answers or misbehaves by a script. One thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/http_fetch.h"

namespace berth::client {

struct Http2Request {
  int number = 0;  // of the server's, from one
  std::int32_t stream = 0;
  std::string method, path, body;
  HttpHeaders headers;

  std::string_view header(std::string_view name) const;
};

// The server's side of one connection; what a script acts on.
class Http2Peer {
 public:
  virtual ~Http2Peer() = default;
  virtual void respond(std::int32_t stream, int status, std::string body,
                       const HttpHeaders& headers = {}) = 0;
  // The head of an answer that promises a body of `length` bytes; nothing follows.
  virtual void respond_head(std::int32_t stream, std::size_t length) = 0;
  virtual void reset(std::int32_t stream, std::uint32_t code) = 0;
  // What is above `last_stream` was not processed.
  virtual void go_away(std::int32_t last_stream) = 0;
  // After what was sent before.
  virtual void cut() = 0;
  // Reads nothing and says nothing any more, but keeps the connection.
  virtual void fall_silent() = 0;
};

struct Http2ServerOptions {
  std::uint32_t streams_max = 100;
  std::uint32_t stream_window_bytes = 65535;
  bool speaks = true;  // false: does not even send its SETTINGS
};

class Http2Server {
 public:
  using Script = std::function<void(Http2Peer& peer, const Http2Request& request)>;
  using Options = Http2ServerOptions;

  // The script is called on the server's thread with each request that is whole.
  explicit Http2Server(Script script, Options options = {});
  ~Http2Server();
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  // Trusts its certificate, which is for 127.0.0.1 and "server.test".
  const ClusterAccess& access() const { return access_; }
  int connections() const { return connections_; }
  int requests() const { return requests_; }
  // The most that were open at a time.
  int streams_max() const { return streams_max_; }

 private:
  class Loop;
  friend class Loop;

  ClusterAccess access_;
  std::atomic<int> connections_ = 0, requests_ = 0, streams_max_ = 0;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace berth::client
