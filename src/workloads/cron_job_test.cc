#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "workloads/objects.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;

// The fixture's clock starts at 08:00:00 of this day.
constexpr const char* kCron = R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"namespace":"d",
  "name":"tick","uid":"cron-uid","creationTimestamp":"2027-01-15T07:58:30Z"},
  "spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{}}}}})";
// Deleted in the foreground: it stays until its pods are gone.
constexpr const char* kGoing = R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"d",
  "name":"tick-29999999","deletionTimestamp":"2027-01-15T07:59:30Z","finalizers":["foregroundDeletion"],
  "annotations":{"batch.kubernetes.io/cronjob-scheduled-timestamp":"2027-01-15T07:59:00Z"},
  "ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":"tick","uid":"cron-uid",
                      "controller":true}]}})";
constexpr const char* kDueJob = "tick-30000000";

void begin(EngineFixture& fixture, std::string_view field, Json value) {
  fixture.engine.add(make_cron_job());
  Json cron = *parse_json(kCron);
  cron["spec"][field] = std::move(value);
  fixture.api.put(cron_jobs(), std::move(cron));
  fixture.start();
  fixture.run_until_idle();
}

TEST(CronJob, ForbidWaitsForAJobThatIsBeingDeleted) {
  EngineFixture fixture;
  fixture.api.put(jobs(), *parse_json(kGoing));
  begin(fixture, "concurrencyPolicy", "Forbid");
  EXPECT_EQ(fixture.api.all(jobs()).size(), 1u);
  EXPECT_EQ(fixture.api.find(cron_jobs(), "d", "tick")->part("status").items_at("active").size(), 1u);
}

TEST(CronJob, ReplaceDeletesNoJobTwice) {
  EngineFixture fixture;
  fixture.api.put(jobs(), *parse_json(kGoing));
  begin(fixture, "concurrencyPolicy", "Replace");
  EXPECT_TRUE(fixture.api.find(jobs(), "d", kDueJob));
  for (const client::ApiRequest& request : fixture.api.arrived)
    EXPECT_NE(request.verb, client::Verb::Delete) << request.name;
}

TEST(CronJob, AJobThatSomebodyDeletesIsReportedMissing) {
  for (const auto& [policy, reports] : {std::pair("Forbid", 1), {"Replace", 0}}) {
    EngineFixture fixture;
    begin(fixture, "concurrencyPolicy", policy);
    ASSERT_EQ(fixture.api.find(cron_jobs(), "d", "tick")->part("status").items_at("active").size(), 1u);
    fixture.api.remove(jobs(), "d", kDueJob);
    fixture.run_until_idle();
    fixture.advance(Duration::seconds(5));
    EXPECT_TRUE(fixture.api.find(cron_jobs(), "d", "tick")->part("status").items_at("active").empty());
    std::int64_t missing = 0;
    for (const Json* event : fixture.api.all({"", "v1", "events"}))
      if (event->string_at("reason") == "MissingJob") missing += event->int_at("count");
    EXPECT_EQ(missing, reports) << policy;
  }
}

TEST(CronJob, ADeadlineDecidesWhetherALateJobIsMade) {
  const std::pair<std::int64_t, bool> cases[] = {{0, false}, {5, false}, {60, true}, {INT64_MAX, true}};
  for (const auto& [deadline, is_made] : cases) {
    EngineFixture fixture(Time::from_seconds(1800000010));
    begin(fixture, "startingDeadlineSeconds", deadline);
    EXPECT_EQ(fixture.api.find(jobs(), "d", kDueJob) != nullptr, is_made) << deadline;
  }
}

}  // namespace
}  // namespace berth::workloads
