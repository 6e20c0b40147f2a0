// Device plugins on real sockets: registration, lists, allocations, pod resources.
#include "health/kubelet_server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "health/device_plugin.h"
#include "health/health_driver.h"
#include "health/node_agents.h"
#include "pod_resources_v1.grpc.pb.h"

namespace berth::health {
namespace {

constexpr std::chrono::seconds kPatience(20);
constexpr const char* kResource = "example.com/gpu";

bool comes_true(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < limit) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

ContainerNeeds wants(const char* name, std::int64_t amount) {
  return {name, ContainerNeeds::Runs::Regular, {{kResource, amount}}, {}};
}

struct Plugins : ::testing::Test {
  void SetUp() override {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base && *base ? base : "/tmp") + "/pXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
    start();
  }
  void TearDown() override {
    agents.reset();
    std::filesystem::remove_all(root);
  }
  void start() {
    auto started = NodeAgents::start(
        {root + "/n", {"node-1"}, {Duration::seconds(1)}, NodeRole::OwnsNodes, "", "boot"}, feed, clock);
    ASSERT_TRUE(started.ok()) << started.error().text();
    agents = std::move(*started);
  }
  DevicePluginOptions options(std::map<std::string, bool> devices) {
    DevicePluginOptions options;
    options.folder = root + "/n/node-1/device-plugins";
    options.devices = std::move(devices);
    return options;
  }
  std::unique_ptr<DevicePlugin> plugin(DevicePluginOptions options) {
    auto served = DevicePlugin::serve(std::move(options));
    EXPECT_TRUE(served.ok()) << served.error().text();
    const Status told = (*served)->register_again();
    EXPECT_TRUE(told.ok()) << told.error().text();
    return std::move(*served);
  }
  // "gpu-1 Healthy+ gpu-2 Unhealthy ": a plus for what is allocatable.
  std::string listed() {
    const auto snapshot = feed.peek("node-1");
    if (!snapshot || !snapshot->resources.contains(kResource)) return "nothing";
    std::string text;
    for (const auto& [id, device] : snapshot->resources.find(kResource)->second.devices)
      text += id + " " + std::string(name_of(device.health.health)) + (device.allocatable ? "+ " : " ");
    return text;
  }
  bool lists(const std::string& text) {
    return comes_true([&] { return listed() == text; });
  }
  std::string held(const std::string& uid, const std::string& container) {
    const auto snapshot = feed.peek("node-1");
    if (!snapshot) return "";
    const auto found = snapshot->held.find({uid, container});
    std::string text;
    if (found != snapshot->held.end())
      for (const std::string& id : found->second.at(kResource).ids) text += id + " ";
    return text;
  }
  std::string refused(const std::string& uid) {
    const auto snapshot = feed.peek("node-1");
    return snapshot && snapshot->refused.contains(uid) ? snapshot->refused.at(uid) : "";
  }

