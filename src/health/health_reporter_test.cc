#include "health/health_reporter.h"

#include <gtest/gtest.h>

#include "health/node_pods.h"
#include "health/resource_status.h"

namespace berth::health {
namespace {

using api::Kind;

constexpr const char* kReporterDriver = "gpu.example.com";
const api::ObjectKey kPodKey{Kind::Pod, "d", "p", {}};

void put(client::View& view, Kind kind, const std::string& object) {
  auto typed = api::decode_typed(kind, std::make_shared<const std::string>(object));
  ASSERT_TRUE(typed.ok());
  const api::ObjectMeta& meta = api::meta_of(*typed);
  view.put({kind, meta.ns, meta.name, {}}, *typed);
}

// A view with one pod of one claim on node-1, and a feed to report into.
struct Bench {
  client::View view;
  HealthFeed feed;
  HealthCache cache;
  std::unique_ptr<client::Reconciler> reporter;
  Time now = Time::from_seconds(1800000000);
  int version = 1;

  explicit Bench(PodLevelHealth pod_level = PodLevelHealth::Omit)
      : reporter(make_health_reporter(feed, pod_level, NodeRole::OwnsNodes)) {
    put(view, Kind::ResourceClaim,
        R"({"metadata":{"namespace":"d","name":"p-gpus","uid":"c1","resourceVersion":"5"},)"
        R"("status":{"allocation":)"
        R"({"devices":{"results":[)"
        R"({"request":"big/a","driver":"gpu.example.com","pool":"node-1","device":"gpu-2"},)"
        R"({"request":"big/a","driver":"gpu.example.com","pool":"node-1","device":"gpu-1"},)"
        R"({"request":"small","driver":"gpu.example.com","pool":"node-1","device":"gpu-3","shareID":"s1"},)"
        R"({"request":"small","driver":"gpu.example.com","pool":"node-1",)"
        R"("device":"gpu-3","shareID":"s2"}]}},)"
        R"("reservedFor":[{"resource":"pods","name":"p","uid":"u1"}]}})");
  }

  void pod(const std::string& container_claims, const std::string& status = kRunning) {
    put(view, Kind::Pod,
        R"({"metadata":{"namespace":"d","name":"p","uid":"u1","resourceVersion":")" +
            std::to_string(++version) +
            R"("},"spec":{"nodeName":"node-1",)"
            R"("resourceClaims":[{"name":"gpus","resourceClaimTemplateName":"t"}],)"
            R"("initContainers":[{"name":"i","resources":{"claims":[{"name":"gpus"}]}},{"name":"s",)"
            R"("restartPolicy":"Always","resources":{"claims":)" +
            (status.find("initContainerStatuses") == std::string::npos ? "[]" : container_claims) +
            R"(}}],"containers":[{"name":"a","resources":{"claims":)" + container_claims +
            R"(}},{"name":"b"}]},"status":)" + status + "}");
  }
  static constexpr const char* kRunning =
      R"({"phase":"Running","resourceClaimStatuses":[{"name":"gpus","resourceClaimName":"p-gpus"}],)"
      R"("containerStatuses":[{"name":"b","ready":true,"x":1},{"name":"a","ready":true}]})";

  void report(const char* device, Health health, std::string message = "") {
    cache.update(kReporterDriver, {{{"node-1", device}, {health, std::move(message)}, 0}}, now);
    feed.publish("node-1", cache.snapshot());
  }
  client::Effects run() { return reporter->reconcile(view, kPodKey, now); }
  // Applies the write to the view, like the API server.
  void accept(const client::Effects& effects) {
    ASSERT_EQ(effects.chains.size(), 1u);
    Json object = *parse_json(*view.pods.find("d", "p")->raw);
    const Json patch = *parse_json(effects.chains[0].writes[0].request.body);
    for (const JsonMember& member : patch.find("status")->as_object())
      object["status"][member.key] = member.value;
    object["metadata"]["resourceVersion"] = std::to_string(++version);
    put(view, Kind::Pod, to_string(object));
  }
};

