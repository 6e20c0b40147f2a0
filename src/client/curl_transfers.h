// Requests over HTTP/1.1 with libcurl: watches, servers without HTTP/2, and whatever goes through a proxy.
//
// Owner: one fetcher's thread. A connection carries one request at a time and is kept for the next. Cost:
// perform() visits only transfers that have bytes or a deadline, by libcurl's socket interface on epoll.
// libcurl's own loop would ask the kernel about each of some thirty open watches when one of them has news.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "client/fetch_job.h"

namespace berth::client {

class CurlTransfers {
 public:
  // The arguments outlive it. Refuses (Internal) when libcurl cannot be initialised.
  static Result<std::unique_ptr<CurlTransfers>> open(const ClusterAccess& access,
                                                     const HttpFetcherOptions& options, const Clock& clock,
                                                     BearerToken& token);
  ~CurlTransfers();
  CurlTransfers(const CurlTransfers&) = delete;
  CurlTransfers& operator=(const CurlTransfers&) = delete;

  std::size_t fetches() const { return under_way_.size() - streams_.size(); }
  std::size_t streams() const { return streams_.size(); }

  void begin(std::unique_ptr<FetchJob> job);
  // Ends a stream that is open.
  void cancel(HttpFetcher::StreamId id);
  // Moves the bytes that can be moved, calls receivers and finishes what has ended or is silent for too long.
  void perform();
  // Sleeps until there is work here, one of `others` is ready (its revents are set then) or `longest` is
  // over.
  void wait(std::span<pollfd> others, Duration longest);
  // Everything under way is Lost.
  void end_all();

 private:
  struct Transfer;
  struct FreeMulti {
    void operator()(void* multi) const;
  };
  struct Ready {
    int file = -1;
    int events = 0;  // libcurl's: CURL_CSELECT_IN, …
  };
  // How often streams are looked at for silence.
  static constexpr Duration kSilenceLookPeriod = Duration::seconds(1);

  CurlTransfers(const ClusterAccess& access, const HttpFetcherOptions& options, const Clock& clock,
                BearerToken& token);
  static int on_socket(void* easy, int file, int wanted, void* self, void* known);
  static int on_timer(void* multi, long millis, void* self);
  void set_up(Transfer& transfer);
  void set_up_method(Transfer& transfer);
  void set_up_target(Transfer& transfer);
  void set_up_trust(Transfer& transfer);
  void collect();
  void end_silent_streams(Time now);
  void take_ready();
  std::unique_ptr<Transfer> take_out(void* easy);

  const ClusterAccess& access_;
  const HttpFetcherOptions& options_;
  const Clock& clock_;
  BearerToken& token_;
  int epoll_ = -1;
  std::vector<Ready> ready_;  // sockets, from wait() to perform()
  Time timer_;                // when libcurl wants to be called without news; unset: never
  Time silence_look_;         // the next one
  std::unique_ptr<void, FreeMulti> multi_;
  std::map<void*, std::unique_ptr<Transfer>> under_way_;  // by libcurl's easy handle
  std::map<HttpFetcher::StreamId, void*> streams_;
};

}  // namespace berth::client
