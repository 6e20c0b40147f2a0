#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "controllers/disruption_budget.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

const api::ResourceRef kSets{"apps", "v1", "replicasets"};

std::string web_pod(const std::string& name, bool ready, const std::string& owner = "") {
  return R"({"metadata":{"namespace":"d","name":")" + name +
         R"(","labels":{"app":"web"},"ownerReferences":[)" + owner +
         R"(]},"spec":{"nodeName":"n"},"status":{"phase":"Running","conditions":[{"type":"Ready",)" +
         R"("status":")" + (ready ? "True" : "False") + R"("}]}})";
}

std::string owned_by(const std::string& api_version, const std::string& kind, const std::string& name,
                     const std::string& uid) {
  return R"({"apiVersion":")" + api_version + R"(","kind":")" + kind + R"(","name":")" + name +
         R"(","uid":")" + uid + R"(","controller":true})";
}

void put_budget(EngineFixture& fixture, const std::string& spec) {
  fixture.api.put(
      api::ref_of(Kind::PodDisruptionBudget),
      *parse_json(R"({"metadata":{"namespace":"d","name":"b","generation":1},"spec":)" + spec + "}"));
}

void put_scaled(EngineFixture& fixture, const char* plural, const std::string& uid, int replicas,
                const std::string& owner = "") {
  fixture.api.put({"apps", "v1", plural},
                  *parse_json(R"({"metadata":{"namespace":"d","name":")" + uid +
                              R"(","generation":1,"uid":")" + uid + R"(","ownerReferences":[)" + owner +
                              R"(]},"spec":{"replicas":)" + std::to_string(replicas) + "}}"));
}

// "allowed current/desired of expected: reason message".
std::string status_text(const EngineFixture& fixture) {
  const Json* budget = fixture.api.find(api::ref_of(Kind::PodDisruptionBudget), "d", "b");
  if (!budget) return "no budget";
  const Json& status = budget->part("status");
  std::string text = std::to_string(status.int_at("disruptionsAllowed")) + " " +
                     std::to_string(status.int_at("currentHealthy")) + "/" +
                     std::to_string(status.int_at("desiredHealthy")) + " of " +
                     std::to_string(status.int_at("expectedPods")) + ":";
  for (const Json& condition : status.items_at("conditions"))
    text.append(" ").append(condition.string_at("reason")).append(condition.string_at("message"));
  return text;
}

struct BudgetCase {
  const char* name;
  const char* spec;
  int ready;     // pods
  int unready;   // pods
  int replicas;  // of their ReplicaSet; 0: they have no owner
  const char* wanted;
};

TEST(DisruptionBudget, AllowsWhatItsPodsAndTheirOwnersSay) {
  const char* web = R"("selector":{"matchLabels":{"app":"web"}})";
  const BudgetCase cases[] = {
      {"a number", R"("minAvailable":1,)", 3, 0, 0, "2 3/1 of 3: SufficientPods"},
      {"none to spare", R"("minAvailable":2,)", 2, 1, 0, "0 2/2 of 3: InsufficientPods"},
      {"too few", R"("minAvailable":4,)", 2, 1, 0, "0 2/4 of 3: InsufficientPods"},
      {"no pods", R"("minAvailable":0,)", 0, 0, 0, "0 0/0 of 0: InsufficientPods"},
      {"neither", "", 2, 0, 0, "0 2/0 of 0: InsufficientPods"},
      {"a percentage is rounded up", R"("minAvailable":"50%",)", 5, 0, 5, "2 5/3 of 5: SufficientPods"},
      {"of the scale, not of the pods", R"("minAvailable":"50%",)", 2, 0, 4, "0 2/2 of 4: InsufficientPods"},
      {"unavailable, a number", R"("maxUnavailable":1,)", 3, 0, 3, "1 3/2 of 3: SufficientPods"},
      {"unavailable, a percentage", R"("maxUnavailable":"34%",)", 3, 0, 3, "2 3/1 of 3: SufficientPods"},
      {"more than there are", R"("maxUnavailable":9,)", 3, 0, 3, "3 3/0 of 3: SufficientPods"},
      {"a percentage without owner", R"("minAvailable":"50%",)", 2, 0, 0, "0 2/0 of 0: InsufficientPods"},
      {"no percentage", R"("minAvailable":"half",)", 2, 0, 2,
       "0 0/0 of 0: SyncFailedinvalid value for IntOrString: invalid type: string is not a percentage"},
  };
  for (const BudgetCase& test : cases) {
    SCOPED_TRACE(test.name);
    EngineFixture fixture;
    fixture.engine.add(make_disruption());
    put_budget(fixture, std::string("{") + test.spec + web + "}");
    const std::string owner = test.replicas > 0 ? owned_by("apps/v1", "ReplicaSet", "rs", "rs") : "";
    if (test.replicas > 0) put_scaled(fixture, "replicasets", "rs", test.replicas);
    for (int i = 0; i < test.ready + test.unready; ++i)
      fixture.api.put(Kind::Pod, web_pod("p" + std::to_string(i), i < test.ready, owner));
    fixture.start();
    fixture.run_until_idle();
    EXPECT_EQ(status_text(fixture), test.wanted);
    const std::size_t writes = fixture.api.log.size();
    fixture.advance(Duration::minutes(5));
    EXPECT_EQ(fixture.api.log.size(), writes) << "nothing changes: " << fixture.api.log.back();
  }
}

