// The deciders are killed at every single write between a gang's creation and its running, and restart at
// once: the gang runs as a whole in one rack, nothing is left over, no node is avoided.
#include <gtest/gtest.h>

#include <set>

#include "base/testing/source_dir.h"
#include "sim/invariants.h"
#include "sim/story.h"
#include "sim/story_pod.h"

namespace berth::sim {
namespace {

constexpr int kMembers = 4;
// The binder gives an interrupted gang 15 s; an avoided node stays avoided for 30 s.
constexpr Duration kPatience = Duration::seconds(25);

// Two gangs that need a whole rack each: the first runs, the second is created later.
std::unique_ptr<World> half_full() {
  auto world = World::make({}).value();
  const std::string given = source_path("tests/stories/given/");
  for (const char* file : {"two-racks.yaml", "gpus.yaml", "claim-templates.yaml"})
    EXPECT_TRUE(give(*world, given + file).ok());
  return world;
}

void create_gang(World& world, const std::string& name) {
  world.create(story_gang(name));
  for (int i = 0; i < kMembers; ++i)
    world.create(story_pod(
        Json::object({{"pod", name + "-" + std::to_string(i)}, {"claims", "two-gpus"}, {"group", name}})));
}

std::string text_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = object.find_path(path);
  return found && found->is_string() ? found->as_string() : "";
}

// What is wrong with the two gangs, or nothing.
std::string complaint(World& world) {
  const std::vector<std::string> broken = broken_invariants(world);
  if (!broken.empty()) return broken.front();
  std::map<std::string, std::set<std::string>> racks;
  for (const Json& pod : world.read_all(api::ref_of(api::Kind::Pod))) {
    if (text_at(pod, {"status", "phase"}) != "Running") return text_at(pod, {"metadata", "name"}) + " waits";
    const Json node = world.read(api::ref_of(api::Kind::Node), "", text_at(pod, {"spec", "nodeName"}));
    racks[text_at(pod, {"spec", "schedulingGroup", "podGroupName"})].insert(
        text_at(node, {"metadata", "labels", "example.com/rack"}));
  }
  for (const auto& [gang, where] : racks)
    if (where.size() != 1) return gang + " stands in " + std::to_string(where.size()) + " racks";
  std::size_t devices = 0;
  for (const Json& claim : world.read_all(api::ref_of(api::Kind::ResourceClaim)))
    if (const Json* results = claim.find_path({"status", "allocation", "devices", "results"}))
      devices += results->as_array().size();
  const std::size_t wanted = 2 * kMembers * racks.size();
  if (devices != wanted)
    return std::to_string(devices) + " devices are allocated, not " + std::to_string(wanted);
  for (const Json& request : world.read_all(api::ref_of(api::Kind::BindRequest)))
    if (text_at(request, {"status", "phase"}) != "Succeeded") return "request left: " + to_string(request);
  return "";
}

// Kills at write `nth`, and once more at write `again` after that (not at all when 0). Returns the number of
// kills.
int kills_survived(std::uint64_t nth, std::uint64_t again, Duration patience) {
  const auto world = half_full();
  create_gang(*world, "first");
  world->advance(Duration::seconds(10));
  world->kill_at_write(nth);
  create_gang(*world, "second");
  world->advance(Duration::seconds(2));
  if (!world->killed()) return 0;
  world->restart_deciders();
  int kills = 1;
  if (again > 0) {
    world->kill_at_write(again);
    world->advance(patience);
    kills += world->killed();
    if (world->killed()) world->restart_deciders();
  }
  world->advance(patience);
  EXPECT_EQ(complaint(*world), "") << "killed at write " << nth << " and at write " << again << " after that";
  return kills;
}

TEST(GangKill, AtAnyWriteTheGangComesWholeAndNothingIsLeftOver) {
  std::uint64_t nth = 1;
  while (kills_survived(nth, 0, kPatience) > 0) ++nth;
  EXPECT_GT(nth, 8u * kMembers) << "claims, bind requests, reservations, bindings, states";
}

TEST(GangKill, TwiceIsNoWorse) {
  for (std::uint64_t again : {1, 2, 6}) {
    std::uint64_t twice = 0;
    for (std::uint64_t nth = 1;; ++nth) {
      const int kills = kills_survived(nth, again, kPatience * 2);
      if (kills == 0) break;
      twice += kills == 2;
    }
    EXPECT_GT(twice, 8u * kMembers) << "second kills at write " << again << " after the first";
  }
}

}  // namespace
}  // namespace berth::sim