  std::string root;
  SystemClock clock;
  HealthFeed feed;
  std::unique_ptr<NodeAgents> agents;
};

TEST_F(Plugins, APluginRegistersAndItsDevicesFollowItsLists) {
  const auto one = plugin(options({{"gpu-1", true}, {"gpu-2", false}}));
  EXPECT_TRUE(lists("gpu-1 Healthy+ gpu-2 Unhealthy ")) << listed();
  one->list({{"gpu-1", false}, {"gpu-2", true}, {"gpu-3", true}});
  EXPECT_TRUE(lists("gpu-1 Unhealthy gpu-2 Healthy+ gpu-3 Healthy+ ")) << listed();
}

TEST_F(Plugins, UnregisteredIsUnknownAndNotUnhealthy) {
  auto one = plugin(options({{"gpu-1", true}}));
  ASSERT_TRUE(lists("gpu-1 Healthy+ "));
  one.reset();
  EXPECT_TRUE(lists("gpu-1 Unknown ")) << listed();
  EXPECT_EQ(feed.peek("node-1")->of_resource(kResource, "gpu-1").message,
            "the device plugin of example.com/gpu is not registered any more");
  one = plugin(options({{"gpu-1", true}}));
  EXPECT_TRUE(lists("gpu-1 Healthy+ ")) << listed();
}

TEST_F(Plugins, TheNewestRegistrationOfAResourceIsHeardAlone) {
  const auto old = plugin(options({{"gpu-1", true}}));
  ASSERT_TRUE(lists("gpu-1 Healthy+ "));
  DevicePluginOptions newer = options({{"gpu-2", true}});
  newer.endpoint = "newer.sock";
  const auto fresh = plugin(newer);
  ASSERT_TRUE(lists("gpu-2 Healthy+ ")) << listed();
  old->list({{"gpu-9", true}});
  fresh->list({{"gpu-3", true}});
  EXPECT_TRUE(lists("gpu-3 Healthy+ ")) << listed();
}

TEST_F(Plugins, RefusedRegistrationsHearWhy) {
  struct Case {
    std::string version, endpoint, resource, sentence;
  };
  const Case cases[] = {
      {"v1alpha", "plugin.sock", kResource, "version: \"v1alpha\" is not supported, only v1beta1 is"},
      {"v1beta1", "plugin.sock", "gpu",
       "resource_name: \"gpu\" is no extended resource like example.com/gpu"},
      {"v1beta1", "plugin.sock", "kubernetes.io/gpu",
       "resource_name: \"kubernetes.io/gpu\" is no extended resource like example.com/gpu"},
      {"v1beta1", "plugin.sock", "example.com/a b",
       "resource_name: \"example.com/a b\" name part must consist of alphanumeric characters, '-', '_' or "
       "'.', "
       "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
       "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
      {"v1beta1", "../x.sock", kResource,
       "endpoint: is the file name of a socket next to the one that was called"},
      {"v1beta1", "", kResource, "endpoint: is the file name of a socket next to the one that was called"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(registration_problem({c.version, c.endpoint, c.resource}), c.sentence) << c.resource;
  DevicePluginOptions wrong = options({});
  wrong.version = "v2";
  const auto served = DevicePlugin::serve(wrong);
  ASSERT_TRUE(served.ok());
  const Status told = (*served)->register_again();
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().message(), "version: \"v2\" is not supported, only v1beta1 is");
}

TEST_F(Plugins, ContainersAreAllocatedDevicesAndThePluginIsAsked) {
  DevicePluginOptions given = options({{"gpu-1", true}, {"gpu-2", true}, {"gpu-3", true}, {"gpu-4", false}});
  given.preferred = {"gpu-3", "gpu-2"};
  given.pre_start = true;
  const auto one = plugin(given);
  ASSERT_TRUE(comes_true([&] { return listed() != "nothing"; }));
  feed.put_pods("node-1", {{"u1", "d", "p", {wants("a", 2)}}});
  ASSERT_TRUE(comes_true([&] { return held("u1", "a") == "gpu-2 gpu-3 "; })) << held("u1", "a");
  EXPECT_EQ(one->calls(),
            (std::vector<std::string>{"GetPreferredAllocation 2 of gpu-1,gpu-2,gpu-3", "Allocate gpu-3,gpu-2",
                                      "PreStartContainer gpu-3,gpu-2"}));
  // The second preference is taken already, so it is no valid choice.
  feed.put_pods("node-1", {{"u1", "d", "p", {wants("a", 2)}}, {"u2", "d", "q", {wants("a", 1)}}});
  ASSERT_TRUE(comes_true([&] { return held("u2", "a") == "gpu-1 "; }));
  feed.put_pods("node-1", {{"u2", "d", "q", {wants("a", 1)}}, {"u3", "d", "r", {wants("a", 3)}}});
  ASSERT_TRUE(comes_true([&] { return !refused("u3").empty(); }));
  EXPECT_EQ(refused("u3"),
            "requested number of devices unavailable for example.com/gpu. Requested: 3, Available: 2");
  EXPECT_EQ(held("u1", "a"), "");
  one->list({{"gpu-1", true}, {"gpu-2", true}, {"gpu-3", true}, {"gpu-4", true}});
  ASSERT_TRUE(comes_true([&] { return held("u3", "a") == "gpu-2 gpu-3 gpu-4 "; }));
  EXPECT_EQ(refused("u3"), "");
}

TEST_F(Plugins, AFailedAllocationIsToldAndTriedAgain) {
  DevicePluginOptions given = options({{"gpu-1", true}});
  given.allocate_error = "the GPU has fallen off the bus";
  const auto one = plugin(given);
  ASSERT_TRUE(lists("gpu-1 Healthy+ "));
  feed.put_pods("node-1", {{"u1", "d", "p", {wants("a", 1)}}});
  ASSERT_TRUE(comes_true([&] { return refused("u1") == "the GPU has fallen off the bus"; })) << refused("u1");
  one->fail_allocations("");
  EXPECT_TRUE(comes_true([&] { return held("u1", "a") == "gpu-1 "; }));
  EXPECT_EQ(refused("u1"), "");
}

TEST_F(Plugins, WhatIsHeldSurvivesTheAgent) {
  auto one = plugin(options({{"gpu-1", true}, {"gpu-2", true}}));
  ASSERT_TRUE(comes_true([&] { return listed() != "nothing"; }));
  feed.put_pods("node-1", {{"u2", "d", "q", {wants("a", 1)}}});
  ASSERT_TRUE(comes_true([&] { return held("u2", "a") == "gpu-1 "; }));
  agents.reset();
  EXPECT_TRUE(std::filesystem::exists(root + "/n/.health/node-1.checkpoint"));
  start();
  EXPECT_EQ(held("u2", "a"), "gpu-1 ");
  EXPECT_EQ(listed(), "gpu-1 Healthy gpu-2 Healthy ") << "as shown before, but nothing is given out";
  EXPECT_FALSE(std::filesystem::exists(root + "/n/node-1/device-plugins/plugin.sock"))
      << "plugins see by this that the agent is another one";
  one.reset();
  one = plugin(options({{"gpu-1", true}, {"gpu-2", true}}));
  ASSERT_TRUE(lists("gpu-1 Healthy+ gpu-2 Healthy+ "));
  feed.put_pods("node-1", {{"u2", "d", "q", {wants("a", 1)}}, {"u3", "d", "r", {wants("a", 1)}}});
  ASSERT_TRUE(comes_true([&] { return held("u3", "a") == "gpu-2 "; }));
  EXPECT_EQ(one->calls(), std::vector<std::string>{"Allocate gpu-2"}) << "u2 keeps what it had";
}

TEST_F(Plugins, PodResourcesTellWhoHoldsWhat) {
  DevicePluginOptions given = options({{"gpu-1", true}, {"gpu-2", true}, {"gpu-3", true}});
  given.numa_nodes = {{"gpu-1", 0}, {"gpu-2", 1}};
  const auto one = plugin(given);
  ASSERT_TRUE(comes_true([&] { return listed() != "nothing"; }));
  NodePod claimed{"u2", "d", "q", {{"b", ContainerNeeds::Runs::Regular, {}, {}}}};
  claimed.containers[0].claimed = {{"q-claim", "drv.example.com", "node-1", "dev-1", "share"}};
  feed.put_pods("node-1", {{"u1", "d", "p", {wants("a", 2)}}, claimed});
  ASSERT_TRUE(comes_true([&] { return held("u1", "a") == "gpu-1 gpu-2 "; }));

  const auto stub = v1::PodResourcesLister::NewStub(grpc::CreateChannel(
      "unix:" + root + "/n/node-1/pod-resources/kubelet.sock", grpc::InsecureChannelCredentials()));
  v1::ListPodResourcesResponse list;
  grpc::ClientContext list_context, get_context, absent_context, free_context;
  ASSERT_TRUE(stub->List(&list_context, {}, &list).ok());
  ASSERT_EQ(list.pod_resources_size(), 2);
  EXPECT_EQ(
      list.pod_resources(0).ShortDebugString(),
      "name: \"p\" namespace: \"d\" containers { name: \"a\" "
      "devices { resource_name: \"example.com/gpu\" device_ids: \"gpu-1\" topology { nodes { } } } "
      "devices { resource_name: \"example.com/gpu\" device_ids: \"gpu-2\" topology { nodes { ID: 1 } } } }");
  v1::GetPodResourcesRequest request;
  request.set_pod_name("q");
  request.set_pod_namespace("d");
  v1::GetPodResourcesResponse got;
  ASSERT_TRUE(stub->Get(&get_context, request, &got).ok());
  EXPECT_EQ(
      got.ShortDebugString(),
      "pod_resources { name: \"q\" namespace: \"d\" containers { name: \"b\" dynamic_resources { "
      "claim_name: \"q-claim\" claim_namespace: \"d\" claim_resources { driver_name: \"drv.example.com\" "
      "pool_name: \"node-1\" device_name: \"dev-1\" share_id: \"share\" } } } }");
  request.set_pod_name("absent");
  EXPECT_EQ(stub->Get(&absent_context, request, &got).error_message(), "pod absent in namespace d not found");
  v1::AllocatableResourcesResponse free;
  ASSERT_TRUE(stub->GetAllocatableResources(&free_context, {}, &free).ok());
  EXPECT_EQ(free.devices_size(), 3) << "one for each NUMA node, and for none";
}

TEST_F(Plugins, PodResourcesTellTheCdiDevicesOfPreparedClaims) {
  HealthDriverOptions given;
  given.socket = root + "/n/node-1/plugins_registry/a.sock";
  const auto driver = HealthDriver::serve(given);
  ASSERT_TRUE(driver.ok()) << driver.error().text();
  (*driver)->report(
      {{{"node-1", "dev-1"}, {Health::Healthy, ""}}, {{"node-1", "dev-2"}, {Health::Healthy, ""}}});
  NodePod pod{"u2", "d", "q", {{"b", ContainerNeeds::Runs::Regular, {}, {}}}};
  pod.containers[0].claimed = {{"q-claim", "gpu.example.com", "node-1", "dev-1", ""}};
  pod.claims = {{{"c1", "d", "q-claim"}, {{"gpu.example.com", NodeOperations::PrepareAndUnprepare}}}};
  feed.put_pods("node-1", {pod});
  const auto stub = v1::PodResourcesLister::NewStub(grpc::CreateChannel(
      "unix:" + root + "/n/node-1/pod-resources/kubelet.sock", grpc::InsecureChannelCredentials()));
  v1::ListPodResourcesResponse list;
  EXPECT_TRUE(comes_true([&] {
    grpc::ClientContext context;
    EXPECT_TRUE(stub->List(&context, {}, &list).ok());
    return list.ShortDebugString().find("cdi_devices") != std::string::npos;
  }));
  EXPECT_EQ(list.ShortDebugString(),
            "pod_resources { name: \"q\" namespace: \"d\" containers { name: \"b\" dynamic_resources { "
            "claim_name: \"q-claim\" claim_namespace: \"d\" claim_resources { cdi_devices { "
            "name: \"gpu.example.com/device=dev-1\" } driver_name: \"gpu.example.com\" pool_name: \"node-1\" "
            "device_name: \"dev-1\" } } } }");
}

TEST_F(Plugins, NodesComeAndGo) {
  using Presence = HealthFeed::Presence;
  EXPECT_FALSE(feed.serves("node-2"));
  feed.put_node("node-2", Presence::Here);
  ASSERT_TRUE(comes_true([&] { return feed.serves("node-2"); }));
  DevicePluginOptions given = options({{"gpu-1", true}});
  given.folder = root + "/n/node-2/device-plugins";
  auto one = plugin(given);
  ASSERT_TRUE(comes_true([&] { return feed.peek("node-2") && feed.peek("node-2")->resources.size() == 1; }));
  feed.put_node("node-2", Presence::Gone);
  ASSERT_TRUE(comes_true([&] { return !feed.serves("node-2"); }));
  EXPECT_TRUE(comes_true([&] { return !std::filesystem::exists(given.folder + "/kubelet.sock"); }));
  EXPECT_EQ(feed.peek("node-2"), nullptr);
  one->list({{"gpu-7", true}});
  feed.put_node("node-2", Presence::Here);
  ASSERT_TRUE(comes_true([&] { return feed.serves("node-2"); }));
  EXPECT_EQ(feed.peek("node-2"), nullptr) << "the next node of that name starts with nothing";
  one = plugin(given);
  EXPECT_TRUE(comes_true([&] { return feed.peek("node-2") && feed.peek("node-2")->resources.size() == 1; }));
}

}  // namespace
}  // namespace berth::health
