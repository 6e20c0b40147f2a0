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

namespace {

std::string number_of(const std::vector<std::string>& names, std::string_view one, std::string_view several) {
  return std::to_string(names.size()) + std::string(names.size() == 1 ? one : several);
}

// Epochs beyond the Lease's are forged, or of a time before a backup was restored. `lease`: null if absent.
void check_terms(Examination& exam, const JsonArray& requests, const Json& lease) {
  const std::string_view uid = lease.part("metadata").string_at("uid");
  const std::int64_t epoch = lease.part("spec").int_at("leaseTransitions") + 1;
  std::vector<std::string> beyond, late;
  for (const Json& request : requests) {
    const Json& spec = request.part("spec");
    const Json& named = spec.part("lease");
    const bool of_lease =
        !named.is_object() || (named.string_at("namespace") == exam.options.ns &&
                               named.string_at("name") == kLeaseName && named.string_at("uid") == uid);
    const Json& meta = request.part("metadata");
    const std::string name =
        std::string(meta.string_at("namespace")) + "/" + std::string(meta.string_at("name"));
    if (lease.is_object() && of_lease && spec.int_at("epoch") > epoch) beyond.push_back(name);
    const Json& status = request.part("status");
    if (status.string_at("phase") == "Failed" && status.string_at("reason") == "StaleEpoch")
      late.push_back(name);
  }
  const std::string title = "Lease " + exam.options.ns + "/" + std::string(kLeaseName);
  if (!beyond.empty())
    exam.warns("BindRequests",
               number_of(beyond, " names", " name") + " an epoch that " + title + " has not reached, " +
                   std::to_string(epoch) + " (" + shortened(beyond) + ")",
               "the binder ignores such epochs; find out who writes them, and delete them before you go back "
               "to an earlier release, whose binder would refuse all others");
  if (!late.empty())
    exam.warns(
        "BindRequests",
        number_of(late, " was", " were") +
            " refused, of an earlier term (StaleEpoch), and not decided "
            "again (" +
            shortened(late) + ")",
        "look whether a scheduler holds " + title + ", and that all schedulers of these pods share it");
}

}  // namespace

void check_leftovers(Examination& exam) {
  const std::optional<JsonArray> requests = exam.list("/apis/scheduling.berth.dev/v1alpha1/bindrequests");
  if (!requests) return;
  if (!requests->empty())
    if (const std::optional<Json> lease = exam.read("/apis/coordination.k8s.io/v1/namespaces/" +
                                                    exam.options.ns + "/leases/" + std::string(kLeaseName)))
      check_terms(exam, *requests, *lease);
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
