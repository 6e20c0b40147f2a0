// How to reach an API server and as whom: reading kubeconfig files as kubectl does, and writing one.
//
// The only place that reads and writes the user's configuration files; paths are parameters, nothing is
// global. Source: client-go's clientcmd loading rules (docs.k8s.io, "Organizing Cluster Access Using
// kubeconfig Files").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::client {

// Everything a connection needs. PEM texts and tokens are secrets: never logged.
struct ClusterAccess {
  std::string server;  // "https://host:6443", perhaps with a path prefix; no trailing '/'
  std::string ca_pem;  // empty: the machine's own authorities
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string proxy_url;
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string token;
  std::string token_file;  // wins over `token`; read again every minute
  std::string ns = "default";
};

// The environment variables that lead to a configuration; tests set their own values.
struct KubeEnvironment {
  std::string kubeconfig;    // KUBECONFIG: files, separated by ':'
  std::string home;          // HOME
  std::string service_host;  // KUBERNETES_SERVICE_HOST
  std::string service_port;  // KUBERNETES_SERVICE_PORT
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";

  static KubeEnvironment of_process();
};

// Whether the process's environment names a proxy for https:// servers (https_proxy, all_proxy), whichever
// servers no_proxy leaves out.
bool environment_names_proxy();

// Reads `explicit_file` when it is not empty, else the files of KUBECONFIG, else ~/.kube/config, else what a
// pod finds in its cluster. Of several files the first definition of a name wins; files of a list may be
// absent. `context` empty: current-context. Relative paths in a file start at that file; "-data" wins over a
// file. Refuses (NotFound) when there is none or a name is undefined, (Invalid) text that is no kubeconfig,
// (Unsupported) exec plugins and auth providers, (Unavailable) a file that cannot be read.
Result<ClusterAccess> read_kubeconfig(const std::string& explicit_file, const std::string& context,
                                      const KubeEnvironment& environment);

// The kubeconfig text of one cluster, one user and one context, all named "berth"; certificates inline.
std::string kubeconfig_text(const ClusterAccess& access);

// Writes it to `file`: by rename, mode 0600, with directories above made as needed.
// Refuses (Exists) to replace a file that this function did not write, (Unavailable) when it cannot write.
Status write_kubeconfig(const std::string& file, const ClusterAccess& access);
// Removes a file that write_kubeconfig made, and its folder when that is empty then. Best effort.
void remove_kubeconfig(const std::string& file);

// The token of a file, without surrounding white space.
Result<std::string> read_token_file(const std::string& file);

}  // namespace berth::client
