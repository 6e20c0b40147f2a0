#include <gtest/gtest.h>

#include "server/in_process_client.h"
#include "server/test_bench.h"

namespace berth::server {
namespace {

// A whole API server on one thread, as in the simulator.
class InProcess : public testing::Test, protected ServerBench {
 protected:
  InProcess() { server.set_ready(true); }

  client::ApiReply call(client::Verb verb, api::ResourceRef resource, std::string ns, std::string name,
                        std::string body, std::string subresource = "") {
    client::ApiReply got;
    client->submit(
        {verb, std::move(resource), std::move(ns), std::move(name), std::move(subresource), std::move(body)},
        [&](client::ApiReply reply) { got = std::move(reply); });
    return got;
  }

  std::unique_ptr<client::ApiClient> client = make_in_process_client(server, "test");
};

const api::ResourceRef kMapsInProcess{"", "v1", "configmaps"};

TEST_F(InProcess, CreateReadReplaceDelete) {
  const client::ApiReply made = call(client::Verb::Create, kMapsInProcess, "default", "a",
                                     R"({"metadata":{"name":"a"},"data":{"k":"1"}})");
  ASSERT_EQ(made.code, 201) << made.message;
  const Json object = *parse_json(*made.object);
  EXPECT_EQ(object.string_at("kind"), "ConfigMap");
  EXPECT_EQ(object.find("metadata")->string_at("namespace"), "default");
  EXPECT_FALSE(object.find("metadata")->string_at("resourceVersion").empty());

  EXPECT_EQ(call(client::Verb::Create, kMapsInProcess, "default", "a", R"({"metadata":{"name":"a"}})").reason,
            "AlreadyExists");
  EXPECT_EQ(
      call(client::Verb::Create, kMapsInProcess, "nowhere", "a", R"({"metadata":{"name":"a"}})").message,
      "namespaces \"nowhere\" not found");

  const client::ApiReply replaced = call(client::Verb::Update, kMapsInProcess, "default", "a",
                                         R"({"metadata":{"name":"a"},"data":{"k":"2"}})");
  ASSERT_EQ(replaced.code, 200) << replaced.message;
  const client::ApiReply unchanged = call(client::Verb::Update, kMapsInProcess, "default", "a",
                                          R"({"metadata":{"name":"a"},"data":{"k":"2"}})");
  EXPECT_EQ(*unchanged.object, *replaced.object);
  EXPECT_EQ(call(client::Verb::Update, kMapsInProcess, "default", "a",
                 R"({"metadata":{"name":"a","resourceVersion":"1"},"data":{"k":"3"}})")
                .reason,
            "Conflict");

  EXPECT_EQ(call(client::Verb::Delete, kMapsInProcess, "default", "a", "").code, 200);
  EXPECT_EQ(call(client::Verb::Get, kMapsInProcess, "default", "a", "").reason, "NotFound");
}

TEST_F(InProcess, FinalizersHoldADeletionUntilTheyAreGone) {
  call(client::Verb::Create, kMapsInProcess, "default", "a",
       R"({"metadata":{"name":"a","finalizers":["ex.io/hold"]}})");
  const client::ApiReply pending = call(client::Verb::Delete, kMapsInProcess, "default", "a", "");
  ASSERT_TRUE(pending.object);
  EXPECT_NE(pending.object->find("deletionTimestamp"), std::string::npos);
  EXPECT_EQ(
      call(client::Verb::Create, kMapsInProcess, "default", "a", R"({"metadata":{"name":"a"}})").message,
      "object is being deleted: configmaps \"a\" already exists");
  EXPECT_EQ(call(client::Verb::Update, kMapsInProcess, "default", "a", R"({"metadata":{"name":"a"}})").code,
            200);
  EXPECT_EQ(call(client::Verb::Get, kMapsInProcess, "default", "a", "").reason, "NotFound");
}

struct Recorder final : client::WatchReceiver {
  void on_list(client::RawList list) override { listed = list.objects.size(); }
  void on_changes(std::vector<client::RawChange> more) override {
    for (client::RawChange& change : more) changes.push_back(std::move(change));
  }
  void on_trouble(std::string) override {}
  std::size_t listed = 0;
  std::vector<client::RawChange> changes;
};

TEST_F(InProcess, AWatchSeesTheListAndThenEveryChange) {
  call(client::Verb::Create, kMapsInProcess, "default", "a", R"({"metadata":{"name":"a"}})");
  Recorder recorder;
  const auto subscription = client->list_and_watch(kMapsInProcess, recorder);
  EXPECT_EQ(recorder.listed, 1u);
  call(client::Verb::Create, kMapsInProcess, "default", "b", R"({"metadata":{"name":"b"}})");
  call(client::Verb::Delete, kMapsInProcess, "default", "b", "");
  ASSERT_EQ(recorder.changes.size(), 2u);
  EXPECT_EQ(recorder.changes[0].kind, client::ChangeKind::Added);
  EXPECT_EQ(recorder.changes[1].kind, client::ChangeKind::Deleted);
}

// The rules see the stored text of the class, before it is parsed.
TEST_F(InProcess, APodGetsThePriorityOfTheStoredDefaultClass) {
  const api::ResourceRef pods = api::ref_of(api::Kind::Pod);
  const auto priority_of_new_pod = [&](const std::string& name) {
    const client::ApiReply made =
        call(client::Verb::Create, pods, "default", name,
             R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    return made.object ? parse_json(*made.object)->part("spec").int_at("priority", -1) : -1;
  };
  EXPECT_EQ(priority_of_new_pod("before"), 0);
  const api::ResourceRef classes{"scheduling.k8s.io", "v1", "priorityclasses"};
  const auto make_class = [&](const std::string& name, const std::string& members) {
    return call(client::Verb::Create, classes, "", name,
                R"({"metadata":{"name":")" + name + R"("},)" + members + "}");
  };
  ASSERT_EQ(make_class("plain", R"("value":5)").code, 201);
  ASSERT_EQ(make_class("usual", R"("value":7,"globalDefault":true)").code, 201);
  EXPECT_EQ(priority_of_new_pod("after"), 7);
  EXPECT_EQ(
      make_class("other", R"("value":9,"globalDefault":true)").message,
      "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass usual is already marked as "
      "default. Only one default can exist");
}

TEST_F(InProcess, ABudgetHoldsRunningPodsAgainstEviction) {
  const api::ResourceRef pods = api::ref_of(api::Kind::Pod);
  for (const char* name : {"held", "waits", "free"}) {
    const std::string app = std::string(name) == "free" ? "other" : "kept";
    call(client::Verb::Create, pods, "default", name,
         R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{"app":")" + app +
             R"("}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
    if (std::string(name) != "waits")
      call(client::Verb::MergePatch, pods, "default", name, R"({"status":{"phase":"Running"}})", "status");
  }
  call(client::Verb::Create, {"policy", "v1", "poddisruptionbudgets"}, "default", "b",
       R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"kept"}}}})");
  const auto evict = [&](const char* name) {
    return call(client::Verb::Create, pods, "default", name,
                R"({"metadata":{"name":")" + std::string(name) + R"("}})", "eviction");
  };
  const client::ApiReply held = evict("held");
  EXPECT_EQ(held.code, 429);
  EXPECT_EQ(held.retry_after_s, 10);
  EXPECT_EQ(evict("waits").code, 201);
  EXPECT_EQ(evict("free").code, 201);
  EXPECT_EQ(evict("nobody").code, 404);
}

