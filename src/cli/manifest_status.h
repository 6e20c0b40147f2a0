// What a server drops or changes when it creates an object of a dump, and what is true of it all the same.
//
// The allocation of a ResourceClaim: without it its devices would count as free. The taints of a Node that is
// Ready: a server adds that it is not, and no kubelet is there to take it away. The status of Pods and Jobs
// that have ended: they would run again.
#pragma once

#include <string>
#include <vector>

#include "cli/manifests.h"
#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

// Those of which this is true, and that the store does not have yet.
std::vector<Manifest> with_lasting_status(const std::vector<Manifest>& manifests, const store::Store& store);

// Writes these once they are stored; consumers of claims by the UIDs that they have in the client's server,
// those that it lacks left out. Returns warnings with file and line. Blocks.
std::vector<std::string> store_lasting_status(const std::vector<Manifest>& manifests,
                                              client::ApiClient& client);

}  // namespace berth::cli
