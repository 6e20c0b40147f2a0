// `berth scheduler`, `berth binder` and `berth node-agent`: a part of the control plane against an API server
// elsewhere.
#pragma once

#include <string>
#include <vector>

namespace berth::cli {

enum class Part { Scheduler, SchedulerWithBinder, Binder, NodeAgent };

struct PartCommand {
  Part part = Part::Scheduler;
  std::string kubeconfig;  // empty: KUBECONFIG, ~/.kube/config, or what a pod finds in its cluster
  std::string feature_gates;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> scheduler_names = {"berth"};
  bool leader_elect = true;
  std::string lease_namespace = "kube-system";
  bool print_config = false;
  // Of a node agent: its node, and the folder whose <node>/plugins_registry and <node>/device-plugins drivers
  // and plugins use (empty: nodes/ in the data directory of `berth up`).
  std::string node;
  std::string nodes_directory;
};

// Runs until SIGINT or SIGTERM. Returns the exit code.
int run_part(const PartCommand& command);

// The effective options as a BerthConfiguration, in YAML.
std::string configuration_text(const PartCommand& command);

}  // namespace berth::cli
