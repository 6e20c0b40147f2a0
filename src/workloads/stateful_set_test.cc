#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"
#include "workloads/objects.h"

namespace berth::workloads {
namespace {

using engine::testing::EngineFixture;

constexpr const char* kReady =
    R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True",
        "lastTransitionTime":"2020-01-01T00:00:00Z"}]}})";
constexpr const char* kUnready =
    R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False",
        "lastTransitionTime":"2020-01-01T00:00:00Z"}]}})";

// A set of `replicas` ready pods db-0, db-1, … whose template then changes.
struct Set {
  Set(const std::string& policy, const std::string& limits, int replicas) {
    Json set = *parse_json(R"({"apiVersion":"apps/v1","kind":"StatefulSet",
      "metadata":{"namespace":"d","name":"db","uid":"db-uid","generation":1},
      "spec":{"podManagementPolicy":")" +
                           policy + R"(","selector":{"matchLabels":{"app":"db"}},
        "updateStrategy":{"type":"RollingUpdate","rollingUpdate":)" +
                           limits + R"(},
        "template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[]}}}})");
    set["spec"]["replicas"] = replicas;
    fixture.engine.add(make_stateful_set());
    fixture.api.put(stateful_sets(), std::move(set));
    fixture.start();
    for (int ordinal = 0; ordinal < replicas; ++ordinal) {
      fixture.run_until_idle();
      fixture.api.change(Kind::Pod, "d", "db-" + std::to_string(ordinal), kReady);
    }
    fixture.run_until_idle();
  }

  // The ordinals of the pods that go with it.
  std::string update() {
    Json set = *fixture.api.find(stateful_sets(), "d", "db");
    set["spec"]["template"]["metadata"]["labels"]["version"] = "two";
    set["metadata"]["generation"] = 2;
    set["metadata"].as_object().erase("resourceVersion");
    fixture.api.put(stateful_sets(), std::move(set));
    return gone();
  }

  std::string gone() {
    const std::size_t before = fixture.api.log.size();
    fixture.run_until_idle();
    std::string ordinals;
    for (std::size_t i = before; i < fixture.api.log.size(); ++i)
      if (fixture.api.log[i].starts_with("delete v1/pods")) ordinals += fixture.api.log[i].back();
    return ordinals;
  }

  EngineFixture fixture;
};

TEST(StatefulSet, UpdatesAsManyAsMaxUnavailableAtOnce) {
  struct Case {
    const char* policy;
    const char* limits;
    const char* unready;
    const char* gone;
  };
  const Case cases[] = {
      {"OrderedReady", R"({"partition":0})", "", "5"},
      {"OrderedReady", R"({"partition":0,"maxUnavailable":3})", "", "543"},
      {"OrderedReady", R"({"partition":4,"maxUnavailable":3})", "", "54"},
      {"OrderedReady", R"({"partition":0,"maxUnavailable":"50%"})", "", "543"},
      {"OrderedReady", R"({"partition":0,"maxUnavailable":"30%"})", "", "5"},  // rounded down
      {"OrderedReady", R"({"partition":0,"maxUnavailable":"10%"})", "", "5"},  // one at least
      {"OrderedReady", R"({"partition":0,"maxUnavailable":3})", "1", ""},      // waits for db-1
      {"Parallel", R"({"partition":0,"maxUnavailable":2})", "", "54"},
      {"Parallel", R"({"partition":0,"maxUnavailable":2})", "1", "15"},     // what serves nobody goes first
      {"Parallel", R"({"partition":0,"maxUnavailable":2})", "123", "321"},  // and is not held back
      {"Parallel", R"({"partition":2,"maxUnavailable":2})", "1", "5"},  // below the partition it only counts
  };
  for (const Case& test : cases) {
    Set set(test.policy, test.limits, 6);
    for (const char ordinal : std::string_view(test.unready))
      set.fixture.api.change(Kind::Pod, "d", std::string("db-") + ordinal, kUnready);
    set.fixture.run_until_idle();
    EXPECT_EQ(set.update(), test.gone) << test.policy << " " << test.limits << " " << test.unready;
  }
}

// Operators compare the two; Kubernetes writes the whole name of the revision.
TEST(StatefulSet, PodsBearTheNameOfTheirRevision) {
  Set set("Parallel", "{}", 1);
  const Json& status = set.fixture.api.find(stateful_sets(), "d", "db")->part("status");
  const Json& labels = set.fixture.api.find(Kind::Pod, "d", "db-0")->part("metadata").part("labels");
  EXPECT_EQ(labels.string_at("controller-revision-hash"), status.string_at("currentRevision"));
  EXPECT_EQ(status.int_at("currentReplicas"), 1);
  // As an earlier version labelled it: it is not replaced for that.
  const std::string hash(status.string_at("currentRevision").substr(3));
  set.fixture.api.change(Kind::Pod, "d", "db-0",
                         R"({"metadata":{"labels":{"controller-revision-hash":")" + hash + "\"}}}");
  EXPECT_EQ(set.gone(), "");
  EXPECT_EQ(set.update(), "0");
}

// Clients wait for observedGeneration and then read updateRevision: kubectl, operators, Kubernetes' e2e
// tests.
TEST(StatefulSet, AnObservedGenerationHasItsRevision) {
  Set set("Parallel", "{}", 1);
  engine::testing::FakeApi& api = set.fixture.api;
  const std::string first(api.find(stateful_sets(), "d", "db")->part("status").string_at("updateRevision"));
  const std::size_t before = api.arrived.size();
  set.update();
  std::size_t seen = 0;
  for (std::size_t i = before; i < api.arrived.size(); ++i) {
    const client::ApiRequest& request = api.arrived[i];
    if (request.subresource != "status" || request.name != "db") continue;
    const Json body = *parse_json(request.body);
    const Json& status = body.part("status");
    if (status.int_at("observedGeneration") != 2) continue;
    ++seen;
    // A patch of what changes.
    EXPECT_NE(status.string_at("updateRevision"), "") << request.body;
    EXPECT_NE(status.string_at("updateRevision"), first);
  }
  EXPECT_GT(seen, 0u);
}

// kube-controller-manager compares these bytes with its own: members sorted, the template replaced as a
// whole.
TEST(Revisions, AreTheBytesOfKubernetes) {
  Set set("Parallel", "{}", 1);
  const std::vector<const Json*> revisions = set.fixture.api.all(controller_revisions());
  ASSERT_EQ(revisions.size(), 1u);
  EXPECT_EQ(to_string(revisions.front()->part("data")),
            R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"db"}},)"
            R"("spec":{"containers":[]}}}})");
}

}  // namespace
}  // namespace berth::workloads
