// Stops the writes of a process that does not hold its Lease any more.
//
// The Lease's renew deadline is checked when a write leaves the process, not when it was decided. So a
// process that slept through its deadline sends nothing when it wakes, whichever thread runs first.
// Source: client-go's leader election (a leader that cannot renew in time ends); Lamport, leases need a
// clock.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "client/api_client.h"

namespace berth::client {

// Thread-safe. One election opens it, any number of senders ask.
class LeaseFence final : public SendPermit {
 public:
  // `clock` outlives it. Refuses until it is opened.
  explicit LeaseFence(const Clock& clock) : clock_(clock) {}

  // A renewal was accepted: grants until `deadline`, on the monotonic clock. Closes instead when the previous
  // deadline has passed, because a term with a gap has ended.
  void open_until(Time deadline);
  // Closes for ever.
  void close() { deadline_micros_.store(kClosed); }
  // Closes for ever when the deadline has passed.
  bool granted() const override;
  bool closed() const { return deadline_micros_.load() == kClosed; }

 private:
  static constexpr std::int64_t kNotOpened = INT64_MIN;
  static constexpr std::int64_t kClosed = INT64_MIN + 1;

  const Clock& clock_;
  mutable std::atomic<std::int64_t> deadline_micros_{kNotOpened};
};

// An ApiClient whose writes need the permit. Reads, lists and watches need none. The requests about the Lease
// itself do not go through here.
class FencedClient final : public ApiClient {
 public:
  // `inner` outlives it.
  FencedClient(ApiClient& inner, std::shared_ptr<const SendPermit> permit);

  void submit(ApiRequest request, std::function<void(ApiReply)> done) override;
  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef resource, WatchReceiver& receiver) override;
  // Writes that may have left and have no answer yet. Thread-safe.
  std::size_t writes_under_way() const { return under_way_->load(); }

 private:
  ApiClient& inner_;
  const std::shared_ptr<const SendPermit> permit_;
  const std::shared_ptr<std::atomic<std::size_t>> under_way_;
};

}  // namespace berth::client
