#include <gtest/gtest.h>

#include <map>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

const api::ResourceRef kMaps{"", "v1", "configmaps"};
const api::ResourceRef kJobs{"batch", "v1", "jobs"};

struct GarbageCollector : ::testing::Test {
  EngineFixture fixture;

  void begin() {
    fixture.engine.add(make_garbage_collector({{kMaps, "ConfigMap", true},
                                               {kJobs, "Job", true},
                                               {api::ref_of(Kind::Pod), "Pod", true},
                                               {api::ref_of(Kind::Node), "Node", false}}));
    fixture.start();
    fixture.run_until_idle();
  }
  void put(const api::ResourceRef& resource, const std::string& name, const std::string& owners = "",
           const std::string& more = "") {
    fixture.api.put(
        resource, *parse_json(R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"uid-)" + name +
                              R"(","ownerReferences":[)" + owners + "]" + more + "}}"));
  }
  static std::string job(const std::string& name, const char* uid, const char* block = "false") {
    return R"({"apiVersion":"batch/v1","kind":"Job","name":")" + name + R"(","uid":")" + uid +
           R"(","blockOwnerDeletion":)" + block + "}";
  }
  bool there(const api::ResourceRef& resource, const char* name) {
    return fixture.api.find(resource, "d", name) != nullptr;
  }
  void erase(const api::ResourceRef& resource, const std::string& name, const std::string& propagation) {
    client::ApiRequest request{client::Verb::Delete, resource, "d", name, "", ""};
    request.body = R"({"propagationPolicy":")" + propagation + "\"}";
    fixture.api.submit(request, [](client::ApiReply) {});
  }
};

TEST_F(GarbageCollector, DependentsGoAfterTheirLastOwnerMatchedByUid) {
  put(kJobs, "j");
  put(kMaps, "kept", job("j", "uid-j"));
  put(kMaps, "stranger", job("j", "uid-of-an-earlier-j"));
  put(kMaps, "of-two", job("j", "uid-j") + "," + job("absent", "uid-absent"));
  put(kMaps, "unknown-kind", R"({"apiVersion":"x/v1","kind":"Thing","name":"t","uid":"t"})");
  begin();
  EXPECT_TRUE(there(kMaps, "kept"));
  EXPECT_FALSE(there(kMaps, "stranger"));
  ASSERT_TRUE(there(kMaps, "of-two"));
  EXPECT_EQ(fixture.api.find(kMaps, "d", "of-two")->find("metadata")->items_at("ownerReferences").size(), 1u)
      << "the reference to the owner that is gone is taken off";
  fixture.api.remove(kJobs, "d", "j");
  fixture.run_until_idle();
  EXPECT_FALSE(there(kMaps, "kept"));
  EXPECT_FALSE(there(kMaps, "of-two"));
  EXPECT_TRUE(there(kMaps, "unknown-kind"));
}

TEST_F(GarbageCollector, AnOwnerThatTheWatchHasNotShownYetIsLookedUp) {
  begin();
  put(kJobs, "late");
  put(kMaps, "child", job("late", "uid-late"));
  fixture.api.deliver(0);  // configmaps only
  fixture.step();
  while (fixture.api.answer()) fixture.step();
  fixture.run_until_idle();
  EXPECT_TRUE(there(kMaps, "child"));
}

TEST_F(GarbageCollector, ForegroundWaitsForBlockingDependents) {
  put(kJobs, "j");
  put(kMaps, "child", job("j", "uid-j", "true"), R"(,"finalizers":["example.com/hold"])");
  begin();
  erase(kJobs, "j", "Foreground");
  fixture.run_until_idle();
  EXPECT_TRUE(there(kJobs, "j"));
  ASSERT_TRUE(there(kMaps, "child"));
  EXPECT_NE(fixture.api.find(kMaps, "d", "child")->find_path({"metadata", "deletionTimestamp"}), nullptr);
  fixture.api.remove(kMaps, "d", "child");
  fixture.run_until_idle();
  EXPECT_FALSE(there(kJobs, "j"));
}

// Each owner waits for its dependents: one of them has to stop blocking.
TEST_F(GarbageCollector, ACircleOfOwnersGoes) {
  put(kJobs, "a", job("c", "uid-c", "true"));
  put(kJobs, "b", job("a", "uid-a", "true"));
  put(kJobs, "c", job("b", "uid-b", "true"));
  begin();
  erase(kJobs, "a", "Foreground");
  fixture.run_until_idle();
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(there(kJobs, name)) << name;
}

TEST_F(GarbageCollector, OrphansLoseTheReferenceAndStay) {
  put(kJobs, "j");
  put(kMaps, "child", job("j", "uid-j", "true"));
  begin();
  erase(kJobs, "j", "Orphan");
  fixture.run_until_idle();
  EXPECT_FALSE(there(kJobs, "j"));
  ASSERT_TRUE(there(kMaps, "child"));
  EXPECT_TRUE(fixture.api.find(kMaps, "d", "child")->find("metadata")->items_at("ownerReferences").empty());
}

TEST_F(GarbageCollector, ADependentThatGetsAnotherOwnerMeanwhileStays) {
  begin();
  put(kJobs, "k");
  fixture.run_until_idle();
  put(kMaps, "child", job("absent", "uid-absent"));
  fixture.api.deliver_all();
  fixture.step();
  while (fixture.api.requests_waiting() > 0 && fixture.api.waiting(0).verb != client::Verb::Delete) {
    fixture.api.answer();
    fixture.step();
  }
  ASSERT_EQ(fixture.api.requests_waiting(), 1u);
  put(kMaps, "child", job("k", "uid-k"));
  fixture.run_until_idle();
  fixture.advance(Duration::minutes(1));
  EXPECT_TRUE(there(kMaps, "child"));
}

TEST_F(GarbageCollector, WhatFinalizersSayOfDependentsHolds) {
  put(kMaps, "orphans", job("absent", "uid-absent"), R"(,"finalizers":["orphan"])");
  put(kMaps, "waits", job("absent", "uid-absent"), R"(,"finalizers":["foregroundDeletion"])");
  put(kMaps, "plain", job("absent", "uid-absent"));
  begin();
  std::map<std::string, std::string> policies;
  for (const client::ApiRequest& request : fixture.api.arrived)
    if (request.verb == client::Verb::Delete)
      policies[request.name] = parse_json(request.body)->string_at("propagationPolicy");
  EXPECT_EQ(policies, (std::map<std::string, std::string>{
                          {"orphans", "Orphan"}, {"plain", "Background"}, {"waits", "Foreground"}}));
}

TEST_F(GarbageCollector, AChainOfOwnersGoesToItsEnd) {
  put(kJobs, "j");
  put(api::ref_of(Kind::Pod), "p", job("j", "uid-j"));
  put(kMaps, "m", R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"uid-p"})");
  begin();
  fixture.api.remove(kJobs, "d", "j");
  fixture.run_until_idle();
  EXPECT_FALSE(there(api::ref_of(Kind::Pod), "p"));
  EXPECT_FALSE(there(kMaps, "m"));
}

}  // namespace
}  // namespace berth::controllers
