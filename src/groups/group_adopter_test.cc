#include "groups/group_adopter.h"

#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "groups/source.h"

namespace berth::groups {
namespace {

using engine::testing::EngineFixture;

constexpr const char* kPlugins = "scheduling.x-k8s.io";

struct Adopted {
  Adopted() {
    fixture.engine.add(make_group_adopter({{"berth"}, true}));
    fixture.start();
  }
  void pod(const std::string& name, const std::string& labels, const std::string& more = "{}",
           const std::string& scheduler = "berth") {
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(",)" + labels +
                                   R"(},"spec":{"schedulerName":")" + scheduler +
                                   R"(","priorityClassName":"high"},"status":)" + more + "}");
    fixture.run_until_idle();
  }
  void object(GroupSource id, const std::string& spec, const std::string& uid = "g-uid") {
    const Source& source = source_of(id);
    fixture.api.put(source.resource, *parse_json(R"({"metadata":{"namespace":"d","name":"g","uid":")" + uid +
                                                 R"("},"spec":)" + spec + "}"));
    fixture.run_until_idle();
  }
  const Json* group(const std::string& name = "g") const {
    return fixture.api.find(Kind::PodGroup, "d", name);
  }
  std::string status(GroupSource id) const {
    const Json* object = fixture.api.find(source_of(id).resource, "d", "g");
    return object ? to_string(object->part("status")) : "none";
  }
  // "reason: message" of the events, each once.
  std::string events() const {
    std::string text;
    for (const Json* event : fixture.api.all({"", "v1", "events"}))
      text +=
          std::string(event->string_at("reason")) + ": " + std::string(event->string_at("message")) + "\n";
    return text;
  }
  EngineFixture fixture;
};

const std::string kMember = R"("labels":{"scheduling.x-k8s.io/pod-group":"g"})";

TEST(GroupAdopter, MakesTheGroupWithItsFirstPod) {
  Adopted adopted;
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":2})");
  EXPECT_FALSE(adopted.group()) << "no pod says who schedules it";
  adopted.pod("a", kMember);
  const Json* group = adopted.group();
  ASSERT_TRUE(group);
  EXPECT_EQ(to_string(group->part("spec")),
            R"({"schedulingPolicy":{"gang":{"minCount":2}},"priorityClassName":"high"})");
  const Json& metadata = group->part("metadata");
  EXPECT_EQ(to_string(metadata.part("annotations")),
            R"({"scheduling.berth.dev/made-from":"scheduler-plugins/g"})");
  const Json& owner = metadata.items_at("ownerReferences").at(0);
  EXPECT_EQ(owner.string_at("uid"), "g-uid");
  EXPECT_EQ(owner.string_at("apiVersion"), std::string(kPlugins) + "/v1alpha1");
  EXPECT_EQ(adopted.status(GroupSource::SchedulerPlugins), R"({"phase":"Pending"})");
  EXPECT_NE(adopted.events().find("GroupAdopted"), std::string::npos) << adopted.events();
}

TEST(GroupAdopter, FollowsTheMinimumAndThePods) {
  Adopted adopted;
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":2})");
  adopted.pod("a", kMember + R"(,"ownerReferences":[{"kind":"Job","name":"j","uid":"u"}])",
              R"({"phase":"Running"})");
  adopted.pod("b", kMember, R"({"phase":"Running"})");
  EXPECT_EQ(adopted.status(GroupSource::SchedulerPlugins),
            R"({"phase":"Running","occupiedBy":"d/j","running":2})");
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":3})");
  ASSERT_TRUE(adopted.group());
  EXPECT_EQ(adopted.group()->find_path({"spec", "schedulingPolicy", "gang", "minCount"})->as_int(), 3);
}

TEST(GroupAdopter, LeavesWhatAnotherSchedulerPlaces) {
  Adopted adopted;
  adopted.object(GroupSource::Volcano, R"({"minMember":2})");
  adopted.pod("a", R"("annotations":{"scheduling.k8s.io/group-name":"g"})", "{}", "volcano");
  EXPECT_FALSE(adopted.group());
  EXPECT_EQ(adopted.status(GroupSource::Volcano), "null");
}

