// Endpoints, EndpointSlices and their mirrors: tables, and a random series compared with a plain count.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "controllers/controllers.h"
#include "controllers/endpoint_objects.h"
#include "controllers/service_pods.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using engine::testing::EngineFixture;

constexpr const char* kPorts = R"([{"name":"http","port":80,"protocol":"TCP","targetPort":"web"}])";

struct Network {
  EngineFixture fixture;

  Network() {
    fixture.engine.add(make_endpoints());
    fixture.engine.add(make_endpoint_slices());
    fixture.engine.add(make_endpoint_slice_mirroring());
    fixture.api.put(Kind::Node, R"({"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z"}}})");
  }

  void put_service(const std::string& members) {
    fixture.api.put(services(), *parse_json(R"({"metadata":{"namespace":"d","name":"web","uid":"service-uid"},
        "spec":{"clusterIP":"10.96.0.9","ipFamilies":["IPv4"],)" +
                                            members + "}}"));
  }
  void put_selecting_service(const std::string& more = "") {
    put_service(R"("selector":{"app":"web"},"ports":)" + std::string(kPorts) + more);
  }

  void put_pod(const std::string& name, std::size_t number, bool ready, std::size_t incarnation = 0) {
    const std::string ip = "10.1." + std::to_string(number / 256) + "." + std::to_string(number % 256);
    fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":")" + name +
                                   "-" + std::to_string(incarnation) +
                                   R"(","labels":{"app":"web"}},"spec":{"nodeName":"n","containers":[
          {"name":"c","ports":[{"name":"web","containerPort":8080,"protocol":"TCP"}]}]},
          "status":{"phase":"Running","podIPs":[{"ip":")" +
                                   ip + R"("}],"conditions":[{"type":"Ready","status":")" +
                                   (ready ? "True" : "False") + R"("}]}})");
  }

  Json subsets() {
    const Json* endpoints = fixture.api.find(endpoints_resource(), "d", "web");
    return endpoints ? endpoints->part("subsets") : Json();
  }
  std::vector<const Json*> slices() { return fixture.api.all(endpoint_slices()); }
  std::size_t writes_of(std::string_view resource) {
    std::size_t count = 0;
    for (const client::ApiRequest& request : fixture.api.arrived)
      count += request.resource.resource == resource && request.verb != client::Verb::Get;
    return count;
  }
};

struct ReadinessCase {
  const char* service;
  bool pod_is_ready;
  const char* list;  // of the subset
  bool ready, serving;
};

TEST(Endpoints, SayWhichPodsServe) {
  const ReadinessCase cases[] = {
      {"", true, "addresses", true, true},
      {"", false, "notReadyAddresses", false, false},
      {R"(,"publishNotReadyAddresses":true)", false, "addresses", true, false},
  };
  for (const ReadinessCase& test : cases) {
    SCOPED_TRACE(std::string(test.list) + test.service);
    Network network;
    network.put_selecting_service(test.service);
    network.put_pod("a", 1, test.pod_is_ready);
    network.fixture.start();
    network.fixture.run_until_idle();
    const Json address = *parse_json(R"({"ip":"10.1.0.1","nodeName":"n",
        "targetRef":{"kind":"Pod","namespace":"d","name":"a","uid":"a-0"}})");
    const Json subsets = network.subsets();
    ASSERT_EQ(subsets.as_array().size(), 1u);
    const Json& subset = subsets.as_array().front();
    EXPECT_EQ(subset.part(test.list), Json::array({address})) << to_string(subset);
    EXPECT_EQ(to_string(subset.part("ports")), R"([{"name":"http","port":8080,"protocol":"TCP"}])");
    ASSERT_EQ(network.slices().size(), 1u);
    const Json& endpoint = network.slices().front()->items_at("endpoints").front();
    EXPECT_EQ(endpoint.part("conditions").bool_at("ready"), test.ready);
    EXPECT_EQ(endpoint.part("conditions").bool_at("serving"), test.serving);
    EXPECT_EQ(endpoint.string_at("zone"), "z");
  }
}

TEST(Endpoints, APodWithoutTheNamedPortIsNoEndpoint) {
  Network network;
  network.put_service(
      R"("selector":{"app":"web"},"ports":[{"port":80,"protocol":"TCP","targetPort":"none"}])");
  network.put_pod("a", 1, true);
  network.fixture.start();
  network.fixture.run_until_idle();
  EXPECT_EQ(network.subsets(), Json::array());
}

TEST(Endpoints, OfAServiceWithoutPodsAreEmptyAndComeBackWhenTheyAreDeleted) {
  Network network;
  network.put_selecting_service();
  network.fixture.start();
  network.fixture.run_until_idle();
  EXPECT_EQ(network.subsets(), Json::array());
  ASSERT_EQ(network.slices().size(), 1u);
  EXPECT_EQ(network.slices().front()->part("metadata").part("labels").string_at(kServiceNameLabel), "web");
  const std::string slice(network.slices().front()->part("metadata").string_at("name"));
  network.fixture.api.remove(endpoint_slices(), "d", slice);
  network.fixture.api.remove(endpoints_resource(), "d", "web");
  network.fixture.run_until_idle();
  EXPECT_EQ(network.subsets(), Json::array());
  EXPECT_EQ(network.slices().size(), 1u);
}

