// PodGroups of Volcano (scheduling.volcano.sh/v1beta1).
//
// Volcano's controllers make the pods of a job once its group is Inqueue; a group enters here at once,
// because quotas are not kept. Not followed: queue, minTaskMember, networkTopology and subGroupPolicy.
#include <algorithm>

#include "groups/source.h"

namespace berth::groups {
namespace {

std::string_view volcano_phase(const PodCounts& counts, std::int64_t minimum, std::string_view before) {
  if (counts.pods > 0 && counts.succeeded + counts.failed == counts.pods) return "Completed";
  if (counts.scheduled >= minimum) return "Running";
  // Fewer than the minimum are left of a group that ran.
  return before == "Running" || before == "Unknown" ? "Unknown" : "Inqueue";
}

}  // namespace

Result<WantedTree> volcano_tree(const Asked& asked) {
  const std::int32_t minimum = TRY(minimum_at(asked.object->spec(), "spec", "minMember", 1));
  return WantedTree{{{.name = asked.name, .minimum = std::max(1, minimum)}}};
}

JsonObject volcano_status(const Parsed& object, const WantedTree& tree, const Progress& progress) {
  const PodCounts& counts = progress.counts;
  JsonObject status;
  status.append("phase", volcano_phase(counts, tree.root().minimum, object.status().string_at("phase")));
  status.append("running", workloads::unless_zero(counts.running));
  status.append("succeeded", workloads::unless_zero(counts.succeeded));
  status.append("failed", workloads::unless_zero(counts.failed));
  return status;
}

}  // namespace berth::groups