TEST(DisruptionBudget, SelectorsThatSelectNothingAndEverything) {
  for (const char* spec : {R"({"minAvailable":1})", R"({"minAvailable":1,"selector":{}})"}) {
    EngineFixture fixture;
    fixture.engine.add(make_disruption());
    put_budget(fixture, spec);
    fixture.api.put(Kind::Pod, web_pod("p", true));
    fixture.api.put(Kind::Pod, web_pod("q", true));
    fixture.start();
    fixture.run_until_idle();
    const bool everything = std::string(spec).find("selector") != std::string::npos;
    EXPECT_EQ(status_text(fixture),
              everything ? "1 2/1 of 2: SufficientPods" : "0 0/1 of 0: InsufficientPods");
  }
}

TEST(DisruptionBudget, ADeploymentCountsForItsReplicaSets) {
  EngineFixture fixture;
  fixture.engine.add(make_disruption());
  put_budget(fixture, R"({"maxUnavailable":1,"selector":{}})");
  const std::string deployment = owned_by("apps/v1", "Deployment", "web", "web");
  put_scaled(fixture, "deployments", "web", 3);
  put_scaled(fixture, "replicasets", "old", 1, deployment);
  put_scaled(fixture, "replicasets", "new", 3, deployment);
  fixture.api.put(Kind::Pod, web_pod("p", true, owned_by("apps/v1", "ReplicaSet", "old", "old")));
  fixture.api.put(Kind::Pod, web_pod("q", true, owned_by("apps/v1", "ReplicaSet", "new", "new")));
  fixture.api.put(Kind::Pod, web_pod("r", true, owned_by("apps/v1", "ReplicaSet", "new", "new")));
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(status_text(fixture), "1 3/2 of 3: SufficientPods");
}

TEST(DisruptionBudget, AnUnknownOwnerAllowsNothingUntilItIsKnown) {
  EngineFixture fixture;
  fixture.engine.add(make_disruption());
  put_budget(fixture, R"({"maxUnavailable":1,"selector":{}})");
  fixture.api.put(Kind::Pod, web_pod("p", true, owned_by("apps/v1", "ReplicaSet", "rs", "rs")));
  fixture.start();
  fixture.run_until_idle();
  EXPECT_EQ(status_text(fixture), "0 0/0 of 0: SyncFailedfound no controllers for pod \"p\"");
  put_scaled(fixture, "replicasets", "rs", 1);
  fixture.run_until_idle();
  EXPECT_EQ(status_text(fixture), "1 1/0 of 1: SufficientPods");
}

TEST(DisruptionBudget, OwnersWithoutAScaleAreNamed) {
  client::View view;
  engine::testing::put(view, Kind::Pod, web_pod("p", true, owned_by("batch/v1", "Job", "j", "j")));
  DisruptionBudget budget;
  budget.meta.ns = "d";
  budget.selector = Json::object();
  budget.max_unavailable = Json(1);
  EXPECT_EQ(budget_status(view, budget, Time()).error().text(),
            "jobs.batch does not implement the scale subresource");
  engine::testing::put(view, Kind::Pod, web_pod("a", true, owned_by("ex.io/v1", "Robot", "r", "r")));
  EXPECT_EQ(budget_status(view, budget, Time()).error().text(),
            "no matches for kind \"Robot\" in version \"ex.io/v1\"");
}

