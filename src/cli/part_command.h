// `berth scheduler` and `berth binder`: a part of the control plane against an API server elsewhere.
#pragma once

#include <string>
#include <vector>

namespace berth::cli {

enum class Part { Scheduler, SchedulerWithBinder, Binder };

struct PartCommand {
  Part part = Part::Scheduler;
  std::string kubeconfig;  // empty: KUBECONFIG, ~/.kube/config, or what a pod finds in its cluster
  std::string feature_gates;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> scheduler_names = {"berth"};
  bool leader_elect = true;
  std::string lease_namespace = "kube-system";
  bool print_config = false;
};

// Runs until SIGINT or SIGTERM. Returns the exit code.
int run_part(const PartCommand& command);

// The effective options as a BerthConfiguration, in YAML.
std::string configuration_text(const PartCommand& command);

}  // namespace berth::cli
