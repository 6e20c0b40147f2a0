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
  Loop(std::unique_ptr<SocketWatcher> watcher, HealthFeed& feed, const Clock& clock, HealthTiming timing)
      : feed(feed),
        clock(clock),
        timing(timing),
        watcher(std::move(watcher)),
        client(make_grpc_plugin_client()) {}

  void run();
  void sleep();
  NodePlugins& plugins_of(const std::string& node);

  HealthFeed& feed;
  const Clock& clock;
  const HealthTiming timing;
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
        timing);
  return *plugins;
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
  loop_->nodes.clear();
  loop_->client.reset();
}

Result<std::unique_ptr<NodeAgents>> NodeAgents::start(const std::string& nodes_dir,
                                                      std::vector<std::string> nodes, HealthFeed& feed,
                                                      const Clock& clock, HealthTiming timing) {
  std::size_t longest = 0;
  for (const std::string& node : nodes) longest = std::max(longest, node.size());
  const std::string sample = nodes_dir + "/" + std::string(longest, 'n') + "/plugins_registry/";
  if (sample.size() + kSocketNameBytesMin > kSocketPathBytesMax)
    log(LogLevel::Warning,
        "the nodes' folder is too deep: paths of plugin sockets are longer than a unix socket's",
        {{"folder", nodes_dir}});
  auto watcher = TRY(SocketWatcher::open(nodes_dir, std::move(nodes)));
  return std::unique_ptr<NodeAgents>(
      new NodeAgents(std::make_unique<Loop>(std::move(watcher), feed, clock, timing)));
}

}  // namespace berth::health
