// kube-scheduler's sentence for a binding that failed because devices or volumes did not get ready.
//
// Owner: the scheduler, one thread. Memory: one sentence for each request that rolls back after such a
// failure. Source: KEP-5007; texts of kube-scheduler 1.37.0's PreBind.
#pragma once

#include <map>
#include <string>

#include "client/view.h"

namespace berth::scheduling {

class DeviceWaitErrors {
 public:
  // Keeps what the claims of a failing request say about their devices or volumes, before the rollback clears
  // it.
  void note(const client::View& view, const api::BindRequest& failing);
  // Returns and forgets the sentence for a request that failed for good. Empty: it failed for another
  // reason.
  std::string take(const api::BindRequest& failed);
  void forget(const api::BindRequest& request) { noted_.erase(request.meta.uid); }
  std::size_t size() const { return noted_.size(); }

 private:
  void note_provisioning(const client::View& view, const api::BindRequest& failing);

  std::map<std::string, std::string> noted_;  // by the request's UID
};

}  // namespace berth::scheduling
