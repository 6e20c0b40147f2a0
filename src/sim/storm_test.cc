#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/random.h"
#include "base/testing/source_dir.h"
#include "sim/invariants.h"
#include "sim/story.h"
#include "sim/story_pod.h"
#include "sim/test_plan.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

const std::string kGiven = source_path("tests/stories/given/");

constexpr int kRoundsDefault = 12;
constexpr int kStepsPerRound = 40;

// Users who create and delete at random, while requests and responses get lost and processes die.
class Storm {
 public:
  explicit Storm(std::uint64_t seed) : random_(seed) {
    WorldOptions options;
    options.seed = seed;
    options.faults = {20, 20, 20, 10, 10};
    world_ = World::make(options).value();
    for (const char* file : {"two-racks.yaml", "gpus.yaml", "fabric.yaml", "claim-templates.yaml"})
      EXPECT_TRUE(give(*world_, kGiven + file).ok());
    const Json named =
        Json::object({{"spec", Json::object({{"extendedResourceName", "example.com/whole"}})}});
    world_->call({client::Verb::MergePatch, api::ref_of(api::Kind::DeviceClass), "", "whole-gpu.example.com",
                  "", to_string(named)});
    world_->advance(Duration::seconds(2));
  }

  std::string step() {
    const std::uint64_t what = random_.below(12);
    if (what < 4) {
      static const char* kTemplates[] = {"mig-1g", "vgpu", "fabric-card", "one-gpu"};
      const char* claims = kTemplates[random_.below(4)];
      const std::string name = "pod-" + std::to_string(++made_);
      Json words = Json::object({{"pod", name}, {"claims", claims}});
      if (std::string(claims) == "fabric-card")
        words["annotations"] = Json::object({{"berth.dev/fabric-ready-after", "3s"}});
      world_->create(story_pod(words));
    } else if (what < 6) {
      const std::string name = "gang-" + std::to_string(++made_);
      world_->create(story_gang(name));
      for (int i = 0; i < 4; ++i)
        world_->create(story_pod(
            Json::object({{"pod", name + "-" + std::to_string(i)}, {"claims", "one-gpu"}, {"group", name}})));
    } else if (what < 8) {
      const std::vector<Json> pods = world_->read_all(api::ref_of(api::Kind::Pod));
      if (!pods.empty()) {
        const Json& pod = pods[random_.below(pods.size())];
        world_->call({client::Verb::Delete, api::ref_of(api::Kind::Pod), "default",
                      std::string(pod.find("metadata")->string_at("name")), "", ""});
      }
    } else if (what < 9) {
      world_->restart_deciders();
    } else if (what < 10) {
      const Json limits = Json::object({{"example.com/whole", "1"}});
      world_->create(
          story_pod(Json::object({{"pod", "plain-" + std::to_string(++made_)}, {"limits", limits}})));
    } else if (what < 11) {
      turn_taint();
    }
    world_->advance(Duration::millis(static_cast<std::int64_t>(random_.below(3000))));
    const std::vector<std::string> broken = broken_invariants(*world_);
    return broken.empty() ? "" : broken.front();
  }

  // After the storm: bound pods run, and the planner places none of those that wait.
  std::string calm() {
    world_->stop_faults();
    world_->advance(Duration::minutes(12));
    const std::vector<std::string> broken = broken_invariants(*world_);
    if (!broken.empty()) return broken.front();
    for (const Json& pod : world_->read_all(api::ref_of(api::Kind::Pod))) {
      ran_ += pod.find_path({"status", "phase"})->as_string() == "Running";
      const Json* node = pod.find_path({"spec", "nodeName"});
      const Json* phase = pod.find_path({"status", "phase"});
      if (node && !node->as_string().empty() && phase->as_string() == "Pending")
        return std::string(pod.find("metadata")->string_at("name")) + " is bound but does not run";
    }
    const Result<planning::Plan> plan = plan_of(*world_);
    if (!plan.ok()) return plan.error().text();
    for (const planning::Decision& decision : plan->decisions) {
      if (decision.result == planning::ResultKind::Placed) return decision.name + " waits and would fit";
      waiting_ += decision.result == planning::ResultKind::Unschedulable;
    }
    return "";
  }

