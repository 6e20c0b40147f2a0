// Calls of admission webhooks that nobody waits for: each answer comes by callback.
//
// One connection pool (client::HttpFetcher, a thread) for each endpoint and time limit, so a webhook that
// hangs or floods uses up its own calls alone. Owner: AdmissionWebhooks. Thread-safe; `executor` runs work on
// threads of its own. Bounds: below; memory for answers is at most kWebhookCallsUnderWayMax times
// kWebhookAnswerBytesMax for each endpoint.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "server/webhook_endpoint.h"

namespace berth::server {

inline constexpr std::size_t kWebhookEndpointsMax = 64;       // in use; more fail at once
inline constexpr std::size_t kWebhookCallsUnderWayMax = 32;   // of one endpoint
inline constexpr std::size_t kWebhookCallsWaitingMax = 1024;  // of one endpoint; more fail at once
inline constexpr std::size_t kWebhookAnswerBytesMax = 6u << 20;
inline constexpr Duration kWebhookIdleMax = Duration::minutes(5);  // of a connection pool

struct WebhookAnswer {
  std::string body;     // of a success
  std::string problem;  // why there is none; empty for a success
  int code = 200;       // of the problem: the answer's, 503 without one
};

class WebhookCalls {
 public:
  using Answered = std::function<void(WebhookAnswer reply)>;

  // `executor` outlives it.
  explicit WebhookCalls(Executor& executor) : executor_(executor) {}
  ~WebhookCalls();
  WebhookCalls(const WebhookCalls&) = delete;
  WebhookCalls& operator=(const WebhookCalls&) = delete;

  // POSTs the review. `answered` runs once, on the executor: at the latest after twice `timeout`, of which
  // one is for the turn and one for the answer. Not at all once the executor has stopped.
  void post(const WebhookEndpoint& endpoint, Duration timeout, std::string review, Answered answered);
  // Ends calls that waited too long, and unused connections; about every 200 ms.
  void tick();
  // Ends calls under way. Later ones fail.
  void stop();

 private:
  struct Call {
    client::HttpFetch fetch;
    std::string called;  // call_text()
    Answered answered;
    Time deadline;  // of its turn
  };
  struct Pool {
    std::shared_ptr<client::HttpFetcher> fetcher;
    Duration timeout;
    std::deque<Call> waiting;  // by deadline
    std::size_t under_way = 0;
    Time used_at;
  };
  using PoolPtr = std::shared_ptr<Pool>;

  Result<PoolPtr> pool_of(const WebhookEndpoint& endpoint, Duration timeout);
  Result<std::shared_ptr<client::HttpFetcher>> open(const WebhookEndpoint& endpoint, Duration timeout) const;
  bool make_room();
  void fail(Call call, std::string why);
  void send(const PoolPtr& pool, Call call, const std::shared_ptr<client::HttpFetcher>& fetcher);
  void finish(const PoolPtr& pool);

  Executor& executor_;
  const SystemClock clock_;
  std::mutex mutex_;                      // guards what follows, and the pools
  std::map<std::string, PoolPtr> pools_;  // by endpoint and timeout
  bool stopping_ = false;
};

}  // namespace berth::server
