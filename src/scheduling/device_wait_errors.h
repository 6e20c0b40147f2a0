// What kube-scheduler says of a binding that ended because devices did not get ready.
//
// Owner: the scheduler, one thread. Memory: the requests that are rolling back after such an end. Source:
// KEP-5007; texts of kube-scheduler 1.37.0's PreBind.
#pragma once

#include <map>
#include <string>

#include "client/view.h"

namespace berth::scheduling {

class DeviceWaitErrors {
 public:
  // Of a request that fails: keeps what its claims say of their devices, which is given back next.
  void note(const client::View& view, const api::BindRequest& failing);
  // The sentence about a request that failed for good; empty when it failed for another reason. Forgets it.
  std::string take(const api::BindRequest& failed);
  void forget(const api::BindRequest& request) { noted_.erase(request.meta.uid); }
  std::size_t size() const { return noted_.size(); }

 private:
  std::map<std::string, std::string> noted_;  // by the request's UID
};

}  // namespace berth::scheduling
