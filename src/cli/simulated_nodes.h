// The simulated nodes of `berth up`, as objects of the store: those of --nodes, now or earlier, and those of
// manifests.
#pragma once

#include <string>
#include <vector>

#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

struct SimulatedNodes {
  std::vector<std::string> names;
  std::size_t ready = 0;  // how many of them are Ready
};
SimulatedNodes simulated_nodes(const store::Store& store);

// Creates those of node-1 to node-`count` that `store` lacks. Blocks until every response has arrived.
Status make_simulated_nodes(std::size_t count, const store::Store& store, client::ApiClient& client);

}  // namespace berth::cli
