#include "cli/part_leading.h"

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace berth::cli {

struct PartLeading::Inbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<client::ApiReply> reply;
};

PartLeading::PartLeading(client::ApiClient& client, const Clock& clock, client::ElectionOptions options)
    : client_(client), clock_(clock), election_(std::move(options)), inbox_(std::make_shared<Inbox>()) {}

void PartLeading::send(client::ApiRequest request) {
  client_.submit(std::move(request), [inbox = inbox_](client::ApiReply reply) {
    const std::lock_guard lock(inbox->mutex);
    inbox->reply = std::move(reply);
    inbox->changed.notify_one();
  });
}

bool PartLeading::step() {
  std::optional<client::ApiReply> reply;
  {
    const std::lock_guard lock(inbox_->mutex);
    reply.swap(inbox_->reply);
  }
  const Time now = clock_.monotonic();
  if (reply) election_.answered(*reply, now);
  if (std::optional<client::ApiRequest> request = election_.next_request(clock_.now(), now))
    send(std::move(*request));
  return election_.leads(now);
}

void PartLeading::release(Duration limit) {
  std::optional<client::ApiRequest> request = election_.release(clock_.now(), clock_.monotonic());
  if (!request) return;
  inbox_ = std::make_shared<Inbox>();  // an answer still on its way is of no interest
  send(std::move(*request));
  std::unique_lock lock(inbox_->mutex);
  inbox_->changed.wait_for(lock, std::chrono::microseconds(limit.micros()),
                           [this] { return inbox_->reply.has_value(); });
}

std::string own_identity(Random& random) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host.data()) + "_" + random.uuid();
}

}  // namespace berth::cli
