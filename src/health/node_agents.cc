#include "health/node_agents.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "health/node_plugins.h"
#include "health/socket_watcher.h"

namespace berth::health {
namespace {

constexpr Duration kSleepMax = Duration::seconds(10);
constexpr std::size_t kSocketNameBytesMin = 12;  // the minimum for a driver's socket

// Work for the agents' thread from gRPC's threads. Bounded by its senders: one for each call in flight.
class Inbox {
 public:
  using Work = std::function<void()>;
  Inbox() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Inbox() { ::close(descriptor_); }

  void push(Work work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    ::eventfd_write(descriptor_, 1);
  }
  std::vector<Work> drain() {
    const std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    ::eventfd_read(descriptor_, &count);
    return std::exchange(work_, {});
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::mutex mutex_;
  std::vector<Work> work_;
};

}  // namespace

struct NodeAgents::Loop {
  Loop(NodeAgentsOptions options, std::unique_ptr<SocketWatcher> watcher, HealthFeed& feed,
       const Clock& clock)
      : options(std::move(options)),
        feed(feed),
        clock(clock),
        watcher(std::move(watcher)),
        client(make_grpc_plugin_client()) {}

  void run();
  void sleep();
  void restore(const std::string& node);
  NodePlugins& plugins_of(const std::string& node);
  NodePlugins::Save save_to(const std::string& node);
  std::string checkpoint_folder() const { return options.nodes_dir + "/.health"; }

  const NodeAgentsOptions options;
  HealthFeed& feed;
  const Clock& clock;
  std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();  // answers in flight keep it alive
  std::unique_ptr<SocketWatcher> watcher;
  std::unique_ptr<PluginClient> client;
  std::map<std::string, std::unique_ptr<NodePlugins>> nodes;  // with a socket, now or before
  bool stopping = false;
  std::thread thread;
};

NodePlugins& NodeAgents::Loop::plugins_of(const std::string& node) {
  auto& plugins = nodes[node];
  if (!plugins)
    plugins = std::make_unique<NodePlugins>(
        node, *client, feed,
        [this, box = inbox, node](std::function<void(NodePlugins&, Time)> work) {
          box->push([this, node, work = std::move(work)] { work(*nodes.at(node), clock.monotonic()); });
        },
        save_to(node), options.timing);
  return *plugins;
}

NodePlugins::Save NodeAgents::Loop::save_to(const std::string& node) {
  const auto file = std::make_shared<CheckpointFile>(checkpoint_folder(), node);
  return [this, node, file](const KeptDrivers& drivers) {
    file->save({node, options.boot_id, clock.now(), clock.monotonic(), drivers});
  };
}

// After a checkpoint that is refused nothing is known, and the statuses of the node's pods must say so.
void NodeAgents::Loop::restore(const std::string& node) {
  const CheckpointFile::Loaded loaded = CheckpointFile(checkpoint_folder(), node).load();
  if (loaded.from == CheckpointFile::Loaded::From::Nothing) return;
  const Time now = clock.monotonic();
  plugins_of(node).restore(loaded.checkpoint.drivers,
                           time_since(loaded.checkpoint, options.boot_id, clock.now(), now), now);
}

void NodeAgents::Loop::run() {
  while (!stopping) {
    for (const SocketChange& change : watcher->changes()) {
      NodePlugins& plugins = plugins_of(change.node);
      if (change.what == SocketChange::What::Appeared)
        plugins.appeared(change.path, clock.monotonic());
      else
        plugins.vanished(change.path, clock.monotonic());
    }
    for (const Inbox::Work& work : inbox->drain()) work();
    for (const auto& [node, plugins] : nodes) plugins->step(clock.monotonic());
    if (!stopping) sleep();
  }
}

void NodeAgents::Loop::sleep() {
  Duration pause = kSleepMax;
  for (const auto& [node, plugins] : nodes)
    if (const auto wake = plugins->next_wake()) pause = std::min(pause, *wake - clock.monotonic());
  constexpr std::int64_t kRoundUp = 1;  // waking up early would run the loop twice
  pollfd watched[] = {{watcher->descriptor(), POLLIN, 0}, {inbox->descriptor(), POLLIN, 0}};
  ::poll(watched, std::size(watched), static_cast<int>(std::max<std::int64_t>(pause.millis() + kRoundUp, 0)));
}

NodeAgents::NodeAgents(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {
  loop_->thread = std::thread([loop = loop_.get()] { loop->run(); });
}

NodeAgents::~NodeAgents() {
  loop_->inbox->push([loop = loop_.get()] { loop->stopping = true; });
  loop_->thread.join();
  for (const auto& [node, plugins] : loop_->nodes) plugins->flush(loop_->clock.monotonic());
  loop_->nodes.clear();
  loop_->client.reset();
}

Result<std::unique_ptr<NodeAgents>> NodeAgents::start(NodeAgentsOptions options, HealthFeed& feed,
                                                      const Clock& clock) {
  std::size_t longest = 0;
  for (const std::string& node : options.nodes) longest = std::max(longest, node.size());
  const std::string sample = options.nodes_dir + "/" + std::string(longest, 'n') + "/plugins_registry/";
  if (sample.size() + kSocketNameBytesMin > kSocketPathBytesMax)
    log(LogLevel::Warning,
        "the nodes' folder is too deep: paths of plugin sockets are longer than a unix socket's",
        {{"folder", options.nodes_dir}});
  auto watcher = TRY(SocketWatcher::open(options.nodes_dir, options.nodes));
  TRY(make_folder(options.nodes_dir + "/.health"));
  auto loop = std::make_unique<Loop>(std::move(options), std::move(watcher), feed, clock);
  for (const std::string& node : loop->options.nodes) loop->restore(node);
  return std::unique_ptr<NodeAgents>(new NodeAgents(std::move(loop)));
}

}  // namespace berth::health
