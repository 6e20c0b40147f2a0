#include "cli/component_command.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>

#include "api/metric_table.h"
#include "base/log.h"
#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/control_plane.h"
#include "cli/dashboard.h"
#include "cli/leader_election_runner.h"
#include "cli/node_guest.h"
#include "cli/plane_metrics.h"
#include "cli/server_options.h"
#include "cli/status_server.h"
#include "cli/stop_signal.h"
#include "cli/version.h"
#include "cli/webhook_server.h"
#include "client/https_client.h"
#include "health/node_agents.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kEventsPerSecond = 50;  // as kube-scheduler, and in bursts of 100
constexpr Duration kStepPeriod = Duration::millis(100);
constexpr Duration kHeadStart = Duration::seconds(1);
constexpr Duration kHeadStartPeriod = Duration::millis(5);
constexpr Duration kReleaseLimit = Duration::millis(400);  // of the two seconds for a stop

plane::ControlPlaneOptions part_options(Component component, const Configuration& config,
                                        const Plugins& plugins) {
  plane::ControlPlaneOptions options = plane_options(config, plugins);
  options.scheduler = component == Component::Scheduler;
  options.binder = component == Component::Binder || config.with_binder;
  options.controllers = false;
  options.simulated_nodes = false;
  options.health_policies = component == Component::Scheduler;
  options.event_pacing.per_second = kEventsPerSecond;
  return options;
}

client::ElectionOptions election_options(const Configuration& config) {
  SystemRandom random;
  client::ElectionOptions options;
  options.ns = config.lease_namespace;
  options.name = config.lease_name;
  options.identity = own_identity(random);
  options.lease = config.kube_scheduler.lease;
  options.renew_deadline = config.kube_scheduler.renew_deadline;
  options.retry = config.kube_scheduler.retry;
  return options;
}

// For decisions without a Lease.
std::string own_name() {
  SystemRandom random;
  constexpr std::size_t kLength = 8;
  return random.uuid().substr(0, kLength);
}

// Whether this process leads, and its term; shared with the status server's thread.
struct Term {
  std::atomic<bool> leads = false;
  std::atomic<std::uint64_t> epoch = 0;
};

std::string metrics_of(const ControlPlaneLoops& plane, const Term& term,
                       const client::RefusedRequests& refusals, const SteadyClock& clock,
                       const Configuration& config) {
  MetricsText text;
  text.family(api::family_of(api::Metric::LeaderStatus));
  text.sample({config.lease_name}, term.leads ? 1 : 0);
  text.family(api::family_of(api::Metric::LeaderEpoch));
  text.sample({config.lease_name}, term.epoch);
  const std::int64_t ahead_ms = clock.offset().millis();
  text.family(api::family_of(api::Metric::ClockOffset));
  text.sample({"ahead"}, static_cast<std::uint64_t>(std::max<std::int64_t>(ahead_ms, 0)));
  text.sample({"behind"}, static_cast<std::uint64_t>(std::max<std::int64_t>(-ahead_ms, 0)));
  plane.write_metrics(text);
  write_metrics(refusals, text);
  return text.take();
}

// The agent of the node; null for the other components.
Result<std::unique_ptr<health::NodeAgents>> start_agent(Component component, const Configuration& config,
                                                        health::HealthFeed& feed, const Clock& clock) {
  if (component != Component::NodeAgent) return std::unique_ptr<health::NodeAgents>();
  const std::string folder =
      config.nodes_directory.empty() ? state_directory() + "/nodes" : config.nodes_directory;
  return health::NodeAgents::start(
      {folder, {config.node}, health_timing(config), health::NodeRole::RegistersDrivers}, feed, clock);
}

// Steps the election until the leader is known, for a short while: a process that leads from the start need
// not list everything twice.
LeaderState first_state(LeaderElectionRunner& leading, const Clock& clock, const StopSignal& stop) {
  const Time end = clock.monotonic() + kHeadStart;
  for (;;) {
    const LeaderState state = leading.step();
    if (state != LeaderState::Unknown || clock.monotonic() >= end || stop.wait_for(kHeadStartPeriod))
      return state;
  }
}

// Null without --webhook.
Result<std::unique_ptr<WebhookServer>> start_webhook(const Configuration& config,
                                                     const binding::PodAdmission& admission) {
  if (!config.webhook) return std::unique_ptr<WebhookServer>();
  std::unique_ptr<WebhookServer> webhook = TRY(WebhookServer::open(
      {config.webhook_listen, config.tls_cert_file, config.tls_private_key_file}, admission));
  std::printf("Admission reviews are answered on %s/validate and /mutate\n", webhook->url().c_str());
  return webhook;
}

// Null without a board. Its link is printed.
Result<std::unique_ptr<DashboardServer>> open_dashboard(
    const Configuration& config, const Plugins& plugins, const client::ClusterAccess& cluster,
    std::function<std::optional<std::string>(std::string_view path)> pages, DashboardBoard* board,
    client::ApiClient& reviewer, const Clock& clock) {
  if (!board) return std::unique_ptr<DashboardServer>();
  std::unique_ptr<DashboardServer> dashboard =
      TRY(DashboardServer::open({.listen = config.dashboard,
                                 .cluster = cluster,
                                 .decisions = page_reader(std::move(pages)),
                                 .plugins = plugins.scheduler,
                                 .reviewer = &reviewer},
                                *board, clock));
  std::printf("The dashboard is on %s\n", dashboard->link().c_str());
  return dashboard;
}

