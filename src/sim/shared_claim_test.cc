// 256 pods, the maximum for one claim, that want it at the same moment: counted in writes.
#include <gtest/gtest.h>

#include "base/testing/source_dir.h"
#include "sim/invariants.h"
#include "sim/story.h"
#include "sim/story_pod.h"

namespace berth::sim {
namespace {

constexpr std::size_t kPods = 256;

std::unique_ptr<World> world_with(WorldOptions options, const std::string& cards) {
  auto world = World::make(std::move(options)).value();
  const std::string given = source_path("tests/stories/given/");
  for (const std::string& file : {std::string("two-racks.yaml"), cards})
    EXPECT_TRUE(give(*world, given + file).ok());
  return world;
}

void create_pods(World& world, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    world.create(
        story_pod(Json::object({{"pod", "p-" + std::to_string(i)}, {"claim", "shared"}, {"cpu", "10m"}})));
}

std::size_t running(World& world) {
  std::size_t count = 0;
  for (const Json& pod : world.read_all(api::ref_of(api::Kind::Pod)))
    count += pod.find_path({"status", "phase"})->as_string() == "Running";
  return count;
}

std::size_t consumers(World& world) {
  const Json claim = world.read(api::ref_of(api::Kind::ResourceClaim), "default", "shared");
  const Json* list = claim.find_path({"status", "reservedFor"});
  return list ? list->as_array().size() : 0;
}

TEST(SharedClaim, TakesAllPodsThatItHasRoomForWithAWriteEach) {
  const auto world = world_with({}, "shared-card.yaml");
  create_pods(*world, kPods);
  world->advance(Duration::seconds(30));
  EXPECT_EQ(running(*world), kPods);
  EXPECT_EQ(consumers(*world), kPods);
  const WriteCounts counts = world->writes_to("resourceclaims");
  EXPECT_EQ(counts.accepted, 1 + kPods) << "the finalizer, then a status write for each pod";
  EXPECT_EQ(counts.conflicts, 0u);
  EXPECT_EQ(counts.refused, 0u);
}

TEST(SharedClaim, IsLeftByAllWithFewWritesWhenItsDeviceFails) {
  constexpr std::size_t kOnOneNode = 100;  // the device belongs to one node then
  const auto world = world_with({}, "fabric.yaml");
  const Json request = Json::object(
      {{"name", "card"}, {"exactly", Json::object({{"deviceClassName", "fabric.example.com"}})}});
  const Json fails = Json::object({{"berth.dev/fabric-fail-after", "5s"}});
  world->create(Json::object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaim"},
       {"metadata", Json::object({{"name", "shared"}, {"annotations", fails}})},
       {"spec", Json::object({{"devices", Json::object({{"requests", Json::array({request})}})}})}}));
  create_pods(*world, kOnOneNode);
  world->advance(Duration::seconds(4));
  ASSERT_EQ(consumers(*world), kOnOneNode);
  const WriteCounts before = world->writes_to("resourceclaims");
  const Json heals =
      Json::object({{"berth.dev/fabric-fail-after", nullptr}, {"berth.dev/fabric-ready-after", "1s"}});
  world->advance(Duration::millis(1100));
  world->call({client::Verb::MergePatch, api::ref_of(api::Kind::ResourceClaim), "default", "shared", "",
               to_string(Json::object({{"metadata", Json::object({{"annotations", heals}})}}))});
  world->advance(Duration::minutes(3));
  EXPECT_EQ(running(*world), kOnOneNode);
  const WriteCounts after = world->writes_to("resourceclaims");
  EXPECT_LE(after.accepted - before.accepted, 2 * kOnOneNode) << "left, and taken again";
  EXPECT_LE(after.conflicts, kOnOneNode) << "who finds that somebody took it along";
}

TEST(SharedClaim, IsSharedThroughLostAnswersAndRestarts) {
  constexpr std::size_t kSome = 64;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.faults = {100, 100, 20, 20, 20};
    const auto world = world_with(options, "shared-card.yaml");
    create_pods(*world, kSome);
    for (std::uint64_t restart = 1; restart <= 3; ++restart) {
      world->kill_at_write(restart * 50);
      world->advance(Duration::millis(300));
      ASSERT_EQ(broken_invariants(*world), std::vector<std::string>{}) << "seed " << seed;
      world->restart_deciders();
    }
    world->advance(Duration::minutes(5));
    EXPECT_EQ(broken_invariants(*world), std::vector<std::string>{}) << "seed " << seed;
    EXPECT_EQ(running(*world), kSome) << "seed " << seed;
    EXPECT_EQ(consumers(*world), kSome) << "seed " << seed;
    const WriteCounts counts = world->writes_to("resourceclaims");
    EXPECT_EQ(counts.accepted, 1 + kSome) << "seed " << seed;
    EXPECT_LE(counts.conflicts + counts.refused, kSome) << "seed " << seed;
    EXPECT_GT(world->faults(), kSome) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::sim