std::string body(const client::Effects& effects) {
  return effects.chains.empty() ? "" : effects.chains[0].writes.at(0).request.body;
}

TEST(HealthReporter, WritesEveryClaimThatAContainerNamesSortedWithTheWorstOfTwoShares) {
  Bench bench;
  bench.pod(R"([{"name":"gpus","request":"small"},{"name":"gpus","request":"big"}])");
  bench.report("gpu-1", Health::Healthy);
  bench.report("gpu-2", Health::Unhealthy, "xid 79");
  const client::Effects effects = bench.run();
  EXPECT_EQ(body(effects),
            R"({"status":{"containerStatuses":[{"name":"b","ready":true,"x":1},{"name":"a","ready":true,)"
            R"("allocatedResourcesStatus":[{"name":"claim:gpus/big","resources":[)"
            R"({"resourceID":"gpu.example.com/node-1/gpu-1","health":"Healthy"},)"
            R"({"resourceID":"gpu.example.com/node-1/gpu-2","health":"Unhealthy","message":"xid 79"}]},)"
            R"({"name":"claim:gpus/small","resources":[{"resourceID":"gpu.example.com/node-1/gpu-3",)"
            R"("health":"Unknown",)"
            R"("message":"driver gpu.example.com has not reported the health of this device"}]}]}]},)"
            R"("metadata":{"uid":"u1","resourceVersion":"2"}})");
  EXPECT_EQ(effects.chains[0].writes[0].request.subresource, "status");
  ASSERT_EQ(effects.events.size(), 1u);
  EXPECT_TRUE(effects.events[0].warning);
  EXPECT_EQ(effects.events[0].reason, "DeviceUnhealthy");
  EXPECT_EQ(effects.events[0].regarding_uid, "u1");
  EXPECT_EQ(effects.events[0].message,
            "container a, claim:gpus/big: device gpu.example.com/node-1/gpu-2 is unhealthy: xid 79");
}

TEST(HealthReporter, AClaimWithoutRequestIsOneEntryOfAllItsDevices) {
  Bench bench;
  bench.pod(R"([{"name":"gpus"}])");
  bench.report("gpu-1", Health::Healthy);
  const auto health = bench.feed.latest("node-1");
  const api::Pod& pod = *bench.view.pods.find("d", "p");
  const ResourceStatus wanted = wanted_status(bench.view, pod, pod.containers[0], *health);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted.begin()->first, "claim:gpus");
  EXPECT_EQ(wanted.begin()->second.size(), 3u);
}

