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

void choose_data_directory(ServerOptions& options, bool in_memory) {
  if (in_memory) options.data_directory.clear();
  if (!in_memory && options.data_directory.empty()) {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    options.data_directory = state && *state ? std::string(state) + "/berth"
                                             : std::string(home ? home : ".") + "/.local/state/berth";
  }
  if (!options.kubeconfig.empty()) return;
  if (!options.data_directory.empty()) {
    options.kubeconfig = options.data_directory + "/kubeconfig";
    return;
  }
  const char* temporary = std::getenv("TMPDIR");
  SystemRandom random;
  options.kubeconfig = std::string(temporary && *temporary ? temporary : "/tmp") + "/berth-" +
                       random.name_suffix(8) + "/kubeconfig";
}

int run_apiserver(ApiServerCommand command) {
  StopSignal stop;
  choose_data_directory(command.server, command.in_memory);
  const Result<api::Gates> gates = api::Gates::parse(api::GateDefaults::Release, command.feature_gates);
  if (!gates) return complain(gates.error());
  Result<std::unique_ptr<ServerPart>> part = ServerPart::open(command.server, *gates);
  if (!part) return complain(part.error());
  if (Status started = (*part)->start(); !started) return complain(started.error());
  if (Status ready = (*part)->ready(); !ready) return complain(ready.error());
  std::printf("Serving the Kubernetes API on %s\n", (*part)->url().c_str());
  if (!(*part)->kubeconfig().empty()) std::printf("export KUBECONFIG=%s\n", (*part)->kubeconfig().c_str());
  std::fflush(stdout);
  stop.wait();
  log(LogLevel::Info, "stopping");
  (*part)->stop(Duration::seconds(1));
  return 0;
}

}  // namespace berth::cli
