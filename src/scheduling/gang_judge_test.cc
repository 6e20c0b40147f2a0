// The scheduler's answer for a whole gang, against trying every assignment of members to nodes and devices.
//
// BERTH_GANG_ROUNDS: worlds of each family, BERTH_GANG_FIRST: the first seed, BERTH_GANG_SHOW: prints what
// was missed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "scheduling/test_gangs.h"

namespace berth::scheduling {
namespace {

constexpr const char* kNoProof = "so this proves nothing";

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Tally {
  int feasible = 0, infeasible = 0, unknown = 0;  // by the judge
  std::vector<std::uint64_t> missed;              // feasible, and not placed
  std::vector<std::uint64_t> wrong;               // proved to be infeasible, and feasible
  std::vector<std::uint64_t> invalid;             // placed, and not where it fits
  int unproved = 0;                               // infeasible, without a proof
};

void show(const char* what, std::uint64_t seed, const GangWorld& world, const TestBench& bench) {
  if (!std::getenv("BERTH_GANG_SHOW")) return;
  std::printf("--- seed %llu %s\n%s%s\n", static_cast<unsigned long long>(seed), what, world.text().c_str(),
              message_of(bench.decisions.records().back()).c_str());
}

void judge_one(const GangWorld& world, std::uint64_t seed, Tally& tally) {
  SchedulerOptions options;
  options.gates.node_allocatable_resources = true;
  TestBench bench(options);
  world.put(bench);
  bench.run();
  bool placed = false;
  for (std::size_t i = 0; i < world.members.size(); ++i)
    placed |= !bench.node_of("p" + std::to_string(i)).empty();
  const bool proved = message_of(bench.decisions.records().back()).find(kNoProof) == std::string::npos;
  if (placed) {
    ++tally.feasible;
    if (const std::string complaint = world.complaint_about(bench); !complaint.empty()) {
      show(complaint.c_str(), seed, world, bench);
      tally.invalid.push_back(seed);
    }
    return;
  }
  const std::optional<bool> fits = world.planted ? std::optional(true) : fits_by_trying_all(world);
  if (!fits) {
    ++tally.unknown;
  } else if (*fits) {
    ++tally.feasible;
    tally.missed.push_back(seed);
    if (proved) tally.wrong.push_back(seed);
    show(proved ? "refused with a proof" : "missed", seed, world, bench);
  } else {
    ++tally.infeasible;
    tally.unproved += proved ? 0 : 1;
    if (!proved) show("unproved", seed, world, bench);
  }
}

std::string list(const std::vector<std::uint64_t>& seeds) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(seeds.size(), 20); ++i)
    text += (i == 0 ? "" : " ") + std::to_string(seeds[i]);
  return text;
}

// `missed_max`: of a hundred feasible worlds.
void judge_family(GangWorld (*draw)(std::uint64_t), std::size_t missed_max = 0) {
  const std::uint64_t first = number_from("BERTH_GANG_FIRST", 0);
  const std::uint64_t rounds = number_from("BERTH_GANG_ROUNDS", 200);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) judge_one(draw(seed), seed, tally);
  std::printf("%d feasible, %zu missed; %d infeasible, %d unproved; %d too large to judge\n", tally.feasible,
              tally.missed.size(), tally.infeasible, tally.unproved, tally.unknown);
  EXPECT_LE(tally.missed.size() * 100, missed_max * static_cast<std::size_t>(tally.feasible))
      << list(tally.missed);
  EXPECT_EQ(list(tally.wrong), "");
  EXPECT_EQ(list(tally.invalid), "");
  EXPECT_GT(tally.feasible, static_cast<int>(rounds) / 2);
}

// A hidden assignment is in fact one: the judge finds it.
TEST(GangJudge, FindsWhatIsPlanted) {
  for (GangWorld (*draw)(std::uint64_t) : {&heterogeneous_gang, &sharing_gang, &taking_gang})
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const GangWorld world = draw(seed);
      if (!world.planted) continue;
      EXPECT_NE(fits_by_trying_all(world), std::optional(false)) << world.text();
    }
}

TEST(GangJudge, AHeterogeneousGangIsPlacedWheneverItFits) {
  judge_family(&heterogeneous_gang);
}

// Nodes of one rack that share devices, and more than one way to leave two members out: seed 4392 was missed
// while each node's devices were searched again for each order of the members without claims.
TEST(GangJudge, AGangOnSharedDevicesIsFoundInHalfTheSteps) {
  Tally tally;
  judge_one(heterogeneous_gang(4392), 4392, tally);
  EXPECT_EQ(tally.feasible, 1);
  EXPECT_EQ(list(tally.missed), "");
}

TEST(GangJudge, AGangThatSharesClaimsIsPlacedWheneverItFits) {
  judge_family(&sharing_gang);
}

// Each choice of devices takes something else of its node: more choices than there are steps.
TEST(GangJudge, AGangWhoseDevicesTakeOfNodesIsMostlyPlacedWhereItFits) {
  judge_family(&taking_gang, 5);
}

}  // namespace
}  // namespace berth::scheduling
