// One request of an HttpFetcher from the queue to its last callback: what libcurl's path and HTTP/2's share.
//
// Owner: the fetcher's thread, once the job has left the queue.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "client/http_fetch.h"

namespace berth::client {

inline constexpr const char* kNotLeading = "this process does not lead any more";
inline constexpr const char* kTooLarge = "the answer is too large";
inline constexpr const char* kStopped = "stopped";

struct FetchJob {
  HttpFetch fetch;
  std::function<void(HttpReply)> done;    // of a fetch
  std::optional<StreamCallbacks> stream;  // of a stream
  HttpFetcher::StreamId id = 0;           // of a stream
  HttpReply reply;
  Time deadline;  // monotonic; over HTTP/2
  std::size_t body_sent = 0;
  std::size_t header_bytes = 0;  // of the answer
  bool too_large = false;        // the answer
  bool forbidden = false;        // its permit was not granted when it was about to leave
};

// Asks the permit; once it was not granted the job stays forbidden.
bool may_leave(FetchJob& job);

// The next bytes of the request's body, at most `size`, copied to `room`. Nothing when the permit is not
// granted before the first of them: job.forbidden then.
std::size_t give_body(FetchJob& job, char* room, std::size_t size);

// Appends to the answer. False, and too_large, when it grows beyond its bound.
bool add_header(FetchJob& job, std::string_view name, std::string_view value);
bool add_body(FetchJob& job, std::string_view bytes, std::size_t bytes_max);

// The last callback.
void finish(FetchJob& job, Delivery delivery, std::string trouble);

// The bearer token of a cluster, read again from its file from time to time. One thread.
class BearerToken {
 public:
  explicit BearerToken(const ClusterAccess& access) : token_(access.token), file_(access.token_file) {}
  // Empty: there is none. A file that cannot be read leaves the token that was read before.
  const std::string& at(Time now);

 private:
  std::string token_;
  const std::string file_;
  Time read_at_;
};

}  // namespace berth::client
