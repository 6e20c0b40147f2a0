// `berth explain pod|podgroup NAME`: why it waits, or why it is there.
#pragma once

#include <string>

namespace berth::cli {

struct ExplainCommand {
  std::string kind;  // pod or podgroup, or kubectl's short words for them
  std::string name;
  std::string ns;          // empty: the kubeconfig's
  std::string kubeconfig;  // empty: as kubectl finds it
  std::string server;      // where the scheduler's record is served; empty: the API server
  std::string output = "table";
};

// Reads the objects from the API server and the decision from the scheduler's record; prints. Returns the
// exit code: 1 when there is no such object.
int run_explain(const ExplainCommand& command);

}  // namespace berth::cli
