#include "client/lease_fence.h"

#include "base/known_defects.h"

namespace berth::client {

void LeaseFence::open_until(Time deadline) {
  std::int64_t before = deadline_micros_.load();
  for (;;) {
    if (before == kClosed) return;
    const bool lapsed = before != kNotOpened && clock_.monotonic().micros() >= before;
    if (deadline_micros_.compare_exchange_weak(before, lapsed ? kClosed : deadline.micros())) return;
  }
}

bool LeaseFence::granted() const {
  std::int64_t deadline = deadline_micros_.load();
  for (;;) {
    if (has(KnownDefect::DeposedLeaderWritesOn)) return true;
    if (deadline == kNotOpened || deadline == kClosed) return false;
    if (clock_.monotonic().micros() < deadline) return true;
    if (deadline_micros_.compare_exchange_weak(deadline, kClosed)) return false;
  }
}

FencedClient::FencedClient(ApiClient& inner, std::shared_ptr<const SendPermit> permit)
    : inner_(inner), permit_(std::move(permit)), under_way_(std::make_shared<std::atomic<std::size_t>>(0)) {}

void FencedClient::submit(ApiRequest request, std::function<void(ApiReply)> done) {
  if (request.verb == Verb::Get) return inner_.submit(std::move(request), std::move(done));
  if (!permit_->granted()) {
    ApiReply refused;
    refused.delivery = Delivery::NotSent;
    refused.message = "this process does not lead";
    return done(std::move(refused));
  }
  request.permit = permit_;
  ++*under_way_;
  inner_.submit(std::move(request), [count = under_way_, done = std::move(done)](ApiReply reply) {
    --*count;
    done(std::move(reply));
  });
}

std::unique_ptr<Subscription> FencedClient::list_and_watch(api::ResourceRef resource,
                                                           WatchReceiver& receiver) {
  return inner_.list_and_watch(std::move(resource), receiver);
}

}  // namespace berth::client
