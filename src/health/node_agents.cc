#include "health/node_agents.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "health/kubelet_server.h"
#include "health/node_agent.h"
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
  // A node with a plugin folder that something uses, now or before.
  struct Served {
    std::uint64_t incarnation = 0;
    std::unique_ptr<CheckpointFile> file;
    std::unique_ptr<NodeAgent> agent;
    std::unique_ptr<KubeletServer> server;  // of a node that has no kubelet
  };

  Loop(NodeAgentsOptions options, std::unique_ptr<SocketWatcher> watcher, HealthFeed& feed,
       const Clock& clock)
      : options(std::move(options)),
        feed(feed),
        clock(clock),
        watcher(std::move(watcher)),
        client(make_grpc_plugin_client()) {}

  void listen();
  void run();
  void sleep();
  void add(const std::string& node);
  void remove(const std::string& node);
  void serve(const std::string& node);
  void restore(const std::string& node);
  void push(const std::string& node, std::function<void(NodeAgent&, Time)> work);
  NodeAgent& agent_of(const std::string& node);
  std::string checkpoint_folder() const { return options.nodes_dir + "/.health"; }

  const NodeAgentsOptions options;
  HealthFeed& feed;
  const Clock& clock;
  std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();  // answers in flight keep it alive
  std::unique_ptr<SocketWatcher> watcher;
  std::unique_ptr<PluginClient> client;
  std::map<std::string, Served> nodes;
  std::uint64_t last_incarnation = 0;
  std::size_t servers = 0;
  bool stopping = false;
  std::thread thread;
};

// Answers for a node that went, or for the one before of the same name, are dropped.
NodeAgent& NodeAgents::Loop::agent_of(const std::string& node) {
  Served& served = nodes[node];
  if (served.agent) return *served.agent;
  const std::uint64_t incarnation = served.incarnation = ++last_incarnation;
  served.file = std::make_unique<CheckpointFile>(checkpoint_folder(), node);
  served.agent = std::make_unique<NodeAgent>(
      node, options.nodes_dir + "/" + node, *client, feed,
      [this, box = inbox, node, incarnation](std::function<void(NodeAgent&, Time)> work) {
        box->push([this, node, incarnation, work = std::move(work)] {
          const auto found = nodes.find(node);
          if (found != nodes.end() && found->second.incarnation == incarnation)
            work(*found->second.agent, clock.monotonic());
        });
      },
      [this, node, file = served.file.get()](NodeAgent::Kept kept) {
        return file->save({node, options.boot_id, clock.now(), clock.monotonic(), std::move(kept.drivers),
                           std::move(kept.resources), std::move(kept.held), std::move(kept.claims),
                           std::move(kept.claim_drivers)});
      },
      options.timing, options.role);
  return *served.agent;
}

// After a checkpoint that is refused nothing is known, and the statuses of the node's pods must say so.
void NodeAgents::Loop::restore(const std::string& node) {
  CheckpointFile::Loaded loaded = CheckpointFile(checkpoint_folder(), node).load();
  if (loaded.from == CheckpointFile::Loaded::From::Nothing) return;
  NodeCheckpoint& kept = loaded.checkpoint;
  const Time now = clock.monotonic();
  const auto passed = time_since(kept, options.boot_id, clock.now(), now);
  agent_of(node).restore({std::move(kept.drivers), std::move(kept.resources), std::move(kept.held),
                          std::move(kept.claims), std::move(kept.claim_drivers)},
                         passed, now);
}

// Serves the kubelet's sockets, once the node's folders are there.
void NodeAgents::Loop::serve(const std::string& node) {
  if (options.role != NodeRole::OwnsNodes || servers >= kKubeletSocketsMax || !watcher->has_folders(node))
    return;
  agent_of(node);
  Served& served = nodes.at(node);
  if (served.server) return;
  auto server = KubeletServer::serve(
      options.nodes_dir + "/" + node, node, feed, [this, node](PluginRegistration registration) {
        push(node, [registration](NodeAgent& agent, Time now) { agent.registered(registration, now); });
      });
  if (!server)
    return log(LogLevel::Warning, "a node's device plugins are not served",
               {{"node", node}, {"cause", server.error().text()}});
  served.server = std::move(*server);
  ++servers;
  feed.serve(node);
}

// On any thread.
void NodeAgents::Loop::push(const std::string& node, std::function<void(NodeAgent&, Time)> work) {
  inbox->push([this, node, work = std::move(work)] {
    const auto found = nodes.find(node);
    if (found != nodes.end()) work(*found->second.agent, clock.monotonic());
  });
}