// What a component serves and what it may do, while it runs.
struct Running {
  ControlPlaneLoops& plane;
  LeaderElectionRunner* leading;  // null: it leads without an election
  WebhookServer* webhook;         // null: none
  Term& term;
};

// Runs until a signal or the loss of the Lease, which is an error: another process leads or soon will.
Status serve(const Configuration& config, const Running& running, const Clock& machine,
             const StopSignal& stop) {
  auto& [plane, leading, webhook, term] = running;
  while (!stop.wait_for(kStepPeriod)) {
    if (webhook) webhook->reload(machine.monotonic());
    if (!leading) continue;
    const LeaderState state = leading->step();
    if (state == LeaderState::Lost) {
      term.leads = false;
      return Error(ErrorCode::Unavailable, "the Lease " + config.lease_namespace + "/" + config.lease_name +
                                               " is lost: this process sends nothing more and ends");
    }
    if (state != LeaderState::Leads || term.leads) continue;
    const client::Leadership leadership = leading->leadership();
    term.epoch = leadership.epoch;
    term.leads = true;
    log(LogLevel::Info, "leads from now on", {{"epoch", std::to_string(leadership.epoch)}});
    plane.lead(leadership);
  }
  return {};
}

Status run(Component component, const Configuration& config, const Plugins& plugins, const api::Gates& gates,
           const StopSignal& stop) {
  plane::ControlPlaneOptions options = part_options(component, config, plugins);
  const auto admission = TRY(pod_admission(options));
  const SystemClock machine;
  SteadyClock clock(machine);
  client::ServerTime server_time(clock);
  const client::ClusterAccess access =
      TRY(client::read_kubeconfig(config.kubeconfig, "", client::KubeEnvironment::of_process()));
  client::HttpFetcherOptions http;
  http.user_agent = "berth-" + std::string(name_of(component)) + "/" + kBerthVersion;
  const std::unique_ptr<client::ApiClient> https =
      TRY(client::make_https_client(access, http, machine, {}, &server_time));
  const auto refusals = std::make_shared<client::RefusedRequests>(machine);
  client::RefusalReporter client(*https, refusals, plane::optional_resources(options));
  std::optional<LeaderElectionRunner> leading;
  if (component == Component::Scheduler && !config.leader_elect) options.process = own_name();
  Term term;
  if (config.leader_elect && component != Component::NodeAgent)
    leading.emplace(client, machine, election_options(config));
  std::optional<client::Leadership> leadership = client::Leadership{};
  if (leading) {
    leadership.reset();
    if (first_state(*leading, machine, stop) == LeaderState::Leads) leadership = leading->leadership();
  }
  term.leads = leadership.has_value();
  term.epoch = leadership ? leadership->epoch : 0;
  health::HealthFeed feed;
  if (component == Component::NodeAgent) options.health = &feed;
  const std::unique_ptr<DashboardBoard> board =
      component == Component::Scheduler ? TRY(board_of(config, "", nullptr)) : nullptr;
  if (board) options.observer = &board->observer();
  ControlPlaneLoops plane(leading ? leading->fenced_client() : client, clock, gates, options, leadership,
                          board.get());
  const std::unique_ptr<health::NodeAgents> agent = TRY(start_agent(component, config, feed, machine));
  const auto own_pages = [&](std::string_view path) {
    auto page =
        component == Component::Scheduler ? configuration_page(path, component, config) : std::nullopt;
    return page ? std::move(page) : plane.page(path);
  };
  const std::unique_ptr<StatusServer> pages =
      TRY(StatusServer::open(config.listen,
                             {.ready = [&plane] { return plane.synced(); },
                              .refused = [refusals] { return refusals->standing(); },
                              .metrics = [&] { return metrics_of(plane, term, *refusals, clock, config); },
                              .pages = own_pages},
                             *https, machine));
  const std::unique_ptr<DashboardServer> dashboard =
      TRY(open_dashboard(config, plugins, access, own_pages, board.get(), *https, machine));
  const std::unique_ptr<WebhookServer> webhook = TRY(start_webhook(config, *admission));
  std::printf("The %s works on %s; health and metrics are on %s\n", std::string(name_of(component)).c_str(),
              access.server.c_str(), pages->url().c_str());
  std::fflush(stdout);
  TRY(serve(config, {plane, leading ? &*leading : nullptr, webhook.get(), term}, machine, stop));
  log(LogLevel::Info, "stopping");
  plane.stop(kStopGrace);
  if (leading) leading->release(kReleaseLimit);
  return {};
}

}  // namespace

int run_component(Component component, const Configuration& configuration, const Plugins& plugins) {
  StopSignal stop;
  if (component == Component::NodeAgent && configuration.report == "NodeDeviceHealth") {
    const Status ran = run_node_guest(configuration, stop);
    return ran ? 0 : complain(ran.error());
  }
  const api::Gates gates = gates_of(component, configuration);
  if (component == Component::NodeAgent && !gates.enabled("ResourceHealthStatus"))
    return complain(Error(ErrorCode::Invalid, "--feature-gates",
                          "a node agent that writes statuses needs ResourceHealthStatus=true"));
  if (const Status ran = run(component, configuration, plugins, gates, stop); !ran)
    return complain(ran.error());
  return 0;
}

}  // namespace berth::cli
