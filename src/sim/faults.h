// An API client with seeded faults of networks and servers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "client/api_client.h"

namespace berth::sim {

// Chances in 1/1000 of one write.
struct FaultRates {
  std::uint32_t lost_answer = 0;   // carried out, the response is lost
  std::uint32_t lost_request = 0;  // not carried out; the sender cannot know
  std::uint32_t not_sent = 0;      // refused before it was sent
  std::uint32_t throttled = 0;     // 429
  std::uint32_t server_error = 0;  // 500
};

// The results of the writes to one resource.
struct WriteCounts {
  std::uint64_t accepted = 0;
  std::uint64_t conflicts = 0;  // 409
  std::uint64_t refused = 0;    // otherwise
};

// One thread. `inner` outlives it. Watches have no faults.
class FaultyClient final : public client::ApiClient {
 public:
  FaultyClient(client::ApiClient& inner, FaultRates rates, std::uint64_t seed)
      : inner_(inner), rates_(rates), random_(seed) {}

  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override;
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    return inner_.list_and_watch(std::move(resource), receiver);
  }

  void set_rates(FaultRates rates) { rates_ = rates; }
  // By plural name of the resource.
  const std::map<std::string, WriteCounts, std::less<>>& counts() const { return counts_; }
  // The process behind this client dies at its `nth` write from now to `resource` (plural; any when empty).
  // That write and all later ones are not carried out and get no response. 0: it is alive again.
  void die_at_write(std::uint64_t nth, std::string resource) {
    writes_to_live_ = nth;
    deadly_resource_ = std::move(resource);
    dead_ = false;
  }
  bool dead() const { return dead_; }
  std::uint64_t faults() const { return faults_; }

 private:
  bool strikes(std::uint32_t rate) {
    const bool struck = rate > 0 && random_.below(1000) < rate;
    faults_ += struck;
    return struck;
  }

  client::ApiClient& inner_;
  FaultRates rates_;
  SeededRandom random_;
  std::map<std::string, WriteCounts, std::less<>> counts_;
  std::uint64_t writes_to_live_ = 0;
  std::string deadly_resource_;
  bool dead_ = false;
  std::uint64_t faults_ = 0;
};

}  // namespace berth::sim
