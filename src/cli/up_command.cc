#include "cli/up_command.h"

#include <cstdio>
#include <future>

#include "base/log.h"
#include "cli/apiserver_command.h"
#include "cli/control_plane.h"
#include "cli/manifests.h"
#include "cli/placements.h"
#include "cli/stop_signal.h"
#include "control/controllers/controllers.h"
#include "health/node_agents.h"
#include "server/in_process_client.h"

namespace berth::cli {
namespace {

constexpr Duration kPollPeriod = Duration::millis(20);
constexpr Duration kReadyLimit = Duration::seconds(120);  // for the simulated nodes to become Ready
constexpr Duration kStopGrace = Duration::millis(1500);

std::vector<Json> stored(const store::Store& store, const char* resource) {
  std::vector<Json> objects;
  store::ListQuery query;
  query.resource = resource;
  if (const Result<store::ListPage> page = store.list(query))
    for (const store::ObjectPtr& object : page->objects)
      if (Result<Json> json = parse_json(object->bytes)) objects.push_back(std::move(json).value());
  return objects;
}

// What rules of other objects read.
std::vector<Json> context_objects(const store::Store& store) {
  std::vector<Json> objects = stored(store, "namespaces");
  for (Json& object : stored(store, "priorityclasses.scheduling.k8s.io"))
    objects.push_back(std::move(object));
  return objects;
}

bool is_ready(const Json& node) {
  const Json* status = node.find("status");
  if (!status) return false;
  for (const Json& condition : status->items_at("conditions"))
    if (condition.string_at("type") == "Ready") return condition.string_at("status") == "True";
  return false;
}

Status make_nodes(std::size_t count, const store::Store& store, client::ApiClient& client) {
  std::vector<std::future<client::ApiReply>> replies;
  for (std::size_t n = 1; n <= count; ++n) {
    const Json node = control::simulated_node_object(n);
    const std::string name(node.find("metadata")->string_at("name"));
    if (store.get({"nodes", "", name})) continue;
    auto answered = std::make_shared<std::promise<client::ApiReply>>();
    replies.push_back(answered->get_future());
    client::ApiRequest request{client::Verb::Create, api::ref_of(api::Kind::Node), "", "", "",
                               to_string(node)};
    client.submit(std::move(request),
                  [answered](client::ApiReply reply) { answered->set_value(std::move(reply)); });
  }
  for (std::future<client::ApiReply>& reply : replies) {
    const client::ApiReply made = reply.get();
    if (!made.ok() && made.reason != "AlreadyExists")
      return Error(ErrorCode::Internal, "a simulated node cannot be made: " + made.message);
  }
  return {};
}

// False when a stop signal came first.
Result<bool> wait_for_nodes(std::size_t count, const store::Store& store, const ControlPlaneLoops& plane,
                            const Clock& clock, const StopSignal& stop) {
  const Time limit = clock.monotonic() + kReadyLimit;
  for (;;) {
    std::size_t ready = 0;
    for (const Json& node : stored(store, "nodes")) ready += is_ready(node);
    if (plane.synced() && ready >= count) return true;
    if (clock.monotonic() > limit)
      return Error(ErrorCode::Unavailable, "only " + std::to_string(ready) + " of " + std::to_string(count) +
                                               " simulated nodes became Ready in time");
    if (stop.wait_for(kPollPeriod)) return false;
  }
}

// The agents of the first simulated nodes; null in memory without --nodes-dir: there is no place for their
// sockets.
Result<std::unique_ptr<health::NodeAgents>> start_agents(const UpCommand& command, health::HealthFeed& feed,
                                                         const Clock& clock) {
  std::string folder = command.nodes_directory;
  if (folder.empty() && !command.server.data_directory.empty())
    folder = command.server.data_directory + "/nodes";
  if (folder.empty() || command.nodes == 0) return std::unique_ptr<health::NodeAgents>();
  std::vector<std::string> names;
  for (std::size_t n = 1; n <= command.nodes; ++n)
    names.emplace_back(control::simulated_node_object(n).find("metadata")->string_at("name"));
  return health::NodeAgents::start(folder, std::move(names), feed, clock);
}

void print_welcome(const ServerPart& part, std::size_t nodes) {
  std::printf("Berth is up: the Kubernetes API is on %s, %zu simulated node%s ready.\n", part.url().c_str(),
              nodes, nodes == 1 ? " is" : "s are");
  if (!part.kubeconfig().empty())
    std::printf("\n  export KUBECONFIG=%s\n  kubectl get nodes\n\n", part.kubeconfig().c_str());
  std::fflush(stdout);
}

Status serve(UpCommand& command, ServerPart& part, const std::vector<Manifest>& manifests,
             const api::Gates& gates, const StopSignal& stop) {
  if (Status tried = try_manifests(manifests, gates, context_objects(part.store())); !tried) return tried;
  if (Status started = part.start(); !started) return started;
  part.server().set_ready(true);
  SystemClock clock;
  const auto client = server::make_in_process_client(part.server(), "system:berth");
  const auto own = server::make_in_process_client(part.server(), "kubernetes-admin");
  health::HealthFeed feed;
  control::ControlPlaneOptions options;
  options.health = &feed;
  ControlPlaneLoops plane(*client, clock, gates, options);
  if (Status made = make_nodes(command.nodes, part.store(), *own); !made) return made;
  if (Status stored = store_manifests(manifests, *own); !stored) return stored;
  if (!TRY(wait_for_nodes(command.nodes, part.store(), plane, clock, stop))) return {};
  const std::unique_ptr<health::NodeAgents> agents = TRY(start_agents(command, feed, clock));
  if (Status ready = part.ready(); !ready) return ready;
  print_welcome(part, command.nodes);
  if (command.watch_placements) {
    PlacementPrinter printer(*own);
    stop.wait();
  } else {
    stop.wait();
  }
  log(LogLevel::Info, "stopping");
  plane.stop(kStopGrace);
  return {};
}

}  // namespace

int run_up(UpCommand command) {
  StopSignal stop;
  choose_data_directory(command.server, command.in_memory);
  if (command.nodes > kSimulatedNodesMax)
    return complain(Error(ErrorCode::Invalid, "--nodes",
                          "at most " + std::to_string(kSimulatedNodesMax) + " nodes can be simulated"));
  const Result<api::Gates> gates = api::Gates::parse(api::GateDefaults::Up, command.feature_gates);
  if (!gates) return complain(gates.error());
  const Result<std::vector<Manifest>> manifests = read_manifests(command.files, *gates);
  if (!manifests) return complain(manifests.error()), 1;
  command.server.warn_unacted = true;
  Result<std::unique_ptr<ServerPart>> part = ServerPart::open(command.server, *gates);
  if (!part) return complain(part.error());
  const Status served = serve(command, **part, *manifests, *gates, stop);
  (*part)->stop(Duration::millis(300));
  if (!served) return complain(served.error()), 1;
  return 0;
}

}  // namespace berth::cli
