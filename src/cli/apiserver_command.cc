#include "cli/apiserver_command.h"

#include <cstdio>

#include "base/log.h"
#include "cli/complain.h"
#include "cli/control_plane.h"
#include "cli/server_options.h"
#include "cli/stop_signal.h"
#include "server/in_process_client.h"

namespace berth::cli {
namespace {

// What the API server does itself on a real cluster: events live for an hour.
plane::ControlPlaneOptions event_ttl_alone() {
  plane::ControlPlaneOptions options;
  options.scheduler = options.binder = options.simulated_nodes = false;
  options.controller_names = {"-*"};
  return options;
}

}  // namespace

int run_apiserver(const Configuration& configuration) {
  StopSignal stop;
  const api::Gates gates = gates_of(Component::ApiServer, configuration);
  Result<std::unique_ptr<ApiServerComponent>> component =
      ApiServerComponent::open(server_options(configuration), gates);
  if (!component) return complain(component.error());
  if (Status started = (*component)->start(); !started) return complain(started.error());
  (*component)->serve();
  if (Status ready = (*component)->ready(); !ready) return complain(ready.error());
  std::printf("Serving the Kubernetes API on %s\n", (*component)->url().c_str());
  if (!(*component)->kubeconfig().empty())
    std::printf("export KUBECONFIG=%s\n", (*component)->kubeconfig().c_str());
  std::fflush(stdout);
  const SystemClock clock;
  const auto client = server::make_in_process_client((*component)->server(), "system:berth");
  ControlPlaneLoops events(*client, clock, gates, event_ttl_alone());
  stop.wait();
  log(LogLevel::Info, "stopping");
  events.stop(Duration::seconds(1));
  (*component)->stop(Duration::seconds(1));
  return 0;
}

}  // namespace berth::cli
