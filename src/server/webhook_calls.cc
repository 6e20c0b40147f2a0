#include "server/webhook_calls.h"

#include <algorithm>

namespace berth::server {
namespace {

constexpr int kNoAnswerCode = 503;

std::string pool_key_of(const WebhookEndpoint& endpoint, Duration timeout) {
  return std::to_string(timeout.micros()) + "\n" + endpoint.server + "\n" + endpoint.certificate_name + "\n" +
         endpoint.ca_pem;
}

// What came of the call, in the words of the reference.
WebhookAnswer reply_of(client::HttpReply reply, const std::string& called, bool is_late) {
  WebhookAnswer made;
  if (reply.delivery != client::Delivery::Answered) {
    made.problem = called + (is_late ? "context deadline exceeded" : reply.trouble);
    made.code = kNoAnswerCode;
  } else if (reply.status < 200 || reply.status > 299) {
    made.problem = refusal_text(reply);
    made.code = reply.status;
  } else {
    made.body = std::move(reply.body);
  }
  return made;
}

}  // namespace

WebhookCalls::~WebhookCalls() {
  stop();
}

void WebhookCalls::stop() {
  std::map<std::string, PoolPtr> pools;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    pools.swap(pools_);
  }
  for (auto& [key, pool] : pools) pool->fetcher.reset();
}

Result<std::shared_ptr<client::HttpFetcher>> WebhookCalls::open(const WebhookEndpoint& endpoint,
                                                                Duration timeout) const {
  client::ClusterAccess access;
  access.server = endpoint.server;
  access.ca_pem = endpoint.ca_pem;
  access.tls_server_name = endpoint.certificate_name;
  client::HttpFetcherOptions options;
  options.user_agent = "kube-apiserver-admission";
  options.reply_timeout = timeout;
  options.connect_timeout = std::min(options.connect_timeout, timeout);
  options.reply_bytes_max = kWebhookAnswerBytesMax;
  return std::shared_ptr<client::HttpFetcher>(
      TRY(client::HttpFetcher::open(std::move(access), std::move(options), clock_)));
}

// The pool that was unused for longest makes room.
bool WebhookCalls::make_room() {
  if (pools_.size() < kWebhookEndpointsMax) return true;
  auto oldest = pools_.end();
  for (auto at = pools_.begin(); at != pools_.end(); ++at) {
    const bool is_idle = at->second->under_way == 0 && at->second->waiting.empty();
    if (is_idle && (oldest == pools_.end() || at->second->used_at < oldest->second->used_at)) oldest = at;
  }
  if (oldest == pools_.end()) return false;
  pools_.erase(oldest);
  return true;
}

Result<WebhookCalls::PoolPtr> WebhookCalls::pool_of(const WebhookEndpoint& endpoint, Duration timeout) {
  if (stopping_) return Error(ErrorCode::Unavailable, "the server stops");
  const std::string key = pool_key_of(endpoint, timeout);
  if (const auto found = pools_.find(key); found != pools_.end()) return found->second;
  if (!make_room()) return Error(ErrorCode::Unavailable, "too many webhook servers are being called");
  auto pool = std::make_shared<Pool>();
  pool->fetcher = TRY(open(endpoint, timeout));
  pool->timeout = timeout;
  pools_[key] = pool;
  return pool;
}

void WebhookCalls::post(const WebhookEndpoint& endpoint, Duration timeout, std::string review,
                        Answered answered) {
  Call call;
  call.fetch.method = "POST";
  call.fetch.target = endpoint.target + timeout_query(timeout);
  call.fetch.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  call.fetch.body = std::move(review);
  call.called = call_text(endpoint, timeout);
  call.answered = std::move(answered);
  if (!endpoint.unreachable.empty()) return fail(std::move(call), endpoint.unreachable);
  const Time now = clock_.monotonic();
  call.deadline = now + timeout;
  std::unique_lock lock(mutex_);
  Result<PoolPtr> pool = pool_of(endpoint, timeout);
  if (!pool) {
    lock.unlock();
    return fail(std::move(call), pool.error().text());
  }
  (*pool)->used_at = now;
  if ((*pool)->under_way < kWebhookCallsUnderWayMax) {
    ++(*pool)->under_way;
    const std::shared_ptr<client::HttpFetcher> fetcher = (*pool)->fetcher;
    lock.unlock();
    return send(*pool, std::move(call), fetcher);
  }
  if ((*pool)->waiting.size() < kWebhookCallsWaitingMax) {
    (*pool)->waiting.push_back(std::move(call));
    return;
  }
  lock.unlock();
  fail(std::move(call), "too many calls of this webhook wait");
}

void WebhookCalls::fail(Call call, std::string why) {
  WebhookAnswer reply;
  reply.problem = call.called + why;
  reply.code = kNoAnswerCode;
  executor_.post([answered = std::move(call.answered), reply = std::move(reply)] { answered(reply); });
}

// The fetcher's thread only hands over: what follows may drop the last reference to the fetcher.
void WebhookCalls::send(const PoolPtr& pool, Call call, const std::shared_ptr<client::HttpFetcher>& fetcher) {
  const Time late_at = clock_.monotonic() + pool->timeout;
  fetcher->submit(std::move(call.fetch), [this, weak = std::weak_ptr(pool), late_at, called = call.called,
                                          answered = std::move(call.answered)](client::HttpReply reply) {
    const bool is_late = clock_.monotonic() >= late_at;
    executor_.post([this, weak, answered, made = reply_of(std::move(reply), called, is_late)] {
      if (const PoolPtr used = weak.lock()) finish(used);
      answered(made);
    });
  });
}

void WebhookCalls::finish(const PoolPtr& pool) {
  const Time now = clock_.monotonic();
  std::unique_lock lock(mutex_);
  --pool->under_way;
  pool->used_at = now;
  if (stopping_ || pool->waiting.empty()) return;
  Call next = std::move(pool->waiting.front());
  pool->waiting.pop_front();
  ++pool->under_way;
  const std::shared_ptr<client::HttpFetcher> fetcher = pool->fetcher;
  lock.unlock();
  send(pool, std::move(next), fetcher);
}

void WebhookCalls::tick() {
  const Time now = clock_.monotonic();
  std::vector<Call> late;
  std::vector<PoolPtr> unused;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = pools_.begin(); at != pools_.end();) {
      Pool& pool = *at->second;
      while (!pool.waiting.empty() && pool.waiting.front().deadline <= now) {
        late.push_back(std::move(pool.waiting.front()));
        pool.waiting.pop_front();
      }
      const bool is_unused = pool.under_way == 0 && now - pool.used_at > kWebhookIdleMax;
      if (is_unused) unused.push_back(at->second);
      at = is_unused ? pools_.erase(at) : std::next(at);
    }
  }
  for (Call& call : late) fail(std::move(call), "context deadline exceeded");
}

}  // namespace berth::server