// One running pod of app "kept" for each name, and a budget of them with this status.
class Evictions : public InProcess {
 protected:
  void give(const std::vector<const char*>& names, const std::string& budget_status,
            const std::string& spec = "") {
    for (const char* name : names) {
      call(client::Verb::Create, kPods, "default", name,
           R"({"metadata":{"name":")" + std::string(name) +
               R"(","labels":{"app":"kept"}},)"
               R"("spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
      set_ready(name, "True");
    }
    call(client::Verb::Create, kBudgets, "default", "b",
         R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,)" + spec +
             R"("selector":{"matchLabels":{"app":"kept"}}}})");
    const client::ApiReply set = call(client::Verb::MergePatch, kBudgets, "default", "b",
                                      R"({"status":)" + budget_status + "}", "status");
    ASSERT_EQ(set.code, 200) << set.message;
  }
  void set_ready(const char* name, const char* ready) {
    call(client::Verb::MergePatch, kPods, "default", name,
         R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" + std::string(ready) +
             R"("}]}})",
         "status");
  }
  client::ApiReply evict(const char* name, const std::string& options = "{}") {
    return call(client::Verb::Create, kPods, "default", name,
                R"({"metadata":{"name":")" + std::string(name) + R"("},"deleteOptions":)" + options + "}",
                "eviction");
  }
  Json read(const api::ResourceRef& resource, const char* name) {
    const client::ApiReply found = call(client::Verb::Get, resource, "default", name, "");
    return found.object ? *parse_json(*found.object) : Json();
  }

  const api::ResourceRef kPods = api::ref_of(api::Kind::Pod);
  const api::ResourceRef kBudgets{"policy", "v1", "poddisruptionbudgets"};
};