TEST(HealthReporter, WritesOnlyChangesAndAtMostOnceASecond) {
  Bench bench;
  bench.pod(R"([{"name":"gpus","request":"big"}])");
  bench.report("gpu-1", Health::Healthy);
  bench.accept(bench.run());
  EXPECT_TRUE(bench.run().empty());
  bench.report("gpu-1", Health::Unhealthy);
  bench.now = bench.now + Duration::millis(400);
  const client::Effects waits = bench.run();
  EXPECT_TRUE(waits.chains.empty() && waits.events.empty());
  EXPECT_EQ(waits.wake_at, bench.now + Duration::millis(600));
  bench.report("gpu-2", Health::Healthy);
  bench.now = *waits.wake_at;
  const client::Effects effects = bench.run();
  EXPECT_NE(body(effects).find(R"(gpu-1","health":"Unhealthy")"), std::string::npos);
  EXPECT_NE(body(effects).find(R"(gpu-2","health":"Healthy")"), std::string::npos);
}

TEST(HealthReporter, AWriteThatMetAConflictIsOfferedAgainAtOnceButNotForEver) {
  Bench bench;
  bench.pod(R"([{"name":"gpus"}])");
  bench.report("gpu-1", Health::Unhealthy);
  EXPECT_EQ(bench.run().events.size(), 1u);
  int repeats = 0;
  for (; !bench.run().chains.empty(); ++repeats) ASSERT_LT(repeats, 100);
  EXPECT_EQ(repeats, 3);
  bench.now = bench.now + kStatusWritePeriod;
  const client::Effects later = bench.run();
  EXPECT_EQ(later.chains.size(), 1u);
  EXPECT_TRUE(later.events.empty()) << "the transition was told already";
}

TEST(HealthReporter, TellsOfSicknessAndRecoveryButNotOfTheUnknown) {
  struct Step {
    Health health;
    const char* reason;
  };
  const Step steps[] = {
      {Health::Healthy, ""},   {Health::Unhealthy, "DeviceUnhealthy"}, {Health::Unknown, ""},
      {Health::Unhealthy, ""}, {Health::Healthy, "DeviceHealthy"},     {Health::Unknown, ""},
      {Health::Healthy, ""}};
  Bench bench;
  bench.pod(R"([{"name":"gpus"}])");
  for (const Step& step : steps) {
    bench.report("gpu-1", step.health);
    bench.now = bench.now + kStatusWritePeriod;
    const client::Effects effects = bench.run();
    EXPECT_EQ(effects.events.empty() ? "" : effects.events[0].reason, step.reason) << &step - steps;
    bench.accept(effects);
  }
}

TEST(HealthReporter, InitContainersHaveAListLikeOthers) {
  Bench bench;
  bench.pod(R"([{"name":"gpus","request":"small"}])",
            R"({"phase":"Running","resourceClaimStatuses":[{"name":"gpus","resourceClaimName":"p-gpus"}],)"
            R"("initContainerStatuses":[{"name":"i"},{"name":"s"}],"containerStatuses":[{"name":"a"}]})");
  bench.report("gpu-3", Health::Healthy);
  const std::string text = body(bench.run());
  EXPECT_NE(text.find(R"({"name":"i","allocatedResourcesStatus":[{"name":"claim:gpus","resources")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"name":"s","allocatedResourcesStatus":[{"name":"claim:gpus/small","resources")"),
            std::string::npos)
      << text;
}

TEST(HealthReporter, EntriesOfDevicePluginsStay) {
  Json status =
      *parse_json(R"({"allocatedResourcesStatus":[{"name":"claim:old","resources":[]},)"
                  R"({"name":"acme.com/nic","resources":[{"resourceID":"n1","health":"Healthy"}]}]})");
  set_own_entries(status, {}, OwnEntries::Claims);
  EXPECT_EQ(to_string(status), R"({"allocatedResourcesStatus":[{"name":"acme.com/nic","resources":)"
                               R"([{"resourceID":"n1","health":"Healthy"}]}]})");
  Json claims_only = *parse_json(R"({"allocatedResourcesStatus":[{"name":"claim:old","resources":[]}]})");
  set_own_entries(claims_only, {}, OwnEntries::Claims);
  EXPECT_EQ(to_string(claims_only), "{}");
}

constexpr const char* kPluginPod =
    R"({"metadata":{"namespace":"d","name":"p","uid":"u1","resourceVersion":"9"},)"
    R"("spec":{"nodeName":"node-1",)"
    R"("initContainers":[{"name":"i","resources":{"requests":{"example.com/gpu":"1"}}}],)"
    R"("containers":[{"name":"a","resources":{"requests":{"example.com/gpu":"2"}}}],)"
    R"("ephemeralContainers":[{"name":"e"}]},"status":{"phase":"Running",)"
    R"("initContainerStatuses":[{"name":"i","state":{"terminated":{}}}],)"
    R"("containerStatuses":[{"name":"a","allocatedResourcesStatus":)"
    R"([{"name":"x.example.com/old","resources":[]}]}],)"
    R"("ephemeralContainerStatuses":[{"name":"e"}]}})";

HealthSnapshot plugin_snapshot() {
  HealthSnapshot snapshot;
  PluginResource& gpus = snapshot.resources["example.com/gpu"];
  gpus.registered = true;
  gpus.devices["gpu-1"] = {{Health::Healthy, ""}, true, {}};
  gpus.devices["gpu-2"] = {{Health::Unhealthy, ""}, false, {}};
  snapshot.held[{"u1", "a"}]["example.com/gpu"].ids = {"gpu-1", "gpu-2", "gpu-gone"};
  snapshot.held[{"u1", "i"}]["example.com/gpu"].ids = {"gpu-1"};
  return snapshot;
}

TEST(HealthReporter, DevicesOfDevicePluginsAreEntriesOfTheirResource) {
  Bench bench;
  put(bench.view, Kind::Pod, kPluginPod);
  bench.feed.serve("node-1");
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(plugin_snapshot()));
  const client::Effects effects = bench.run();
  EXPECT_EQ(body(effects),
            R"({"status":{"containerStatuses":[{"name":"a","allocatedResourcesStatus":)"
            R"([{"name":"example.com/gpu",)"
            R"("resources":[{"resourceID":"gpu-1","health":"Healthy"},)"
            R"({"resourceID":"gpu-2","health":"Unhealthy"},)"
            R"({"resourceID":"gpu-gone","health":"Unknown",)"
            R"("message":"the device plugin of example.com/gpu does not list this device any more"}]}]}],)"
            R"("initContainerStatuses":[{"name":"i","state":{"terminated":{}},"allocatedResourcesStatus":)"
            R"([{"name":"example.com/gpu","resources":[{"resourceID":"gpu-1","health":"Healthy"}]}]}]},)"
            R"("metadata":{"uid":"u1","resourceVersion":"9"}})")
      << "an old entry of a node that is ours goes; ephemeral containers have none";
  ASSERT_EQ(effects.events.size(), 1u);
  EXPECT_EQ(effects.events[0].message, "container a, example.com/gpu: device gpu-2 is unhealthy");
}

TEST(HealthReporter, AContainerThatEndedKeepsItsLastEntries) {
  Bench bench;
  bench.version = 9;
  put(bench.view, Kind::Pod, kPluginPod);
  bench.feed.serve("node-1");
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(plugin_snapshot()));
  bench.accept(bench.run());
  HealthSnapshot later = plugin_snapshot();
  later.resources["example.com/gpu"].devices["gpu-1"].health = {Health::Unhealthy, ""};
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(later));
  bench.now = bench.now + kStatusWritePeriod;
  const std::string text = body(bench.run());
  EXPECT_NE(text.find(R"("gpu-1","health":"Unhealthy")"), std::string::npos) << text;
  EXPECT_EQ(text.find("initContainerStatuses"), std::string::npos) << text;
}

