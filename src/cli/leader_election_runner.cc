#include "cli/leader_election_runner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/log.h"

namespace berth::cli {

struct LeaderElectionRunner::Inbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<client::ApiReply> reply;
};

LeaderElectionRunner::LeaderElectionRunner(client::ApiClient& client, const Clock& clock,
                                           client::ElectionOptions options)
    : client_(client),
      clock_(clock),
      identity_(options.identity),
      election_(std::move(options)),
      fence_(std::make_shared<client::LeaseFence>(clock)),
      fenced_(client, fence_),
      inbox_(std::make_shared<Inbox>()) {}

void LeaderElectionRunner::send(client::ApiRequest request) {
  under_way_ = true;
  client_.submit(std::move(request), [inbox = inbox_](client::ApiReply reply) {
    const std::lock_guard lock(inbox->mutex);
    inbox->reply = std::move(reply);
    inbox->changed.notify_one();
  });
}

std::optional<client::ApiReply> LeaderElectionRunner::next_answer(Duration limit) {
  std::unique_lock lock(inbox_->mutex);
  inbox_->changed.wait_for(lock, std::chrono::microseconds(limit.micros()),
                           [this] { return inbox_->reply.has_value(); });
  std::optional<client::ApiReply> reply = std::exchange(inbox_->reply, std::nullopt);
  if (reply) under_way_ = false;
  return reply;
}

LeaderState LeaderElectionRunner::step() {
  const Time now = clock_.monotonic();
  if (const std::optional<client::ApiReply> reply = next_answer(Duration())) {
    election_.answered(*reply, now);
    if (election_.leads(now)) fence_->open_until(election_.deadline());
  }
  if (std::optional<client::ApiRequest> request = election_.next_request(clock_.now(), now))
    send(std::move(*request));
  const bool leads = election_.leads(now) && !fence_->closed();
  led_ |= leads;
  if (led_ && !leads) fence_->close();
  if (led_) return leads ? LeaderState::Leads : LeaderState::Lost;
  const std::string& holder = election_.holder();
  return holder.empty() || holder == identity_ ? LeaderState::Unknown : LeaderState::Follows;
}

void LeaderElectionRunner::release(Duration limit) {
  fence_->close();
  if (const std::size_t writes = fenced_.writes_under_way(); writes > 0)
    return log(LogLevel::Warning, "writes are unanswered: the Lease is left to run out",
               {{"writes", std::to_string(writes)}});
  const Time end = clock_.monotonic() + limit;
  // Without the response to a renewal the release would name an older resourceVersion.
  if (under_way_)
    if (const std::optional<client::ApiReply> reply = next_answer(limit))
      election_.answered(*reply, clock_.monotonic());
  std::optional<client::ApiRequest> request = election_.release(clock_.now(), clock_.monotonic());
  if (!request) return;
  inbox_ = std::make_shared<Inbox>();  // a response in flight is ignored
  send(std::move(*request));
  (void)next_answer(std::max(Duration(), end - clock_.monotonic()));
}

std::string own_identity(Random& random) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host.data()) + "_" + random.uuid();
}

}  // namespace berth::cli
