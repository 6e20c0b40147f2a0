// Allocations that this process has sent and that its view does not show: their devices count as taken.
//
// A view lags behind its own writes while they are slow, and a request may be gone before the write that it
// asked for lands: two requests would then be given one device, each while the other's allocation is on its
// way. An entry begins with the write. It ends when the view shows the claim allocated, gone, or on a later
// version than the write stood on, or when the server refused the write. A write of unknown fate whose
// request is gone is made impossible by another version of the claim (seal_claim). Only whole devices are
// kept, no shares and no counters. What an earlier process sent is not known here. Owner: the binder, one
// thread. Cost: O(log n) a device. Memory: proportional to the claims of requests under way.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/decider.h"

namespace berth::binding {

class PendingAllocations {
 public:
  // What a run of `request` sends, before it is sent. Replaces what its earlier runs sent.
  void sent(const client::View& view, const api::BindRequest& request, const client::Effects& effects);
  // A chain of the last run of this request was not accepted.
  void failed(const client::View& view, const api::ObjectKey& request, const client::Outcome& outcome);
  // The run that sent them has ended: forgets what was answered or is shown.
  void answered(const client::View& view, const api::ObjectKey& request);
  // Of a request that is gone: what keeps its writes of unknown fate from landing. Empty when there are none.
  std::vector<client::Chain> to_seal(const client::View& view, const api::ObjectKey& request) const;

  // The name of another claim that may be about to get this device; empty when there is none.
  std::string holder_of(const client::View& view, const api::DeviceResult& device,
                        std::string_view claim_uid) const;

 private:
  struct Entry {
    std::string claim_uid;
    std::string decision;
    std::vector<std::string> devices;  // client::device_key
    bool is_unknown = false;           // the write may land, and its answer is lost
    std::uint64_t version = 0;         // of the claim, as seen when the answer was lost
  };
  using Claims = std::map<api::ObjectKey, Entry>;
  using Place = std::pair<api::ObjectKey, api::ObjectKey>;  // request, claim
  static bool may_land(const client::View& view, const api::ObjectKey& claim, const Entry& entry);
  void forget_devices(const api::ObjectKey& request, const Claims::value_type& row);

  std::map<api::ObjectKey, Claims> claims_;  // by the key of the request
  std::map<std::string, std::set<Place>, std::less<>> by_device_;
};

}  // namespace berth::binding