TEST(HealthReporter, ARefusedAllocationIsToldOnce) {
  Bench bench;
  put(bench.view, Kind::Pod, kPluginPod);
  HealthSnapshot snapshot;
  snapshot.refused["u1"] = "no device plugin of example.com/gpu is registered";
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(snapshot));
  const client::Effects effects = bench.run();
  ASSERT_EQ(effects.events.size(), 1u);
  EXPECT_EQ(effects.events[0].reason, "UnexpectedAdmissionError");
  EXPECT_EQ(effects.events[0].message,
            "Allocate failed due to no device plugin of example.com/gpu is registered, which is unexpected");
  EXPECT_TRUE(bench.run().events.empty());
}

TEST(HealthReporter, AClaimThatIsNotPreparedIsToldOnce) {
  Bench bench;
  bench.pod(R"([{"name":"gpus"}])", R"({"phase":"Pending"})");
  HealthSnapshot snapshot;
  snapshot.unprepared["u1"] = "DRA driver gpu.example.com is not registered";
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(snapshot));
  const client::Effects effects = bench.run();
  ASSERT_EQ(effects.events.size(), 1u);
  EXPECT_EQ(effects.events[0].reason, "FailedPrepareDynamicResources");
  EXPECT_EQ(effects.events[0].message,
            "Failed to prepare dynamic resources: prepare dynamic resources: "
            "DRA driver gpu.example.com is not registered");
  EXPECT_TRUE(bench.run().events.empty());
}

