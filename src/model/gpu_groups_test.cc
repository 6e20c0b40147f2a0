// Groups of shared GPUs against an obvious twin, and how the ledger charges them.
#include "model/gpu_groups.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "model/cluster.h"

namespace berth::model {
namespace {

// How many of all possible choices could hold the share: every subset of the groups, filled up with whole
// GPUs.
struct Possible {
  bool any = false;
  std::int32_t least_opened = 0;
};

Possible all_choices(const GpuGroups& groups, std::int64_t free_gpus, std::int32_t hundredths,
                     std::uint32_t devices) {
  Possible possible;
  for (std::uint32_t subset = 0; subset < (1u << groups.size()); ++subset) {
    std::uint32_t used = 0;
    bool fits = true;
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (subset >> i & 1) {
        ++used;
        fits = fits && groups[i].hundredths + hundredths <= api::kWholeGpu &&
               (free_gpus >= 0 || groups[i].holds < groups[i].members);
      }
    if (!fits || used > devices || devices - used > std::max<std::int64_t>(free_gpus, 0)) continue;
    const auto opened = static_cast<std::int32_t>(devices - used);
    possible.least_opened = possible.any ? std::min(possible.least_opened, opened) : opened;
    possible.any = true;
  }
  return possible;
}

TEST(GpuGroups, AChoiceExistsExactlyWhenOneIsPossibleAndOpensTheFewestGpus) {
  EXPECT_TRUE(rc::check("as the twin that tries every subset", [] {
    GpuGroups groups;
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i)
      groups.push_back(
          {"gpu-" + std::to_string(2 * i), *rc::gen::inRange(0, 101), 2, *rc::gen::inRange(0, 3)});
    const std::int64_t free_gpus = *rc::gen::inRange(-1, 4);
    const std::int32_t hundredths = *rc::gen::inRange(1, 101);
    const auto devices = static_cast<std::uint32_t>(*rc::gen::inRange(1, 5));
    const auto choice = choose_gpu_groups(groups, free_gpus, hundredths, devices);
    const Possible possible = all_choices(groups, free_gpus, hundredths, devices);
    RC_ASSERT(choice.has_value() == possible.any);
    if (!choice) return;
    RC_ASSERT(choice->opened == possible.least_opened);
    RC_ASSERT(choice->groups.size() == devices);
    const GpuGroups before = groups;
    add_share(groups, {choice->groups, hundredths});
    RC_ASSERT(groups.size() == before.size() + static_cast<std::size_t>(choice->opened));
    RC_ASSERT(std::is_sorted(groups.begin(), groups.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
    for (const GpuGroupUse& group : groups) RC_ASSERT(group.hundredths <= api::kWholeGpu);
    remove_share(groups, {choice->groups, hundredths});
    RC_ASSERT(groups == before);
  }));
}

TEST(GpuGroups, SharesFillTheFullestGpuFirstAndFreeNumbersAreUsedAgain) {
  const GpuGroups groups = {{"gpu-0", 30, 1}, {"gpu-2", 60, 2}, {"gpu-3", 60, 1}, {"gpu-4", 90, 1}};
  const auto one = choose_gpu_groups(groups, 1, 40, 1);
  EXPECT_EQ(one->groups, (std::vector<std::string>{"gpu-2"}));
  EXPECT_EQ(one->hundredths_used, 60);
  const auto four = choose_gpu_groups(groups, 2, 40, 5);
  EXPECT_EQ(four->groups, (std::vector<std::string>{"gpu-2", "gpu-3", "gpu-0", "gpu-1", "gpu-5"}));
  EXPECT_EQ(four->opened, 2);
  EXPECT_FALSE(choose_gpu_groups(groups, 1, 40, 5));
}

// One pod, bound to n1; an empty share: none.
api::Pod pod_with(const std::string& name, const api::GpuShare& share, int whole_gpus = 0) {
  api::Pod pod;
  pod.meta.name = name;
  pod.meta.ns = "ns";
  pod.meta.uid = name;
  pod.node_name = "n1";
  pod.containers.emplace_back();
  if (whole_gpus > 0) pod.containers[0].requests[std::string(api::kGpuResource)] = Quantity::of(whole_gpus);
  if (!share.empty()) {
    pod.meta.annotations = api::gpu_share_annotations(share);
    pod.meta.annotations[std::string(api::kGpuFraction)] = "0.5";
  }
  return pod;
}

class Bench {
 public:
  void put(api::Pod pod) {
    pod.meta.resource_version = ++version_;
    const api::ObjectKey key{api::Kind::Pod, pod.meta.ns, pod.meta.name};
    cluster.apply(*view_.put(key, std::make_shared<const api::Pod>(std::move(pod))));
  }
  void erase(const std::string& ns, const std::string& name) {
    cluster.apply(*view_.erase({api::Kind::Pod, ns, name}, ++version_));
  }
  std::int64_t gpus() const {
    return amount_in(cluster.ledger().node(cluster.find_node("n1")).requested, kGpu);
  }
  Cluster cluster;

 private:
  client::View view_;
  std::uint64_t version_ = 0;
};

TEST(GpuGroups, TheLedgerChargesOneGpuForEachGroup) {
  Bench bench;
  bench.put(pod_with("a", {{"gpu-0"}, 50}));
  EXPECT_EQ(bench.gpus(), 1);
  bench.put(pod_with("b", {{"gpu-0", "gpu-1"}, 50}));
  EXPECT_EQ(bench.gpus(), 2);
  bench.put(pod_with("whole", {}, 3));
  EXPECT_EQ(bench.gpus(), 5);
  bench.erase("ns", "a");
  EXPECT_EQ(bench.gpus(), 5) << "b still has a share of it";
  bench.erase("ns", "b");
  EXPECT_EQ(bench.gpus(), 3);
}

TEST(GpuGroups, AReservationPodAndItsGroupAreOneGpu) {
  Bench bench;
  api::Pod reservation = pod_with(api::gpu_reservation_name("n1", "gpu-0"), {}, 1);
  reservation.meta.ns = api::kGpuReservationNamespace;
  reservation.meta.annotations[std::string(api::kGpuGroupAnnotation)] = "gpu-0";
  bench.put(pod_with("a", {{"gpu-0"}, 50}));
  bench.put(reservation);
  EXPECT_EQ(bench.gpus(), 1);
  bench.erase("ns", "a");
  EXPECT_EQ(bench.gpus(), 1) << "its GPU is not free while the reservation pod runs";
  bench.erase(reservation.meta.ns, reservation.meta.name);
  EXPECT_EQ(bench.gpus(), 0);
}

// A pod that only claims to be a reservation is charged like any other.
TEST(GpuGroups, OnlyTheNameOfNodeAndGroupMakesAReservationPod) {
  Bench bench;
  api::Pod other = pod_with(api::gpu_reservation_name("n2", "gpu-0"), {}, 1);
  other.meta.ns = api::kGpuReservationNamespace;
  other.meta.annotations[std::string(api::kGpuGroupAnnotation)] = "gpu-0";
  bench.put(pod_with("a", {{"gpu-0"}, 50}));
  bench.put(other);
  EXPECT_EQ(bench.gpus(), 2);
}

}  // namespace
}  // namespace berth::model
