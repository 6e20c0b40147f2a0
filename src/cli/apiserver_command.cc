#include "cli/apiserver_command.h"

#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "cli/stop_signal.h"

namespace berth::cli {

int complain(const Error& error) {
  std::fprintf(stderr, "berth: %s\n", error.text().c_str());
  return error.code() == ErrorCode::Invalid && error.path().rfind("--", 0) == 0 ? 2 : 1;
}

std::string state_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const bool absolute = state && *state == '/';  // the XDG specification: any other is ignored
  return absolute ? std::string(state) + "/berth" : std::string(home ? home : ".") + "/.local/state/berth";
}

ServerOptions server_options(const Configuration& configuration) {
  ServerOptions options;
  options.listen = configuration.listen;
  options.kubeconfig = configuration.kubeconfig_written;
  options.audit_log = configuration.audit_log;
  options.watch_window_events = static_cast<std::size_t>(configuration.watch_window_events);
  options.insecure = configuration.insecure;
  if (!configuration.in_memory)
    options.data_directory =
        configuration.data_directory.empty() ? state_directory() : configuration.data_directory;
  if (!options.kubeconfig.empty()) return options;
  if (!options.data_directory.empty()) {
    options.kubeconfig = options.data_directory + "/kubeconfig";
    return options;
  }
  const char* temporary = std::getenv("TMPDIR");
  SystemRandom random;
  options.kubeconfig = std::string(temporary && *temporary ? temporary : "/tmp") + "/berth-" +
                       random.name_suffix(8) + "/kubeconfig";
  options.kubeconfig_is_temporary = true;
  return options;
}

int run_apiserver(const Configuration& configuration) {
  StopSignal stop;
  const api::Gates gates = gates_of(Component::ApiServer, configuration);
  Result<std::unique_ptr<ApiServerComponent>> component =
      ApiServerComponent::open(server_options(configuration), gates);
  if (!component) return complain(component.error());
  if (Status started = (*component)->start(); !started) return complain(started.error());
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