TEST(DisruptionBudget, AnEvictedPodCountsAgainWhenItIsNotDeletedInTime) {
  EngineFixture fixture;
  fixture.engine.add(make_disruption());
  put_budget(fixture, R"({"minAvailable":1,"selector":{}})");
  Json budget = *fixture.api.find(api::ref_of(Kind::PodDisruptionBudget), "d", "b");
  const Time now = Time::from_seconds(1800000000);
  budget["status"]["disruptedPods"] = Json::object({{"p", format_time(now)}, {"gone", format_time(now)}});
  fixture.api.put(api::ref_of(Kind::PodDisruptionBudget), budget);
  fixture.api.put(Kind::Pod, web_pod("p", true));
  fixture.api.put(Kind::Pod, web_pod("q", true));
  fixture.start();
  fixture.advance(Duration::seconds(119));
  EXPECT_EQ(status_text(fixture), "0 1/1 of 2: InsufficientPods");
  const Json disrupted = fixture.api.find(api::ref_of(Kind::PodDisruptionBudget), "d", "b")
                             ->part("status")
                             .part("disruptedPods");
  EXPECT_EQ(to_string(disrupted), R"({"p":")" + format_time(now) + R"("})");
  fixture.advance(Duration::seconds(2));
  EXPECT_EQ(status_text(fixture), "1 2/1 of 2: SufficientPods");
  const std::vector<const Json*> events = fixture.api.all({"", "v1", "events"});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()->string_at("reason"), "NotDeleted");
  EXPECT_EQ(events.back()->string_at("message"), "Pod was expected by PDB d/b to be deleted but it wasn't");
}

TEST(DisruptionBudget, AnEvictionBetweenReadAndWriteIsNotOverwritten) {
  EngineFixture fixture;
  fixture.engine.add(make_disruption());
  put_budget(fixture, R"({"minAvailable":1,"selector":{}})");
  fixture.api.put(Kind::Pod, web_pod("p", true));
  fixture.api.put(Kind::Pod, web_pod("q", true));
  fixture.start();
  fixture.run_until_idle();
  fixture.api.put(Kind::Pod, web_pod("r", true));
  fixture.api.deliver_all();
  fixture.step();
  ASSERT_EQ(fixture.api.requests_waiting(), 1u) << "two may go: on its way";
  Json budget = *fixture.api.find(api::ref_of(Kind::PodDisruptionBudget), "d", "b");
  budget["status"]["disruptionsAllowed"] = 0;
  budget["status"]["disruptedPods"] = Json::object({{"p", format_time(fixture.clock.now())}});
  fixture.api.put(api::ref_of(Kind::PodDisruptionBudget), budget);
  fixture.run_until_idle();
  EXPECT_EQ(status_text(fixture), "1 2/1 of 3: SufficientPods");
  EXPECT_NE(fixture.api.find(api::ref_of(Kind::PodDisruptionBudget), "d", "b")
                ->part("status")
                .part("disruptedPods")
                .find("p"),
            nullptr);
}

TEST(DisruptionBudget, APodThatWasToBeDeletedAndLivesIsNoTargetAfterTwoMinutes) {
  struct Row {
    const char* reason;
    const char* phase;
    bool ends;
  };
  for (const Row& row :
       {Row{"EvictionByEvictionAPI", "Running", true}, Row{"TerminationByKubelet", "Running", false},
        Row{"EvictionByEvictionAPI", "Failed", false}}) {
    SCOPED_TRACE(std::string(row.reason) + " " + row.phase);
    EngineFixture fixture;
    fixture.engine.add(make_disruption());
    fixture.api.put(Kind::Pod, web_pod("p", true));
    fixture.api.change(Kind::Pod, "d", "p",
                       R"({"status":{"phase":")" + std::string(row.phase) +
                           R"(","conditions":[{"type":"DisruptionTarget","status":"True","reason":")" +
                           row.reason + R"(","message":"m","lastTransitionTime":")" +
                           format_time(Time::from_seconds(1800000000)) + R"("}]}})");
    fixture.start();
    const auto status = [&] {
      for (const Json& one : fixture.api.find(Kind::Pod, "d", "p")->part("status").items_at("conditions"))
        if (one.string_at("type") == "DisruptionTarget") return std::string(one.string_at("status"));
      return std::string("none");
    };
    fixture.advance(Duration::seconds(119));
    EXPECT_EQ(status(), "True");
    fixture.advance(Duration::seconds(1));
    EXPECT_EQ(status(), row.ends ? "False" : "True");
    const std::size_t writes = fixture.api.log.size();
    fixture.advance(Duration::minutes(5));
    EXPECT_EQ(fixture.api.log.size(), writes);
  }
}

TEST(DisruptionBudget, PrintsSelectorsAsGoDoes) {
  EXPECT_EQ(go_text(*parse_json(R"({"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"k",)"
                                R"("operator":"In","values":["x","y"]}]})")),
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:"
            "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}");
}

}  // namespace
}  // namespace berth::controllers
