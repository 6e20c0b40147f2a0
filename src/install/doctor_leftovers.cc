#include <map>

#include "install/examination.h"

namespace berth::install {
namespace {

// The newest generation of one driver's pool.
struct PoolSlices {
  std::int64_t generation = -1;
  std::int64_t wanted = 0;
  std::int64_t found = 0;
};

std::string pod_of(const Json& request) {
  return std::string(request.part("metadata").string_at("namespace")) + "/" +
         std::string(request.part("spec").string_at("podName"));
}

}  // namespace

void check_pools(Examination& exam) {
  const std::optional<JsonArray> slices = exam.list("/apis/resource.k8s.io/v1/resourceslices");
  if (!slices) return;
  std::map<std::pair<std::string, std::string>, PoolSlices> pools;
  for (const Json& slice : *slices) {
    const Json &spec = slice.part("spec"), &pool = spec.part("pool");
    PoolSlices& seen = pools[{std::string(spec.string_at("driver")), std::string(pool.string_at("name"))}];
    const std::int64_t generation = pool.int_at("generation");
    if (generation < seen.generation) continue;
    if (generation > seen.generation) seen = {generation, 0, 0};
    seen.wanted = pool.int_at("resourceSliceCount");
    ++seen.found;
  }
  for (const auto& [names, pool] : pools)
    if (pool.found < pool.wanted)
      exam.warns("pool " + names.second + " of driver " + names.first,
                 "has " + std::to_string(pool.found) + " of " + std::to_string(pool.wanted) +
                     " ResourceSlices of generation " + std::to_string(pool.generation) +
                     ": its devices are not allocated",
                 "look at the driver's pods: it did not finish publishing, or somebody deleted a slice");
}

void check_leftovers(Examination& exam) {
  const std::optional<JsonArray> requests = exam.list("/apis/scheduling.berth.dev/v1alpha1/bindrequests");
  if (!requests) return;
  std::vector<std::string> leftover;
  for (std::size_t i = 0; i < std::min(requests->size(), kLeftoversMax); ++i) {
    const Json& request = (*requests)[i];
    const std::optional<Json> pod =
        exam.read("/api/v1/namespaces/" + std::string(request.part("metadata").string_at("namespace")) +
                  "/pods/" + std::string(request.part("spec").string_at("podName")));
    if (!pod) return;
    if (pod->part("metadata").string_at("uid") != request.part("spec").string_at("podUID"))
      leftover.push_back(pod_of(request));
  }
  if (leftover.empty()) return;
  exam.warns("BindRequests",
             std::to_string(leftover.size()) +
                 (leftover.size() == 1 ? " is of a pod that is" : " are of pods that are") + " gone (" +
                 shortened(leftover) + ")",
             "the garbage collector of kube-controller-manager deletes them by their owner: look whether it "
             "runs");
}

}  // namespace berth::install
