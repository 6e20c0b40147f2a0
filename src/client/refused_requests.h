// What the API server refuses this process for a reason that does not heal by itself: a right, a namespace or
// a definition is missing.
//
// Each is logged at warning level with what helps, at once and then once in kRefusalQuiet, counted, and named
// by /readyz while it lasts. Thread-safe. Memory: kRefusedRequestsMax kinds of request.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/api_client.h"

namespace berth::client {

inline constexpr std::size_t kRefusedRequestsMax = 256;
inline constexpr Duration kRefusalQuiet = Duration::minutes(1);
// Every loop repeats what it needs sooner than that: a refusal that was not repeated is over.
inline constexpr Duration kRefusalStands = Duration::minutes(2);

// What helps; empty for an answer that may heal, or that is about one object alone.
struct RefusalReason {
  std::string help;
  bool essential = true;  // the process cannot do its work
};
RefusalReason refusal_reason(const api::ResourceRef& resource, const ApiReply& reply);

class RefusedRequests {
 public:
  // `clock` outlives it and every client that reports to it.
  explicit RefusedRequests(const Clock& clock) : clock_(clock) {}

  // `request`: "list pods", "create leases.coordination.k8s.io in namespace kube-system".
  void note(const std::string& request, const ApiReply& reply, const RefusalReason& reason);
  // A request of this kind was carried out.
  void allowed(const std::string& request);
  // Essential ones that last, one sentence each.
  std::vector<std::string> standing() const;
  // So far, by request and status code.
  std::map<std::pair<std::string, int>, std::uint64_t> counts() const;

 private:
  struct Refusal {
    std::string sentence;
    bool essential = true;
    Time seen_at, told_at;  // monotonic; seen_at is not set once it is over
    std::uint64_t left_out = 0;
  };

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Refusal> refusals_;
  std::map<std::pair<std::string, int>, std::uint64_t> counts_;
};

// Reports the refusals of every list, watch and request. `inner` outlives it. `optional`: resources without
// which the process does its work. One that may not be listed counts as not served, until it may.
class RefusalReporter final : public ApiClient {
 public:
  RefusalReporter(ApiClient& inner, std::shared_ptr<RefusedRequests> refusals,
                  std::vector<api::ResourceRef> optional = {})
      : inner_(inner), refusals_(std::move(refusals)), optional_(std::move(optional)) {}

  void submit(ApiRequest request, std::function<void(ApiReply)> done) override;
  bool holds(const ApiRequest& request) const override { return inner_.holds(request); }
  std::optional<Time> flush(Time now) override { return inner_.flush(now); }
  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef resource, WatchReceiver& receiver) override;

 private:
  ApiClient& inner_;
  const std::shared_ptr<RefusedRequests> refusals_;
  const std::vector<api::ResourceRef> optional_;
};

}  // namespace berth::client
