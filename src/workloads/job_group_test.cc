#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "workloads/job_group.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;

Json job_with(const std::string& scheduling) {
  return *parse_json(R"({"apiVersion":"batch/v1","kind":"Job",
    "metadata":{"namespace":"d","name":"train","uid":"job-uid","generation":1},
    "spec":{"completions":4,"parallelism":3,"completionMode":"Indexed","backoffLimit":6,)" +
                     scheduling + R"("selector":{"matchLabels":{"job":"train"}},
    "template":{"metadata":{"labels":{"job":"train"}},
      "spec":{"restartPolicy":"Never","priorityClassName":"high","containers":[]}}}})");
}

struct Gang {
  explicit Gang(const std::string& scheduling) {
    fixture.engine.add(make_job());
    fixture.api.put(jobs(), job_with(scheduling));
    fixture.start();
    fixture.run_until_idle();
  }
  const Json* only(const api::ResourceRef& resource) const {
    const auto all = fixture.api.all(resource);
    return all.size() == 1 ? all.front() : nullptr;
  }
  EngineFixture fixture;
};

constexpr const char* kGang =
    R"("scheduling":{"schedulingPolicy":{"gang":{}},"schedulingConstraints":{"topology":[{"key":"rack"}]}},)";

TEST(JobGroup, ComesBeforeThePods) {
  const Gang gang(kGang);
  const Json* workload = gang.only(workload_resource());
  const Json* group = gang.only(api::ref_of(Kind::PodGroup));
  ASSERT_TRUE(workload && group);
  const std::string name(group->part("metadata").string_at("name"));
  const Json& made = workload->part("spec").items_at("podGroupTemplates").at(0);
  EXPECT_EQ(to_string(made.part("schedulingPolicy")), R"({"gang":{"minCount":3}})");
  EXPECT_EQ(made.string_at("priorityClassName"), "high");
  EXPECT_EQ(to_string(workload->part("spec").part("controllerRef")),
            R"({"apiGroup":"batch","kind":"Job","name":"train"})");
  EXPECT_EQ(to_string(group->part("spec").part("schedulingConstraints")), R"({"topology":[{"key":"rack"}]})");
  EXPECT_EQ(group->part("spec").part("workloadRef").string_at("workloadName"),
            workload->part("metadata").string_at("name"));
  for (const Json* owned : {workload, group})
    EXPECT_EQ(owned->part("metadata").items_at("ownerReferences").at(0).string_at("uid"), "job-uid");
  const auto pods = gang.fixture.api.all(api::ref_of(Kind::Pod));
  ASSERT_EQ(pods.size(), 3u);
  for (const Json* pod : pods)
    EXPECT_EQ(pod->part("spec").part("schedulingGroup").string_at("podGroupName"), name);
  std::vector<std::string> creates;
  for (const std::string& line : gang.fixture.api.log)
    if (line.starts_with("create") && line.find("events") == std::string::npos)
      creates.push_back(line.substr(0, line.rfind('/')));
  ASSERT_GE(creates.size(), 3u);
  EXPECT_EQ(creates[0], "create scheduling.k8s.io/v1beta1/workloads d");
  EXPECT_EQ(creates[1], "create scheduling.k8s.io/v1beta1/podgroups d");
  EXPECT_EQ(creates[2], "create v1/pods d");
}

TEST(JobGroup, FollowsTheParallelism) {
  Gang gang(kGang);
  Json job = *gang.fixture.api.find(jobs(), "d", "train");
  job["spec"]["parallelism"] = 2;
  job["metadata"].as_object().erase("resourceVersion");
  gang.fixture.api.put(jobs(), std::move(job));
  gang.fixture.run_until_idle();
  const Json* workload = gang.only(workload_resource());
  const Json* group = gang.only(api::ref_of(Kind::PodGroup));
  ASSERT_TRUE(workload && group);
  EXPECT_EQ(to_string(workload->part("spec").items_at("podGroupTemplates").at(0).part("schedulingPolicy")),
            R"({"gang":{"minCount":2}})");
  EXPECT_EQ(to_string(group->part("spec").part("schedulingPolicy")), R"({"gang":{"minCount":2}})");
}

TEST(JobGroup, IsForJobsThatAskForIt) {
  const Gang none("");
  EXPECT_TRUE(none.fixture.api.all(workload_resource()).empty());
  EXPECT_EQ(none.fixture.api.all(api::ref_of(Kind::Pod)).size(), 3u);
  const Gang basic(R"("scheduling":{"schedulingPolicy":{"basic":{}}},)");
  const Json* group = basic.only(api::ref_of(Kind::PodGroup));
  ASSERT_TRUE(group);
  EXPECT_EQ(to_string(group->part("spec").part("schedulingPolicy")), R"({"basic":{}})");
}

TEST(JobGroup, AnothersObjectOfItsNameStopsTheJob) {
  const Gang first(kGang);
  Json foreign = *first.only(workload_resource());
  foreign["metadata"]["ownerReferences"] = JsonArray();
  EngineFixture fixture;
  fixture.engine.add(make_job());
  fixture.api.put(workload_resource(), std::move(foreign));
  fixture.api.put(jobs(), job_with(kGang));
  fixture.start();
  fixture.run_until_idle();
  EXPECT_TRUE(fixture.api.all(api::ref_of(Kind::Pod)).empty());
}

}  // namespace
}  // namespace berth::workloads
