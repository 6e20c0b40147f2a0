#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

void put_node(EngineFixture& fixture, const std::string& taints) {
  fixture.api.put(Kind::Node, R"({"metadata":{"name":"n"},"spec":{"taints":[)" + taints + "]}}");
}

void put_tolerating_pod(EngineFixture& fixture, const std::string& tolerations) {
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p"},"spec":{"nodeName":"n",)"
                             R"("terminationGracePeriodSeconds":0,"tolerations":[)" +
                                 tolerations + "]}}");
}

bool lives(const EngineFixture& fixture) {
  const Json* pod = fixture.api.find(Kind::Pod, "d", "p");
  return pod && pod->part("metadata").string_at("deletionTimestamp").empty();
}

std::vector<std::string> event_messages(const EngineFixture& fixture) {
  std::vector<std::string> messages;
  for (const Json* event : fixture.api.all({"", "v1", "events"}))
    messages.push_back(std::string(event->string_at("reason")) + ": " +
                       std::string(event->string_at("message")));
  return messages;
}

constexpr const char* kBad = R"({"key":"bad","value":"x","effect":"NoExecute"})";
constexpr const char* kWorse = R"({"key":"worse","effect":"NoExecute"})";

struct StayCase {
  const char* tolerations;
  std::string taints;
  int seconds;  // until the pod is deleted; -1: never
};

TEST(NodeTaintEviction, WhichPodsGoAndWhen) {
  const std::string both = std::string(kBad) + "," + kWorse;
  const StayCase cases[] = {
      {"", "", -1},
      {"", R"({"key":"bad","effect":"NoSchedule"})", -1},
      {"", kBad, 0},
      {R"({"key":"bad","operator":"Exists","effect":"NoSchedule"})", kBad, 0},
      {R"({"key":"bad","operator":"Equal","value":"y"})", kBad, 0},
      {R"({"key":"bad","operator":"Exists","effect":"NoExecute"})", kBad, -1},
      {R"({"operator":"Exists"})", both, -1},
      {R"({"key":"bad","operator":"Exists"})", both, 0},
      {R"({"key":"bad","operator":"Exists","tolerationSeconds":60})", kBad, 60},
      {R"({"key":"bad","operator":"Exists","tolerationSeconds":-1})", kBad, 0},
      {R"({"key":"bad","operator":"Exists","tolerationSeconds":9223372036854775807})", kBad, -1},
      {R"({"key":"bad","operator":"Exists","tolerationSeconds":60},)"
       R"({"key":"worse","operator":"Exists","tolerationSeconds":20})",
       both, 20},
      {R"({"key":"bad","operator":"Exists"},{"key":"worse","operator":"Exists","tolerationSeconds":20})",
       both, 20},
      {R"({"key":"bad","operator":"Exists","tolerationSeconds":60},)"
       R"({"operator":"Exists","tolerationSeconds":20})",
       kBad, 60},
  };
  for (const StayCase& test : cases) {
    SCOPED_TRACE(std::string(test.tolerations) + " on " + test.taints);
    EngineFixture fixture;
    fixture.engine.add(make_node_taint_eviction());
    put_node(fixture, test.taints);
    put_tolerating_pod(fixture, test.tolerations);
    fixture.start();
    fixture.run_until_idle();
    if (test.seconds > 0) {
      fixture.advance(Duration::seconds(test.seconds - 1));
      EXPECT_TRUE(lives(fixture));
      fixture.advance(Duration::seconds(1));
    }
    EXPECT_EQ(lives(fixture), test.seconds < 0);
    fixture.advance(Duration::minutes(10));
    EXPECT_EQ(lives(fixture), test.seconds < 0);
  }
}

TEST(NodeTaintEviction, SaysWhyInThePodAndAnEvent) {
  EngineFixture fixture;
  fixture.engine.add(make_node_taint_eviction());
  put_node(fixture, kBad);
  put_tolerating_pod(fixture, "");
  fixture.api.change(Kind::Pod, "d", "p", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  fixture.start();
  fixture.run_until_idle();
  const Json* pod = fixture.api.find(Kind::Pod, "d", "p");
  ASSERT_NE(pod, nullptr);
  ASSERT_FALSE(lives(fixture));
  const Json& condition = pod->part("status").items_at("conditions").back();
  EXPECT_EQ(condition.string_at("reason"), "DeletionByTaintManager");
  EXPECT_EQ(condition.string_at("message"), "Taint manager: deleting due to NoExecute taint");
  EXPECT_EQ(event_messages(fixture),
            (std::vector<std::string>{"TaintManagerEviction: Marking for deletion Pod d/p"}));
}

TEST(NodeTaintEviction, ATaintThatGoesCallsItOffAndTheNextOneStartsAnew) {
  EngineFixture fixture;
  fixture.engine.add(make_node_taint_eviction());
  put_node(fixture, kBad);
  put_tolerating_pod(fixture, R"({"operator":"Exists","tolerationSeconds":60})");
  fixture.start();
  fixture.advance(Duration::seconds(50));
  put_node(fixture, "");
  fixture.advance(Duration::seconds(60));
  EXPECT_TRUE(lives(fixture));
  EXPECT_EQ(event_messages(fixture),
            (std::vector<std::string>{"TaintManagerEviction: Cancelling deletion of Pod d/p"}));
  put_node(fixture, kBad);
  fixture.advance(Duration::seconds(50));
  EXPECT_TRUE(lives(fixture));
  fixture.advance(Duration::seconds(10));
  EXPECT_FALSE(lives(fixture));
}

TEST(NodeTaintEviction, TimeAddedCountsForAPodThatWasThere) {
  EngineFixture fixture;
  fixture.engine.add(make_node_taint_eviction());
  const Time added = Time::from_seconds(1800000000) - Duration::seconds(40);
  put_node(fixture, R"({"key":"bad","effect":"NoExecute","timeAdded":")" + format_time(added) + R"("})");
  put_tolerating_pod(fixture, R"({"operator":"Exists","tolerationSeconds":60})");
  fixture.start();
  fixture.advance(Duration::seconds(19));
  EXPECT_TRUE(lives(fixture));
  fixture.advance(Duration::seconds(1));
  EXPECT_FALSE(lives(fixture));
}

TEST(NodeTaintEviction, ALatePodHasItsWholeStay) {
  EngineFixture fixture;
  fixture.engine.add(make_node_taint_eviction());
  const Time now = Time::from_seconds(1800000000);
  put_node(fixture, R"({"key":"bad","effect":"NoExecute","timeAdded":")" +
                        format_time(now - Duration::minutes(60)) + R"("})");
  put_tolerating_pod(fixture, R"({"operator":"Exists","tolerationSeconds":60})");
  fixture.api.change(Kind::Pod, "d", "p",
                     R"({"status":{"conditions":[{"type":"PodScheduled","status":"True",)"
                     R"("lastTransitionTime":")" +
                         format_time(now) + R"("}]}})");
  fixture.start();
  fixture.advance(Duration::seconds(59));
  EXPECT_TRUE(lives(fixture));
  fixture.advance(Duration::seconds(1));
  EXPECT_FALSE(lives(fixture));
}

}  // namespace
}  // namespace berth::controllers
