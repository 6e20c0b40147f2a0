// Requests to an API server over HTTP/2: as a rule on one connection, which is made when it is needed.
//
// Owner: one fetcher's thread. A connection that is lost or sent away (GOAWAY) is followed by another when
// something waits. Each connection makes the next one wait longer (kReconnectPause to kReconnectPauseMax)
// until an answer has come.
#pragma once

#include <span>
#include <vector>

#include "client/http2_connection.h"

namespace berth::client {

inline constexpr Duration kReconnectPause = Duration::millis(100);
inline constexpr Duration kReconnectPauseMax = Duration::seconds(2);
inline constexpr std::size_t kHttp2ConnectionsMax = 4;  // one that takes requests, others that drain

class Http2Client {
 public:
  // The arguments outlive it; `access` names an https:// server. Refuses what client_tls refuses.
  static Result<std::unique_ptr<Http2Client>> open(const ClusterAccess& access,
                                                   const HttpFetcherOptions& options, const Clock& clock,
                                                   BearerToken& token);

  // Waiting and under way.
  std::size_t fetches() const;
  // Its bytes leave in the next work(). When no connection can be made it is NotSent.
  void begin(std::unique_ptr<FetchJob> job);

  // What to poll: one entry a connection, appended; work() takes the answers, in the same order.
  void append_files(std::vector<pollfd>& files) const;
  // When work() is due without an answer of poll; not set: never.
  Time wakes_at() const;
  void work(std::span<const pollfd> files);

  // The server turned out to speak HTTP/1.1 alone. Nothing leaves here any more; take_waiting() gives back
  // what was begun.
  bool is_http1() const { return is_http1_; }
  std::deque<std::unique_ptr<FetchJob>> take_waiting() { return std::exchange(shared_.waiting, {}); }

  // What is under way is Lost, what waits NotSent.
  void end_all();

 private:
  Http2Client(TlsContext context, const ClusterAccess& access, const HttpFetcherOptions& options,
              const Clock& clock, BearerToken& token);
  bool may_connect() const;
  void connect(Time now);
  void settle();
  void end_late(Time now);
  void end_waiting(const std::string& trouble);

  TlsContext context_;
  Http2Shared shared_;
  const std::string name_;  // of the server's certificate
  std::vector<std::unique_ptr<Http2Connection>> connections_;
  std::uint32_t unanswered_ = 0;  // connections since the last answer
  Time connects_at_;              // not before
  bool is_http1_ = false;
};

}  // namespace berth::client
