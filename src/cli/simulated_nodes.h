// The simulated nodes of `berth up`, as objects of the store: those of --nodes, now or earlier, and those of
// manifests.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

// How many there are and how many of them are Ready. One thread. Cost of refresh(): a pass over the nodes,
// and a parse of each that was written since.
class SimulatedNodes {
 public:
  // `store` outlives it.
  explicit SimulatedNodes(const store::Store& store) : store_(store) { refresh(); }

  void refresh();
  const std::vector<std::string>& names() const { return names_; }
  // Of those whose agent runs.
  bool all_ready() const { return ready_ + stopped_ == names_.size(); }
  std::size_t ready() const { return ready_; }

 private:
  struct Seen {
    store::Revision revision = 0;
    bool is_simulated = false;
    bool is_ready = false;
    bool is_stopped = false;  // its agent, by annotation
  };
  static Seen seen(const store::Object& object);

  const store::Store& store_;
  std::unordered_map<std::string, Seen> seen_;  // by name, also of nodes that are gone
  std::vector<std::string> names_;
  std::size_t ready_ = 0, stopped_ = 0;
};

// Creates those of node-1 to node-`count` that `store` lacks. Blocks until every response has arrived.
Status make_simulated_nodes(std::size_t count, const store::Store& store, client::ApiClient& client);

}  // namespace berth::cli
