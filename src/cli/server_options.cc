#include "cli/server_options.h"

#include <cstdlib>

namespace berth::cli {

std::string state_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const bool absolute = state && *state == '/';  // the XDG specification: a relative path is ignored
  return absolute ? std::string(state) + "/berth" : std::string(home ? home : ".") + "/.local/state/berth";
}

ServerOptions server_options(const Configuration& configuration) {
  ServerOptions options;
  options.listen = configuration.listen;
  options.kubeconfig = configuration.kubeconfig_written;
  options.audit_log = configuration.audit_log;
  options.watch_window_events = static_cast<std::size_t>(configuration.watch_window_events);
  options.accept_data_loss = configuration.accept_data_loss;
  options.insecure = configuration.insecure;
  if (!configuration.in_memory)
    options.data_directory =
        configuration.data_directory.empty() ? state_directory() : configuration.data_directory;
  options.certificate_directory = configuration.certificate_directory;
  options.tls_names = configuration.tls_names;
  options.allowed_hosts = configuration.allowed_hosts;
  options.webhook_services = configuration.webhook_services;
  if (options.certificate_directory.empty() && !options.data_directory.empty())
    options.certificate_directory = options.data_directory + "/pki";
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

}  // namespace berth::cli