TEST(NodePods, TheClaimsThatDriversPrepareAreThoseOfThePodWithWhatIsSkipped) {
  Bench bench;
  bench.pod(R"([])");
  const auto drivers_of = [&](const std::string& skipped) {
    put(bench.view, Kind::ResourceClaim,
        R"({"metadata":{"namespace":"d","name":"p-gpus","uid":"c1","resourceVersion":")" +
            std::to_string(++bench.version + 5) +
            R"("},"status":)"
            R"({"allocation":{"devices":{"results":[)"
            R"({"request":"r","driver":"one","pool":"p","device":"d1","skipNodeOperations":[)" +
            skipped +
            R"(]},{"request":"r","driver":"one","pool":"p","device":"d2","skipNodeOperations":["*"]},)"
            R"({"request":"r","driver":"two","pool":"p","device":"d3"}]}},)"
            R"("reservedFor":[{"resource":"pods","name":"p","uid":"u1"}]}})");
    std::string text;
    const NodePods pods = node_pods(bench.view, "node-1");
    for (const NeededClaim& claim : pods.at(0).claims)
      for (const auto& [driver, operations] : claim.drivers)
        text += driver + (operations == NodeOperations::Prepare ? "- " : " ");
    return text;
  };
  EXPECT_EQ(drivers_of(""), "one two ");
  EXPECT_EQ(drivers_of(R"("NodeUnprepareResources")"), "one- two ");
  EXPECT_EQ(drivers_of(R"("NodePrepareResources","NodeUnprepareResources")"), "two ");
  EXPECT_EQ(drivers_of(R"("*")"), "two ");
}

TEST(NodePods, ContainersStartWhenTheKnownDriversOfTheirNodeHavePreparedTheirClaims) {
  Bench bench;
  bench.pod(R"([{"name":"gpus"}])");
  const api::Pod& pod = *bench.view.pods.find("d", "p");
  const auto may_start = [&](ClaimDrivers known, bool prepared) {
    HealthSnapshot snapshot;
    snapshot.claim_drivers = std::move(known);
    ClaimInfo info{{"c1", "d", "p-gpus"}, {"u1"}, {}};
    info.drivers[kReporterDriver].prepared = prepared;
    snapshot.claims = std::make_shared<const ClaimInfos>(ClaimInfos{{"c1", info}});
    bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(snapshot));
    return containers_may_start(bench.feed, bench.view, pod);
  };
  const ClaimDrivers known = {{kReporterDriver, Registered::Yes}};
  EXPECT_TRUE(may_start(known, false)) << "no agent prepares claims of this node";
  bench.feed.serve("node-1");
  EXPECT_FALSE(may_start(known, false));
  EXPECT_FALSE(may_start({{kReporterDriver, Registered::No}}, false));
  EXPECT_TRUE(may_start(known, true));
  EXPECT_TRUE(may_start({}, false));
  bench.feed.put_introducing("node-1", true);
  EXPECT_FALSE(may_start({}, false)) << "a driver may be there";
  bench.feed.put_introducing("node-1", false);
  EXPECT_TRUE(may_start({{"other.example.com", Registered::Yes}}, false));
  bench.view.erase({Kind::ResourceClaim, "d", "p-gpus", {}}, 7);
  EXPECT_FALSE(may_start(known, true)) << "the view lacks the claim";
}

