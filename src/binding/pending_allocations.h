// Allocations that this process has sent and its view does not show yet; their devices count as in use.
//
// Writes may be slow, and a request may be gone before its write lands: without this, two requests could get
// one device, each while the other's allocation is in flight. An entry begins with the write. It ends when
// the view shows the claim allocated, gone, or with a later version than the write names, or when the server
// refused the write. A write of unknown fate whose request is gone is prevented by a new version of the
// claim (seal_claim). Only whole devices are tracked, neither shares nor counters, and only writes of this
// process. Owner: the binder, one thread. Cost: O(log n) a device. Memory: proportional to the claims of
// requests under way.
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
  // Records the allocations in the effects of a run of `request`, before they are sent. They replace those
  // of its earlier runs.
  void sent(const client::View& view, const api::BindRequest& request, const client::Effects& effects);
  // Marks the entries whose write in the last run has an unknown fate.
  void failed(const client::View& view, const api::ObjectKey& request, const client::Outcome& outcome);
  // The run that sent them has ended: drops the entries that were answered or that the view shows.
  void answered(const client::View& view, const api::ObjectKey& request);
  // Writes that seal claims against allocations of unknown fate, for a request that is gone.
  std::vector<client::Chain> to_seal(const client::View& view, const api::ObjectKey& request) const;

  // The name of another claim with a pending allocation of this device; empty: none.
  std::string holder_of(const client::View& view, const api::DeviceResult& device,
                        std::string_view claim_uid) const;

 private:
  struct Entry {
    std::string claim_uid;
    std::string decision;
    std::vector<std::string> devices;  // client::device_key
    bool is_unknown = false;           // the answer was lost and the write may land
    std::uint64_t version = 0;         // of the claim when the answer was lost
  };
  using Claims = std::map<api::ObjectKey, Entry>;
  using Place = std::pair<api::ObjectKey, api::ObjectKey>;  // request, claim
  static bool may_land(const client::View& view, const api::ObjectKey& claim, const Entry& entry);
  void forget_devices(const api::ObjectKey& request, const Claims::value_type& row);

  std::map<api::ObjectKey, Claims> claims_;  // by the key of the request
  std::map<std::string, std::set<Place>, std::less<>> by_device_;
};

}  // namespace berth::binding