TEST(GroupAdopter, EntersAGroupWithoutPodsIfItAnswersToTheProjectsName) {
  EngineFixture fixture;
  fixture.engine.add(make_group_adopter({{"berth", "volcano"}, true}));
  fixture.start();
  fixture.api.put(source_of(GroupSource::Volcano).resource,
                  *parse_json(R"({"metadata":{"namespace":"d","name":"g"},"spec":{"minMember":2}})"));
  fixture.run_until_idle();
  EXPECT_EQ(to_string(fixture.api.find(source_of(GroupSource::Volcano).resource, "d", "g")->part("status")),
            R"({"phase":"Inqueue"})");
}

TEST(GroupAdopter, MakesATreeAndItsWishes) {
  Adopted adopted;
  adopted.object(GroupSource::Grove,
                 R"({"podgroups":[{"name":"g-p","minReplicas":1},{"name":"g-d","minReplicas":2}],
                    "topologyConstraint":{"packConstraint":{"required":"example.com/block",
                                                            "preferred":"example.com/rack"}}})");
  adopted.pod("a", R"("labels":{"grove.io/podgang":"g","grove.io/podclique":"g-p"})");
  const Json* root = adopted.fixture.api.find(Kind::CompositePodGroup, "d", "g");
  ASSERT_TRUE(root);
  EXPECT_EQ(to_string(root->part("spec")),
            R"({"schedulingPolicy":{"gang":{"minGroupCount":2}},"schedulingConstraints":{"topology":)"
            R"([{"key":"example.com/block"}]},"priorityClassName":"high","workloadRef":{"workloadName":"g",)"
            R"("templateName":"grove"}})");
  for (const char* name : {"g-p", "g-d"}) {
    ASSERT_TRUE(adopted.group(name)) << name;
    EXPECT_EQ(adopted.group(name)->part("spec").string_at("parentCompositePodGroupName"), "g");
  }
  const Json* policy = adopted.fixture.api.find(Kind::PlacementPolicy, "d", "g");
  ASSERT_TRUE(policy);
  EXPECT_EQ(to_string(policy->part("spec")),
            R"({"targetRef":{"group":"scheduling.k8s.io","kind":"CompositePodGroup","name":"g"},)"
            R"("preferred":["example.com/rack"],"required":"example.com/block"})");
  EXPECT_EQ(adopted.status(GroupSource::Grove), R"({"phase":"Pending"})");
}

TEST(GroupAdopter, TellsTheScoreOnceTheGangIsPlaced) {
  Adopted adopted;
  adopted.object(GroupSource::Grove, R"({"podgroups":[{"name":"g-p","minReplicas":1,
      "topologyConstraint":{"packConstraint":{"preferred":"example.com/rack"}}}]})");
  adopted.pod("a", R"("labels":{"grove.io/podgang":"g","grove.io/podclique":"g-p"})",
              R"({"phase":"Running"})");
  ASSERT_TRUE(adopted.group("g-p"));
  adopted.fixture.api.change(Kind::PlacementPolicy, "d", "g-p",
                             R"({"status":{"groups":[{"kind":"PodGroup","name":"g-p","score":0.5}]}})");
  adopted.fixture.api.change(
      Kind::PodGroup, "d", "g-p",
      R"({"status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"True"}]}})");
  adopted.fixture.run_until_idle();
  EXPECT_EQ(adopted.status(GroupSource::Grove), R"({"phase":"Running","placementScore":0.5})");
}