TEST(HealthReporter, TheClaimOfExtendedResourcesIsShown) {
  Bench bench;
  put(bench.view, Kind::Pod,
      R"({"metadata":{"namespace":"d","name":"p","uid":"u1","resourceVersion":"9"},)"
      R"("spec":{"nodeName":"node-1",)"
      R"("containers":[{"name":"a","resources":{"requests":{"example.com/gpu":"1"}}}]},)"
      R"("status":{"phase":"Running",)"
      R"("extendedResourceClaimStatus":{"resourceClaimName":"p-gpus","requestMappings":)"
      R"([{"containerName":"a","resourceName":"example.com/gpu","requestName":"small"}]},)"
      R"("containerStatuses":[{"name":"a"}]}})");
  bench.report("gpu-3", Health::Unhealthy, "xid 79");
  EXPECT_NE(body(bench.run())
                .find(R"("name":"claim:p-gpus/small","resources":[{"resourceID":)"
                      R"("gpu.example.com/node-1/gpu-3","health":"Unhealthy","message":"xid 79"}])"),
            std::string::npos)
      << body(bench.run());
  const NodePods pods = node_pods(bench.view, "node-1");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_TRUE(pods[0].containers.at(0).amounts.empty()) << "a DRA driver provides it, no device plugin";
  EXPECT_EQ(pods[0].containers.at(0).claimed.size(), 2u);
}

TEST(HealthReporter, TheNodesAmountsFollowTheListsOfDevicePlugins) {
  Bench bench;
  const auto node = [&](const std::string& amounts) {
    put(bench.view, Kind::Node,
        R"({"metadata":{"name":"node-1","uid":"n1","resourceVersion":")" + std::to_string(++bench.version) +
            R"(","labels":{"berth.dev/simulated":"true"}},"status":{"capacity":{"cpu":"4")" + amounts +
            R"(},"allocatable":{"cpu":"4")" + amounts + "}}}");
  };
  const api::ObjectKey key{Kind::Node, "", "node-1", {}};
  const auto patch = [&] { return body(bench.reporter->reconcile(bench.view, key, bench.now)); };
  node("");
  EXPECT_EQ(patch(), "") << "nobody serves the node";
  EXPECT_EQ(bench.feed.nodes(), std::vector<std::string>{"node-1"});
  bench.feed.serve("node-1");
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(plugin_snapshot()));
  EXPECT_EQ(patch(),
            R"({"status":{"capacity":{"example.com/gpu":"2"},"allocatable":{"example.com/gpu":"1"}},)"
            R"("metadata":{"uid":"n1"}})");
  node(R"(,"example.com/gpu":"2")");
  EXPECT_EQ(patch(), R"({"status":{"allocatable":{"example.com/gpu":"1"}},"metadata":{"uid":"n1"}})");
  HealthSnapshot without = plugin_snapshot();
  without.resources["example.com/gpu"].devices.clear();
  bench.feed.publish("node-1", std::make_shared<const HealthSnapshot>(without));
  EXPECT_EQ(patch(),
            R"({"status":{"capacity":{"example.com/gpu":"0"},"allocatable":{"example.com/gpu":"0"}},)"
            R"("metadata":{"uid":"n1"}})");
  put(bench.view, Kind::Pod, kPluginPod);
  patch();
  ASSERT_EQ(bench.feed.pods("node-1")->size(), 1u);
  const NodePod& pod = bench.feed.pods("node-1")->front();
  EXPECT_EQ(pod.containers.at(0).runs, ContainerNeeds::Runs::First);
  EXPECT_EQ(pod.containers.at(1).amounts.at("example.com/gpu"), 2);
  bench.view.erase(key, 100);
  patch();
  EXPECT_TRUE(bench.feed.nodes().empty());
}

