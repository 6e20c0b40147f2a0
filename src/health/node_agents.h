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
#include "health/node_checkpoint.h"

namespace berth::health {

// Nodes whose kubelet sockets are served; the plugins of others find none.
inline constexpr std::size_t kKubeletSocketsMax = 128;

struct NodeAgentsOptions {
  std::string nodes_dir;
  std::vector<std::string> nodes;
  HealthTiming timing = {};
  NodeRole role = NodeRole::BesideKubelet;
  std::string kubelet_directory = "";  // of the kubelet next to it: read, never written
  std::string boot_id = machine_boot_id();
};

class NodeAgents {
 public:
  // Creates <nodes_dir>/<node>/plugins_registry, .../plugins and .../device-plugins (see socket_watcher.h),
  // and <nodes_dir>/.health for the checkpoints, whose devices are in the feed when it returns. Next to a
  // kubelet it creates only the latter. `feed` and `clock` outlive it. Refuses a folder that cannot be
  // created or watched; warns when the paths are too long for unix sockets.
  static Result<std::unique_ptr<NodeAgents>> start(NodeAgentsOptions options, HealthFeed& feed,
                                                   const Clock& clock);
  // Ends the streams, joins the thread and writes the checkpoints.
  ~NodeAgents();

 private:
  struct Loop;
  explicit NodeAgents(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace berth::health
