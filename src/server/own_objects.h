// The objects that describe this server to its clients, as kube-apiserver keeps them. These are the Service
// `kubernetes` with its Endpoints and EndpointSlice, the ServiceCIDR of Services' addresses, and one
// APIService for each group version that is served.
//
// Level-triggered: a run creates what is missing, corrects the endpoints, and deletes APIServices of versions
// that are not served any more. Owner: ApiServer; one thread at a time. Cost of a run without work: a look at
// each object. Source: pkg/controlplane/controller/kubernetesservice and defaultservicecidr, and the
// autoregister controller of kube-aggregator 1.37.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "server/registry.h"
#include "server/served.h"

namespace berth::server {

// How long a deleted object stays away, and a new group version without its APIService.
inline constexpr Duration kOwnObjectsPeriod = Duration::seconds(2);

// Where clients reach the server; `ip` is an address.
struct ServerAddress {
  std::string ip;
  std::uint16_t port = 0;
};

class OwnObjects {
 public:
  // Both outlive it.
  OwnObjects(Registry& registry, const ServedResources& served) : registry_(registry), served_(served) {}

  // Makes what is missing and waits for the store; not on a synchronous store's callback. What cannot be made
  // now is tried again by tick().
  void begin(ServerAddress address);
  // Nothing before begin().
  void tick(Time monotonic_now);

 private:
  struct Wanted {
    const api::ResourceInfo* resource;
    std::string ns;
    Json object;
    std::string_view kept;  // a member that is corrected; empty: only the object's presence counts
    std::string_view subresource = "";
  };
  void run(bool waits);
  std::vector<Wanted> wanted() const;
  void add_registrations(std::vector<Wanted>& all) const;
  void make(const Wanted& wanted, Done done);
  void correct(const Wanted& wanted, Done done);
  void remove_stale_registrations(const std::vector<Wanted>& all);

  Registry& registry_;
  const ServedResources& served_;
  ServerAddress address_;
  std::optional<std::string> registered_for_;  // fingerprint of the set whose stale APIServices are gone
  Time next_run_;
  bool began_ = false;
};

}  // namespace berth::server
