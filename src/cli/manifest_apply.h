// Applies manifests: all of them or none.
#pragma once

#include <vector>

#include "cli/manifests.h"
#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

// Tries all of them on a separate server in memory, with the objects of `store` that rules read (namespaces,
// priority classes) or that the manifests will change. The first refusal is the error, with its place.
// Changes nothing in `store`.
Status try_manifests(const std::vector<Manifest>& manifests, const api::Gates& gates,
                     const store::Store& store);

// Creates the objects that do not exist; in existing ones it sets the members that the manifest names, except
// status. Blocks until every response has arrived. Within Store::together() they are durable at once.
Status store_manifests(const std::vector<Manifest>& manifests, client::ApiClient& client);

}  // namespace berth::cli
