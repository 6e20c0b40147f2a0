#include "cli/up_command.h"

#include <cstdio>
#include <optional>

#include "base/log.h"
#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/control_plane.h"
#include "cli/dashboard.h"
#include "cli/decision_file.h"
#include "cli/manifest_apply.h"
#include "cli/manifest_owners.h"
#include "cli/manifest_status.h"
#include "cli/placements.h"
#include "cli/server_options.h"
#include "cli/simulated_nodes.h"
#include "cli/stop_signal.h"
#include "health/node_agents.h"
#include "plane/controller_names.h"
#include "server/in_process_client.h"

namespace berth::cli {
namespace {

constexpr Duration kPollPeriod = Duration::millis(20);
constexpr Duration kReadyLimit = Duration::seconds(120);  // for the simulated nodes to become Ready

// The number of simulated nodes once all are Ready; none when a stop signal came first.
Result<std::optional<std::size_t>> wait_for_nodes(SimulatedNodes& nodes, const ControlPlaneLoops& plane,
                                                  const Clock& clock, const StopSignal& stop) {
  const Time limit = clock.monotonic() + kReadyLimit;
  for (;;) {
    nodes.refresh();
    if (plane.synced() && nodes.all_ready()) return std::optional(nodes.names().size());
    if (clock.monotonic() > limit)
      return Error(ErrorCode::Unavailable, "only " + std::to_string(nodes.ready()) + " of " +
                                               std::to_string(nodes.names().size()) +
                                               " simulated nodes became Ready in time");
    if (stop.wait_for(kPollPeriod)) return std::optional<std::size_t>();
  }
}

// The agents of the simulated nodes; null in memory without --nodes-dir: their sockets have no folder.
Result<std::unique_ptr<health::NodeAgents>> start_agents(const Configuration& config,
                                                         const ApiServerComponent& component,
                                                         std::vector<std::string> nodes,
                                                         health::HealthFeed& feed, const Clock& clock) {
  std::string folder = config.nodes_directory;
  if (folder.empty() && !component.data_directory().empty()) folder = component.data_directory() + "/nodes";
  if (folder.empty()) return std::unique_ptr<health::NodeAgents>();
  return health::NodeAgents::start(
      {folder, std::move(nodes), health_timing(config), health::NodeRole::OwnsNodes}, feed, clock);
}

// Null in memory: there is no data directory.
Result<std::unique_ptr<DecisionFile>> open_decisions(const ApiServerComponent& component) {
  if (component.data_directory().empty()) return std::unique_ptr<DecisionFile>();
  return DecisionFile::open(component.data_directory());
}

void print_welcome(const ApiServerComponent& component, std::size_t nodes, DashboardServer* dashboard) {
  std::printf("Berth is up: the Kubernetes API is on %s, %zu simulated node%s ready.\n",
              component.url().c_str(), nodes, nodes == 1 ? " is" : "s are");
  if (!component.kubeconfig().empty())
    std::printf("\n  export KUBECONFIG=%s\n  kubectl get nodes\n\n", component.kubeconfig().c_str());
  if (dashboard)
    std::printf("The dashboard (the link works once; kubectl get --raw %s makes another):\n  %s\n\n",
                std::string(kLinkPage).c_str(), dashboard->link().c_str());
  std::fflush(stdout);
}

std::optional<std::string> decision_page(const ControlPlaneLoops& plane, const Configuration& config,
                                         std::string_view path) {
  auto page = configuration_page(path, Component::Up, config);
  return page ? std::move(page) : plane.page(path);
}

// Shows the plane's metrics, pages and dashboard with the server's as long as both exist.
class PlaneShown {
 public:
  PlaneShown(ApiServerComponent& component, const ControlPlaneLoops& plane, const Configuration& config,
             DashboardServer* dashboard)
      : component_(component) {
    component_.show({.metrics = [&plane](MetricsText& text) { plane.write_metrics(text); },
                     .pages =
                         [&plane, &config, dashboard](std::string_view path) {
                           auto page = decision_page(plane, config, path);
                           return page || !dashboard ? std::move(page) : dashboard->page(path);
                         },
                     .dashboard = [dashboard] { return dashboard ? dashboard->link() : ""; }});
  }
  ~PlaneShown() { component_.show({}); }

