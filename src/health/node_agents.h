// The node agents of one process: watches the plugin folders of its nodes and publishes the drivers' reports.
//
// Owns one thread and gRPC's. Publishes into the feed from that thread. Costs one inotify instance and one
// inotify watch for each of the first kNodeFoldersMax nodes while no plugin registers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "health/health_feed.h"

namespace berth::health {

class NodeAgents {
 public:
  // Creates <nodes_dir>/<node>/plugins_registry and .../device-plugins (see socket_watcher.h). `feed` and
  // `clock` outlive it. Refuses a folder that cannot be created or watched; warns when the paths are too long
  // for unix sockets.
  static Result<std::unique_ptr<NodeAgents>> start(const std::string& nodes_dir,
                                                   std::vector<std::string> nodes, HealthFeed& feed,
                                                   const Clock& clock, HealthTiming timing = {});
  // Ends the streams and joins the thread.
  ~NodeAgents();

 private:
  struct Loop;
  explicit NodeAgents(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace berth::health
