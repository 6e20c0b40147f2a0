#include <gtest/gtest.h>

#include <set>

#include "engine/testing/engine_fixture.h"
#include "workloads/job_state.h"
#include "workloads/objects.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;

struct Jobs : testing::Test {
  EngineFixture fixture;

  void put(const std::string& spec, const std::string& status = "{}") {
    fixture.api.put(jobs(), *parse_json(R"({"metadata":{"namespace":"d","name":"train","uid":"job-uid",
        "generation":1},"spec":{"selector":{"matchLabels":{"job":"train"}},"template":{
        "metadata":{"labels":{"job":"train"}},"spec":{"restartPolicy":"Never","containers":[]}},)" +
                                        spec + R"(},"status":)" + status + "}"));
  }
  const Json& job() { return *fixture.api.find(jobs(), "d", "train"); }
  std::set<std::string> indexes() {
    std::set<std::string> all;
    for (const Json* pod : fixture.api.all(api::ref_of(Kind::Pod)))
      all.emplace(pod->part("metadata").part("labels").string_at(kCompletionIndex));
    return all;
  }
};

TEST_F(Jobs, ASmallerIndexedJobRunsTheIndexesThatItHas) {
  fixture.engine.add(make_job());
  put(R"("completions":4,"parallelism":4,"completionMode":"Indexed")");
  fixture.start();
  fixture.run_until_idle();
  ASSERT_EQ(indexes(), (std::set<std::string>{"0", "1", "2", "3"}));
  std::vector<std::string> lost;
  for (const Json* pod : fixture.api.all(api::ref_of(Kind::Pod)))
    if (pod->part("metadata").part("labels").string_at(kCompletionIndex) < "2")
      lost.emplace_back(pod->part("metadata").string_at("name"));
  for (const std::string& name : lost) fixture.api.remove(api::ref_of(Kind::Pod), "d", name);
  Json smaller = job();
  smaller["metadata"]["generation"] = 2;
  for (const char* size : {"completions", "parallelism"}) smaller["spec"][size] = 2;
  fixture.api.put(jobs(), std::move(smaller));
  fixture.run_until_idle();
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(indexes(), (std::set<std::string>{"0", "1"}));
  EXPECT_EQ(job().part("status").int_at("failed"), 0);
}

TEST_F(Jobs, AJobThatIsGivenMoreTimeMeanwhileStays) {
  fixture.engine.add(make_job());
  const std::string ended = R"({"completionTime":"2027-01-15T07:59:00Z","conditions":[
      {"type":"Complete","status":"True","lastTransitionTime":"2027-01-15T07:59:00Z"}]})";
  put(R"("ttlSecondsAfterFinished":10)", ended);
  fixture.start();
  fixture.api.deliver_all();
  fixture.step();
  ASSERT_EQ(fixture.api.requests_waiting(), 1u);
  put(R"("ttlSecondsAfterFinished":3600)", ended);
  fixture.run_until_idle();
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(job().part("metadata").find("deletionTimestamp"), nullptr);
  fixture.advance(Duration::minutes(60));
  EXPECT_NE(job().part("metadata").find("deletionTimestamp"), nullptr);
}

}  // namespace
}  // namespace berth::workloads
