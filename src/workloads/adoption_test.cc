// Pods and ReplicaSets without a controller: who adopts them, and what is made until then.
#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "workloads/job_state.h"
#include "workloads/objects.h"
#include "workloads/rollout.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;

constexpr const char* kOwners = R"({"metadata":{"namespace":"d","name":"web",
  "uid":"web-uid","generation":1},"spec":{"replicas":1,"parallelism":1,"completions":1,
  "selector":{"matchLabels":{"app":"web"}},
  "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[]}}}})";

struct World {
  EngineFixture fixture;

  void begin(std::unique_ptr<client::Reconciler> controller, const api::ResourceRef& owners) {
    fixture.engine.add(std::move(controller));
    Json owner = *parse_json(kOwners);
    if (owners == replication_controllers()) owner["spec"]["selector"] = Json::object({{"app", "web"}});
    fixture.api.put(owners, std::move(owner));
    fixture.api.put(Kind::Node, R"({"metadata":{"name":"n"}})");
    fixture.start();
    fixture.run_until_idle();
  }
  std::vector<const Json*> pods() { return fixture.api.all(api::ref_of(Kind::Pod)); }
  std::string only_pod() {
    EXPECT_EQ(pods().size(), 1u);
    return pods().empty() ? "" : std::string(pods().front()->part("metadata").string_at("name"));
  }
  const Json& meta(const std::string& pod) { return fixture.api.find(Kind::Pod, "d", pod)->part("metadata"); }
  std::size_t creates() {
    std::size_t count = 0;
    for (const std::string& line : fixture.api.log) count += line.starts_with("create v1/pods");
    return count;
  }
};

struct OwnersCase {
  std::unique_ptr<client::Reconciler> (*make)();
  const api::ResourceRef& owners;
};

TEST(Adoption, TheOrphanIsTakenBackAndNoOtherPodIsMade) {
  const OwnersCase cases[] = {{make_replica_set, replica_sets()},
                              {make_replication_controller, replication_controllers()},
                              {make_job, jobs()},
                              {make_stateful_set, stateful_sets()},
                              {make_daemon_set, daemon_sets()}};
  for (const OwnersCase& test : cases) {
    SCOPED_TRACE(test.owners.resource);
    World world;
    world.begin(test.make(), test.owners);
    const std::string pod = world.only_pod();
    const std::string uid(world.meta(pod).string_at("uid"));
    world.fixture.api.change(Kind::Pod, "d", pod, R"({"metadata":{"ownerReferences":null}})");
    world.fixture.run_until_idle();
    EXPECT_EQ(world.creates(), 1u);
    EXPECT_EQ(world.only_pod(), pod);
    EXPECT_EQ(world.meta(pod).string_at("uid"), uid);
    EXPECT_EQ(world.meta(pod).items_at("ownerReferences").size(), 1u);
    EXPECT_EQ(world.meta(pod).items_at("finalizers").size(), test.owners.resource == "jobs" ? 1u : 0u);
  }
}

TEST(Adoption, AJobTracksABarePodThatItTakesOver) {
  World world;
  world.fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"bare","labels":{"app":"web"}},
                                 "status":{"phase":"Succeeded"}})");
  world.begin(make_job(), jobs());
  EXPECT_EQ(world.creates(), 0u);
  EXPECT_EQ(world.fixture.api.find(jobs(), "d", "web")->part("status").int_at("succeeded"), 1);
}

TEST(Adoption, APodOfNoJobLosesTheFinalizer) {
  World world;
  world.begin(make_job(), jobs());
  const std::string pod = world.only_pod();
  world.fixture.api.change(Kind::Pod, "d", pod,
                           R"({"metadata":{"ownerReferences":null,"labels":{"app":"other"}}})");
  world.fixture.run_until_idle();
  EXPECT_TRUE(world.meta(pod).items_at("finalizers").empty());
  EXPECT_TRUE(world.meta(pod).items_at("ownerReferences").empty());
  EXPECT_EQ(world.creates(), 2u);
}

TEST(Adoption, APodOfAJobThatIsGoneLosesTheFinalizer) {
  World world;
  world.begin(make_job(), jobs());
  const std::string pod = world.only_pod();
  world.fixture.api.remove(jobs(), "d", "web");
  world.fixture.api.change(Kind::Pod, "d", pod, R"({"metadata":{"ownerReferences":null}})");
  world.fixture.run_until_idle();
  EXPECT_TRUE(world.meta(pod).items_at("finalizers").empty());
}

TEST(Adoption, AStatefulSetTakesPodsOfItsNamesOnly) {
  World world;
  for (const char* name : {"web-0", "web-x", "bare"})
    world.fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + std::string(name) +
                                         R"(","labels":{"app":"web"}},"status":{"phase":"Running"}})");
  world.begin(make_stateful_set(), stateful_sets());
  EXPECT_EQ(world.meta("web-0").items_at("ownerReferences").size(), 1u);
  EXPECT_TRUE(world.meta("web-x").items_at("ownerReferences").empty());
  EXPECT_TRUE(world.meta("bare").items_at("ownerReferences").empty());
}

TEST(Adoption, ADeploymentMakesNoReplicaSetBesideTheOneItAdopts) {
  World world;
  Json orphan = *parse_json(kOwners);
  orphan["metadata"]["name"] = "old-5d4f";
  orphan["metadata"]["uid"] = "old-uid";
  orphan["metadata"]["labels"] = Json::object({{"app", "web"}});
  orphan["spec"]["template"]["metadata"]["labels"][kTemplateHash] = "5d4f";
  world.fixture.api.put(replica_sets(), orphan);
  world.begin(make_deployment(), deployments());
  const std::vector<const Json*> sets = world.fixture.api.all(replica_sets());
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets.front()->part("metadata").items_at("ownerReferences").size(), 1u);
}

TEST(Adoption, NoPodIsMadeInANamespaceThatIsBeingDeleted) {
  const OwnersCase cases[] = {{make_replica_set, replica_sets()},
                              {make_replication_controller, replication_controllers()},
                              {make_job, jobs()},
                              {make_stateful_set, stateful_sets()},
                              {make_daemon_set, daemon_sets()}};
  for (const OwnersCase& test : cases) {
    SCOPED_TRACE(test.owners.resource);
    World world;
    world.fixture.engine.add(make_service_account());  // who knows namespaces
    world.fixture.api.put(Kind::Namespace,
                          R"({"metadata":{"name":"d","deletionTimestamp":"2026-01-01T00:00:00Z",
                              "finalizers":["example.com/hold"]},"status":{"phase":"Terminating"}})");
    world.begin(test.make(), test.owners);
    EXPECT_EQ(world.creates(), 0u);
  }
}

// Who waits for a pod to go must not find its successor under its name.
TEST(Adoption, TheNameOfAPodThatIsGoneDoesNotComeBack) {
  const OwnersCase cases[] = {{make_replica_set, replica_sets()},
                              {make_replication_controller, replication_controllers()},
                              {make_daemon_set, daemon_sets()}};
  for (const OwnersCase& test : cases) {
    SCOPED_TRACE(test.owners.resource);
    World world;
    world.begin(test.make(), test.owners);
    std::set<std::string> names = {world.only_pod()};
    for (std::size_t i = 0; i < 5; ++i) {
      world.fixture.api.remove(api::ref_of(Kind::Pod), "d", world.only_pod());
      world.fixture.run_until_idle();
      EXPECT_TRUE(names.insert(world.only_pod()).second) << world.only_pod();
    }
  }
}

}  // namespace
}  // namespace berth::workloads