 private:
  ApiServerComponent& component_;
};

// Null without a board.
Result<std::unique_ptr<DashboardServer>> open_dashboard(const Configuration& config, const Plugins& plugins,
                                                        const ApiServerComponent& component,
                                                        const ControlPlaneLoops& plane, DashboardBoard* board,
                                                        const Clock& clock) {
  if (!board) return std::unique_ptr<DashboardServer>();
  return DashboardServer::open(
      {.listen = config.dashboard,
       .open_to_all = config.insecure,
       .cluster = component.administrator(),
       .decisions = page_reader([&](std::string_view path) { return decision_page(plane, config, path); }),
       .plugins = plugins.scheduler},
      *board, clock);
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) tell("warning: " + warning);
}

bool makes_accounts(const plane::ControlPlaneOptions& options) {
  return plane::runs_controller(plane::kServiceAccountControllerName, options.controller_names);
}

Status serve(const Configuration& config, const Plugins& plugins, plane::ControlPlaneOptions options,
             ApiServerComponent& component, const std::vector<Manifest>& manifests, const api::Gates& gates,
             const StopSignal& stop) {
  TRY(try_manifests(manifests, gates, component.store()));
  TRY(component.start());
  component.server().set_ready(true);
  const SystemClock machine;
  const SteadyClock clock(machine);  // the server is this process: no offset
  const auto client = server::make_in_process_client(component.server(), "system:berth");
  const auto own = server::make_in_process_client(component.server(), "kubernetes-admin");
  health::HealthFeed feed;
  options.health = &feed;
  options.root_ca = component.ca_certificate();
  const std::unique_ptr<DecisionFile> decisions = TRY(open_decisions(component));
  TRY(component.store().together([&]() -> Status {
    TRY(make_simulated_nodes(static_cast<std::size_t>(config.nodes), component.store(), *own));
    const std::vector<Manifest> lasting = with_lasting_status(manifests, component.store());
    TRY(store_manifests(manifests, *own));
    warn(store_lasting_status(lasting, *own));
    return {};
  }));
  if (makes_accounts(options)) component.server().require_accounts();
  component.serve();
  SimulatedNodes nodes(component.store());
  // Before the plane: no pod starts without what the agents remember of its node's drivers.
  const std::unique_ptr<health::NodeAgents> agents =
      TRY(start_agents(config, component, nodes.names(), feed, clock));
  const std::unique_ptr<DashboardBoard> board =
      TRY(board_of(config, component.data_directory(), decisions.get()));
  if (board) options.observer = &board->observer();
  ControlPlaneLoops plane(*client, clock, gates, options, client::Leadership{},
                          board ? static_cast<explain::DecisionSink*>(board.get()) : decisions.get());
  if (decisions) plane.remember(DecisionFile::tail(component.data_directory()));
  const std::unique_ptr<DashboardServer> dashboard =
      TRY(open_dashboard(config, plugins, component, plane, board.get(), clock));
  const PlaneShown shown(component, plane, config, dashboard.get());
  const std::optional<std::size_t> ready = TRY(wait_for_nodes(nodes, plane, clock, stop));
  if (!ready) return {};
  TRY(component.ready());
  print_welcome(component, *ready, dashboard.get());
  std::optional<PlacementPrinter> printer;
  if (config.watch_placements) printer.emplace(*own);
  stop.wait();
  printer.reset();
  log(LogLevel::Info, "stopping");
  plane.stop(kStopGrace);
  return {};
}

}  // namespace

int run_up(const Configuration& configuration, const Plugins& plugins) {
  StopSignal stop;
  const plane::ControlPlaneOptions options = plane_options(configuration, plugins);
  const auto admission = pod_admission(options);
  if (!admission) return complain(admission.error());
  const api::Gates gates = gates_of(Component::Up, configuration);
  Result<std::vector<Manifest>> manifests = read_manifests(configuration.files, gates);
  if (!manifests) return complain(manifests.error()), 1;
  ServerOptions server = server_options(configuration);
  server.warn_unacted = true;
  server.unacted = plane::resources_without_controller(options.controller_names);
  server.collect_custom_garbage =
      plane::runs_controller(plane::kGarbageCollectorName, options.controller_names);
  server.pod_admission = admission->get();
  server.fills_token_secrets = plane::runs_controller(plane::kTokenControllerName, options.controller_names);
  // Manifests may be of a cluster whose accounts they lack.
  if (makes_accounts(options)) server.pod_accounts = api::PodAccounts::Assumed;
  Result<std::unique_ptr<ApiServerComponent>> component = ApiServerComponent::open(std::move(server), gates);
  if (!component) return complain(component.error());
  const AdoptedManifests adopted = adopt_manifests(std::move(*manifests), (*component)->store(),
                                                   static_cast<std::size_t>(configuration.nodes));
  warn(adopted.warnings);
  const Status served = serve(configuration, plugins, options, **component, adopted.manifests, gates, stop);
  (*component)->stop(Duration::millis(300));
  if (!served) return complain(served.error());
  return 0;
}

}  // namespace berth::cli
