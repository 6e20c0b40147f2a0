// One HTTP/2 connection to an API server, which carries many requests at a time: nghttp2 over a TlsStream.
//
// Owner: an Http2Client, on its thread. Requests that are begun in one call leave in as few TLS records and
// sends as they fit; answers come in reads of up to kTlsReadBytes. Cost: some microseconds a request besides
// TLS. Source: RFC 9113 (5.1.2 concurrent streams, 6.8 GOAWAY, 8.7 what a refused stream means).
#pragma once

#include <deque>
#include <map>

#include "client/fetch_job.h"
#include "client/tls_stream.h"

struct nghttp2_session;

namespace berth::client {

inline constexpr std::size_t kHttp2WriteBytes = 64u << 10;  // frames that are put together for a send
inline constexpr std::size_t kHttp2ReadsMax = 16;           // of kTlsReadBytes, until others have a turn
inline constexpr std::int32_t kHttp2StreamWindowBytes = 4 << 20;  // what a server may send unasked: a page…
inline constexpr std::int32_t kHttp2WindowBytes = 16 << 20;       // …and some of them together

// What all connections of a client share.
struct Http2Shared {
  const HttpFetcherOptions& options;
  const Clock& clock;
  BearerToken& token;
  const ServerUrl server;
  std::deque<std::unique_ptr<FetchJob>> waiting;  // begun, but of none of the connections yet
};

class Http2Connection {
 public:
  // `shared` outlives it; work() is called next.
  Http2Connection(Http2Shared& shared, std::unique_ptr<TlsStream> stream, Time connect_deadline);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  enum class Phase {
    Opening,  // until the server's SETTINGS are here: only then its bound of streams is known
    Open,
    Draining,  // the server said GOAWAY: what is under way goes on
    Http1,     // the server does not speak HTTP/2
    Over,
  };
  Phase phase() const { return phase_; }
  bool was_open() const { return was_open_; }
  // Whether an answer has come since this was asked last.
  bool take_answered() { return std::exchange(has_answered_, false); }
  const std::string& trouble() const { return trouble_; }  // why it is Over
  std::size_t fetches() const { return streams_.size(); }

  // The socket, and until when to wait for it at most.
  pollfd awaited() const { return stream_->awaited(); }
  Time wakes_at() const;
  // Moves all bytes that can be moved, begins what waits, ends what is late. `ready`: poll's answer. NotSent:
  // a fetch whose stream was refused or is above the last one of a GOAWAY. Lost: any other fetch without a
  // whole answer when its stream or the connection ends.
  void work(short ready);
  // Everything under way is Lost.
  void end(std::string trouble);

 private:
  struct Callbacks;
  struct FreeSession {
    void operator()(nghttp2_session* session) const;
  };

  Status move_bytes(short ready);
  Status begin_session();
  Status read();
  Status write();
  Status fill();
  bool begin_next();
  void begin(std::unique_ptr<FetchJob> job);
  bool may_begin() const;
  Status check_liveness();
  void end_late();
  std::unique_ptr<FetchJob> take_out(std::int32_t stream);
  void reset(std::int32_t stream, Delivery delivery, std::string trouble);

  Http2Shared& shared_;
  std::unique_ptr<TlsStream> stream_;
  const Time connect_deadline_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
  std::map<std::int32_t, std::unique_ptr<FetchJob>> streams_;  // by deadline, too
  std::string plain_;                                          // frames on their way to TLS
  Phase phase_ = Phase::Opening;
  bool was_open_ = false;
  bool has_answered_ = false;
  std::string trouble_;
  Time now_;
  Time heard_at_;
  Time pinged_at_;  // set while a PING is not answered
};

}  // namespace berth::client
