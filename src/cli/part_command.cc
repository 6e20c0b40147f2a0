#include "cli/part_command.h"

#include <atomic>
#include <cstdio>
#include <optional>

#include "base/log.h"
#include "cli/apiserver_command.h"
#include "cli/cel_plug.h"
#include "cli/control_plane.h"
#include "cli/part_leading.h"
#include "cli/part_pages.h"
#include "cli/stop_signal.h"
#include "cli/version.h"
#include "client/https_client.h"
#include "health/node_agents.h"

namespace berth::cli {
namespace {

constexpr Duration kStepPeriod = Duration::millis(100);
constexpr Duration kStopGrace = Duration::millis(1500);
constexpr Duration kReleaseLimit = Duration::millis(400);  // of the two seconds that a stop may take

control::ControlPlaneOptions part_options(Part part, const Configuration& told) {
  control::ControlPlaneOptions options = plane_options(told);
  options.scheduler = part == Part::Scheduler;
  options.binder = part == Part::Binder || told.with_binder;
  options.controllers = false;
  options.simulated_nodes = false;
  return options;
}

client::ElectionOptions election_options(const Configuration& told) {
  SystemRandom random;
  client::ElectionOptions options;
  options.ns = told.lease_namespace;
  options.name = told.lease_name;
  options.identity = own_identity(random);
  return options;
}

std::string metrics_of(const ControlPlaneLoops& plane, const std::atomic<bool>& leads,
                       const Configuration& told) {
  MetricsText text;
  text.family("leader_election_master_status", MetricType::Gauge, "1 where this process leads.");
  text.sample({{"name", told.lease_name}}, leads ? 1 : 0);
  plane.write_metrics(text);
  return text.take();
}

// The agent of the one node; null for the other parts.
Result<std::unique_ptr<health::NodeAgents>> start_agent(Part part, const Configuration& told,
                                                        health::HealthFeed& feed, const Clock& clock) {
  if (part != Part::NodeAgent) return std::unique_ptr<health::NodeAgents>();
  const std::string folder =
      told.nodes_directory.empty() ? state_directory() + "/nodes" : told.nodes_directory;
  return health::NodeAgents::start(folder, {told.node}, feed, clock, health_timing(told));
}

Status run(Part part, const Configuration& told, const api::Gates& gates, const StopSignal& stop) {
  const SystemClock clock;
  const client::ClusterAccess access =
      TRY(client::read_kubeconfig(told.kubeconfig, "", client::KubeEnvironment::of_process()));
  client::HttpFetcherOptions http;
  http.user_agent = "berth-" + std::string(name_of(part)) + "/" + kBerthVersion;
  const std::unique_ptr<client::ApiClient> client = TRY(client::make_https_client(access, http, clock));
  std::optional<PartLeading> leading;
  const bool elected = told.leader_elect && part != Part::NodeAgent;
  if (elected) leading.emplace(*client, clock, election_options(told));
  std::atomic<bool> leads = !elected;
  const auto leading_now = [&leads] { return leads ? control::Leading::Yes : control::Leading::No; };
  health::HealthFeed feed;
  control::ControlPlaneOptions options = part_options(part, told);
  if (part == Part::NodeAgent) options.health = &feed;
  ControlPlaneLoops plane(*client, clock, gates, options, leading_now());
  const std::unique_ptr<health::NodeAgents> agent = TRY(start_agent(part, told, feed, clock));
  const std::unique_ptr<PartServer> pages = TRY(
      PartServer::open(told.listen, {.ready = [&plane] { return plane.synced(); },
                                     .metrics = [&] { return metrics_of(plane, leads, told); },
                                     .pages = [&plane](std::string_view path) { return plane.page(path); }}));
  std::printf("The %s works on %s; health and metrics are on %s\n", std::string(name_of(part)).c_str(),
              access.server.c_str(), pages->url().c_str());
  std::fflush(stdout);
  while (!stop.wait_for(kStepPeriod)) {
    if (!leading || leading->step() == leads) continue;
    leads = !leads;
    plane.lead(leading_now());
    log(LogLevel::Info, leads ? "leads from now on" : "does not lead any more",
        {{"part", std::string(name_of(part))}});
  }
  log(LogLevel::Info, "stopping");
  plane.stop(kStopGrace);
  if (leading) leading->release(kReleaseLimit);
  return {};
}

}  // namespace

int run_part(Part part, const Configuration& configuration) {
  StopSignal stop;
  const api::Gates gates = gates_of(part, configuration);
  if (part == Part::NodeAgent && !gates.enabled("ResourceHealthStatus"))
    return complain(Error(ErrorCode::Invalid, "--feature-gates",
                          "a node agent reports device health: it needs ResourceHealthStatus=true"));
  plug_cel();
  if (const Status ran = run(part, configuration, gates, stop); !ran) return complain(ran.error());
  return 0;
}

}  // namespace berth::cli
