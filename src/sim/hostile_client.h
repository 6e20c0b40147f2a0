// An API client of one process in virtual time. Requests and responses take time, get lost, arrive late or
// are refused. Watches lag, break, repeat events and list again from older states.
//
// Owner: one process of a simulated world, on one thread. Destroying the client kills its process: it
// receives nothing any more, and requests that it sent still arrive. Keeps the promises of client-go and the
// API server: one object's versions arrive in order, and a list is never older than what this watch has
// shown.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "sim/network.h"

namespace berth::sim {

// Requests of one client that wait for their turn; more mean that a process does not bound its writes.
inline constexpr std::size_t kRequestsWaitingMax = 20'000;

class HostileClient final : public client::ApiClient {
 public:
  // `network` outlives the world's last event.
  explicit HostileClient(ProcessNetwork& network);
  ~HostileClient() override;

  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override;
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override;

  // SIGSTOP: requests that were not sent yet are sent after resume().
  void pause();
  void resume();

  struct Link;

 private:
  std::shared_ptr<Link> link_;
};

}  // namespace berth::sim