TEST(Endpoints, GoWithTheirServiceAndThoseOfNoServiceStay) {
  Network network;
  network.put_selecting_service();
  network.fixture.api.put(endpoints_resource(),
                          *parse_json(R"({"metadata":{"namespace":"d","name":"own"}})"));
  network.fixture.start();
  network.fixture.run_until_idle();
  network.fixture.api.remove(services(), "d", "web");
  network.fixture.run_until_idle();
  EXPECT_EQ(network.fixture.api.find(endpoints_resource(), "d", "web"), nullptr);
  EXPECT_NE(network.fixture.api.find(endpoints_resource(), "d", "own"), nullptr);
}

TEST(EndpointSlices, HoldAHundredAndOneChangeWritesOneSlice) {
  constexpr std::size_t kPods = 250;
  Network network;
  network.put_selecting_service();
  for (std::size_t i = 0; i < kPods; ++i) network.put_pod("p" + std::to_string(i), i, true);
  network.fixture.start();
  network.fixture.run_until_idle();
  std::multiset<std::size_t> sizes;
  for (const Json* slice : network.slices()) sizes.insert(slice->items_at("endpoints").size());
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{50, 100, 100}));
  const std::size_t before = network.writes_of("endpointslices");
  network.put_pod("p7", 7, false);
  network.fixture.run_until_idle();
  EXPECT_EQ(network.writes_of("endpointslices"), before + 1);
}

TEST(EndpointSliceMirroring, CopiesEndpointsOfAServiceWithoutASelector) {
  const auto put = [](Network& network, const std::string& ip, const char* labels) {
    network.fixture.api.put(endpoints_resource(),
                            *parse_json(R"({"metadata":{"namespace":"d","name":"web",
        "uid":"endpoints-uid","labels":{)" +
                                        std::string(labels) + R"(}},"subsets":[{"addresses":[{"ip":")" + ip +
                                        R"("}],"ports":[{"port":80,"protocol":"TCP"}]}]})"));
  };
  Network network;
  network.put_service(R"("ports":[{"port":80,"protocol":"TCP"}])");
  put(network, "10.1.2.3", "");
  network.fixture.start();
  network.fixture.run_until_idle();
  ASSERT_EQ(network.slices().size(), 1u);
  EXPECT_EQ(to_string(network.slices().front()->part("ports")),
            R"([{"port":80,"protocol":"TCP","name":""}])");
  put(network, "10.2.3.4", "");
  network.fixture.run_until_idle();
  ASSERT_EQ(network.slices().size(), 1u);
  EXPECT_EQ(to_string(network.slices().front()->part("endpoints")),
            R"([{"addresses":["10.2.3.4"],"conditions":{"ready":true}}])");
  put(network, "10.2.3.4", R"("endpointslice.kubernetes.io/skip-mirror":"true")");
  network.fixture.run_until_idle();
  EXPECT_TRUE(network.slices().empty());
}

TEST(EndpointSliceMirroring, CopiesAnAddressThatIsNamedTwiceOnce) {
  Network network;
  network.put_service(R"("ports":[{"port":80,"protocol":"TCP"}])");
  network.fixture.api.put(endpoints_resource(), *parse_json(R"({"metadata":{"namespace":"d","name":"web",
      "uid":"endpoints-uid"},"subsets":[{"addresses":[{"ip":"10.1.2.3"},{"ip":"10.1.2.3"}],
      "ports":[{"port":80,"protocol":"TCP"}]}]})"));
  network.fixture.start();
  network.fixture.run_until_idle();
  ASSERT_EQ(network.slices().size(), 1u);
  EXPECT_EQ(network.slices().front()->items_at("endpoints").size(), 1u);
  EXPECT_EQ(network.writes_of("endpointslices"), 1u);
}

// After any changes the slices have each pod once, and no slice has more than 100.
TEST(EndpointSlices, HaveEachPodOnceAfterRandomChanges) {
  constexpr std::size_t kPods = 400, kRounds = 60, kChanges = 40;
  SeededRandom random(37);
  Network network;
  network.put_selecting_service();
  network.fixture.start();
  std::map<std::string, bool> ready;
  std::map<std::string, std::size_t> incarnations;
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kChanges; ++i) {
      const std::size_t number = random.below(kPods);
      const std::string name = "p" + std::to_string(number);
      if (ready.contains(name) && random.below(2) == 0) {
        network.fixture.api.remove(api::ref_of(Kind::Pod), "d", name);
        ready.erase(name);
      } else {
        incarnations[name] += !ready.contains(name);
        network.put_pod(name, number, ready[name] = random.below(2) == 0, incarnations[name]);
      }
    }
    network.fixture.advance(Duration::seconds(1));
    std::map<std::string, bool> found;
    for (const Json* slice : network.slices()) {
      EXPECT_LE(slice->items_at("endpoints").size(), 100u);
      for (const Json& endpoint : slice->items_at("endpoints"))
        EXPECT_TRUE(found
                        .emplace(endpoint.part("targetRef").string_at("name"),
                                 endpoint.part("conditions").bool_at("ready"))
                        .second);
    }
    ASSERT_EQ(found, ready) << "round " << round;
  }
}

}  // namespace
}  // namespace berth::controllers
