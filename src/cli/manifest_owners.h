// Objects of another server: what that server set is taken out, and owners are found again by kind and name.
//
// Every server gives objects UIDs of its own. If no object here has the owner's UID, the garbage collector
// deletes the object within a second. ResourceSlices of a real driver would go that way: their Node owns
// them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/manifests.h"
#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

struct AdoptedManifests {
  std::vector<Manifest> manifests;    // namespaces first, then owners before what they own
  std::vector<std::string> warnings;  // with file and line: owners that are nowhere
};

// Finds an owner among the manifests, in the store, or among the simulated nodes node-1 to node-`nodes`.
// Drops a reference to any other, with a warning.
AdoptedManifests adopt_manifests(std::vector<Manifest> manifests, const store::Store& store,
                                 std::size_t nodes);

// The object with the UIDs that its owners have in the client's server; of an owner that it lacks the given
// one. Blocks.
Json with_owner_uids(const Manifest& manifest, client::ApiClient& client);

}  // namespace berth::cli
