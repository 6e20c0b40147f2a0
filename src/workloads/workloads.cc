#include "workloads/workloads.h"

namespace berth::workloads {
namespace {

constexpr WorkloadRow kWorkloadRows[] = {
#define WORKLOAD(name, full_name, alias) {full_name, alias, make_##name},
#include "workloads/workloads.def"
#undef WORKLOAD
};

}  // namespace

std::span<const WorkloadRow> workload_rows() {
  return kWorkloadRows;
}

bool is_enabled(const WorkloadRow& row, std::span<const std::string> names) {
  bool all = false;
  for (const std::string& said : names) {
    const bool off = said.starts_with('-');
    const std::string_view name = std::string_view(said).substr(off ? 1 : 0);
    if (name == row.name || name == row.alias) return !off;
    all |= said == "*";
  }
  return all;
}

bool is_controller_name(std::string_view name) {
  if (name == "*") return true;
  if (name.starts_with('-')) name.remove_prefix(1);
  if (name == kRootCaPublisher.name || name == kRootCaPublisher.alias) return true;
  for (const WorkloadRow& row : kWorkloadRows)
    if (name == row.name || name == row.alias) return true;
  return false;
}

}  // namespace berth::workloads
