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

bool is_enabled(std::string_view name, std::string_view alias, std::span<const std::string> names) {
  bool all = false, none = false;
  for (const std::string& said : names) {
    const bool off = said.starts_with('-');
    const std::string_view meant = std::string_view(said).substr(off ? 1 : 0);
    if (!meant.empty() && (meant == name || meant == alias)) return !off;
    all |= said == "*";
    none |= said == "-*";
  }
  return all && !none;
}

}  // namespace berth::workloads
