// Rooms against obvious twins: one entry for each GPU, one pass for each pod.
#include "placement/fragmentation/gpu_room.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "model/gpu_groups.h"

namespace berth::placement {
namespace {

int below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

// A node as FGD's paper has it: what is free of each GPU.
struct SlowRoom {
  std::int64_t cpu = 0;
  std::vector<std::int32_t> free;
};

struct RandomRoom {
  SlowRoom slow;
  GpuRoom room;
  model::GpuGroups groups;
  std::int64_t whole = 0;
};

RandomRoom random_room() {
  RandomRoom made;
  made.slow.cpu = below(9) * 1000;
  made.whole = below(4);
  made.room = GpuRoom(made.slow.cpu, made.whole);
  made.slow.free.assign(static_cast<std::size_t>(made.whole), 100);
  for (int i = below(5); i > 0; --i) {
    const std::int32_t taken = 10 * (1 + below(10));
    made.groups.push_back({"gpu-" + std::to_string(made.groups.size()), taken, 1, 0});
    made.slow.free.push_back(100 - taken);
    made.room.add_shared(100 - taken);
  }
  return made;
}

WorkloadDemand random_demand() {
  WorkloadDemand made{{below(5) * 1000, below(4), 100}, static_cast<std::uint32_t>(below(4))};
  if (made.demand.devices > 0 && below(2) == 0) made.demand.hundredths = 10 * (1 + below(9));
  if (made.demand.devices == 0) made.demand.hundredths = 0;
  return made;
}

bool fits(const SlowRoom& room, const WorkloadDemand& demand, std::uint64_t affinities) {
  const bool accepted = demand.affinity == 0 || (affinities >> (demand.affinity - 1) & 1) != 0;
  const auto enough =
      std::ranges::count_if(room.free, [&](std::int32_t free) { return free >= demand.demand.hundredths; });
  return demand.demand.devices > 0 && accepted && demand.demand.cpu <= room.cpu &&
         enough >= demand.demand.devices;
}

// Pods of the most frequent demands, in the mean; the rarest 5 % are left out.
std::int64_t slow_unusable(const std::vector<WorkloadDemand>& pods, const SlowRoom& room,
                           std::uint64_t affinities) {
  std::map<WorkloadDemand, std::int64_t> counts;
  for (const WorkloadDemand& pod : pods) ++counts[pod];
  std::vector<std::pair<WorkloadDemand, std::int64_t>> kept(counts.begin(), counts.end());
  std::ranges::stable_sort(kept, std::ranges::greater(), &std::pair<WorkloadDemand, std::int64_t>::second);
  std::int64_t covered = 0, sum = 0;
  std::size_t size = 0;
  while (size < kept.size() && covered * 100 < static_cast<std::int64_t>(pods.size()) * 95)
    covered += kept[size++].second;
  kept.resize(size);
  for (const auto& [demand, count] : kept) {
    std::int64_t unusable = 0;
    for (const std::int32_t free : room.free)
      if (!fits(room, demand, affinities) || free < demand.demand.hundredths) unusable += free;
    sum += count * 1'000'000 / covered * unusable;
  }
  return sum;
}

TEST(GpuRoom, MeasuresWhatAWorkloadCannotUseAsTheTwinThatLooksAtEachGpu) {
  EXPECT_TRUE(rc::check("random workloads and rooms", [] {
    std::vector<WorkloadDemand> kinds, pods;
    for (int i = 1 + below(8); i > 0; --i) kinds.push_back(random_demand());
    for (int i = 1 + below(60); i > 0; --i)
      pods.push_back(kinds[static_cast<std::size_t>(below(static_cast<int>(kinds.size())))]);
    const DemandMix mix(pods);
    std::ranges::reverse(pods);
    RC_ASSERT(DemandMix(pods).digest() == mix.digest());
    for (int i = 0; i < 5; ++i) {
      const RandomRoom made = random_room();
      const auto affinities = static_cast<std::uint64_t>(below(8));
      RC_ASSERT(mix.unusable(made.room, affinities) == slow_unusable(pods, made.slow, affinities));
    }
  }));
}

TEST(GpuRoom, TakesTheGpusThatGpuSharingChooses) {
  EXPECT_TRUE(rc::check("random shares", [] {
    RandomRoom made = random_room();
    const auto devices = static_cast<std::uint32_t>(1 + below(4));
    const std::int32_t hundredths = 10 * (1 + below(9));
    const auto choice = model::choose_gpu_groups(made.groups, made.whole, hundredths, devices);
    GpuRoom after = made.room;
    RC_ASSERT(after.take({0, devices, hundredths}) == choice.has_value());
    if (!choice) return;
    model::add_share(made.groups, {choice->groups, hundredths});
    GpuRoom expected(made.slow.cpu, made.whole - choice->opened);
    for (const model::GpuGroupUse& group : made.groups) expected.add_shared(100 - group.hundredths);
    RC_ASSERT(after.hundredths() == expected.hundredths());
    for (std::int32_t size = 10; size <= 100; size += 10) {
      RC_ASSERT(after.fit(size).devices == expected.fit(size).devices);
      RC_ASSERT(after.fit(size).too_small == expected.fit(size).too_small);
    }
  }));
}

TEST(GpuRoom, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(GpuRoom(1000, 4).take({2000, 1, 100})) << "cpu";
  EXPECT_FALSE(GpuRoom(1000, 1).take({0, 2, 100})) << "whole GPUs";
  GpuRoom shared(1000, 0);
  shared.add_shared(50);
  EXPECT_FALSE(GpuRoom(shared).take({0, 1, 60})) << "a share";
  EXPECT_FALSE(GpuRoom(shared).take({0, 2, 20})) << "two shares of one GPU";
  EXPECT_TRUE(shared.take({0, 1, 50}));
}

}  // namespace
}  // namespace berth::placement