TEST_F(Evictions, EachTakesOneOfTheBudgetUntilNoneIsLeft) {
  give({"p", "q"}, R"({"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,)"
                   R"("expectedPods":2})");
  EXPECT_EQ(evict("p", R"({"dryRun":["All"]})").code, 201);
  EXPECT_EQ(read(kBudgets, "b").part("status").int_at("disruptionsAllowed"), 1) << "a dry run takes nothing";
  EXPECT_TRUE(read(kPods, "p").part("status").items_at("conditions").size() == 1);

  EXPECT_EQ(evict("p").code, 201);
  const Json evicted = read(kPods, "p");
  EXPECT_FALSE(evicted.part("metadata").string_at("deletionTimestamp").empty());
  const Json& disrupted = evicted.part("status").items_at("conditions").back();
  EXPECT_EQ(disrupted.string_at("type"), "DisruptionTarget");
  EXPECT_EQ(disrupted.string_at("reason"), "EvictionByEvictionAPI");
  EXPECT_EQ(disrupted.string_at("message"), "Eviction API: evicting");
  const Json status = read(kBudgets, "b").part("status");
  EXPECT_EQ(status.int_at("disruptionsAllowed"), 0);
  EXPECT_FALSE(status.part("disruptedPods").string_at("p").empty());
  ASSERT_EQ(status.items_at("conditions").size(), 1u);
  EXPECT_EQ(status.items_at("conditions")[0].string_at("reason"), "InsufficientPods");

  const client::ApiReply refused = evict("q");
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.message, "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(refused.retry_after_s, 0);
  EXPECT_TRUE(read(kPods, "q").part("metadata").string_at("deletionTimestamp").empty());
  EXPECT_EQ(evict("p").code, 201) << "it is being deleted";
}

TEST_F(Evictions, AnOutdatedStatusAllowsNone) {
  give({"p"}, R"({"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1})");
  call(client::Verb::MergePatch, kBudgets, "default", "b", R"({"spec":{"minAvailable":2}})");
  const client::ApiReply refused = evict("p");
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.retry_after_s, 10);
  EXPECT_EQ(read(kBudgets, "b").part("status").int_at("disruptionsAllowed"), 1);
}

TEST_F(Evictions, APodThatIsNotReadyTakesNothingOfAHealthyBudget) {
  give({"p", "q"},
       R"({"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1})");
  set_ready("p", "False");
  EXPECT_EQ(evict("q").code, 429);
  EXPECT_EQ(evict("p").code, 201);
  EXPECT_TRUE(read(kBudgets, "b").part("status").part("disruptedPods").is_null());
}

TEST_F(Evictions, AnUnhealthyBudgetKeepsPodsThatAreNotReadyUnlessItSaysOtherwise) {
  give({"p"}, R"({"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1})");
  set_ready("p", "False");
  EXPECT_EQ(evict("p").code, 429);
  call(client::Verb::MergePatch, kBudgets, "default", "b",
       R"({"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}})");
  EXPECT_EQ(evict("p").code, 201);
}

TEST_F(Evictions, TwoBudgetsOfOnePodAreRefused) {
  give({"p"}, R"({"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1})");
  call(client::Verb::Create, kBudgets, "default", "c", R"({"metadata":{"name":"c"},"spec":{"selector":{}}})");
  EXPECT_EQ(evict("p").code, 500);
  EXPECT_TRUE(read(kPods, "p").part("metadata").string_at("deletionTimestamp").empty());
}

TEST_F(InProcess, AnInvalidDefinitionIsRefusedAndNeverStored) {
  const api::ResourceRef definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
  EXPECT_EQ(call(client::Verb::Create, definitions, "", "x.ex.io", R"({"metadata":{"name":"x.ex.io"}})").code,
            422);
  EXPECT_EQ(call(client::Verb::Get, definitions, "", "x.ex.io", "").code, 404);
}

TEST_F(InProcess, ABindingGivesAPodItsNodeOnce) {
  const api::ResourceRef pods = api::ref_of(api::Kind::Pod);
  call(client::Verb::Create, pods, "default", "p",
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const char* binding = R"({"metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}})";
  const char* outdated =
      R"({"metadata":{"name":"p","resourceVersion":"1"},"target":{"kind":"Node","name":"n1"}})";
  EXPECT_EQ(call(client::Verb::Create, pods, "default", "p", outdated, "binding").code, 409);
  EXPECT_EQ(call(client::Verb::Create, pods, "default", "p", binding, "binding").code, 201);
  EXPECT_EQ(call(client::Verb::Create, pods, "default", "p", binding, "binding").code, 409);
  EXPECT_NE(call(client::Verb::Get, pods, "default", "p", "").object->find("\"nodeName\":\"n1\""),
            std::string::npos);
}

}  // namespace
}  // namespace berth::server
