// Requests over HTTP/1.1 with libcurl: watches, servers without HTTP/2, and whatever goes through a proxy.
//
// Owner: one fetcher's thread. A connection carries one request at a time and is kept for the next.
// Cost: perform() visits every transfer.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <span>

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
  // Moves the bytes that can be moved, tells receivers and finishes what has ended or is silent for too long.
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

  CurlTransfers(const ClusterAccess& access, const HttpFetcherOptions& options, const Clock& clock,
                BearerToken& token);
  void set_up(Transfer& transfer);
  void set_up_method(Transfer& transfer);
  void set_up_target(Transfer& transfer);
  void set_up_trust(Transfer& transfer);
  void collect();
  void end_silent_streams();
  std::unique_ptr<Transfer> take_out(void* easy);

  const ClusterAccess& access_;
  const HttpFetcherOptions& options_;
  const Clock& clock_;
  BearerToken& token_;
  std::unique_ptr<void, FreeMulti> multi_;
  std::map<void*, std::unique_ptr<Transfer>> under_way_;  // by libcurl's easy handle
  std::map<HttpFetcher::StreamId, void*> streams_;
};

}  // namespace berth::client
