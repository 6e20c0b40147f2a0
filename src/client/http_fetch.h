// HTTP requests of this process to one API server: libcurl on one thread of its own.
//
// Never follows a redirect, never sends a
// credential over plain HTTP. Callbacks run on its thread (those of refused requests inline) and must only
// hand over. Every queue has a bound; every wait has one in HttpFetcherOptions.
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
  // A write without one is sent on a fresh connection, so that nothing sends it twice.
  std::string body = {};
  // Null: always. Asked when the request is begun, when its connection stands and before its body leaves; not
  // granted, it is NotSent: a server does not carry out a request whose body never came.
  std::shared_ptr<const SendPermit> permit = nullptr;
};

// `delivery` tells what a failure means for a write: NotSent was certainly not carried out, Lost may have
// been.
struct HttpReply {
  Delivery delivery = Delivery::Answered;
  int status = 0;       // 0 unless Answered
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::string trouble;  // for an operator; empty when Answered
  Time date;            // the server's clock as the answer says it, cut to seconds; not set without
  Time begun_at;        // monotonic: before the request left…
  Time headed_at;       // …and when the head of the answer was here

  // The first value; empty when absent. `name` in lower case.
  std::string_view header(std::string_view name) const;
};

inline constexpr std::size_t kFetchesQueuedMax = 4096;  // more are NotSent
inline constexpr std::size_t kFetchesUnderWayMax = 64;
inline constexpr std::size_t kFetchStreamsMax = 512;  // more end at once
inline constexpr std::size_t kFetchTimersMax = 4096;
inline constexpr std::size_t kReplyBytesMax = 512u << 20;  // a longer answer is Lost
inline constexpr std::size_t kReplyHeaderBytesMax = 256u << 10;

// Shared: HTTP/2 where the server offers it, so that one connection carries many requests; keep-alive
// HTTP/1.1 else. Separate: HTTP/1.1, one request at a time on a connection; for streams, whose bytes then
// wait for no other request's.
enum class Connections : std::uint8_t { Shared, Separate };

struct HttpFetcherOptions {
  std::string user_agent = "berth";
  Connections connections = Connections::Shared;
  Duration connect_timeout = Duration::seconds(10);
  Duration reply_timeout = Duration::seconds(60);         // of a whole fetch; streams have none
  Duration stream_idle_timeout = Duration::seconds(120);  // bookmarks come about every minute
  std::size_t reply_bytes_max = kReplyBytesMax;
};

// What a stream tells. The calls come in this order: on_status once, on_bytes, on_end once; on_end alone when
// there was no answer.
struct StreamCallbacks {
  std::function<void(int status, const HttpHeaders& headers)> on_status;
  std::function<void(std::string_view bytes)> on_bytes;
  // Empty `trouble`: the server ended it cleanly.
  std::function<void(std::string trouble)> on_end;
};

class HttpFetcher {
 public:
  using StreamId = std::uint64_t;

  // `clock` outlives the fetcher. Refuses (Invalid) material that libcurl cannot take.
  static Result<std::unique_ptr<HttpFetcher>> open(ClusterAccess access, HttpFetcherOptions options,
                                                   const Clock& clock);
  // Ends everything: fetches not begun are NotSent, those under way Lost, streams end.
  ~HttpFetcher();
  HttpFetcher(const HttpFetcher&) = delete;
  HttpFetcher& operator=(const HttpFetcher&) = delete;

  // Any thread. `done` is called exactly once.
  void submit(HttpFetch fetch, std::function<void(HttpReply)> done);
  // Any thread. A GET whose answer is handed over as it comes.
  StreamId stream(HttpFetch fetch, StreamCallbacks callbacks);
  // Any thread, also from callbacks. The stream is closed; its on_end comes unless it has come already.
  void cancel(StreamId id);
  // Any thread. Calls `callback` on the fetcher's thread once `pause` has gone by; never when the fetcher
  // ends before. At most kFetchTimersMax at a time.
  void after(Duration pause, std::function<void()> callback);

 private:
  class Loop;
  explicit HttpFetcher(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace berth::client