TEST(GroupAdopter, AGroupOfLabelsGoesWithItsLastPod) {
  Adopted adopted;
  const std::string labels = R"("labels":{"kueue.x-k8s.io/pod-group-name":"g"},)"
                             R"("annotations":{"kueue.x-k8s.io/pod-group-total-count":"2"})";
  adopted.pod("a", labels);
  ASSERT_TRUE(adopted.group());
  EXPECT_EQ(adopted.group()->find_path({"spec", "schedulingPolicy", "gang", "minCount"})->as_int(), 2);
  adopted.pod("b", labels);
  adopted.fixture.api.remove(api::ref_of(Kind::Pod), "d", "a");
  adopted.fixture.run_until_idle();
  EXPECT_TRUE(adopted.group());
  adopted.fixture.api.remove(api::ref_of(Kind::Pod), "d", "b");
  adopted.fixture.run_until_idle();
  EXPECT_FALSE(adopted.group());
}

TEST(GroupAdopter, SaysWhatItCannotFollow) {
  Adopted adopted;
  adopted.pod("early", R"("labels":{"scheduling.x-k8s.io/pod-group":"late"})");
  EXPECT_NE(adopted.events().find("GroupNotFound: as a group of scheduler-plugins: "
                                  "PodGroup.scheduling.x-k8s.io d/late does not exist"),
            std::string::npos)
      << adopted.events();
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":-1})");
  adopted.pod("a", kMember);
  EXPECT_FALSE(adopted.group());
  EXPECT_NE(adopted.events().find("InvalidGroup: as a group of scheduler-plugins: spec.minMember: must be a "
                                  "count of 0 or more"),
            std::string::npos)
      << adopted.events();
}

TEST(GroupAdopter, LeavesAGroupOfThatNameThatItDidNotMake) {
  Adopted adopted;
  adopted.fixture.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g"},
      "spec":{"schedulingPolicy":{"gang":{"minCount":7}}}})");
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":2})");
  adopted.pod("a", kMember);
  EXPECT_EQ(adopted.group()->find_path({"spec", "schedulingPolicy", "gang", "minCount"})->as_int(), 7);
  EXPECT_NE(adopted.events().find("GroupNameTaken"), std::string::npos) << adopted.events();
}

TEST(GroupAdopter, MakesItsGroupOnceTheOneInItsWayIsGone) {
  Adopted adopted;
  adopted.fixture.api.put(Kind::PodGroup, R"({"metadata":{"namespace":"d","name":"g"},
      "spec":{"schedulingPolicy":{"gang":{"minCount":7}}}})");
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":2})");
  adopted.pod("a", kMember);
  adopted.fixture.api.remove(api::ref_of(Kind::PodGroup), "d", "g");
  adopted.fixture.run_until_idle();
  ASSERT_TRUE(adopted.group());
  EXPECT_EQ(adopted.group()->find_path({"spec", "schedulingPolicy", "gang", "minCount"})->as_int(), 2);
}

TEST(GroupAdopter, MakesItsTreeOnceTheRootInItsWayIsGone) {
  Adopted adopted;
  adopted.fixture.api.put(Kind::CompositePodGroup, R"({"metadata":{"namespace":"d","name":"g"},
      "spec":{"schedulingPolicy":{"gang":{"minGroupCount":1}}}})");
  adopted.object(GroupSource::Grove, R"({"podgroups":[{"name":"g-p"},{"name":"g-d"}]})");
  adopted.pod("a", R"("labels":{"grove.io/podgang":"g","grove.io/podclique":"g-p"})");
  ASSERT_TRUE(adopted.group("g-d"));
  adopted.fixture.api.remove(api::ref_of(Kind::CompositePodGroup), "d", "g");
  adopted.fixture.run_until_idle();
  const Json* root = adopted.fixture.api.find(Kind::CompositePodGroup, "d", "g");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find_path({"spec", "schedulingPolicy", "gang", "minGroupCount"})->as_int(), 2);
}