void NodeAgents::Loop::add(const std::string& node) {
  if (Status added = watcher->add(node); !added)
    return log(LogLevel::Warning, "a node's plugins cannot be watched",
               {{"node", node}, {"cause", added.error().text()}});
  if (!nodes.contains(node)) restore(node);
  serve(node);
}

// The next node of that name starts with nothing.
void NodeAgents::Loop::remove(const std::string& node) {
  watcher->remove(node);
  feed.stop_serving(node);
  CheckpointFile(checkpoint_folder(), node).remove();
  const auto found = nodes.find(node);
  if (found == nodes.end()) return;
  servers -= found->second.server ? 1 : 0;
  nodes.erase(found);
}

// What happens from now on is told to the thread.
void NodeAgents::Loop::listen() {
  feed.on_pods([this](const std::string& node) {
    push(node, [](NodeAgent& agent, Time now) { agent.pods_changed(now); });
  });
  if (options.role != NodeRole::OwnsNodes) return;
  using Presence = HealthFeed::Presence;
  feed.on_nodes([this](const std::string& node, Presence presence) {
    inbox->push([this, node, presence] { presence == Presence::Here ? add(node) : remove(node); });
  });
  for (const std::string& node : feed.nodes()) inbox->push([this, node] { add(node); });
}

void NodeAgents::Loop::run() {
  while (!stopping) {
    for (const SocketChange& change : watcher->changes()) {
      NodeAgent& agent = agent_of(change.node);
      if (change.what == SocketChange::What::Appeared)
        agent.appeared(change.path, clock.monotonic());
      else
        agent.vanished(change.path, clock.monotonic());
    }
    for (const Inbox::Work& work : inbox->drain()) work();
    for (const auto& [node, served] : nodes) served.agent->step(clock.monotonic());
    if (!stopping) sleep();
  }
}

void NodeAgents::Loop::sleep() {
  Duration pause = kSleepMax;
  for (const auto& [node, served] : nodes)
    if (const auto wake = served.agent->next_wake()) pause = std::min(pause, *wake - clock.monotonic());
  constexpr std::int64_t kRoundUp = 1;  // waking up early would run the loop twice
  pollfd watched[] = {{watcher->descriptor(), POLLIN, 0}, {inbox->descriptor(), POLLIN, 0}};
  ::poll(watched, std::size(watched), static_cast<int>(std::max<std::int64_t>(pause.millis() + kRoundUp, 0)));
}

NodeAgents::NodeAgents(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {
  loop_->listen();
  loop_->thread = std::thread([loop = loop_.get()] { loop->run(); });
}

NodeAgents::~NodeAgents() {
  loop_->feed.on_pods({});
  loop_->feed.on_nodes({});
  loop_->inbox->push([loop = loop_.get()] { loop->stopping = true; });
  loop_->thread.join();
  for (auto& [node, served] : loop_->nodes) {
    served.server.reset();
    served.agent->flush(loop_->clock.monotonic());
  }
  loop_->nodes.clear();
  loop_->client.reset();
}

Result<std::unique_ptr<NodeAgents>> NodeAgents::start(NodeAgentsOptions options, HealthFeed& feed,
                                                      const Clock& clock) {
  const bool guest = options.role == NodeRole::BesideKubelet;
  std::size_t longest = 0;
  for (const std::string& node : options.nodes) longest = std::max(longest, node.size());
  const std::string sample = options.nodes_dir + "/" + std::string(longest, 'n') + "/plugins_registry/";
  if (!guest && sample.size() + kSocketNameBytesMin > kSocketPathBytesMax)
    log(LogLevel::Warning,
        "the nodes' folder is too deep: paths of plugin sockets are longer than a unix socket's",
        {{"folder", options.nodes_dir}});
  BERTH_ASSERT(!guest || options.nodes.size() == 1, "a kubelet has one node");
  auto watcher = guest ? TRY(SocketWatcher::open_registry(options.kubelet_directory, options.nodes.front()))
                       : TRY(SocketWatcher::open(options.nodes_dir, options.nodes));
  TRY(make_folder(options.nodes_dir + "/.health"));
  auto loop = std::make_unique<Loop>(std::move(options), std::move(watcher), feed, clock);
  for (const std::string& node : loop->options.nodes) {
    loop->restore(node);
    loop->serve(node);
  }
  return std::unique_ptr<NodeAgents>(new NodeAgents(std::move(loop)));
}

}  // namespace berth::health
