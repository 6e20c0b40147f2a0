// HTTP requests of this process to one API server, on one thread of its own.
//
// Fetches go over one HTTP/2 connection (nghttp2) where the server offers h2 over TLS and no proxy is
// configured; streams, and all other servers, over HTTP/1.1 (libcurl). A server that has chosen HTTP/1.1 once
// is asked for nothing else until the fetcher ends. Never follows a redirect, never sends a request twice,
// never sends a credential over plain HTTP. Callbacks run on the fetcher's thread (those of refused requests
// inline) and must only hand over. Every queue has a bound; every wait has one in HttpFetcherOptions, except
// the lookup of a host name (resolv.conf bounds it), which the thread itself waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/api_client.h"
#include "client/kubeconfig.h"

namespace berth::client {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpFetch {
  std::string method = "GET";
  std::string target;  // "/api/v1/pods?limit=500", already encoded; the server's path prefix is put before it
  HttpHeaders headers = {};
  // Over HTTP/1.1, a write without a body takes a fresh connection, because libcurl would repeat it on
  // another when a kept one turns out to be dead.
  std::string body = {};
  // Null: always. Asked when the request is begun, immediately before its head leaves, and before its body
  // leaves. A request that is not granted one of them is NotSent: a server does not carry out a request whose
  // body never came.
  std::shared_ptr<const SendPermit> permit = nullptr;
};

// What came of a fetch. `delivery` says what a failure means for a write: NotSent was certainly not carried
// out, Lost may have been.
struct HttpReply {
  Delivery delivery = Delivery::Answered;
  int status = 0;       // 0 unless Answered
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::string trouble;  // for an operator; empty when Answered
  Time date;            // the Date header, in whole seconds; not set without one
  Time begun_at;        // monotonic, before the request left
  Time headed_at;       // monotonic, when the head of the answer had arrived

  // The first value of a header; empty when absent. `name` is in lower case.
  std::string_view header(std::string_view name) const;
};

inline constexpr std::size_t kFetchesQueuedMax = 4096;  // more are NotSent
inline constexpr std::size_t kFetchesUnderWayMax = 64;
inline constexpr std::size_t kFetchStreamsMax = 512;  // more end immediately
inline constexpr std::size_t kFetchTimersMax = 4096;
inline constexpr std::size_t kReplyBytesMax = 512u << 20;  // a longer answer is Lost
inline constexpr std::size_t kReplyHeaderBytesMax = 256u << 10;

// Shared: HTTP/2 where the server offers it, so that one connection carries many fetches; otherwise
// keep-alive HTTP/1.1. Separate: always HTTP/1.1, so that the bytes of a stream never wait for those of
// another request.
enum class Connections : std::uint8_t { Shared, Separate };

struct HttpFetcherOptions {
  std::string user_agent = "berth";
  Connections connections = Connections::Shared;
  Duration connect_timeout = Duration::seconds(10);
  Duration reply_timeout = Duration::seconds(60);         // of a whole fetch once begun; streams have none
  Duration stream_idle_timeout = Duration::seconds(120);  // bookmarks come about every minute
  std::size_t reply_bytes_max = kReplyBytesMax;
  // Of an HTTP/2 connection; the values are client-go's.
  Duration ping_after_silence = Duration::seconds(30);
  Duration ping_timeout = Duration::seconds(15);  // the connection is given up after that
};

// The calls of a stream: on_status once, on_bytes any number of times, on_end once; on_end alone when there
// was no answer.
struct StreamCallbacks {
  std::function<void(int status, const HttpHeaders& headers)> on_status;
  std::function<void(std::string_view bytes)> on_bytes;
  // `trouble` is empty when the server ended the stream cleanly.
  std::function<void(std::string trouble)> on_end;
};

class HttpFetcher {
 public:
  using StreamId = std::uint64_t;

  // `clock` outlives the fetcher. Refuses (Invalid) another scheme than http and https, and PEM texts for
  // HTTP/2 that do not parse or do not fit together; over HTTP/1.1 such material fails the first request.
  static Result<std::unique_ptr<HttpFetcher>> open(ClusterAccess access, HttpFetcherOptions options,
                                                   const Clock& clock);
  // Ends everything: fetches that have not left are NotSent, those under way are Lost, streams end.
  ~HttpFetcher();
  HttpFetcher(const HttpFetcher&) = delete;
  HttpFetcher& operator=(const HttpFetcher&) = delete;

  // Any thread. `done` is called exactly once.
  void submit(HttpFetch fetch, std::function<void(HttpReply)> done);
  // Any thread. A GET whose answer is handed over as it arrives.
  StreamId stream(HttpFetch fetch, StreamCallbacks callbacks);
  // Any thread, also from callbacks. The stream is closed; its on_end comes unless it has come already.
  void cancel(StreamId id);
  // Any thread. Calls `callback` on the fetcher's thread after `pause`, or never when the fetcher ends
  // before. At most kFetchTimersMax at a time.
  void after(Duration pause, std::function<void()> callback);

 private:
  class Loop;
  explicit HttpFetcher(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace berth::client
