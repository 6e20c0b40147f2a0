#include <gtest/gtest.h>

#include <algorithm>

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

std::vector<std::string> events(const EngineFixture& fixture) {
  std::vector<std::string> found;
  for (const client::ApiRequest& request : fixture.api.arrived)
    if (request.resource.resource == "events" && request.verb == client::Verb::Create) {
      const Json event = *parse_json(request.body);
      found.push_back(std::string(event.string_at("reason")) + ": " +
                      std::string(event.string_at("message")));
    }
  return found;
}

// Another's object with the name is not adopted; when it is gone, the Job goes on.
TEST(JobGroup, AnothersObjectOfItsNameStopsTheJob) {
  struct Case {
    const api::ResourceRef& resource;
    const char* event;
  };
  const Case cases[] = {
      {workload_resource(), "FailedWorkloadCreate: Failed to create Workload for Job train: workloads"},
      {api::ref_of(Kind::PodGroup),
       "FailedPodGroupCreate: Failed to create PodGroup for Job train: podgroups"}};
  for (const Case& test : cases) {
    const Gang first(kGang);
    Json foreign = *first.only(test.resource);
    const std::string name(foreign.part("metadata").string_at("name"));
    foreign["metadata"]["ownerReferences"] = JsonArray();
    EngineFixture fixture;
    fixture.engine.add(make_job());
    fixture.api.put(test.resource, std::move(foreign));
    fixture.api.put(jobs(), job_with(kGang));
    fixture.start();
    fixture.run_until_idle();
    EXPECT_TRUE(fixture.api.all(api::ref_of(Kind::Pod)).empty());
    EXPECT_TRUE(
        fixture.api.find(test.resource, "d", name)->part("metadata").items_at("ownerReferences").empty());
    const std::string wanted = std::string(test.event) + ".scheduling.k8s.io \"" + name + "\" already exists";
    const std::vector<std::string> told = events(fixture);
    EXPECT_EQ(std::count(told.begin(), told.end(), wanted), 1) << wanted;
    fixture.api.remove(test.resource, "d", name);
    fixture.advance(Duration::minutes(20));
    EXPECT_EQ(fixture.api.all(api::ref_of(Kind::Pod)).size(), 3u);
  }
}

// A JobSet that has the Workload, and a Job of it.
struct Delegated {
  explicit Delegated(const char* group_template) {
    Json job = job_with("");
    job["metadata"]["annotations"]["scheduling.k8s.io/group-template-name"] = group_template;
    job["metadata"]["ownerReferences"] = *parse_json(
        R"([{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"s","uid":"set-uid",
             "controller":true}])");
    fixture.engine.add(make_job());
    fixture.api.put(jobs(), std::move(job));
    fixture.start();
    fixture.run_until_idle();
  }
  void put_workload(std::int64_t count) {
    Json workload = *parse_json(R"({"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload",
      "metadata":{"namespace":"d","name":"of-the-set","uid":"workload-uid"},
      "spec":{"controllerRef":{"apiGroup":"jobset.x-k8s.io","kind":"JobSet","name":"s"},
        "podGroupTemplates":[{"name":"leader","schedulingPolicy":{"basic":{}}},
          {"name":"workers","schedulingPolicy":{"gang":{"minCount":2}},"priorityClassName":"high"}]}})");
    workload["spec"]["podGroupTemplates"].as_array()[1]["schedulingPolicy"]["gang"]["minCount"] = count;
    fixture.api.put(workload_resource(), std::move(workload));
    fixture.run_until_idle();
  }
  const Json* group() const {
    const auto all = fixture.api.all(api::ref_of(Kind::PodGroup));
    return all.size() == 1 ? all.front() : nullptr;
  }
  std::size_t pods() const { return fixture.api.all(api::ref_of(Kind::Pod)).size(); }
  EngineFixture fixture;
};

TEST(JobGroup, OfAParentsWorkload) {
  Delegated job("workers");
  EXPECT_EQ(job.pods(), 0u) << "the parent's Workload is not there yet";
  job.put_workload(2);
  ASSERT_TRUE(job.group());
  const Json& spec = job.group()->part("spec");
  EXPECT_EQ(to_string(spec.part("schedulingPolicy")), R"({"gang":{"minCount":2}})");
  EXPECT_EQ(spec.string_at("priorityClassName"), "high");
  EXPECT_EQ(to_string(spec.part("workloadRef")), R"({"workloadName":"of-the-set","templateName":"workers"})");
  const JsonArray& owners = job.group()->part("metadata").items_at("ownerReferences");
  ASSERT_EQ(owners.size(), 1u) << "the Workload is the parent's alone";
  EXPECT_EQ(owners[0].string_at("uid"), "job-uid");
  EXPECT_EQ(job.pods(), 3u);
  EXPECT_EQ(job.fixture.api.all(workload_resource()).size(), 1u);
  job.put_workload(3);
  EXPECT_EQ(to_string(job.group()->part("spec").part("schedulingPolicy")), R"({"gang":{"minCount":3}})");
  EXPECT_EQ(job.fixture.api.find(workload_resource(), "d", "of-the-set")->part("metadata").string_at("uid"),
            "workload-uid");
}

TEST(JobGroup, OfATemplateThatIsMissing) {
  Delegated job("nobody");
  job.put_workload(2);
  EXPECT_EQ(job.pods(), 0u);
  EXPECT_FALSE(job.group());
  EXPECT_EQ(events(job.fixture).back(),
            "FailedPodGroupCreate: PodGroupTemplate \"nobody\" not found in workload d/of-the-set");
}

TEST(JobGroup, IsLeftToTheParentOrTheTemplate) {
  const char* owned = R"([{"apiVersion":"a/v1","kind":"Set","name":"s","uid":"set-uid","controller":true}])";
  for (const bool has_parent : {true, false}) {
    Json job = job_with(kGang);
    if (has_parent)
      job["metadata"]["ownerReferences"] = *parse_json(owned);
    else
      job["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] = "mine";
    EngineFixture fixture;
    fixture.engine.add(make_job());
    fixture.api.put(jobs(), std::move(job));
    fixture.start();
    fixture.run_until_idle();
    EXPECT_TRUE(fixture.api.all(workload_resource()).empty());
    const auto pods = fixture.api.all(api::ref_of(Kind::Pod));
    ASSERT_EQ(pods.size(), 3u);
    EXPECT_EQ(pods[0]->part("spec").part("schedulingGroup").string_at("podGroupName"),
              has_parent ? "" : "mine");
  }
}

}  // namespace
}  // namespace berth::workloads
