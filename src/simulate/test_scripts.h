// Small scripts, for tests.
#pragma once

#include <optional>
#include <string>

#include "dra/gates.h"
#include "simulate/script.h"

namespace berth::simulate {

inline planning::PlanOptions options() {
  static const api::Gates gates(api::GateDefaults::Up);
  planning::PlanOptions options;
  options.gates = &gates;
  options.device_gates = dra::gates_of(gates);
  return options;
}

// Two nodes with four GPUs each, in racks of one node.
inline Script two_nodes() {
  Script script;
  for (const char* name : {"a", "b"})
    script.objects.push_back(
        node_document(name, {32'000, 65'536, 4, {{"rack", std::string("rack-") + name}}}));
  script.rack_label = "rack";
  return script;
}

inline void arrive(Script& script, const std::string& name, std::int64_t at_s,
                   std::optional<std::int64_t> runs_s, const PodShape& shape, std::int64_t pods = 1,
                   const std::string& within = "") {
  Arrival arrival = equal_pods(name, shape, pods, {within});
  arrival.at = Duration::seconds(at_s);
  if (runs_s) arrival.runs = Duration::seconds(*runs_s);
  script.arrivals.push_back(std::move(arrival));
}

}  // namespace berth::simulate
