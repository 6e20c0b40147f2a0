#include "cli/apiserver_command.h"

#include <cstdio>

#include "base/log.h"
#include "cli/complain.h"
#include "cli/server_options.h"
#include "cli/stop_signal.h"

namespace berth::cli {

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
  stop.wait();
  log(LogLevel::Info, "stopping");
  (*component)->stop(Duration::seconds(1));
  return 0;
}

}  // namespace berth::cli