TEST(GroupAdopter, FollowsThePolicyThatPeopleWroteUntilItIsGone) {
  Adopted adopted;
  adopted.fixture.api.put(Kind::PlacementPolicy, R"({"metadata":{"namespace":"d","name":"mine"},
      "spec":{"targetRef":{"group":"scheduling.k8s.io","kind":"PodGroup","name":"g-p"},
              "preferred":["example.com/block"]}})");
  adopted.object(GroupSource::Grove, R"({"podgroups":[{"name":"g-p","minReplicas":1,
      "topologyConstraint":{"packConstraint":{"preferred":"example.com/rack"}}}]})");
  adopted.pod("a", R"("labels":{"grove.io/podgang":"g","grove.io/podclique":"g-p"})",
              R"({"phase":"Running"})");
  adopted.fixture.api.change(
      Kind::PodGroup, "d", "g-p",
      R"({"status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"True"}]}})");
  adopted.fixture.run_until_idle();
  EXPECT_FALSE(adopted.fixture.api.find(Kind::PlacementPolicy, "d", "g-p"));
  adopted.fixture.api.change(Kind::PlacementPolicy, "d", "mine",
                             R"({"status":{"groups":[{"kind":"PodGroup","name":"g-p","score":0.5}]}})");
  adopted.fixture.run_until_idle();
  EXPECT_EQ(adopted.status(GroupSource::Grove), R"({"phase":"Running","placementScore":0.5})");
  adopted.fixture.api.remove(api::ref_of(Kind::PlacementPolicy), "d", "mine");
  adopted.fixture.run_until_idle();
  EXPECT_TRUE(adopted.fixture.api.find(Kind::PlacementPolicy, "d", "g-p"));
}

TEST(GroupAdopter, RefusesATreeWithTwoGroupsOfOneName) {
  Adopted adopted;
  adopted.object(GroupSource::Kai, R"({"subGroups":[{"name":"a"},{"name":"a"}]})");
  adopted.pod("p", R"("annotations":{"pod-group-name":"g"},"labels":{"kai.scheduler/subgroup-name":"a"})");
  EXPECT_FALSE(adopted.group("g-a"));
  EXPECT_NE(adopted.events().find("InvalidGroup: as a group of kai: name: of two of its groups is \"g-a\""),
            std::string::npos)
      << adopted.events();
}

TEST(GroupAdopter, ForgetsWhatWasRefusedWithItsObject) {
  Adopted adopted;
  bool refuses = true;
  adopted.fixture.api.fault = [&](const client::ApiRequest& request) {
    const bool made = request.verb == client::Verb::Create && request.resource.resource == "podgroups";
    return made && refuses ? engine::testing::InjectedFault::Refused : engine::testing::InjectedFault::None;
  };
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":1})");
  adopted.pod("a", kMember);
  adopted.fixture.api.remove(source_of(GroupSource::SchedulerPlugins).resource, "d", "g");
  adopted.fixture.advance(Duration::seconds(60));
  refuses = false;
  const auto told = [&] { return adopted.events().find("GroupNotMade") != std::string::npos; };
  const bool told_before = told();
  adopted.object(GroupSource::SchedulerPlugins, R"({"minMember":1})", "another");
  ASSERT_TRUE(adopted.group());
  EXPECT_EQ(told(), told_before) << "nothing was refused for the new object";
}

// The next run derives what is missing.
TEST(GroupAdopter, CompletesATreeOfWhichOneGroupWasRefused) {
  Adopted adopted;
  int creates = 0;
  adopted.fixture.api.fault = [&](const client::ApiRequest& request) {
    const bool second =
        request.verb == client::Verb::Create && request.resource.resource == "podgroups" && ++creates == 2;
    return second ? engine::testing::InjectedFault::Refused : engine::testing::InjectedFault::None;
  };
  adopted.object(GroupSource::Grove, R"({"podgroups":[{"name":"g-p"},{"name":"g-d"}]})");
  adopted.pod("a", R"("labels":{"grove.io/podgang":"g","grove.io/podclique":"g-p"})");
  adopted.fixture.advance(Duration::seconds(60));
  EXPECT_TRUE(adopted.group("g-p") && adopted.group("g-d"));
  EXPECT_GT(creates, 2) << "the refused one is made again";
  EXPECT_NE(adopted.events().find("GroupNotMade: as a group of grove: PodGroup d/g-d cannot be made: "),
            std::string::npos)
      << adopted.events();
}

}  // namespace
}  // namespace berth::groups
