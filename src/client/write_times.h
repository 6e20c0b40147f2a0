// How long the API server took to answer writes, by verb.
//
// DurationCounts and WriteTimes are plain numbers. SharedWriteTimes is thread-safe. Cost: a lock and a copy
// of the callback a write.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "client/api_client.h"

namespace berth::client {

// Durations of which each is known to a quarter of its power of two of microseconds: 1 to 2^27, 134 s.
class DurationCounts {
 public:
  // One of less than 1 µs counts as 1 µs, one of more than the last bucket as that.
  void add(Duration took);
  DurationCounts& operator+=(const DurationCounts& more);
  // `earlier`: a copy of this one.
  DurationCounts since(const DurationCounts& earlier) const;
  std::uint64_t count() const;
  // `percent` (1 to 100) of them took no longer; none: there are none.
  std::optional<Duration> within(std::uint64_t percent) const;

 private:
  static constexpr std::size_t kBucketsPerPower = 4, kPowers = 27;
  std::array<std::uint64_t, kBucketsPerPower * kPowers> counts_{};
};

enum class WriteVerb : std::uint8_t { Create, Update, Patch, Delete };
inline constexpr std::size_t kWriteVerbs = 4;
// "create", as in rules of RBAC.
std::string_view name_of(WriteVerb verb);

using WriteTimes = std::array<DurationCounts, kWriteVerbs>;  // by WriteVerb
WriteTimes& operator+=(WriteTimes& times, const WriteTimes& more);
DurationCounts all_of(const WriteTimes& times);

class SharedWriteTimes {
 public:
  void add(WriteVerb verb, Duration took);
  // What was added since the last call; none: nothing.
  std::optional<WriteTimes> take();

 private:
  std::mutex mutex_;
  WriteTimes times_;
  bool is_empty_ = true;
};

// Notes how long each write took from submit() until its answer. Reads, requests that got no answer, and what
// the client holds by itself do not count. `inner` outlives it; `clock` outlives every callback of `inner`.
class WriteTimer final : public ApiClient {
 public:
  WriteTimer(ApiClient& inner, const Clock& clock) : inner_(inner), clock_(clock) {}

  void submit(ApiRequest request, std::function<void(ApiReply)> done) override;
  bool holds(const ApiRequest& request) const override { return inner_.holds(request); }
  std::optional<Time> flush(Time now) override { return inner_.flush(now); }
  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef resource, WatchReceiver& receiver) override {
    return inner_.list_and_watch(std::move(resource), receiver);
  }
  std::optional<WriteTimes> take() { return times_->take(); }

 private:
  ApiClient& inner_;
  const Clock& clock_;
  const std::shared_ptr<SharedWriteTimes> times_ = std::make_shared<SharedWriteTimes>();
};

}  // namespace berth::client
