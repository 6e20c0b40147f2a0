// PodGroups of Volcano (scheduling.volcano.sh/v1beta1).
//
// Volcano's controllers make the pods of a job once its group is Inqueue; a group enters here at once,
// because quotas are not kept. Not followed: queue, minTaskMember, networkTopology and subGroupPolicy.
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

JsonObject volcano_status(const Parsed& object, const WantedTree& tree, const Progress& progress) {
  const PodCounts& counts = progress.counts;
  JsonObject status;
  status.append("phase", volcano_phase(counts, tree.root().minimum, object.status().string_at("phase")));
  append_counts(status, counts);
  return status;
}

}  // namespace berth::groups
