#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

const api::ResourceRef kServiceRef{"", "v1", "services"};
const api::ResourceRef kAddressRef{"networking.k8s.io", "v1", "ipaddresses"};

struct AddressWorld {
  AddressWorld() {
    fixture.engine.add(make_ip_addresses());
    fixture.start();
  }

  void put_service(const std::string& name, const std::string& spec) {
    fixture.api.put(kServiceRef, *parse_json(R"({"metadata":{"namespace":"d","name":")" + name +
                                             R"("},"spec":)" + spec + "}"));
    fixture.run_until_idle();
  }
  std::string addresses() {
    std::string text;
    for (const Json* address : fixture.api.all(kAddressRef))
      text += std::string(address->part("metadata").string_at("name")) + " " +
              std::string(address->part("spec").part("parentRef").string_at("name")) + "\n";
    return text;
  }

  engine::testing::EngineFixture fixture;
};

TEST(IpAddresses, EachAddressOfAServiceHasOne) {
  AddressWorld world;
  world.put_service("a", R"({"type":"ClusterIP","clusterIPs":["10.96.1.1","fd00::1"]})");
  world.put_service("b", R"({"type":"ClusterIP","clusterIPs":["None"]})");
  EXPECT_EQ(world.addresses(), "10.96.1.1 a\nfd00::1 a\n");
  const Json& made = *world.fixture.api.find(kAddressRef, "", "fd00::1");
  EXPECT_EQ(to_string(made.part("metadata").part("labels")),
            R"({"ipaddress.kubernetes.io/ip-family":"IPv6",)"
            R"("ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"})");
  EXPECT_EQ(to_string(made.part("spec").part("parentRef")),
            R"({"group":"","resource":"services","namespace":"d","name":"a"})");
  world.fixture.api.remove(kAddressRef, "", "fd00::1");
  world.fixture.run_until_idle();
  EXPECT_EQ(world.addresses(), "10.96.1.1 a\nfd00::1 a\n") << "what was deleted comes back";
}

TEST(IpAddresses, OneThatNoServiceHasAnyMoreGoes) {
  AddressWorld world;
  world.put_service("a", R"({"type":"ClusterIP","clusterIPs":["10.96.1.1"]})");
  world.put_service("b", R"({"type":"ClusterIP","clusterIPs":["10.96.1.2"]})");
  world.fixture.api.put(kAddressRef, *parse_json(R"({"metadata":{"name":"10.96.9.9"},"spec":{"parentRef":
      {"resource":"services","namespace":"d","name":"none"}}})"));
  world.put_service("a", R"({"type":"ExternalName","externalName":"example.com"})");
  world.fixture.api.remove(kServiceRef, "d", "b");
  world.fixture.run_until_idle();
  EXPECT_EQ(world.addresses(), "10.96.9.9 none\n") << "what others made stays";
}

TEST(IpAddresses, OneThatAnotherServiceHadIsMadeAnew) {
  AddressWorld world;
  world.put_service("a", R"({"type":"ClusterIP","clusterIPs":["10.96.1.1"]})");
  world.fixture.api.remove(kServiceRef, "d", "a");
  world.put_service("b", R"({"type":"ClusterIP","clusterIPs":["10.96.1.1"]})");
  world.fixture.advance(Duration::minutes(1));
  EXPECT_EQ(world.addresses(), "10.96.1.1 b\n");
}

}  // namespace
}  // namespace berth::controllers