TEST(HealthReporter, LeavesAloneWhatIsNotItsOwn) {
  const char* claims = R"([{"name":"gpus"}])";
  struct Case {
    const char* why;
    std::function<void(Bench&)> set;
  };
  const Case cases[] = {
      {"no plugin on the node", [&](Bench& bench) { bench.pod(claims); }},
      {"containers have not started",
       [&](Bench& bench) {
         bench.pod(claims, R"({"phase":"Pending"})");
         bench.report("gpu-1", Health::Healthy);
       }},
      {"finished",
       [&](Bench& bench) {
         bench.pod(claims, R"({"phase":"Failed","containerStatuses":[{"name":"a"}]})");
         bench.report("gpu-1", Health::Healthy);
       }},
      {"the claim is not known",
       [&](Bench& bench) {
         bench.pod(claims, R"({"phase":"Running","containerStatuses":[{"name":"a"}]})");
         bench.report("gpu-1", Health::Healthy);
       }},
      {"no container uses the claim",
       [&](Bench& bench) {
         bench.pod("[]");
         bench.report("gpu-1", Health::Healthy);
       }},
  };
  for (const Case& c : cases) {
    Bench bench;
    c.set(bench);
    EXPECT_TRUE(bench.run().empty()) << c.why;
  }
}

TEST(HealthReporter, ClaimsThatNoContainerNamesAreThePodsOwnWhereThatIsServed) {
  Bench bench(PodLevelHealth::Write);
  bench.pod("[]");
  put(bench.view, Kind::Pod,
      R"({"metadata":{"namespace":"d","name":"p","uid":"u1","resourceVersion":"9"},)"
      R"("spec":{"nodeName":"node-1",)"
      R"("resourceClaims":[{"name":"gpus","resourceClaimName":"p-gpus"}],"containers":[{"name":"a"}]},)"
      R"("status":{"phase":"Running","containerStatuses":[{"name":"a"}]}})");
  bench.report("gpu-3", Health::Unhealthy);
  const client::Effects effects = bench.run();
  EXPECT_TRUE(body(effects).starts_with(R"({"status":{"allocatedResourcesStatus":[{"name":"claim:gpus")"))
      << body(effects);
  ASSERT_EQ(effects.events.size(), 1u);
  EXPECT_EQ(effects.events[0].message, "pod, claim:gpus: device gpu.example.com/node-1/gpu-3 is unhealthy");
}

TEST(HealthReporter, ASignalAboutANodeWakesItsPodsTheSickFirst) {
  Bench bench;
  for (const char* name : {"a", "z"}) {
    put(bench.view, Kind::ResourceClaim,
        std::string(R"({"metadata":{"namespace":"d","name":"c-)") + name +
            R"(","uid":"c"},"status":{"allocation":{"devices":{"results":[)"
            R"({"request":"r","driver":"gpu.example.com",)"
            R"("pool":"node-1","device":"gpu-)" +
            name + R"("}]}},"reservedFor":[{"resource":"pods","name":"x","uid":"u-)" + name + R"("}]}})");
    put(bench.view, Kind::Pod,
        std::string(R"({"metadata":{"namespace":"d","name":")") + name + R"(","uid":"u-)" + name +
            R"("},"spec":{"nodeName":"node-1","resourceClaims":[{"name":"g","resourceClaimName":"c-)" + name +
            R"("}]}})");
  }
  std::vector<std::string> woken;
  bench.feed.on_change([&](const std::string& node) { woken.push_back(node); });
  bench.report("gpu-z", Health::Unhealthy);
  bench.report("gpu-a", Health::Healthy);
  EXPECT_EQ(woken, std::vector<std::string>{"node-1"})
      << "the second change was folded into the unread first";
  std::vector<api::ObjectKey> keys;
  bench.reporter->signalled(bench.view, {Kind::Node, "", "node-1", {}}, keys);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].name, "z");
  EXPECT_EQ(keys[1].name, "a");
  bench.report("gpu-a", Health::Unknown);
  EXPECT_EQ(woken.size(), 2u);
}

}  // namespace
}  // namespace berth::health
