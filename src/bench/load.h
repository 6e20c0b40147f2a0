// Requests of one user, a bounded number in flight, and the times at which the created pods were bound.
//
// Thread-safe. Cost: one request and one map entry a pod; an event of a pod is searched for its node name,
// not parsed.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "client/api_client.h"

namespace berth::bench {

inline constexpr std::size_t kRequestsUnderWayMax = 256;
inline constexpr Duration kBindingWaitMax = Duration::seconds(120);

class Load final : public client::WatchReceiver {
 public:
  // Both outlive it.
  Load(client::ApiClient& client, const Clock& clock) : client_(client), clock_(clock) {}
  // Waits for all responses in flight.
  ~Load() override { wait_for_answers(); }

  // Each blocks while kRequestsUnderWayMax requests are in flight.
  void create(api::ResourceRef resource, std::string ns, const Json& object);
  void create_pod(const std::string& name, const Json& object);
  // A new node is tainted until its status is Ready, as on a real cluster.
  void make_ready(const std::string& node);

  void wait_for_answers();
  // Fails when a request was refused, or after kBindingWaitMax.
  Status wait_until_bound(std::size_t count);

  // Milliseconds from create to binding of the pods with this name prefix, ascending.
  std::vector<double> latencies_ms(const std::string& prefix) const;
  // From the first create to the last binding of those pods.
  double seconds_of(const std::string& prefix) const;

  void on_list(client::RawList) override {}
  void on_changes(std::vector<client::RawChange> changes) override;
  void on_trouble(std::string) override {}

 private:
  void submit(client::ApiRequest request);
  void note(const std::string& pod);

  client::ApiClient& client_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t under_way_ = 0;
  std::map<std::string, Time> created_, bound_;
  std::string trouble_;
};

}  // namespace berth::bench