  // A pool of devices breaks, or recovers.
  void turn_taint() {
    const api::ResourceRef rules = api::ref_of(api::Kind::DeviceTaintRule);
    if (!world_->read(rules, "", "broken").is_null()) {
      world_->call({client::Verb::Delete, rules, "", "broken", "", ""});
      return;
    }
    const Json selector = Json::object(
        {{"driver", "gpu.example.com"}, {"pool", "node-" + std::to_string(1 + random_.below(4))}});
    const Json taint = Json::object({{"key", "example.com/broken"}, {"effect", "NoExecute"}});
    world_->create(Json::object({{"apiVersion", rules.api_version()},
                                 {"kind", "DeviceTaintRule"},
                                 {"metadata", Json::object({{"name", "broken"}})},
                                 {"spec", Json::object({{"deviceSelector", selector}, {"taint", taint}})}}));
  }

  std::string text() { return world_->text(); }
  // Evidence that the storm did something: pods that ran and entries that waited at its end, injected faults.
  int ran() const { return ran_; }
  int waiting() const { return waiting_; }
  std::uint64_t faults() const { return world_->faults(); }

 private:
  SeededRandom random_;
  std::unique_ptr<World> world_;
  int made_ = 0;
  int ran_ = 0;
  int waiting_ = 0;
};

TEST(Storm, InvariantsHoldThroughFaultsAndCrashes) {
  const char* said = std::getenv("BERTH_STORM_ROUNDS");
  const int rounds = said ? std::atoi(said) : kRoundsDefault;
  int waiting = 0;
  for (int round = 1; round <= rounds; ++round) {
    Storm storm(static_cast<std::uint64_t>(round));
    for (int step = 0; step < kStepsPerRound; ++step) {
      const std::string broken = storm.step();
      ASSERT_EQ(broken, "") << "seed " << round << ", step " << step;
    }
    ASSERT_EQ(storm.calm(), "") << "seed " << round;
    EXPECT_GT(storm.ran(), 3) << "seed " << round;
    waiting += storm.waiting();
    EXPECT_GT(storm.faults(), 10u) << "seed " << round;
  }
  EXPECT_GT(waiting, 0) << "no pod waited at the end of any storm";
}

TEST(Storm, TheSameSeedGivesTheSameWorld) {
  std::string first;
  for (int run = 0; run < 2; ++run) {
    Storm storm(7);
    std::string text;
    for (int step = 0; step < 10; ++step) text += storm.step();
    text += storm.text();
    if (run == 0) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(Invariants, SeeADeviceThatIsAllocatedTwice) {
  const std::unique_ptr<World> world = World::make({}).value();
  for (const char* name : {"a", "b"}) {
    const Json request = Json::object({{"name", "r"}, {"exactly", Json::object({{"deviceClassName", "c"}})}});
    world->create(Json::object(
        {{"apiVersion", "resource.k8s.io/v1"},
         {"kind", "ResourceClaim"},
         {"metadata", Json::object({{"name", name}})},
         {"spec", Json::object({{"devices", Json::object({{"requests", Json::array({request})}})}})}}));
    const Json result = Json::object({{"request", "r"}, {"driver", "d.io"}, {"pool", "p"}, {"device", "x"}});
    const Json devices = Json::object({{"results", Json::array({result})}});
    const Json patch =
        Json::object({{"status", Json::object({{"allocation", Json::object({{"devices", devices}})}})}});
    const client::ApiReply reply =
        world->call({client::Verb::MergePatch, api::ref_of(api::Kind::ResourceClaim), "default", name,
                     "status", to_string(patch)});
    ASSERT_TRUE(reply.ok()) << reply.message;
  }
  ASSERT_EQ(broken_invariants(*world).size(), 1u);
  EXPECT_EQ(broken_invariants(*world).front(), "device d.io/p/x is allocated by a and b");
}

}  // namespace
}  // namespace berth::sim
